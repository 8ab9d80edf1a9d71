"""The manifest of a new run, which describes what the run is made from."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from fieldmark.data.files import is_url, open_file
from fieldmark.data.inputs import InputLike, Limits
from fieldmark.metrics.conventions import rule_weights
from fieldmark.model.json import JsonObject
from fieldmark.run.provider_set import ProviderSet
from fieldmark.run.settings import Settings
from fieldmark.version import VERSION
from fieldmark.wire.manifest import Manifest, ManifestInput

__all__ = ["hash_inputs", "make_manifest"]

_LARGE: Final = 32 << 20
"""The file size in bytes from which hashing takes longer than starting threads."""


def make_manifest(
    command: str,
    settings: Settings,
    providers: ProviderSet,
    *,
    limits: Limits,
    sources: Sequence[InputLike],
    options: JsonObject | None,
    segment_size: int,
    name: str = "",
    evaluators: Mapping[str, str] | None = None,
    inputs: Sequence[ManifestInput] | None = None,
    target: JsonObject | None = None,
    pages: str | Path | None = None,
) -> Manifest:
    """Return the manifest of a new run; its inputs are hashed unless they are known."""
    return Manifest(
        command=command,
        fieldmark=VERSION,
        python=platform.python_version(),
        convention=settings.applied,
        eval=name,
        providers=providers.identities(),
        inputs=tuple(hash_inputs(sources) if inputs is None else inputs),
        limits=asdict(limits),
        weights=rule_weights(settings.rules, *settings.others.values()),
        evaluators=evaluators or {},
        target=target,
        pages="" if pages is None else Path(pages).resolve().name,
        options=options,
        segment_size=segment_size,
        rules=settings.source,
    )


def hash_inputs(sources: Sequence[InputLike]) -> list[ManifestInput]:
    """Return the inputs with their hashes; large files are hashed concurrently."""
    files = [Path(each) for each in sources if isinstance(each, str | Path) and not is_url(each)]
    if not any(file.is_file() and file.stat().st_size >= _LARGE for file in files):
        return [_hash_input(source) for source in sources]

    with ThreadPoolExecutor(len(sources)) as pool:
        return list(pool.map(_hash_input, sources))


def _hash_input(source: InputLike) -> ManifestInput:
    if not isinstance(source, str | Path):
        return ManifestInput(name="(in memory)")
    if is_url(source):
        opened = open_file(source)
        opened.close()
        return ManifestInput(name=opened.name, bytes=opened.size, version=opened.version or None)
    path = Path(source)
    if path.is_dir():
        return ManifestInput(name=str(source), sha256=_hash_directory(path))
    if not path.is_file():
        return ManifestInput(name=str(source))
    with path.open("rb") as file:
        return ManifestInput(
            name=str(source),
            bytes=path.stat().st_size,
            sha256=hashlib.file_digest(file, "sha256").hexdigest(),
        )


def _hash_directory(directory: Path) -> str:
    """Return a hash of the names and contents of the files in a directory."""
    digest = hashlib.sha256()
    for path in sorted(directory.iterdir()):
        content = b""
        # A link may lead outside the directory; an unreadable file is reported with its case.
        if path.is_file() and not path.is_symlink():
            with suppress(OSError), path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
        digest.update(path.name.encode("utf-8", "surrogateescape") + b"\0" + content)
    return digest.hexdigest()

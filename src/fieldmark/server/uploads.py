"""The inputs of a batch: private copies while its job runs, and their origin in the run.

A batch reads copies that are removed with its job. Where both sides are files below a root, the run
can be resumed from them; rows and texts of a request exist nowhere else, so such a run cannot.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fieldmark.errors import FieldmarkError
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.data_roots import DataRoots, OpenedPath
from fieldmark.server.options import ServerLimits
from fieldmark.store.disk import write_atomic
from fieldmark.store.run_folder import MANIFEST
from fieldmark.store.run_reader import open_run
from fieldmark.values.json_text import pretty_json
from fieldmark.wire.manifest import manifest_to_json

__all__ = ["InputSource", "Uploads", "record_input_sources"]

_CHUNK: Final = 1 << 20
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_SUFFIXES: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")


class Uploads:
    """The inputs of one job in a folder of its own, which is removed with the job."""

    def __init__(self, folder: Path, roots: DataRoots, limits: ServerLimits) -> None:
        self._folder = folder
        self._roots = roots
        self._bytes_left = limits.input_bytes
        self._max_files = limits.input_files

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def add_rows(self, side: str, rows: Sequence[object]) -> Path:
        """Write rows of a request as JSON Lines."""
        target = self._target(side, f"{side}.jsonl")
        with target.open("w", encoding="ascii") as file:
            for row in rows:
                file.write(json.dumps(row, allow_nan=False) + "\n")
        return target

    def add_text(self, side: str, name: str, text: str) -> Path:
        """Write the text of a file; the suffix of its name tells the format."""
        target = self._target(side, _safe_name(name))
        target.write_bytes(text.encode("utf-8", "surrogatepass"))
        return target

    def add_path(self, side: str, path: str) -> Path:
        """Copy a file or folder below a root: what was checked is what is read."""
        with self._roots.open(path) as opened:
            target = self._target(side, _safe_name(path.rsplit("/", 1)[-1]))
            if opened.is_file:
                self._copy(opened, target)
                return target
            target.mkdir()
            for inner in self._roots.files_in(opened, self._max_files):
                self._copy(inner, target / inner.name)
            return target

    def _target(self, side: str, name: str) -> Path:
        # The two sides may have files of the same name.
        folder = self._folder / side
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def _copy(self, opened: OpenedPath, target: Path) -> None:
        with target.open("xb") as file:
            while chunk := os.read(opened.fd, _CHUNK):
                self._bytes_left -= len(chunk)
                if self._bytes_left < 0:
                    raise ApiError(ErrorCode.TOO_LARGE, "The inputs are too large.")
                file.write(chunk)


def _safe_name(name: str) -> str:
    """Return a safe file name that keeps the suffixes, which tell the format."""
    plain = _UNSAFE.sub("_", name).lstrip("._")[-80:]
    known = plain.lower().removesuffix(".gz").endswith(_SUFFIXES)
    return plain if known else f"{plain or 'rows'}.json" if "." not in plain else plain


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSource:
    """One side of a batch: its display name, the copy, and its location if it is a file."""

    name: str
    copy: Path
    file: str | None = None


def record_input_sources(run: Path, sources: Sequence[InputSource]) -> None:
    """Replace the copies in a run's manifest by the original inputs, if there is a manifest."""
    names = {str(source.copy): source.name for source in sources}
    files = [source.file for source in sources]
    try:
        manifest = open_run(run).manifest
        inputs = tuple(
            replace(each, name=names.get(each.name, each.name)) for each in manifest.inputs
        )
        options = manifest.options
        if None in files:
            # An input existed in the HTTP request alone.
            options = None
        elif options is not None:
            candidate = files[1] if len(files) > 1 else None
            options = {**options, "truth": files[0], "candidate": candidate}
        changed = replace(manifest, inputs=inputs, options=options)
        write_atomic(run / MANIFEST, pretty_json(manifest_to_json(changed)))
    except FieldmarkError:
        # The manifest still names the copies; nothing else is lost.
        return

"""The inputs of a batch: private copies for the job, and their origin for the run's manifest.

A batch reads copies, which are deleted with its job. A run can be resumed if both sides are files
below a root, but not if a side was sent in the request, because it is not stored anywhere else.
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

from fieldmark.data.roots import DataRoots, OpenedPath
from fieldmark.errors import FieldmarkError
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.run_directory import MANIFEST
from fieldmark.runs.stored_run import open_run
from fieldmark.values.json_text import pretty_json
from fieldmark.values.records import to_json
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.options import ServerLimits
from fieldmark.web.request_models import BatchSource

_CHUNK: Final = 1 << 20
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_SUFFIXES: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSource:
    """One side of a batch: display name, copy, and original path if it is below a root."""

    name: str
    copy: Path
    file: str | None = None


class Uploads:
    """The inputs of one job in a private directory, which is deleted with the job."""

    def __init__(self, directory: Path, roots: DataRoots, limits: ServerLimits) -> None:
        self._directory = directory
        self._roots = roots
        self._max_bytes = self._bytes_left = limits.input_bytes
        self._max_files = limits.input_files

    def close(self) -> None:
        """Delete the directory."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def add(self, side: str, source: BatchSource) -> InputSource:
        """Copy one side of a batch into the directory."""
        file = None
        if source.path is not None:
            copy = self._add_path(side, source.path)
            file = self._roots.location(source.path)
        elif source.text is not None:
            # The suffix determines the format.
            copy = self._target(side, _safe_name(source.name))
            copy.write_bytes(source.text.encode("utf-8", "surrogatepass"))
        elif source.files is not None:
            copy = self._target(side, "files")
            copy.mkdir()
            for each in source.files:
                (copy / each.name).write_bytes(each.text.encode("utf-8", "surrogatepass"))
        else:
            copy = self._target(side, f"{side}.jsonl")
            with copy.open("wb") as lines:
                for row in source.rows or []:
                    lines.write(json.dumps(row, allow_nan=False).encode("ascii") + b"\n")
        return InputSource(name=source.display_name, copy=copy, file=file)

    def _add_path(self, side: str, path: str) -> Path:
        """Copy a file or directory below a root, so that it cannot change after the check."""
        with self._roots.open(path) as opened:
            target = self._target(side, _safe_name(path.rsplit("/", 1)[-1]))
            if opened.is_file:
                self._copy(opened, target)
            else:
                target.mkdir()
                for inner in self._roots.files_in(opened, self._max_files):
                    self._copy(inner, target / inner.name)
        return target

    def _target(self, side: str, name: str) -> Path:
        # The two sides may have files of the same name.
        directory = self._directory / side
        directory.mkdir(parents=True, exist_ok=True)
        return directory / name

    def _copy(self, opened: OpenedPath, target: Path) -> None:
        with target.open("xb") as file:
            while chunk := os.read(opened.fd, _CHUNK):
                self._bytes_left -= len(chunk)
                if self._bytes_left < 0:
                    message = f"The inputs exceed the limit of {self._max_bytes:,} bytes."
                    raise ApiError(ErrorCode.TOO_LARGE, message)
                file.write(chunk)


def _safe_name(name: str) -> str:
    """Return a safe file name with the same suffixes, which determine the format."""
    safe = _UNSAFE.sub("_", name).lstrip("._")[-80:]
    known = safe.lower().removesuffix(".gz").endswith(_SUFFIXES)
    return safe if known else f"{safe or 'rows'}.json" if "." not in safe else safe


def record_input_sources(run: Path, sources: Sequence[InputSource], pages: str) -> None:
    """Replace the copies in the manifest of a run, if it exists, with the original inputs.

    `pages` is the name of the root with its page images, which may differ from the directory's
    name.
    """
    names = {str(source.copy): source.name for source in sources}
    files = [source.file for source in sources]
    try:
        manifest = open_run(run).manifest
        inputs = tuple(
            each._replace(name=names.get(each.name, each.name)) for each in manifest.inputs
        )
        options = manifest.options
        if None in files:
            # An input was sent in the request and is not stored.
            options = None
        elif options is not None:
            candidate = files[1] if len(files) > 1 else None
            options = {**options, "truth": files[0], "candidate": candidate}
        changed = replace(manifest, inputs=inputs, options=options, pages=pages)
        write_atomic(run / MANIFEST, pretty_json(to_json(changed)))
    except FieldmarkError:
        # Only the names of the inputs are affected: the manifest still refers to the copies.
        return

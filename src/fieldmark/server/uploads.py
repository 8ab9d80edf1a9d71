"""What requests bring, put into files of our own for as long as a job needs them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.data_roots import DataRoots, OpenedPath
from fieldmark.server.options import ServerLimits

__all__ = ["Uploads"]

_PIECE: Final = 1 << 20
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_SUFFIXES: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")


class Uploads:
    """The inputs of one job in a folder of its own, which goes with the job."""

    def __init__(self, folder: Path, roots: DataRoots, limits: ServerLimits) -> None:
        self._folder = folder
        self._places = roots
        self._left = limits.input_bytes
        self._most = limits.input_files

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def from_rows(self, side: str, rows: Sequence[object]) -> Path:
        """Rows that a request holds, one a line."""
        target = self._place(side, f"{side}.jsonl")
        with target.open("w", encoding="ascii") as file:
            for row in rows:
                file.write(json.dumps(row, allow_nan=False) + "\n")
        return target

    def from_text(self, side: str, name: str, text: str) -> Path:
        """A file that a request holds, under a name that says its format."""
        target = self._place(side, _safe(name))
        target.write_bytes(text.encode("utf-8", "surrogatepass"))
        return target

    def from_path(self, side: str, path: str) -> Path:
        """A copy of what a path below a root names: what was checked is what is read."""
        with self._places.opened(path) as place:
            target = self._place(side, _safe(path.rsplit("/", 1)[-1]))
            if place.is_file:
                self._copy(place, target)
                return target
            target.mkdir()
            for inner in self._places.inside(place, self._most):
                self._copy(inner, target / inner.name)
            return target

    def _place(self, side: str, name: str) -> Path:
        # The two sides may have files of the same name.
        folder = self._folder / side
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def _copy(self, place: OpenedPath, target: Path) -> None:
        with target.open("xb") as file:
            while part := os.read(place.number, _PIECE):
                self._left -= len(part)
                if self._left < 0:
                    raise ApiError(ErrorCode.TOO_LARGE, "The inputs are too large.")
                file.write(part)


def _safe(name: str) -> str:
    """A name for a file of ours that keeps the suffixes, which say the format."""
    plain = _UNSAFE.sub("_", name).lstrip("._")[-80:]
    known = plain.lower().removesuffix(".gz").endswith(_SUFFIXES)
    return plain if known else f"{plain or 'rows'}.json" if "." not in plain else plain

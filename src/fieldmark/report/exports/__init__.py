"""The kinds of files that a run can be exported to, as plug-ins can add them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Protocol

from fieldmark.report.shown_run import ShownRun

__all__ = ["Exporter"]


class Exporter(Protocol):
    """Writes a run to a file for another tool; a frozen dataclass.

    `file` is the default name of the file in the directory of the run.
    """

    name: ClassVar[str]
    file: ClassVar[str]

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the run to a file; without values, `run` contains none."""
        ...

"""The versions of fieldmark and of the files that it stores, in one place."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
RUN_FORMAT: Final = 2
"""The version of the stored format, shared by all files of a run."""

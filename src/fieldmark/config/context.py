"""What a reader of configuration needs to know besides the text itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fieldmark.config.problems import Problems
from fieldmark.model.comparison import Provider

__all__ = ["Context"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Where problems go, where files lie, who judges meaning, and how strict to be.

    Under `contained`, only files in the folder of the configuration or below it are read.
    """

    problems: Problems = field(default_factory=Problems)
    folder: Path | None = None
    provider: Provider | None = None
    strict: bool = False
    contained: bool = True

"""Every exception that fieldmark raises on purpose.

    FieldmarkError
    ├── ConfigError      a mistake in rules, options or arguments; carries every problem at once
    ├── OptionError      one bad option of one strategy; configuration turns it into a ConfigError
    ├── DataError        input that cannot be read; names the file and the line
    │   └── LimitError   input beyond a documented limit; names the limit
    ├── StorageError     a result could not be written
    ├── RunLockedError   another process writes to the run; names it
    └── MissingExtra     an optional dependency is not installed; names the command that installs it

A fault in the data that is being compared is a result, never an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "ConfigError",
    "DataError",
    "FieldmarkError",
    "LimitError",
    "Location",
    "MissingExtra",
    "OptionError",
    "Problem",
    "RunLockedError",
    "StorageError",
]


@dataclass(frozen=True, slots=True)
class Location:
    """Where something stands: a file and, where known, a line and a column (both from 1)."""

    file: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file] if self.file else []
        parts += [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join(parts)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a configuration, where it stands, and what to do about it."""

    message: str
    location: Location = Location()
    hint: str = ""

    def __str__(self) -> str:
        where = str(self.location)
        text = f"{where}: {self.message}" if where else self.message
        return f"{text} {self.hint}" if self.hint else text


class FieldmarkError(Exception):
    """The root of the tree: catch this to catch everything that fieldmark raises on purpose."""


class ConfigError(FieldmarkError):
    """A configuration that cannot be used, with all of its problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def of(cls, message: str, location: Location = Location(), hint: str = "") -> ConfigError:
        """A configuration error with a single problem."""
        return cls([Problem(message, location, hint)])


class OptionError(FieldmarkError):
    """One option of a strategy holds a value that it cannot have."""

    def __init__(self, option: str, message: str) -> None:
        self.option = option
        self.message = message
        super().__init__(f"{option}: {message}")


class DataError(FieldmarkError):
    """Input that cannot be read: which file, which line, and why."""

    def __init__(self, message: str, location: Location = Location()) -> None:
        self.message = message
        self.location = location
        where = str(location)
        super().__init__(f"{where}: {message}" if where else message)


class LimitError(DataError):
    """Input beyond a documented limit."""

    def __init__(self, limit: str, message: str, location: Location = Location()) -> None:
        self.limit = limit
        super().__init__(message, location)


class StorageError(FieldmarkError):
    """A result could not be written to disk."""


class RunLockedError(FieldmarkError):
    """Another process writes to the same run."""


class MissingExtra(FieldmarkError):
    """An optional dependency is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f'{what} needs an optional part: pip install "fieldmark[{extra}]"')

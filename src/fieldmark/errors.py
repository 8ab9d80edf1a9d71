"""The exceptions that fieldmark raises.

    FieldmarkError
    ├── ConfigError      invalid rules, options or arguments; lists all problems
    ├── OptionError      one invalid option of a strategy; reported as a ConfigError for files
    ├── DataError        input that cannot be read; names the file and line
    │   ├── LimitError   input that exceeds a documented limit; names the limit
    │   └── InputTypeError   a Python object of a type that is not accepted; also a TypeError
    ├── StorageError     a result that could not be written
    ├── RunLockedError   another process is writing to the run
    ├── RunStopped       a progress callback stopped the run, which is interrupted
    └── MissingExtra     an optional dependency is not installed; names the install command

Problems in the compared documents are results, never exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, Self

__all__ = [
    "ConfigError",
    "DataError",
    "FieldmarkError",
    "InputTypeError",
    "LimitError",
    "Location",
    "MissingExtra",
    "OptionError",
    "OptionHint",
    "OptionPhrase",
    "OptionText",
    "Problem",
    "RunLockedError",
    "RunStopped",
    "StorageError",
    "with_hint",
    "with_location",
]


class Location(NamedTuple):
    """A file and, if known, a line and a column, both counted from 1."""

    file: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file] if self.file else []
        parts += [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join(parts)


class OptionPhrase(Enum):
    """The words of a message about an option."""

    SET_KEY = "set the key"
    SET_KEY_TO = "set the key to a value"
    SET_BOTH_KEYS = "set the keys of both sides"
    WITH_VALUE = "with a value"
    WITH_FLAG = "with a flag"


class OptionHint(NamedTuple):
    """A part of a message that names an option, which each interface does in its own way."""

    phrase: OptionPhrase
    option: str = ""
    value: str = ""

    def named(self, phrases: Mapping[OptionPhrase, str]) -> str:
        """Return the words of an interface, which has a template for each phrase."""
        return phrases[self.phrase].format(option=self.option, value=self.value)


_IN_PYTHON: Final[Mapping[OptionPhrase, str]] = {
    OptionPhrase.SET_KEY: "set the {option} key",
    OptionPhrase.SET_KEY_TO: "set the {option} key to {value!r}",
    OptionPhrase.SET_BOTH_KEYS: "set the expected and candidate keys",
    OptionPhrase.WITH_VALUE: "{option}={value!r}",
    OptionPhrase.WITH_FLAG: "{option}=True",
}


class OptionText(str):
    """A message that names options.

    It is shown and stored as the text with the options of Python. An interface with other options
    asks for its own text, so that none searches for options in sentences.

    >>> text = OptionText("show both anyway with ", OptionHint(OptionPhrase.WITH_FLAG, "force"))
    >>> text == "show both anyway with force=True"
    True
    >>> text.named({OptionPhrase.WITH_FLAG: "--{option}"})
    'show both anyway with --force'
    """

    __slots__ = ("parts",)

    parts: tuple[str | OptionHint, ...]

    def __new__(cls, *parts: str | OptionHint) -> Self:
        """Join the parts, which can be such messages themselves."""
        flat: list[str | OptionHint] = []
        for part in parts:
            flat += part.parts if isinstance(part, OptionText) else (part,)
        texts = (part if isinstance(part, str) else part.named(_IN_PYTHON) for part in flat)
        message = super().__new__(cls, "".join(texts))
        message.parts = tuple(flat)
        return message

    def named(self, phrases: Mapping[OptionPhrase, str]) -> str:
        """Return the text with the options of an interface."""
        return "".join(
            part if isinstance(part, str) else part.named(phrases) for part in self.parts
        )


def with_hint(message: str, hint: str) -> str:
    """Append a hint to a message.

    >>> with_hint("unknown key 'treshold'", "did you mean 'threshold'?")
    "unknown key 'treshold'; did you mean 'threshold'?"
    """
    return OptionText(message, "; ", hint) if hint else message


class Problem(NamedTuple):
    """One problem of a configuration.

    Args:
        message: What is wrong.
        location: Where it is wrong.
        hint: What to do about it.
    """

    message: str
    location: Location = Location()
    hint: str = ""

    def __str__(self) -> str:
        where = str(self.location)
        text = f"{where}: {self.message}" if where else self.message
        return with_hint(text, self.hint)


class FieldmarkError(Exception):
    """Base class of all exceptions that fieldmark raises."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the error without calling its constructor, whose arguments differ from `args`."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(
    kind: type[FieldmarkError], args: tuple[object, ...], state: dict[str, object]
) -> FieldmarkError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class ConfigError(FieldmarkError):
    """An invalid configuration, with all its problems.

    Args:
        problems: The problems of the configuration, in their order.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def of(cls, message: str, location: Location = Location(), hint: str = "") -> ConfigError:
        """Return an error with a single problem."""
        return cls([Problem(message, location, hint)])


class OptionError(FieldmarkError):
    """An option of a strategy has an invalid value.

    Args:
        option: The name of the option.
        problem: What is wrong with its value.
        hint: What to do about it.
    """

    def __init__(self, option: str, problem: str, hint: str = "") -> None:
        self.option = option
        self.problem = problem
        self.hint = hint
        self.message = with_hint(problem, hint)
        super().__init__(f"{option}: {self.message}")


class DataError(FieldmarkError):
    """Input that cannot be read.

    Args:
        message: The reason.
        location: The file and the line, if they are known.
    """

    def __init__(self, message: str, location: Location = Location()) -> None:
        self.message = message
        self.location = location
        where = str(location)
        super().__init__(OptionText(f"{where}: ", message) if where else message)


class LimitError(DataError):
    """Input that exceeds a documented limit.

    Args:
        limit: The name of the limit.
        message: The size of the input, and the limit.
        location: The file and the line, if they are known.
    """

    def __init__(self, limit: str, message: str, location: Location = Location()) -> None:
        self.limit = limit
        super().__init__(message, location)


class InputTypeError(DataError, TypeError):
    """A Python object that is neither a document nor a data set, or that contains one."""


class StorageError(FieldmarkError):
    """A result could not be written."""


class RunLockedError(FieldmarkError):
    """Another process is writing to the same run."""


class RunStopped(FieldmarkError):
    """A progress callback stopped a run; its cases are kept, and its status is `interrupted`."""


class MissingExtra(FieldmarkError):
    """A required optional dependency is not installed.

    Args:
        feature: What requires the dependency.
        extra: The extra of the package that installs it.
    """

    def __init__(self, feature: str, extra: str) -> None:
        self.extra = extra
        super().__init__(
            f'{feature} requires an optional dependency: pip install "fieldmark[{extra}]"'
        )


def with_location(error: DataError, location: Location) -> DataError:
    """Return the same error with a location."""
    if isinstance(error, LimitError):
        return LimitError(error.limit, error.message, location)
    return type(error)(error.message, location)

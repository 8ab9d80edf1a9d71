"""Match regular expressions in linear time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar, Final, Protocol

import re2  # type: ignore[import-untyped]

from fieldmark.errors import OptionError
from fieldmark.model.comparison import MATCHED, WRONG_TYPE, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Length
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import replace_surrogates

MAX_PATTERN: Final = 1_000
MAX_SUBJECT: Final = 10_000
_MEMORY: Final = 1_000_000
"""The memory limit of a compiled pattern, in bytes; it bounds the time per character."""

_NO_MATCH: Final = Comparison.differs(Reason.NO_PATTERN_MATCH)
_LONG_PATTERN: Final = Comparison.error(
    Reason.TOO_LONG, note=f"pattern is too long (limit {MAX_PATTERN:,} characters)"
)
_LONG_SUBJECT: Final = Comparison.error(
    Reason.TOO_LONG, note=f"string is too long for a pattern (limit {MAX_SUBJECT:,} characters)"
)


class _Pattern(Protocol):
    """The methods of a compiled pattern that are used here."""

    def search(self, text: str) -> object | None: ...
    def fullmatch(self, text: str) -> object | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex:
    """Match a string against a regular expression: `pattern`, or by default the expected value.

    The whole string must match, or with `search` any part of it. Backreferences and lookaround
    are not supported, so that patterns run in linear time.
    """

    name: ClassVar[str] = "regex"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.TEXT
    normalization: ClassVar[str] = "none"
    reflexive: ClassVar[bool] = False
    pattern: Annotated[str, Length(le=MAX_PATTERN)] | None = None
    search: bool = False

    def __post_init__(self) -> None:
        check_options(self)
        if self.pattern is None:
            return
        compiled = _compile(self.pattern)
        if isinstance(compiled, str):
            raise OptionError("pattern", f"invalid pattern {self.pattern!r}: {compiled}")

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match a string against the pattern.

        >>> Regex().compare("INV-[0-9]+", "INV-001").matched
        True
        """
        pattern = expected if self.pattern is None else self.pattern
        if not isinstance(pattern, str) or not isinstance(candidate, str):
            return WRONG_TYPE
        if len(pattern) > MAX_PATTERN:
            return _LONG_PATTERN
        if len(candidate) > MAX_SUBJECT:
            return _LONG_SUBJECT
        compiled = _compile(pattern)
        if isinstance(compiled, str):
            note = f"the expected value is an invalid pattern: {compiled}"
            return Comparison.error(Reason.NO_PATTERN_MATCH, note=note)
        subject = replace_surrogates(candidate)
        match = compiled.search(subject) if self.search else compiled.fullmatch(subject)
        return MATCHED if match else _NO_MATCH


@lru_cache(maxsize=512)
def _compile(pattern: str) -> _Pattern | str:
    """Return the compiled pattern, or the reason why it is invalid."""
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        compiled: _Pattern = re2.compile(replace_surrogates(pattern), options)
    except re2.error as error:
        reason = error.args[0]
        return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return compiled

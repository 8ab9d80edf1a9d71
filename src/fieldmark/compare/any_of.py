"""Match one of several acceptable values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.model.comparison import Comparator, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.presence import is_present

_NONE: Final = Comparison.differs(Reason.NONE_ACCEPTABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """Match one of the acceptable values that the expected list contains."""

    name: ClassVar[str] = "any_of"
    # A candidate that equals the whole list is not one of its members.
    reflexive: ClassVar[bool] = False
    inner: Comparator

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Return the best comparison with any of the acceptable values.

        >>> from fieldmark.compare.exact import Exact
        >>> AnyOf(inner=Exact()).compare(["USD", "$"], "$").matched
        True
        """
        if not isinstance(expected, list):
            return self.inner.compare(expected, candidate)
        acceptable = (value for value in expected if is_present(value))
        results = [self.inner.compare(value, candidate) for value in acceptable]
        # A match takes precedence, then a failure, which might have been a match.
        best = max(results, key=lambda each: (each.matched, each.failed, each.score), default=_NONE)
        if best.matched or best.failed:
            return best
        similarities = [each.similarity for each in results if each.similarity is not None]
        return _NONE._replace(
            similarity=max(similarities, default=None),
            wrong_kind=bool(results) and all(each.wrong_kind for each in results),
            coerced=any(each.coerced for each in results),
            ambiguous=any(each.ambiguous for each in results),
            approximate=any(each.approximate for each in results),
        )

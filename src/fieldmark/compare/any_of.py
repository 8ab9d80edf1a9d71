"""Several acceptable values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.model.comparison import Comparator, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.presence import is_present

__all__ = ["AnyOf"]

_NONE: Final = Comparison.differs(Reason.NONE_ACCEPTABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """The expected value is a list of acceptable values, and one of them is enough."""

    name: ClassVar[str] = "any_of"
    # A candidate that equals the whole list is not one of its members.
    reflexive: ClassVar[bool] = False
    inner: Comparator

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """The best match among the acceptable values.

        >>> from fieldmark.compare.exact import Exact
        >>> AnyOf(inner=Exact()).compare(["USD", "$"], "$").matched
        True
        """
        if not isinstance(expected, list):
            return self.inner.compare(expected, candidate)
        acceptable = (value for value in expected if is_present(value))
        answers = [self.inner.compare(value, candidate) for value in acceptable]
        # A match comes first, then a failure, since that could have been a match.
        best = max(answers, key=lambda each: (each.matched, each.failed, each.score), default=_NONE)
        if best.matched or best.failed:
            return best
        similarities = [answer.similarity for answer in answers if answer.similarity is not None]
        return _NONE._replace(
            similarity=max(similarities, default=None),
            wrong_kind=bool(answers) and all(answer.wrong_kind for answer in answers),
            coerced=any(answer.coerced for answer in answers),
            ambiguous=any(answer.ambiguous for answer in answers),
            approximate=any(answer.approximate for answer in answers),
        )

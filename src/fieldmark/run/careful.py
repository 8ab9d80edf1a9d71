"""Rules whose comparators cannot crash: what they raise becomes that field's error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from fieldmark.compare.any_of import AnyOf
from fieldmark.compare.ignore import Ignore
from fieldmark.model.comparison import BatchComparator, Comparator, Comparison, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.model.rule import Rules

__all__ = ["careful_rules", "crashed"]


def careful_rules(rules: Rules) -> Rules:
    """The same rules, with every comparator watched."""
    return replace(
        rules,
        default=None if rules.default is None else _watched(rules.default),
        fields=tuple(
            rule if rule.comparator is None else replace(rule, comparator=_watched(rule.comparator))
            for rule in rules.fields
        ),
    )


def crashed(error: Exception) -> Comparison:
    """What is recorded where something was raised."""
    return Comparison.error(Reason.CRASHED, note=f"{type(error).__name__}: {error}")


def _watched(comparator: Comparator) -> Comparator:
    if isinstance(comparator, Ignore):
        return comparator
    if isinstance(comparator, AnyOf):
        return AnyOf(inner=_watched(comparator.inner))
    if hasattr(comparator, "settle"):
        return cast(Comparator, _CarefulBatch(inner=comparator))
    return cast(Comparator, _Careful(inner=comparator))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Careful:
    """A comparator that answers with an error instead of raising."""

    inner: Comparator

    @property
    def name(self) -> str:
        """The name of the comparator that is watched."""
        return self.inner.name

    @property
    def reflexive(self) -> bool:
        """Equal values are asked about too, since that may be what crashes."""
        return False

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Compare one pair."""
        try:
            return self.inner.compare(expected, candidate)
        except Exception as error:  # noqa: BLE001 - whatever a plug-in raises is this field's error
            return crashed(error)


class _CarefulBatch(_Careful):
    """The same for a comparator that asks a provider."""

    __slots__ = ()

    def settle(self, expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
        """Decide at once if possible, else say which pair of texts to ask about."""
        try:
            return cast(BatchComparator, self.inner).settle(expected, candidate)
        except Exception as error:  # noqa: BLE001
            return crashed(error)

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Comparison]:
        """Decide a column of pairs, one by one if it cannot be done together."""
        asked = cast(BatchComparator, self.inner).ask
        try:
            return asked(pairs)
        except Exception as error:  # noqa: BLE001
            return [crashed(error)] * len(pairs)

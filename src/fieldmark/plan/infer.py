"""Infer a rule for each attribute from the values in a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from fieldmark.align.greedy import Greedy
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.plan.value_kinds import (
    Difference,
    ValueKind,
    date_formats,
    decimals,
    difference_of,
    kind_of_value,
)
from fieldmark.values.canonical import typed_key
from fieldmark.values.paths import ROOT, join
from fieldmark.values.presence import presence
from fieldmark.values.text import plural

__all__ = ["InferredRule", "RuleInferrer"]

_Settings: TypeAlias = dict[str, JsonValue]

_MAX_ATTRIBUTES: Final = 10_000
_MAX_DISTINCT: Final = 1_000
_MAX_ENUMERATION: Final = 20
_MIN_REPEATS: Final = 5
_MIN_KEYED_LISTS: Final = 5
_MIN_KEYED_ITEMS: Final = 20
_MONEY_DECIMALS: Final = 2
_NEARLY_ALL: Final = 0.95
"""If at least this share of the values is of one kind, the others are exceptions."""
_GREEDY: Final = Greedy()


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredRule:
    """A proposed rule for an attribute, with the reason for it."""

    path: str
    settings: Mapping[str, JsonValue]
    reason: str


class RuleInferrer:
    """Infers rules from cases, with bounded memory."""

    def __init__(self) -> None:
        self.cases = 0
        self._evidence: dict[str, AttributeEvidence] = {}
        self._possible_keys: dict[str, list[str]] = {}

    def add(self, expected: JsonValue, candidate: JsonValue | Missing = MISSING) -> None:
        """Add one case."""
        self.cases += 1
        if isinstance(expected, dict):
            self._add_object(expected, candidate, "")
        else:
            self._add_value(expected, candidate, "" if isinstance(expected, list) else ROOT)

    def rules(self) -> list[InferredRule]:
        """Return a rule for each attribute, in the order of the data.

        An attribute whose ground truth is always empty gets no rule, because a rule would compare
        a container in a candidate as one field.
        """
        found: list[InferredRule] = []
        for path, evidence in self._evidence.items():
            if evidence.lists:
                found += self._infer_list(path, evidence)
            elif evidence.kinds and not evidence.objects and not self._is_acceptable_value(path):
                settings, reason = _infer_comparator(evidence)
                found.append(_rule(path, settings, reason, evidence))
        return found

    def _add_value(self, expected: JsonValue, candidate: JsonValue | Missing, path: str) -> None:
        evidence = self._evidence.get(path)
        if evidence is None:
            if len(self._evidence) >= _MAX_ATTRIBUTES:
                return
            evidence = self._evidence[path] = AttributeEvidence(path)
        evidence.add(expected, candidate)
        if isinstance(expected, dict):
            self._add_object(expected, candidate, path)
        elif isinstance(expected, list):
            self._add_list(expected, candidate, f"{path}[*]")

    def _add_object(
        self, expected: dict[str, JsonValue], candidate: JsonValue | Missing, path: str
    ) -> None:
        other = candidate if isinstance(candidate, dict) else {}
        for key, value in expected.items():
            self._add_value(value, other.get(key, MISSING), join(path, key))

    def _add_list(
        self, expected: list[JsonValue], candidate: JsonValue | Missing, path: str
    ) -> None:
        others: dict[int, JsonValue] = {}
        if isinstance(candidate, list):
            # The order of the items does not matter.
            pairs = _GREEDY.align(expected, candidate).pairs
            others = {index: candidate[other] for index, other, _, _ in pairs}
        for index, item in enumerate(expected):
            self._add_value(item, others.get(index, MISSING), path)
        if isinstance(candidate, list):
            self._add_possible_keys(_objects(expected), _objects(candidate), path)

    def _add_possible_keys(
        self, expected: list[JsonObject], candidate: list[JsonObject], path: str
    ) -> None:
        """Count the fields that could be the key to align these lists by."""
        owner = self._evidence.get(path)
        if owner is None or not expected or not candidate:
            return
        owner.keyed_lists += 1
        for name in expected[0]:
            field = self._evidence.get(join(path, name))
            if field is not None and _is_unique(name, expected) and _is_unique(name, candidate):
                field.keyed_lists += 1
                field.keyed_items += len(expected)
                keys = self._possible_keys.setdefault(path, [])
                if name not in keys:
                    keys.append(name)

    def _is_acceptable_value(self, path: str) -> bool:
        owner = self._evidence.get(path.removesuffix("[*]"))
        return path.endswith("[*]") and owner is not None and owner.is_list_of_acceptable_values

    def _infer_list(self, path: str, evidence: AttributeEvidence) -> list[InferredRule]:
        items = self._evidence.get(f"{path}[*]")
        if items is not None and evidence.is_list_of_acceptable_values:
            settings, reason = _infer_comparator(items)
            why = f"lists of acceptable values, predictions have one value; {reason}"
            return [_rule(path, {**settings, "any_of": True}, why, evidence)]
        if not path:
            return []
        if items is None or not items.objects:
            why = "scalars, aligned by similarity; order does not matter"
            return [_rule(path, {"align": "greedy"}, why, evidence)]
        for name in self._possible_keys.get(f"{path}[*]", ()):
            field = self._evidence[join(f"{path}[*]", name)]
            if (
                field.keyed_lists == items.keyed_lists >= _MIN_KEYED_LISTS
                and field.keyed_items >= _MIN_KEYED_ITEMS
                and field.always_matches
                and _is_code(field)
            ):
                why = f"{name} identifies each item on both sides in all {items.keyed_lists} lists"
                return [_rule(path, {"align": "key", "key": [join("", name)]}, why, evidence)]
        why = "items aligned by similarity of all their values; order does not matter"
        return [_rule(path, {"align": "greedy"}, why, evidence)]


@dataclass(slots=True)
class AttributeEvidence:
    """Statistics of one attribute.

    `formats` are the formats of unambiguous dates, `ambiguous_formats` those of other dates.
    """

    path: str
    values: int = 0
    empty: int = 0
    lists: int = 0
    objects: int = 0
    kinds: Counter[ValueKind] = field(default_factory=Counter)
    formats: set[str] = field(default_factory=set)
    ambiguous_formats: set[tuple[str, ...]] = field(default_factory=set)
    most_decimals: int = 0
    differences: Counter[Difference] = field(default_factory=Counter)
    equal_kinds: Counter[ValueKind] = field(default_factory=Counter)
    unequal_kinds: Counter[ValueKind] = field(default_factory=Counter)
    keyed_lists: int = 0
    keyed_items: int = 0
    _distinct: set[int] = field(default_factory=set)

    def add(self, expected: JsonValue, candidate: JsonValue | Missing) -> None:
        """Add an expected value and the difference of its candidate."""
        if presence(expected) is not Presence.VALUE:
            self.empty += 1
            return
        self.values += 1
        if isinstance(expected, list):
            self.lists += 1
        elif isinstance(expected, dict):
            self.objects += 1
        else:
            kind = kind_of_value(expected)
            self.kinds[kind] += 1
            if len(self._distinct) < _MAX_DISTINCT:
                self._distinct.add(hash(typed_key(expected)))
            if isinstance(expected, float):
                self.most_decimals = max(self.most_decimals, decimals(expected))
            elif kind is ValueKind.DATE:
                self._add_date(str(expected))
        if candidate is not MISSING and presence(candidate) is Presence.VALUE:
            self._add_difference(expected, candidate)

    def _add_date(self, text: str) -> None:
        formats = date_formats(text)
        if len(formats) == 1:
            self.formats.update(formats)
        else:
            self.ambiguous_formats.add(tuple(formats))

    def _add_difference(self, expected: JsonValue, candidate: JsonValue) -> None:
        scalar = not isinstance(expected, list | dict)
        if not scalar and isinstance(candidate, list | dict):
            return
        difference = difference_of(expected, candidate)
        self.differences[difference] += 1
        if difference is Difference.DATE_FORMAT:
            self._add_date(str(candidate))
        if not scalar or isinstance(candidate, list | dict):
            return
        if difference is Difference.NONE:
            self.equal_kinds[kind_of_value(expected)] += 1
        else:
            self.unequal_kinds[kind_of_value(candidate)] += 1

    def gains_by_reading(self, *readable: ValueKind) -> bool:
        """Whether parsing values of these kinds adds at least as many matches as it removes.

        A comparator that parses values rejects what it cannot parse, even if both sides are equal.
        """
        removed = self.equal_kinds.total() - sum(self.equal_kinds[kind] for kind in readable)
        added = (
            self.differences[Difference.NUMBER_FORMAT] + self.differences[Difference.DATE_FORMAT]
        )
        return removed <= added

    def candidates_look_like(self, *readable: ValueKind) -> bool:
        """Whether at least half of the unequal candidates have these kinds."""
        other = sum(self.unequal_kinds[kind] for kind in readable)
        return other * 2 >= self.unequal_kinds.total()

    def share(self, *kinds: ValueKind) -> float:
        """Return the share of scalars that have these kinds."""
        total = self.kinds.total()
        return sum(self.kinds[kind] for kind in kinds) / total if total else 0.0

    @property
    def distinct(self) -> int:
        """The number of distinct scalars, counted up to a limit."""
        return len(self._distinct)

    @property
    def is_enumeration(self) -> bool:
        """Whether there are few distinct values, which are repeated often."""
        return 0 < self.distinct <= min(_MAX_ENUMERATION, self.kinds.total() // _MIN_REPEATS)

    @property
    def always_matches(self) -> bool:
        """Whether there are candidates and all of them equal the ground truth."""
        return 0 < self.differences.total() == self.differences[Difference.NONE]

    @property
    def is_list_of_acceptable_values(self) -> bool:
        """Whether the ground truth lists acceptable values and candidates have one value."""
        seen = self.differences[Difference.LISTED] + self.differences[Difference.OTHER]
        return self.lists > 0 and seen * 2 > self.lists and self.differences[Difference.LISTED] > 0


def _objects(items: list[JsonValue]) -> list[JsonObject]:
    return [item for item in items if isinstance(item, dict)]


def _is_unique(name: str, items: list[JsonObject]) -> bool:
    """Whether all items have a value for this name, without duplicates."""
    values = [item.get(name) for item in items]
    present = all(presence(value) is Presence.VALUE for value in values)
    return present and len({typed_key(value) for value in values}) == len(values)


def _rule(path: str, settings: _Settings, reason: str, evidence: AttributeEvidence) -> InferredRule:
    """Return a rule whose reason includes the counts."""
    counts = [plural(evidence.values, "value")]
    if evidence.empty:
        counts.append(f"{evidence.empty:,} empty")
    counts += [
        f"{difference}: {evidence.differences[difference]:,}"
        for difference in Difference
        if difference is not Difference.NONE and evidence.differences[difference]
    ]
    return InferredRule(path=path, settings=settings, reason=f"{reason} ({', '.join(counts)})")


class _ComparatorRule(NamedTuple):
    """The settings for attributes that meet a condition; the first one that fits applies."""

    fits: Callable[[AttributeEvidence], bool]
    settings: Callable[[AttributeEvidence], _Settings]
    reason: str


def _infer_comparator(evidence: AttributeEvidence) -> tuple[_Settings, str]:
    """Return the comparator settings for an attribute, and the reason for them."""
    choice = next((choice for choice in _COMPARATOR_RULES if choice.fits(evidence)), _FALLBACK)
    return choice.settings(evidence), choice.reason


def _nearly_all(*kinds: ValueKind) -> Callable[[AttributeEvidence], bool]:
    return lambda evidence: evidence.share(*kinds) >= _NEARLY_ALL


def _are_numbers(evidence: AttributeEvidence) -> bool:
    readable = (*_NUMBERS, ValueKind.NUMBER_TEXT, ValueKind.DIGITS)
    return _nearly_all(*_NUMBERS)(evidence) and evidence.gains_by_reading(*readable)


def _readable_as(*kinds: ValueKind) -> Callable[[AttributeEvidence], bool]:
    """Nearly all values have these kinds, and parsing them adds matches."""
    return lambda evidence: (
        _nearly_all(*kinds)(evidence)
        and evidence.gains_by_reading(*kinds, *_NUMBERS)
        and evidence.candidates_look_like(*kinds, *_NUMBERS)
    )


def _settings(**settings: JsonValue) -> Callable[[AttributeEvidence], _Settings]:
    return lambda _: settings


def _date_settings(evidence: AttributeEvidence) -> _Settings:
    """Include the formats only if the day comes first."""
    seen = set(evidence.formats)
    day_first = any(name.startswith(("DD/MM/", "DD-MM-", "DD.MM.")) for name in seen)
    day_first = day_first and not any(name.startswith("MM") for name in seen)
    for formats in evidence.ambiguous_formats:
        seen.update(name for name in formats if not day_first or name.startswith("DD"))
    if not (day_first and evidence.ambiguous_formats):
        return {"match": "date"}
    return {"match": "date", "formats": ["ISO", *sorted(seen - {"ISO"})]}


def _is_code(evidence: AttributeEvidence) -> bool:
    """Whether the values are codes; short codes may look like numbers."""
    return (
        _nearly_all(*_CODES)(evidence) and evidence.share(ValueKind.CODE, ValueKind.DIGITS) * 2 > 1
    )


_NUMBERS: Final = (ValueKind.WHOLE_NUMBER, ValueKind.DECIMAL_NUMBER)
_CODES: Final = (ValueKind.CODE, ValueKind.DIGITS, ValueKind.NUMBER_TEXT)
_PLAIN_NUMBERS: Final = (ValueKind.NUMBER_TEXT, ValueKind.DIGITS)
_US_AMOUNTS: Final = (ValueKind.AMOUNT_US, *_PLAIN_NUMBERS)
_EU_AMOUNTS: Final = (ValueKind.AMOUNT_EU, *_PLAIN_NUMBERS)
_OF_DIGITS: Final = (ValueKind.DATE, ValueKind.AMOUNT_US, ValueKind.AMOUNT_EU, *_CODES)
_TEXTS: Final = frozenset(ValueKind) - {ValueKind.BOOLEAN, *_NUMBERS}

_COMPARATOR_RULES: Final = (
    _ComparatorRule(_nearly_all(ValueKind.BOOLEAN), _settings(match="boolean"), "booleans"),
    _ComparatorRule(
        _nearly_all(ValueKind.YES_OR_NO), _settings(match="boolean"), "strings that mean yes or no"
    ),
    _ComparatorRule(
        lambda evidence: (
            _are_numbers(evidence) and evidence.share(ValueKind.WHOLE_NUMBER) >= _NEARLY_ALL
        ),
        _settings(match="numeric_tolerance", tolerance=0),
        "integers, compared exactly",
    ),
    _ComparatorRule(
        lambda evidence: _are_numbers(evidence) and evidence.most_decimals <= _MONEY_DECIMALS,
        _settings(match="numeric_tolerance", tolerance=0.01),
        "numbers with at most two decimals, with a tolerance of 0.01",
    ),
    _ComparatorRule(
        _are_numbers,
        _settings(match="numeric_tolerance", tolerance=0.000001, relative=True),
        "numbers with many decimals, with a relative tolerance of one millionth",
    ),
    _ComparatorRule(
        _readable_as(ValueKind.DATE),
        _date_settings,
        "dates, compared by day in any format",
    ),
    _ComparatorRule(
        _nearly_all(ValueKind.DATE),
        _settings(match="exact"),
        "dates, but most predictions that differ cannot be parsed as dates",
    ),
    _ComparatorRule(
        _nearly_all(ValueKind.EMAIL),
        _settings(match="normalized_text"),
        "e-mail addresses, ignoring case",
    ),
    _ComparatorRule(
        _nearly_all(ValueKind.WEB_ADDRESS),
        _settings(match="exact"),
        "web addresses, compared exactly",
    ),
    _ComparatorRule(
        lambda evidence: (
            _is_code(evidence)
            and evidence.differences[Difference.CASE] + evidence.differences[Difference.WHITESPACE]
            > 0
        ),
        _settings(match="normalized_text"),
        "codes, ignoring case and whitespace, which differ in predictions",
    ),
    _ComparatorRule(_is_code, _settings(match="exact"), "codes, compared exactly"),
    _ComparatorRule(
        _readable_as(*_PLAIN_NUMBERS),
        _settings(match="numeric_tolerance", tolerance=0),
        "numbers in strings, compared by value",
    ),
    _ComparatorRule(
        _readable_as(*_US_AMOUNTS),
        _settings(match="numeric_tolerance", tolerance=0.01, number_format="us"),
        "amounts such as 1,240.00, compared by value",
    ),
    _ComparatorRule(
        _readable_as(*_EU_AMOUNTS),
        _settings(match="numeric_tolerance", tolerance=0.01, number_format="eu"),
        "amounts such as 1.240,00, compared by value",
    ),
    _ComparatorRule(
        lambda evidence: evidence.share(*_OF_DIGITS) * 2 > 1,
        _settings(match="exact"),
        "mostly digits in several formats, compared exactly",
    ),
    _ComparatorRule(
        lambda evidence: evidence.is_enumeration and not evidence.share(ValueKind.LONG_TEXT),
        _settings(match="normalized_text"),
        "few distinct strings, ignoring case and whitespace",
    ),
    _ComparatorRule(
        lambda evidence: evidence.share(ValueKind.LONG_TEXT) * 2 > 1,
        _settings(match="semantic", threshold=0.8),
        "long text, compared by meaning",
    ),
    _ComparatorRule(
        _nearly_all(*_TEXTS),
        _settings(match="fuzzy", threshold=0.85),
        "short text, with small spelling differences allowed",
    ),
)

_FALLBACK: Final = _ComparatorRule(
    lambda _: True, _settings(match="exact"), "values of several types, compared exactly"
)

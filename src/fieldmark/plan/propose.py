"""Proposes a rule for each attribute from what a data set shows, and says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.plan.evidence import Evidence
from fieldmark.plan.looks import Difference, Look
from fieldmark.values.canonical import typed_key
from fieldmark.values.paths import ROOT, join

__all__ = ["Proposal", "Proposer"]

Settings = dict[str, JsonValue]

_MOST_ATTRIBUTES: Final = 10_000
_NEARLY_ALL: Final = 0.95
_MONEY: Final = 2
_TELLING: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A rule for one attribute as a rules file writes it, and the reason for it."""

    path: str
    settings: Mapping[str, JsonValue]
    reason: str


class Proposer:
    """Looks at cases one after the other and remembers only counts."""

    def __init__(self) -> None:
        self.cases = 0
        self._seen: dict[str, Evidence] = {}
        self._members: dict[str, list[str]] = {}

    def add(self, expected: JsonValue, candidate: JsonValue | Missing = MISSING) -> None:
        """Take one case into account."""
        self.cases += 1
        if isinstance(expected, dict):
            self._object(expected, candidate, "")
        else:
            self._walk(expected, candidate, "" if isinstance(expected, list) else ROOT)

    def proposals(self) -> list[Proposal]:
        """A proposal for each attribute, in the order in which the data shows them."""
        found: list[Proposal] = []
        for path, evidence in self._seen.items():
            if evidence.lists:
                found += self._for_list(path, evidence)
            elif evidence.objects == 0 and not self._is_answer(path):
                settings, reason = _for_values(evidence)
                found.append(_proposal(path, settings, reason, evidence))
        return found

    def _walk(self, expected: JsonValue, candidate: JsonValue | Missing, path: str) -> None:
        evidence = self._evidence(path)
        if evidence is None:
            return
        evidence.see(expected, candidate)
        if isinstance(expected, dict):
            self._object(expected, candidate, path)
        elif isinstance(expected, list):
            self._list(expected, candidate, f"{path}[*]")

    def _object(
        self, expected: dict[str, JsonValue], candidate: JsonValue | Missing, path: str
    ) -> None:
        other = candidate if isinstance(candidate, dict) else {}
        for key, value in expected.items():
            self._walk(value, other.get(key, MISSING), join(path, key))

    def _list(self, expected: list[JsonValue], candidate: JsonValue | Missing, path: str) -> None:
        # Without an alignment, places tell which items belong together only if none is missing.
        paired = isinstance(candidate, list) and len(candidate) == len(expected)
        others = candidate if paired and isinstance(candidate, list) else [MISSING] * len(expected)
        for item, other in zip(expected, others, strict=True):
            self._walk(item, other, path)
        self._see_what_tells_apart(expected, path)

    def _see_what_tells_apart(self, items: list[JsonValue], path: str) -> None:
        objects = [item for item in items if isinstance(item, dict)]
        if len(objects) <= 1:
            return
        members = self._members.setdefault(path, [])
        for key in dict.fromkeys(key for item in objects for key in item):
            member = self._seen.get(join(path, key))
            if member is None:
                continue
            if member.path not in members:
                members.append(member.path)
            values = [item.get(key) for item in objects]
            member.item_lists += 1
            distinct = {typed_key(value) for value in values if value is not None}
            member.telling_lists += len(distinct) == len(objects)

    def _evidence(self, path: str) -> Evidence | None:
        evidence = self._seen.get(path)
        if evidence is None and len(self._seen) < _MOST_ATTRIBUTES:
            evidence = self._seen[path] = Evidence(path)
        return evidence

    def _is_answer(self, path: str) -> bool:
        owner = self._seen.get(path.removesuffix("[*]"))
        return path.endswith("[*]") and owner is not None and owner.is_list_of_answers

    def _for_list(self, path: str, evidence: Evidence) -> list[Proposal]:
        items = self._seen.get(f"{path}[*]")
        if items is not None and evidence.is_list_of_answers:
            settings, reason = _for_values(items)
            why = f"candidates give one value where the truth lists acceptable ones; {reason}"
            return [_proposal(path, {**settings, "any_of": True}, why, evidence)]
        if not path:
            return []
        if items is None or not items.objects:
            why = "a list of plain values, whose order seldom matters"
            return [_proposal(path, {"align": "set"}, why, evidence)]
        telling = self._most_telling(f"{path}[*]")
        if telling is None:
            why = "items are paired by all their values: no single one tells them apart"
            return [_proposal(path, {"align": "greedy"}, why, evidence)]
        settings = {"align": "greedy", "match_fields": [telling.name], "threshold": 0.8}
        why = f"items are paired by {telling.name}, which differs throughout {telling.share} lists"
        return [_proposal(path, settings, why, evidence)]

    def _most_telling(self, path: str) -> _Telling | None:
        best: Evidence | None = None
        for name in self._members.get(path, ()):
            member = self._seen[name]
            if member.share(Look.TEXT, Look.LONG_TEXT, *_CODES) < _NEARLY_ALL:
                continue
            if best is None or member.tells_items_apart > best.tells_items_apart:
                best = member
        if best is None or best.tells_items_apart < _TELLING:
            return None
        name = best.path.removeprefix(path).removeprefix(".")
        return _Telling(name, f"{best.telling_lists} of {best.item_lists}")


class _Telling(NamedTuple):
    name: str
    share: str


class _Choice(NamedTuple):
    """When this holds for an attribute, these settings are proposed for that reason."""

    fits: Callable[[Evidence], bool]
    settings: Callable[[Evidence], Settings]
    reason: str


def _mostly(*looks: Look) -> Callable[[Evidence], bool]:
    return lambda evidence: evidence.share(*looks) >= _NEARLY_ALL


def _always(**settings: JsonValue) -> Callable[[Evidence], Settings]:
    return lambda _: settings


def _differ(*differences: Difference) -> Callable[[Evidence], bool]:
    return lambda evidence: any(evidence.differences[difference] for difference in differences)


def _date(evidence: Evidence) -> Settings:
    """Formats are named only where the usual reading, month first, would be wrong."""
    seen = {name for name in evidence.formats if name.startswith(("DD/MM", "DD-MM-"))}
    month_first = any(name.startswith("MM") for name in evidence.formats)
    if not seen or month_first or not evidence.ambiguous_dates:
        return {"match": "date"}
    return {"match": "date", "formats": ["ISO", *sorted(seen)]}


_TEXTS: Final = frozenset(Look) - {Look.BOOLEAN, Look.WHOLE_NUMBER, Look.DECIMAL_NUMBER}
_CODES: Final = (Look.CODE, Look.DIGITS, Look.NUMBER_TEXT)


def _codes(evidence: Evidence) -> bool:
    """Codes, among which a short one may look like a number."""
    return _mostly(*_CODES)(evidence) and evidence.share(Look.CODE, Look.DIGITS) * 2 > 1


_CHOICES: Final = (
    _Choice(
        lambda evidence: evidence.values == 0,
        _always(match="exact"),
        "always empty in the truth, so only what must not be there can be wrong",
    ),
    _Choice(_mostly(Look.BOOLEAN), _always(match="boolean"), "true or false"),
    _Choice(_mostly(Look.YES_OR_NO), _always(match="boolean"), "yes or no as text"),
    _Choice(
        _mostly(Look.WHOLE_NUMBER),
        _always(match="numeric_tolerance", tolerance=0),
        "whole numbers, so nothing but the same number will do",
    ),
    _Choice(
        lambda evidence: (
            _mostly(Look.WHOLE_NUMBER, Look.DECIMAL_NUMBER)(evidence)
            and evidence.most_decimals <= _MONEY
        ),
        _always(match="numeric_tolerance", tolerance=0.01),
        "numbers with at most two decimals, so a cent of rounding is allowed",
    ),
    _Choice(
        _mostly(Look.WHOLE_NUMBER, Look.DECIMAL_NUMBER),
        _always(match="numeric_tolerance", tolerance=0.000001, relative=True),
        "numbers with many decimals, so a millionth of the value is allowed",
    ),
    _Choice(_mostly(Look.DATE), _date, "dates, compared by the day whatever their form"),
    _Choice(_mostly(Look.EMAIL), _always(match="normalized_text"), "e-mail addresses, in any case"),
    _Choice(_mostly(Look.WEB_ADDRESS), _always(match="exact"), "web addresses, as they are"),
    _Choice(
        lambda evidence: _codes(evidence) and _differ(Difference.CASE, Difference.BLANKS)(evidence),
        _always(match="normalized_text"),
        "codes, which candidates write in another case or with other blanks",
    ),
    _Choice(_codes, _always(match="exact"), "codes, in which every character counts"),
    _Choice(
        _mostly(Look.NUMBER_TEXT, Look.DIGITS),
        _always(match="numeric_tolerance", tolerance=0),
        "numbers as text, compared by value",
    ),
    _Choice(
        _mostly(Look.AMOUNT_US, Look.NUMBER_TEXT, Look.DIGITS),
        _always(match="numeric_tolerance", tolerance=0.01, number_format="us"),
        "amounts like 1,240.00, compared by value",
    ),
    _Choice(
        _mostly(Look.AMOUNT_EU, Look.NUMBER_TEXT, Look.DIGITS),
        _always(match="numeric_tolerance", tolerance=0.01, number_format="eu"),
        "amounts like 1.240,00, compared by value",
    ),
    _Choice(
        lambda evidence: evidence.is_enumeration and not evidence.share(Look.LONG_TEXT),
        _always(match="normalized_text"),
        "a few words that come again and again, in any case",
    ),
    _Choice(
        lambda evidence: evidence.share(Look.LONG_TEXT) * 2 > 1,
        _always(match="semantic", threshold=0.8),
        "long text, compared by its words rather than letter by letter",
    ),
    _Choice(
        _mostly(*_TEXTS),
        _always(match="fuzzy", threshold=0.85),
        "short text, in which a slip of a letter is forgiven",
    ),
)
"""The first that fits holds."""

_OTHERWISE: Final = _Choice(
    lambda _: True, _always(match="exact"), "values of several kinds, so they must be the same"
)


def _for_values(evidence: Evidence) -> tuple[Settings, str]:
    choice = next((choice for choice in _CHOICES if choice.fits(evidence)), _OTHERWISE)
    return choice.settings(evidence), choice.reason


def _proposal(path: str, settings: Settings, reason: str, evidence: Evidence) -> Proposal:
    """The proposal with the numbers that it rests on."""
    facts = [f"{evidence.values} {'value' if evidence.values == 1 else 'values'}"]
    if evidence.empty:
        facts.append(f"{evidence.empty} empty")
    facts += [
        f"{difference}: {evidence.differences[difference]}"
        for difference in Difference
        if difference is not Difference.NONE and evidence.differences[difference]
    ]
    return Proposal(path=path, settings=settings, reason=f"{reason} ({', '.join(facts)})")

"""Infer a rule for each attribute from the values in a data set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from fieldmark.align.sequence import Auto, is_series
from fieldmark.analyses.infer.sample import (
    Cost,
    SampleDocuments,
    SamplePairs,
    Trial,
    is_at_or_below,
)
from fieldmark.analyses.value_kinds import (
    LOCALES,
    Difference,
    Reader,
    ValueKind,
    decimals,
    difference_of,
    key_words,
    kind_of_value,
    nearest_value,
    phone_is_available,
    readers_of,
)
from fieldmark.compare.identifier import read_identifier
from fieldmark.metrics.rates import f1, sortable
from fieldmark.model.alignment import Alignment
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.model.rule import Rules
from fieldmark.plan.plan import compile_plan
from fieldmark.values.dates import read_day
from fieldmark.values.equality import equal, typed_key
from fieldmark.values.geometry import BoxFormat, box_formats
from fieldmark.values.numbers import read_amount
from fieldmark.values.paths import ROOT, join, parse_path
from fieldmark.values.presence import presence
from fieldmark.values.text import exact_text, folded, normalized, plural, shorten

Settings: TypeAlias = dict[str, JsonValue]
Proposal: TypeAlias = tuple[Settings, str]
"""The settings of a rule, and the reason for them."""

PAIRED_THRESHOLD: Final = 0.5
"""The threshold of lists with match fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredRule:
    """A proposed rule for an attribute, with the reason for it."""

    path: str
    settings: Mapping[str, JsonValue]
    reason: str


def is_named(path: str, words: frozenset[str]) -> bool:
    """Whether the name of an attribute ends with one of these words, also in the plural.

    >>> is_named("lines[*].unitPrices", frozenset({"price"}))
    True
    """
    words_of_key = key_words(path)
    return bool(words_of_key) and (
        words_of_key[-1] in words or words_of_key[-1].removesuffix("s") in words
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DATE_WORDS: Final = _words("date")
CURRENCY_WORDS: Final = _words("currency currencies ccy")
_BOX_WORDS: Final = _words("bbox box boxes bboxes bounding rect rectangle")
PHONE_WORDS: Final = _words("phone telephone tel mobile cell fax")
IDENTIFIER_WORDS: Final = _words(
    "number no nr id code sku upc ean gtin mpn isbn iban ssn ein tin mrn npi vin imei ref "
    "reference serial zip four"
)
ADDRESS_WORDS: Final = _words("address addr street")
NAME_WORDS: Final = _words(
    "name vendor supplier merchant company customer buyer seller author organization committee "
    "borrower lender employer employee insured agent"
)
AMOUNT_WORDS: Final = _words(
    "amount total subtotal price cost sum fee tax balance due paid net gross"
)

EMPTY_WORDS: Final = frozenset(
    [
        "none",
        "null",
        "nil",
        "n/a",
        "na",
        "n.a.",
        "-",
        "--",
        "\u2013",
        "\u2014",
        "not available",
        "not applicable",
    ]
)
"""What predictions write where a document has no value, folded."""

BOOLEANS: Final[Proposal] = {"match": "boolean"}, "booleans"
INTEGERS: Final[Proposal] = (
    {"match": "numeric_tolerance", "tolerance": 0},
    "integers, compared exactly",
)
EMAILS: Final[Proposal] = {"match": "email"}, "e-mail addresses, ignoring case"
WEB_ADDRESSES: Final[Proposal] = {"match": "url"}, "web addresses, compared after normalization"
CODES: Final[Proposal] = {"match": "exact"}, "codes, compared exactly"
IDENTIFIERS: Final[Proposal] = (
    {"match": "identifier"},
    "identifiers, ignoring case and separators; all digits count",
)
ADDRESSES: Final[Proposal] = (
    {"match": "address"},
    "addresses, words in any order; numbers must be the same",
)
CURRENCIES: Final[Proposal] = (
    {"match": "currency"},
    "currencies; a symbol such as $ matches any of its currencies",
)
TIMES: Final[Proposal] = {"match": "time"}, "times of day"
NAMES: Final[Proposal] = (
    {"match": "name"},
    "names, words in any order; legal forms and initials may differ",
)
SHORT_TEXT: Final[Proposal] = (
    {"match": "fuzzy", "threshold": 0.85, "numbers": "exact"},
    "short text, with small spelling differences; numbers must be the same",
)


def phone_proposal(numbers: str) -> Proposal:
    """Return the proposal for telephone numbers, which are described by `numbers`."""
    if not phone_is_available():
        why = 'match: phone requires pip install "fieldmark[phone]"'
        return {"match": "identifier"}, f"{numbers}, compared by digits; {why}"
    note = "one without a country code matches any country; set region to prevent that"
    return {"match": "phone"}, f"{numbers}; {note}"


_MAX_LISTS: Final = 500
_MAX_PAIRS: Final = 250_000
"""The number of possible pairs, which determines the time that an alignment takes."""


@dataclass(slots=True)
class SampleLists:
    """The first lists of one attribute whose paired items differ.

    Equal items are paired under any rules, so the other lists need not be tried. `pairs` is the
    number of pairs without rules.
    """

    pairs: int = 0
    _lists: list[tuple[list[JsonValue], list[JsonValue]]] = field(default_factory=list)
    _possible_pairs: int = 0

    def add(
        self, expected: list[JsonValue], candidate: list[JsonValue], alignment: Alignment
    ) -> None:
        """Add two lists and their alignment without rules."""
        possible = self._possible_pairs + len(expected) * len(candidate)
        if len(self._lists) >= _MAX_LISTS or possible > _MAX_PAIRS:
            return
        if not all(equal(expected[index], candidate[other]) for index, other, _ in alignment.pairs):
            self.pairs += len(alignment.pairs)
            self._lists.append((expected, candidate))
            self._possible_pairs = possible

    def pairs_under(self, rules: Rules, path: str) -> int:
        """Return the number of pairs under rules, for lists that are at this path."""
        plan = compile_plan(rules)
        segments: Sequence[object] = parse_path(path).segments if path else ()
        node = plan.root_of({} if segments and isinstance(segments[0], str) else [])
        for segment in segments:
            node = node.child(segment) if isinstance(segment, str) else node.entry_node
        return sum(len(node.align(*lists).pairs) for lists in self._lists)


_MAX_ATTRIBUTES: Final = 10_000
_MAX_DISTINCT: Final = 1_000
_MAX_ENUMERATION: Final = 20
_MIN_REPEATS: Final = 5
_MIN_KEYED_LISTS: Final = 5
_MIN_KEYED_ITEMS: Final = 20
_MIN_ALTERNATIVES: Final = 2
_MAX_MATCH_FIELDS: Final = 2
_MONEY_DECIMALS: Final = 2
_MAX_EXAMPLES: Final = 3
_MAX_SHOWN: Final = 40
_MAX_NAME_WORDS: Final = 10
_MIN_ADDRESS_WORDS: Final = 3
_FIRST_YEAR: Final = 1970
_CENTURY: Final = 100
_NEARLY_ALL: Final = 0.95
"""If at least this share of the values is of one kind, all other values are exceptions."""
_MOSTLY: Final = 0.8
"""The least share of values of the kind that the name of an attribute suggests."""
_LOWER_THRESHOLDS: Final = (0.4, 0.3, 0.2, 0.1)
"""Tried for lists whose items are not similar enough under the rules for their fields."""
_IN_FORM: Final = (
    Difference.CASE, Difference.WHITESPACE, Difference.DASH, Difference.FORM, Difference.SPACING,
)  # fmt: skip
_ALIGNER: Final = Auto()


class RuleInferrer:
    """Infers rules from cases, with bounded memory.

    `read_rules` reads proposed rules, so that they can be tried on values, lists and documents of
    the data.
    """

    def __init__(self, read_rules: Callable[[Sequence[InferredRule]], Rules]) -> None:
        self.cases = 0
        self._read_rules = read_rules
        self._evidence: dict[str, AttributeEvidence] = {}
        self._possible_keys: dict[str, list[str]] = {}
        self._comparators: dict[str, Comparator] = {}
        self._documents = SampleDocuments()
        self._values = 0
        self._empty_words: Counter[str] = Counter()
        self._words_of_truth: set[str] = set()

    def add(self, expected: JsonValue, candidate: JsonValue | Missing = MISSING) -> None:
        """Add one case."""
        self.cases += 1
        values = self._values
        if isinstance(expected, dict):
            self._add_object(expected, candidate, "")
        else:
            self._add_value(expected, candidate, "" if isinstance(expected, list) else ROOT)
        if candidate is not MISSING:
            self._documents.add(expected, candidate, self._values - values)

    def rules(self) -> list[InferredRule]:
        """Return a rule for each attribute, in the order of the data.

        An attribute whose ground truth is always empty gets no rule, because a rule would compare
        a container in a candidate as one field. No rule makes the sample score worse.
        """
        rules: dict[str, InferredRule | None] = {}
        for path, evidence in self._evidence.items():
            if evidence.lists:
                rules[path] = self._infer_acceptable_values(path, evidence) or _box_rule(evidence)
            elif evidence.kinds and not evidence.objects and not self._is_part_of_a_value(path):
                (settings, reason), trial = self._choose(evidence)
                rules[path] = _rule(path, settings, reason, evidence, trial)
        # Which items are similar depends on the rules for their fields.
        fields = [rule for rule in rules.values() if rule is not None]
        for path in [path for path, rule in rules.items() if rule is None]:
            rules[path] = self._infer_alignment(path, fields)
        proposed = [rule for rule in rules.values() if rule is not None]
        return self._without_losses(self._with_maps(proposed))

    def empty_tokens(self, rules: Sequence[InferredRule]) -> Mapping[str, int]:
        """Return the words that predictions write for empty values, with their numbers.

        No ground truth has such a word as a value.
        """
        words = {
            word: number
            for word, number in self._empty_words.most_common()
            if word not in self._words_of_truth
        }
        read = self._read_rules(rules)
        with_tokens = replace(read, empty_tokens=frozenset(words))
        if words and self._documents.cost(with_tokens).is_worse_than(self._documents.cost(read)):
            return {}
        return words

    def _choose(self, evidence: AttributeEvidence) -> tuple[Proposal, Trial]:
        """Return the first proposal that matches all equal pairs, and most that mean the same."""
        first, *others = _alternatives(evidence)
        best, trial = first, evidence.pairs.try_rule(self._comparator(first[0]))
        refused = trial
        for choice in others if trial.broken or trial.rejected else ():
            tried = evidence.pairs.try_rule(self._comparator(choice[0]))
            if not tried.broken and (trial.broken or tried.accepted > trial.accepted):
                best, trial = choice, tried
        if refused.broken:
            best = best[0], best[1] + _refused(first[0], refused.broken)
        return best, trial

    def _comparator(self, settings: Mapping[str, JsonValue]) -> Comparator:
        text = exact_text({**settings})
        if text not in self._comparators:
            rule = InferredRule(path="x", settings=settings, reason="")
            comparator = self._read_rules([rule]).fields[0].comparator
            assert comparator is not None  # noqa: S101 - every proposal for scalars has one
            self._comparators[text] = comparator
        return self._comparators[text]

    def _with_maps(self, rules: list[InferredRule]) -> list[InferredRule]:
        """Return the rules with `align: entries` for objects that are maps, if that is better.

        Their values are read as the items of lists, and the rules for these lists are adapted.
        """
        maps = [path for path, evidence in self._evidence.items() if evidence.is_map]
        maps = [path for path in maps if not any(_is_inside(path, other) for other in maps)]
        if not maps:
            return rules
        inferrer = RuleInferrer(self._read_rules)
        for expected, candidate in self._documents:
            for path in maps:
                segments = parse_path(path).segments
                expected = _with_lists(expected, segments)  # noqa: PLW2901
                if candidate is not MISSING:
                    candidate = _with_lists(candidate, segments)  # noqa: PLW2901
            inferrer.add(expected, candidate)
        others = [rule for rule in rules if not any(_is_inside(rule.path, path) for path in maps)]
        of_maps = [
            _entries_rule(rule) if rule.path in maps else rule
            for rule in inferrer.rules()
            if rule.path in maps or any(_is_inside(rule.path, path) for path in maps)
        ]
        with_maps = [*others, *of_maps]
        costs = (self._documents.cost(self._read_rules(own)) for own in (with_maps, rules))
        return with_maps if next(costs).mistakes < next(costs).mistakes else rules

    def _without_losses(self, rules: list[InferredRule]) -> list[InferredRule]:
        """Return the rules without those that make the sample score worse.

        A rule also has to go if others make up for it; below several of them, the innermost first.
        """
        before = self._documents.cost(self._read_rules([]))
        while rules:
            cost = self._documents.cost(self._read_rules(rules))
            losses = {rule.path: _loss(before, cost, rule.path) for rule in rules}
            worst = max(losses, key=lambda path: (losses[path], len(path)))
            if losses[worst] <= _NO_LOSS and not cost.is_worse_than(before):
                break
            rules = [rule for rule in rules if not is_at_or_below(rule.path, worst)]
        return rules

    def _add_value(self, expected: JsonValue, candidate: JsonValue | Missing, path: str) -> None:
        evidence = self._evidence.get(path)
        if evidence is None:
            if len(self._evidence) >= _MAX_ATTRIBUTES:
                return
            evidence = self._evidence[path] = AttributeEvidence(path)
        evidence.add(expected, candidate)
        self._values += 1
        if isinstance(expected, dict):
            evidence.add_keys(expected, candidate)
            self._add_object(expected, candidate, path)
        elif isinstance(expected, list):
            self._add_list(expected, candidate, f"{path}[*]")
        elif presence(expected) is not Presence.VALUE:
            self._add_empty_word(candidate)
        elif isinstance(expected, str) and folded(expected) in EMPTY_WORDS:
            self._words_of_truth.add(folded(expected))

    def _add_empty_word(self, candidate: JsonValue | Missing) -> None:
        """Count a word for an empty value, where the ground truth is empty."""
        if isinstance(candidate, str) and folded(candidate) in EMPTY_WORDS:
            self._empty_words[folded(candidate)] += 1

    def _add_object(
        self, expected: dict[str, JsonValue], candidate: JsonValue | Missing, path: str
    ) -> None:
        counterpart = candidate if isinstance(candidate, dict) else {}
        for key, value in expected.items():
            self._add_value(value, counterpart.get(key, MISSING), join(path, key))
        for key, value in counterpart.items():
            if key not in expected:
                self._add_empty_word(value)

    def _add_list(
        self, expected: list[JsonValue], candidate: JsonValue | Missing, path: str
    ) -> None:
        others: dict[int, JsonValue] = {}
        if not isinstance(candidate, list | dict | None) and candidate is not MISSING and expected:
            # One of the acceptable values, which the candidate is compared with.
            others = {nearest_value(expected, candidate)[0]: candidate}
        elif isinstance(candidate, list):
            alignment = _ALIGNER.align(expected, candidate)
            others = {index: candidate[counterpart] for index, counterpart, _ in alignment.pairs}
            owner = self._evidence.get(path.removesuffix("[*]"))
            if owner is not None:
                owner.sample.add(expected, candidate, alignment)
                owner.add_order(expected, candidate)
        for index, item in enumerate(expected):
            self._add_value(item, others.get(index, MISSING), path)
        if len(expected) > 1:
            self._add_distinct_fields(_objects(expected), path)
        if isinstance(candidate, list):
            self._add_possible_keys(_objects(expected), _objects(candidate), path)

    def _add_distinct_fields(self, items: list[JsonObject], path: str) -> None:
        """Count in how many items each field has a value, and how many values are distinct."""
        owner = self._evidence.get(path)
        if owner is None or not items:
            return
        owner.items_in_lists += len(items)
        names = dict.fromkeys(name for item in items for name in item)
        for name in names:
            field = self._evidence.get(join(path, name))
            if field is not None:
                values = [item[name] for item in items if name in item]
                present = [value for value in values if presence(value) is Presence.VALUE]
                field.items_in_lists += len(present)
                field.distinct_in_lists += len({typed_key(value) for value in present})
                owner.item_fields.setdefault(name)

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

    def _is_part_of_a_value(self, path: str) -> bool:
        """Whether a path stands for acceptable values, or for coordinates of a box."""
        owner = self._evidence.get(path.removesuffix("[*]"))
        if not path.endswith("[*]") or owner is None:
            return False
        return self._has_alternatives(owner) or _box_format(owner) is not None

    def _has_alternatives(self, evidence: AttributeEvidence) -> bool:
        """Whether lists contain acceptable values, by candidates of these or other lists."""
        if evidence.is_list_of_acceptable_values:
            return True
        items = self._evidence.get(f"{evidence.path}[*]")
        if not evidence.lists or evidence.candidates or items is None or not items.kinds:
            return False
        seen = [lists for lists in self._evidence.values() if lists.lists and lists.candidates]
        return len(seen) >= _MIN_ALTERNATIVES and all(
            lists.is_list_of_acceptable_values for lists in seen
        )

    def _infer_acceptable_values(
        self, path: str, evidence: AttributeEvidence
    ) -> InferredRule | None:
        """Return a rule for lists of acceptable values, or `None` for other lists."""
        items = self._evidence.get(f"{path}[*]")
        if items is None or not self._has_alternatives(evidence):
            return None
        (settings, reason), trial = self._choose(items)
        why = "lists of acceptable values, predictions have one value"
        if not evidence.candidates:
            why = "probably lists of acceptable values like the other lists, but no predictions"
        return _rule(path, {**settings, "any_of": True}, f"{why}; {reason}", evidence, trial)

    def _infer_alignment(self, path: str, fields: Sequence[InferredRule]) -> InferredRule | None:
        """Return a rule for a list whose items are aligned.

        It pairs as many items of the data as are paired without rules, if possible. Items whose
        fields have rules are often less similar, because a rule may only say equal or not.
        """
        evidence = self._evidence[path]
        if evidence.series == evidence.lists:
            if evidence.reordered <= evidence.in_order:
                return None  # they keep their order by default
            why = f"only the order differs in {evidence.reordered:,} of {evidence.lists:,} lists"
            return _list_rule(path, {"align": "set"}, why, evidence)
        key = self._infer_key(path)
        if key is not None:
            return _list_rule(path, *key, evidence)
        choices = list(self._alignments(path))
        lost: list[int] = []
        rules_of_fields = [rule for rule in fields if rule.path.startswith(f"{path}[*]")]
        for choice in choices if evidence.sample.pairs else ():
            rules = [*rules_of_fields, _list_rule(path, choice.settings, "", evidence)]
            pairs = evidence.sample.pairs_under(self._read_rules(rules), path)
            lost.append(max(0, evidence.sample.pairs - pairs))
            if not lost[-1]:
                break
        fewest = min(lost, default=0)
        best = choices[lost.index(fewest) if lost else 0]
        reason = best.reason
        if best is not choices[0]:
            reason += (
                f"; by {choices[0].what} with threshold {PAIRED_THRESHOLD}, {lost[0]:,} of"
                f" {plural(evidence.sample.pairs, 'item')} would not be paired"
            )
        if fewest:
            reason += f"; without rules, {plural(fewest, 'more item')} would be paired"
        # A list that is the whole document is aligned by default.
        if not path and best.settings == {"align": "greedy"}:
            return None
        return _list_rule(path, best.settings, reason, evidence)

    def _infer_key(self, path: str) -> Proposal | None:
        """Return the field that identifies each item on both sides."""
        for name in self._possible_keys.get(f"{path}[*]", ()):
            items = self._evidence[f"{path}[*]"]
            field = self._evidence[join(f"{path}[*]", name)]
            if (
                field.keyed_lists == items.keyed_lists >= _MIN_KEYED_LISTS
                and field.keyed_items >= _MIN_KEYED_ITEMS
                and field.always_matches
                and _is_code(field)
            ):
                why = f"{name} identifies each item on both sides in all {items.keyed_lists} lists"
                return {"align": "key", "key": [join("", name)]}, why
        return None

    def _alignments(self, path: str) -> Iterator[_Alignment]:
        """Yield possible alignments by similarity, the best first."""
        evidence = self._evidence[path]
        items = self._evidence.get(f"{path}[*]")
        what = "their values"
        if items is None or not items.objects:
            why = "scalars, aligned by similarity; order does not matter"
            if not evidence.candidates and evidence.single_items * 2 > evidence.lists > 1:
                why += (
                    f"; {evidence.single_items:,} of {evidence.lists:,} lists have one item: if"
                    " these are acceptable values, use match and any_of instead"
                )
            yield _Alignment({"align": "greedy"}, what, why)
        else:
            for names in self._match_fields(items):
                yield self._by_match_fields(items, names)
            what = "all their values"
            yield _Alignment({"align": "greedy"}, what, _aligned_by(what))
        for threshold in _LOWER_THRESHOLDS:
            settings: Settings = {"align": "greedy", "threshold": threshold}
            below = f"{what}, threshold {threshold}"
            yield _Alignment(settings, below, _aligned_by(below))

    def _match_fields(self, items: AttributeEvidence) -> Iterator[list[str]]:
        """Yield the names of fields that tell items apart."""
        fields = {name: self._evidence[join(items.path, name)] for name in items.item_fields}
        # Text is compared by similarity, so that an item with a misread character is found.
        names = [name for name, field in fields.items() if field.tells_items_apart(items)]
        names.sort(key=lambda name: -fields[name].share(ValueKind.TEXT))
        if any(fields[name].is_mostly_text for name in names):
            yield names[:_MAX_MATCH_FIELDS]
        # An item with a misread code is not found by it, so most codes must be in predictions.
        codes = [name for name in names if fields[name].mostly_matches]
        yield from ([name] for name in codes if not fields[name].is_mostly_text)

    def _by_match_fields(self, items: AttributeEvidence, names: Sequence[str]) -> _Alignment:
        counts = ", ".join(
            f"{name} ({self._evidence[join(items.path, name)].distinct_in_lists:,} distinct in "
            f"{plural(items.items_in_lists, 'item')})"
            for name in names
        )
        settings: Settings = {
            "align": "greedy",
            "match_fields": [join("", name) for name in names],
            "threshold": PAIRED_THRESHOLD,
        }
        return _Alignment(settings, " and ".join(names), _aligned_by(counts))


class _Alignment(NamedTuple):
    """A possible alignment of a list: its settings, the fields that it compares, and the reason."""

    settings: Settings
    what: str
    reason: str


def _aligned_by(what: str) -> str:
    return f"items aligned by similarity of {what}; order does not matter"


@dataclass(slots=True)
class AttributeEvidence:
    """Statistics of one attribute.

    `readings` count the scalars of the ground truth by the ways in which they can be read, with a
    few examples; `candidate_readings` count scalars of candidates. `texts` are the first distinct
    strings. `prefixed_numbers` counts whole numbers behind letters that can be a currency, such as
    R1001, and `has_amounts` says whether there are other amounts, both on either side.
    `with_clock` counts times that are not midnight. `boxes` count lists that are boxes by their
    format. `same_keys` and `other_keys` count objects of objects whose candidate has keys in common
    with it, or none.
    `item_fields` are the names of fields in items of lists, `items_in_lists` and
    `distinct_in_lists` count values in lists of several items. `sample` contains lists on which
    rules are tried.
    """

    path: str
    values: int = 0
    empty: int = 0
    lists: int = 0
    objects: int = 0
    kinds: Counter[ValueKind] = field(default_factory=Counter)
    readings: Counter[frozenset[Reader]] = field(default_factory=Counter)
    examples: dict[frozenset[Reader], list[str]] = field(default_factory=dict)
    candidate_readings: Counter[frozenset[Reader]] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    years: tuple[int, int] | None = None
    with_currency: int = 0
    with_time: int = 0
    with_clock: int = 0
    has_plain_digits: bool = False
    single_words: int = 0
    single_items: int = 0
    series: int = 0
    in_order: int = 0
    reordered: int = 0
    currencies: frozenset[str] | None = None
    proper_names: int = 0
    postal_addresses: int = 0
    has_decimal_mark: bool = False
    has_amounts: bool = False
    prefixed_numbers: int = 0
    most_decimals: int = 0
    differences: Counter[Difference] = field(default_factory=Counter)
    equal_kinds: Counter[ValueKind] = field(default_factory=Counter)
    unequal_kinds: Counter[ValueKind] = field(default_factory=Counter)
    keyed_lists: int = 0
    keyed_items: int = 0
    candidates: int = 0
    single_candidates: int = 0
    items_in_lists: int = 0
    distinct_in_lists: int = 0
    item_fields: dict[str, None] = field(default_factory=dict)
    sample: SampleLists = field(default_factory=SampleLists)
    pairs: SamplePairs = field(default_factory=SamplePairs)
    boxes: Counter[BoxFormat] = field(default_factory=Counter)
    has_spaced_digits: bool = False
    same_keys: int = 0
    other_keys: int = 0
    _distinct: set[int] = field(default_factory=set)
    _distinct_ids: set[int] = field(default_factory=set)

    def add(self, expected: JsonValue, candidate: JsonValue | Missing) -> None:
        """Add an expected value and the difference of its candidate."""
        if presence(expected) is not Presence.VALUE:
            self.empty += 1
            return
        self.values += 1
        if isinstance(expected, list):
            self.lists += 1
            self.single_items += len(expected) == 1
            self.series += is_series(expected)
            self.boxes.update(box_formats(expected))
        elif isinstance(expected, dict):
            self.objects += 1
        else:
            self._add_scalar(expected)
        if candidate is not MISSING and presence(candidate) is Presence.VALUE:
            self.candidates += 1
            self._add_difference(expected, candidate)

    def add_keys(self, expected: JsonObject, candidate: JsonValue | Missing) -> None:
        """Count whether two objects of objects have keys in common."""
        if not isinstance(candidate, dict) or not (expected and candidate):
            return
        if all(isinstance(value, dict) for value in (*expected.values(), *candidate.values())):
            self.same_keys += not expected.keys().isdisjoint(candidate)
            self.other_keys += expected.keys().isdisjoint(candidate)

    def add_order(self, expected: list[JsonValue], candidate: list[JsonValue]) -> None:
        """Count whether a list and its candidate have the same items in another order."""
        keys, other_keys = list(map(typed_key, expected)), list(map(typed_key, candidate))
        same = len(set(keys)) > 1 and Counter(keys) == Counter(other_keys)
        self.in_order += same and keys == other_keys
        self.reordered += same and keys != other_keys

    def _add_scalar(self, value: JsonValue) -> None:
        kind = kind_of_value(value)
        self.kinds[kind] += 1
        if len(self._distinct) < _MAX_DISTINCT:
            identifier = read_identifier(value)
            self._distinct.add(hash(typed_key(value)))
            self._distinct_ids.add(hash(identifier and identifier.text))
        if isinstance(value, float):
            self.most_decimals = max(self.most_decimals, decimals(value))
        readers = readers_of(value)
        self.readings[readers] += 1
        examples = self.examples.setdefault(readers, [])
        text = value if isinstance(value, str) else exact_text(value)
        shown = shorten(text, _MAX_SHOWN)
        if len(examples) < _MAX_EXAMPLES and shown not in examples:
            examples.append(shown)
        if isinstance(value, str):
            if value in self.texts or len(self.texts) <= _MAX_ENUMERATION:
                self.texts[value] += 1
            self.proper_names += _is_proper_name(value)
            has_number = any(map(str.isdecimal, value))
            self.postal_addresses += has_number and len(value.split()) >= _MIN_ADDRESS_WORDS
            self.has_decimal_mark |= _DECIMAL_MARK.search(value) is not None
            self.with_time += Reader.DATE in readers and _TIME.search(value) is not None
            clock = _CLOCK.search(value) if Reader.MOMENT in readers else None
            self.with_clock += clock is not None and not _MIDNIGHT.issuperset(clock[0])
            self.has_spaced_digits |= _SPACED_DIGITS.search(value) is not None
            self.has_plain_digits |= value.strip().isdecimal()
            self.single_words += kind is ValueKind.TEXT and len(value.split()) == 1
            self.with_currency += self._add_meaning(value, readers)

    def _add_meaning(self, text: str, readers: frozenset[Reader]) -> bool:
        """Add the year of a date and the currency of an amount, of either side.

        Return whether there is a currency.
        """
        if Reader.DATE in readers and Reader.SHORT_YEAR not in readers:
            reading = read_day(text)
            if reading is not None:
                year = reading.day.year
                first, last = self.years or (year, year)
                self.years = min(first, year), max(last, year)
        elif not readers.isdisjoint(_NUMBER_FORMATS):
            amount = read_amount(text)
            is_prefixed = _PREFIXED_NUMBER.match(text.strip()) is not None
            self.prefixed_numbers += is_prefixed
            self.has_amounts |= not (is_prefixed or text.strip().isdecimal())
            if amount is not None and amount.currencies:
                known = self.currencies
                meant = amount.currencies
                self.currencies = meant if known is None else known & meant
                return True
        return False

    def _add_difference(self, expected: JsonValue, candidate: JsonValue) -> None:
        scalar = not isinstance(expected, list | dict)
        if isinstance(expected, list) and not isinstance(candidate, list | dict):
            self.single_candidates += 1
        if not scalar and isinstance(candidate, list | dict):
            return
        difference = difference_of(expected, candidate)
        self.differences[difference] += 1
        if not scalar or isinstance(candidate, list | dict):
            return
        self.pairs.add(expected, candidate, difference)
        readers = readers_of(candidate)
        self.candidate_readings[readers] += 1
        if isinstance(candidate, str):
            self._add_meaning(candidate, readers)
            self.has_spaced_digits |= _SPACED_DIGITS.search(candidate) is not None
        self.has_amounts |= isinstance(candidate, float)
        if difference is Difference.NONE:
            self.equal_kinds[kind_of_value(expected)] += 1
        else:
            self.unequal_kinds[kind_of_value(candidate)] += 1

    def gains_by_reading(self, *readable: ValueKind) -> bool:
        """Whether parsing values of these kinds adds at least as many matches as it removes.

        A comparator that parses values rejects values that it cannot parse, even if both sides are
        equal.
        """
        removed = self.equal_kinds.total() - sum(self.equal_kinds[kind] for kind in readable)
        added = (
            self.differences[Difference.NUMBER_FORMAT] + self.differences[Difference.DATE_FORMAT]
        )
        return removed <= added

    def candidates_look_like(self, *readable: ValueKind) -> bool:
        """Whether at least half of the unequal candidates have these kinds."""
        alike = sum(self.unequal_kinds[kind] for kind in readable)
        return alike * 2 >= self.unequal_kinds.total()

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
    def is_mostly_text(self) -> bool:
        """Whether most scalars are short text."""
        return self.share(ValueKind.TEXT) * 2 > 1

    @property
    def mostly_matches(self) -> bool:
        """Whether there are candidates and most equal the ground truth, up to case and spaces."""
        same = sum(self.differences[difference] for difference in (Difference.NONE, *_IN_FORM))
        return 0 < self.differences.total() * _MOSTLY <= same

    @property
    def is_map(self) -> bool:
        """Whether these are objects of objects with other keys than their candidates have."""
        return self.other_keys > self.same_keys

    @property
    def is_list_of_acceptable_values(self) -> bool:
        """Whether the ground truth lists acceptable values and most candidates have one value."""
        listed = self.differences[Difference.LISTED] > 0
        return self.lists > 0 and listed and self.single_candidates * 2 > self.candidates

    @property
    def looks_alike_as_identifiers(self) -> bool:
        """Whether different values have the same letters and digits."""
        return len(self._distinct_ids) < len(self._distinct)

    def count(self, *wanted: Reader, both_sides: bool = False) -> int:
        """Return how many scalars one of the readers can read, of ground truth or both sides."""
        sides = (self.readings, self.candidate_readings) if both_sides else (self.readings,)
        return sum(
            number
            for side in sides
            for readers, number in side.items()
            if not readers.isdisjoint(wanted)
        )

    def examples_of(self, fits: Callable[[frozenset[Reader]], bool]) -> tuple[int, str]:
        """Return how many scalars have such readers, and the first of them as text."""
        number = sum(count for readers, count in self.readings.items() if fits(readers))
        texts = [text for readers, some in self.examples.items() if fits(readers) for text in some]
        shown = texts[:_MAX_EXAMPLES]
        more = ", …" if number > len(shown) else ""
        return number, ", ".join(shown) + more

    def tells_items_apart(self, items: AttributeEvidence) -> bool:
        """Whether nearly all items of lists have a text here, most different, and found again."""
        matched = self.differences.total() - self.differences[Difference.OTHER]
        return (
            items.items_in_lists >= _MIN_KEYED_LISTS
            and self.items_in_lists >= _NEARLY_ALL * items.items_in_lists
            and self.distinct_in_lists >= _NEARLY_ALL * items.items_in_lists
            and _nearly_all(*_SHORT_TEXTS)(self)
            and matched >= _MOSTLY * self.differences.total()
        )


_PREFIXED_NUMBER: Final = re.compile(r"[^\W\d_]+-?[0-9]+\Z")
_DECIMAL_MARK: Final = re.compile(r"[0-9][.,][0-9]")
_TIME: Final = re.compile(r"[0-9]:[0-9]{2}")
_CLOCK: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")
_MIDNIGHT: Final = frozenset("0:")
_SPACED_DIGITS: Final = re.compile(r"[0-9]\s+[0-9]")
_STOP_WORDS: Final = frozenset(
    [
        "and",
        "for",
        "of",
        "the",
        "to",
        "in",
        "de",
        "der",
        "la",
        "le",
        "van",
        "von",
        "di",
        "da",
        "bin",
        "al",
    ]
)


def _is_proper_name(text: str) -> bool:
    """Whether the words of a text are capitalized, as in names of people and companies.

    >>> _is_proper_name("Bank of Canada"), _is_proper_name("solar cells")
    (True, False)
    """
    words = [word for word in re.findall(r"[^\W\d_]+", text) if word not in _STOP_WORDS]
    return 0 < len(words) <= _MAX_NAME_WORDS and not any(word[0].islower() for word in words)


def _objects(items: list[JsonValue]) -> list[JsonObject]:
    return [item for item in items if isinstance(item, dict)]


def _is_unique(name: str, items: list[JsonObject]) -> bool:
    """Whether all items have a value for this name, without duplicates."""
    values = [item.get(name) for item in items]
    present = all(presence(value) is Presence.VALUE for value in values)
    return present and len({typed_key(value) for value in values}) == len(values)


def _list_rule(
    path: str, settings: Settings, reason: str, evidence: AttributeEvidence
) -> InferredRule:
    """Return the rule for a list whose items are aligned."""
    counts = [plural(evidence.lists, "list")]
    if evidence.single_candidates:
        counts.append(f"single value in predictions: {evidence.single_candidates:,}")
    why = f"{reason} ({', '.join(counts)})"
    return InferredRule(path=path or ROOT, settings=settings, reason=why)


def _rule(
    path: str, settings: Settings, reason: str, evidence: AttributeEvidence, trial: Trial
) -> InferredRule:
    """Return a rule whose reason includes the counts; what it rejects is a different value."""
    counts = [plural(evidence.values, "value")]
    if evidence.empty:
        counts.append(f"{evidence.empty:,} empty")
    differences = evidence.differences.copy()
    for difference, number in trial.rejected.items():
        differences[difference] -= number
        differences[Difference.OTHER] += number
    counts += [
        f"{difference}: {differences[difference]:,}"
        for difference in Difference
        if difference is not Difference.NONE and differences[difference]
    ]
    return InferredRule(path=path, settings=settings, reason=f"{reason} ({', '.join(counts)})")


# --- boxes and maps -------------------------------------------------------------------------------

_MIN_BOXES: Final = 10
"""The number of lists from which coordinates are boxes whatever the name of the attribute is."""


def _box_format(evidence: AttributeEvidence) -> BoxFormat | None:
    """Return the format in which all lists of four numbers form boxes."""
    named = not _BOX_WORDS.isdisjoint(key_words(evidence.path))
    if evidence.boxes[BoxFormat.XYXY] == evidence.lists:
        return BoxFormat.XYXY if evidence.lists >= (1 if named else _MIN_BOXES) else None
    return BoxFormat.XYWH if named and evidence.boxes[BoxFormat.XYWH] == evidence.lists else None


def _box_rule(evidence: AttributeEvidence) -> InferredRule | None:
    """Return a rule for lists of coordinates that are boxes."""
    box_format = _box_format(evidence)
    if box_format is None:
        return None
    settings: Settings = {"match": "iou"}
    if box_format is not BoxFormat.XYXY:
        settings["format"] = box_format.value
    reason = f"four numbers that form boxes ({box_format}), compared by their overlap"
    return _list_rule(evidence.path, settings, reason, evidence)


def _loss(before: Cost, after: Cost, path: str) -> tuple[int, float]:
    """Return how many more mistakes there are below a path, and how much lower F1 is."""
    old, new = before.below(path), after.below(path)
    scores = [f1(counts.tp, counts.fp, counts.fn) or 0.0 for counts in (old, new)]
    return new.fp + new.fn - old.fp - old.fn, sortable(scores[0] - scores[1])


_NO_LOSS: Final = (0, 0.0)


def _entries_rule(rule: InferredRule) -> InferredRule:
    """Return the rule for a map whose values are aligned like the items of a list."""
    options = {key: value for key, value in rule.settings.items() if key not in {"align", "key"}}
    reason = rule.reason.replace("items aligned", "values of a map aligned", 1)
    reason = re.sub(r"list(?=s?\)$)", "map", reason)
    return replace(rule, settings={"align": "entries", **options}, reason=reason)


def _is_inside(path: str, other: str) -> bool:
    return path != other and is_at_or_below(path, other)


def _with_lists(document: JsonValue, segments: Sequence[object]) -> JsonValue:
    """Return a document in which the objects at a path are the lists of their values."""
    if not segments:
        return list(document.values()) if isinstance(document, dict) else document
    step, *rest = segments
    if isinstance(document, list):
        return [_with_lists(item, rest) for item in document]
    if not isinstance(document, dict) or step not in document:
        return document
    return {
        key: _with_lists(value, rest) if key == step else value for key, value in document.items()
    }


_Fits: TypeAlias = Callable[[AttributeEvidence], bool]


class _ComparatorRule(NamedTuple):
    """The proposal for attributes that meet a condition; the first one that fits applies."""

    fits: _Fits
    propose: Callable[[AttributeEvidence], Proposal]


def _alternatives(evidence: AttributeEvidence) -> Iterator[Proposal]:
    """Yield the settings of a comparator and the reason for them, then more tolerant ones.

    The last of them matches all equal values.
    """
    choice = next((choice for choice in _COMPARATOR_RULES if choice.fits(evidence)), _FALLBACK)
    settings, reason = choice.propose(evidence)
    yield settings, reason
    match = settings["match"]
    differences = evidence.differences
    if match in {"date", "partial_date", "timestamp"} and "order" in settings:
        yield _propose_date(evidence, match, ordered=False)
    if match == "timestamp":
        yield from (_propose_date(evidence, "date", ordered=ordered) for ordered in (True, False))
    if match in {"numeric_tolerance", "money"}:
        number_format = max(
            _NUMBER_FORMATS, key=lambda reader: evidence.count(reader, both_sides=True)
        )
        for name in (number_format.value, "auto"):
            how = f"{reason}; strings in {name} format"
            yield {**settings, "number_format": name}, how
    if settings == CODES[0] and not evidence.looks_alike_as_identifiers:
        yield IDENTIFIERS
    if match in {"fuzzy", "name"}:
        yield {**settings, **_IGNORING_SPACES}, f"{reason}; spaces may be absent"
    if match in {"exact", "normalized_text"}:
        if settings != CODES[0] or reason != CODES[1]:
            for difference, proposals in _BY_DIFFERENCE:
                yield from proposals(evidence) if differences[difference] else ()
        yield from _text_forms(evidence, reason)
    elif match not in _TEXT_COMPARATORS:
        what = f"{plural(evidence.distinct, 'distinct value')}, compared as text"
        yield {"match": "exact"}, what
        yield from _text_forms(evidence, what)


_TEXT_COMPARATORS: Final = frozenset(
    {"address", "boolean", "currency", "fuzzy", "identifier", "name", "semantic"}
)
"""Comparators that match all equal values, and are chosen for more than the form of a text."""
_IGNORING_SPACES: Final[Settings] = {"ignore": ["white_space"]}


def _text_forms(evidence: AttributeEvidence, reason: str) -> Iterator[Proposal]:
    """Yield comparisons of texts that differ in their form."""
    reason = reason.removesuffix("; case and whitespace differ").removesuffix(", compared exactly")
    reason = reason.removesuffix("; compared exactly")
    yield {"match": "normalized_text"}, f"{reason}; case and whitespace differ"
    if evidence.differences[Difference.SPACING] and not evidence.has_spaced_digits:
        settings: Settings = {"match": "normalized_text", **_IGNORING_SPACES}
        yield settings, f"{reason}; case differs, and spaces may be absent"


def _refused(settings: Settings, broken: Sequence[str]) -> str:
    """Return why settings are not proposed, for the end of a reason."""
    options = ", ".join(f"{key}: {_shown(value)}" for key, value in settings.items())
    examples = ", ".join(shorten(text, _MAX_SHOWN) for text in broken[:_MAX_EXAMPLES])
    more = ", …" if len(broken) > _MAX_EXAMPLES else ""
    return f"; not {options}, which cannot read values that both sides have: {examples}{more}"


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else exact_text(value)


def _fixed(reason: str, **settings: JsonValue) -> Callable[[AttributeEvidence], Proposal]:
    return lambda _: (settings, reason)


def _always(proposal: Proposal) -> Callable[[AttributeEvidence], Proposal]:
    return lambda _: proposal


def _nearly_all(*kinds: ValueKind) -> _Fits:
    return lambda evidence: evidence.share(*kinds) >= _NEARLY_ALL


def _are_numbers(evidence: AttributeEvidence) -> bool:
    readable = (*_NUMBERS, ValueKind.NUMBER_TEXT, ValueKind.DIGITS)
    return _nearly_all(*_NUMBERS)(evidence) and evidence.gains_by_reading(*readable)


def _readable_as(*kinds: ValueKind) -> _Fits:
    """Nearly all values have these kinds, and parsing them adds matches."""
    return lambda evidence: (
        _nearly_all(*kinds)(evidence)
        and evidence.gains_by_reading(*kinds, *_NUMBERS)
        and evidence.candidates_look_like(*kinds, *_NUMBERS)
    )


def _unreadable(evidence: AttributeEvidence, *used: Reader, how: str = "") -> str:
    """Return how many values no reader can read, with examples, for the end of a reason.

    They do not match even if both sides are equal.
    """
    number, examples = evidence.examples_of(lambda readers: readers.isdisjoint(used))
    if not number:
        return ""
    counts = "counts" if number == 1 else "count"
    total = evidence.kinds.total()
    return f"; {number:,} of {total:,} cannot be read{how} and {counts} as wrong type: {examples}"


# --- dates ----------------------------------------------------------------------------------------

_DATES: Final = (ValueKind.DATE, ValueKind.IMPOSSIBLE_DATE, ValueKind.FOREIGN_DATE)
_ORDERS: Final = (Reader.DATE_MDY, Reader.DATE_DMY, Reader.DATE_YMD)
_CLEAR_MAJORITY: Final = 4
"""So many times more dates must be possible in one order only than impossible in it."""


def _are_dates(evidence: AttributeEvidence) -> bool:
    """Whether nearly all values have the form of dates, or half of them if the name says so."""
    if evidence.has_plain_digits and is_named(evidence.path, IDENTIFIER_WORDS):
        return False  # such as 20240131, the number of an order
    share = evidence.share(ValueKind.DATE, ValueKind.FOREIGN_DATE)
    nearly_all = evidence.share(*_DATES) >= _NEARLY_ALL and share * 2 > 1
    named = is_named(evidence.path, DATE_WORDS) and share * 2 >= 1
    return (
        nearly_all or (named and evidence.gains_by_reading(*_DATES))
    ) and evidence.candidates_look_like(*_DATES)


def _date_order(evidence: AttributeEvidence) -> Reader | None:
    """Return the order that dates of numbers have, judging by dates with only one reading."""
    total = evidence.count(*_ORDERS, Reader.DATE, both_sides=True)
    counts = {order: evidence.count(order, both_sides=True) for order in _ORDERS}
    best, second = sorted(_ORDERS, key=lambda order: -counts[order])[:2]
    in_favor, against = total - counts[second], total - counts[best]
    clear = counts[best] > counts[second] and in_favor >= _CLEAR_MAJORITY * against
    return best if clear else None


_COMPARED: Final = {
    "date": "compared by day",
    "partial_date": "compared by day, month or year",
    "timestamp": "compared with their times",
}


def _propose_date(
    evidence: AttributeEvidence, match: str = "date", *, ordered: bool = True
) -> Proposal:
    settings: Settings = {"match": match}
    reason = plural(evidence.kinds.total(), "date")
    order = _date_order(evidence) if ordered else None
    if order is not None:
        settings["order"] = order.value
        reason += f", order {order}"
    readers = [Reader.DATE if order is None else order]
    if match == "partial_date":
        readers += [Reader.MONTH, Reader.YEAR]
    locale = max(LOCALES, key=lambda reader: evidence.count(reader, both_sides=True))
    if evidence.count(locale, both_sides=True):
        settings["locales"] = [locale.value]
        reason += f", month names in {locale}"
        readers.append(locale)
    reason += f", {_COMPARED[match]}"
    if evidence.with_time and match != "timestamp":
        reason += f"; the times of {evidence.with_time:,} are ignored"
    short, _ = evidence.examples_of(lambda readers: Reader.SHORT_YEAR in readers)
    if evidence.count(Reader.SHORT_YEAR, both_sides=True):
        first = _first_year(evidence.years)
        settings["two_digit_years"] = first
        counted = f" ({short:,})" if short else " in predictions"
        reason += f"; two-digit years{counted} are {first} to {first + _CENTURY - 1}"
    if order is None:
        unclear, examples = evidence.examples_of(lambda readers: Reader.AMBIGUOUS_DATE in readers)
        if unclear:
            reason += f"; the order of {unclear:,} is unclear, set it with order: {examples}"
    how = "" if order is None else " with this order"
    return settings, reason + _unreadable(evidence, *readers, how=how)


def _have_months(evidence: AttributeEvidence) -> bool:
    """Whether nearly all values are days, months or years, and some are months."""
    months = evidence.count(Reader.MONTH)
    number = evidence.count(Reader.DATE, Reader.MONTH, Reader.YEAR)
    named = is_named(evidence.path, IDENTIFIER_WORDS)
    return months > 0 and not named and number >= _NEARLY_ALL * evidence.kinds.total()


def _have_times(evidence: AttributeEvidence) -> bool:
    """Whether nearly all dates have a time, and not always midnight, and so have predictions."""
    number = evidence.count(Reader.MOMENT)
    candidates = evidence.candidate_readings.total()
    in_candidates = evidence.count(Reader.MOMENT, both_sides=True) - number
    return (
        evidence.with_clock > 0
        and number >= _NEARLY_ALL * evidence.kinds.total()
        and in_candidates * 2 >= candidates
    )


def _first_year(years: tuple[int, int] | None) -> int:
    """Return the first of the hundred years that include all years with four digits."""
    if years is None:
        return _FIRST_YEAR
    first = min(_FIRST_YEAR, years[0] - years[0] % 10)
    return first if years[1] < first + _CENTURY and first > 0 else _FIRST_YEAR


_NO_TIMES: Final = frozenset({"duration", "length", "score", "ratio", "scale"})


def _are_times(evidence: AttributeEvidence) -> bool:
    number = evidence.count(Reader.TIME)
    named = is_named(evidence.path, _NO_TIMES | IDENTIFIER_WORDS)
    return not named and 0 < _NEARLY_ALL * evidence.kinds.total() <= number


def _are_currencies(evidence: AttributeEvidence) -> bool:
    """Whether most values are currencies, and the name or predictions say that they mean one."""
    named = not CURRENCY_WORDS.isdisjoint(key_words(evidence.path))
    said = named or evidence.differences[Difference.CURRENCY_NAME] > 0
    number = evidence.count(Reader.CURRENCY)
    return said and 0 < (_MOSTLY if named else _NEARLY_ALL) * evidence.kinds.total() <= number


# --- numbers in text ------------------------------------------------------------------------------

_NUMBER_FORMATS: Final = (Reader.NUMBER_US, Reader.NUMBER_EU, Reader.NUMBER_CH, Reader.NUMBER_IN)


def _propose_number(evidence: AttributeEvidence) -> Proposal:
    """Propose the format that reads the most numbers of both sides, and money with a currency."""
    counts = {
        reader: evidence.count(reader, both_sides=True)
        for reader in (Reader.PLAIN_NUMBER, *_NUMBER_FORMATS)
    }
    best = max(counts, key=counts.__getitem__)
    total = evidence.kinds.total()
    settings: Settings = {"match": "numeric_tolerance", "tolerance": 0}
    reason = f"{plural(total, 'number')} in strings, compared by value"
    if best is not Reader.PLAIN_NUMBER:
        settings["number_format"] = best.value
        reason = f"{plural(total, 'amount')} in {best} format, compared by value"
        unclear, examples = evidence.examples_of(
            lambda readers: best in readers and Reader.AMBIGUOUS_NUMBER in readers
        )
        if counts[Reader.NUMBER_US] == counts[Reader.NUMBER_EU] and unclear:
            reason += f"; {unclear:,} mean another number in another format: {examples}"
    if evidence.currencies is not None and not evidence.count(Reader.PERCENT, both_sides=True):
        del settings["tolerance"]
        settings["match"] = "money"
        reason += f" and currency ({evidence.with_currency:,} with a currency)"
        if len(evidence.currencies) == 1:
            settings["currency"] = next(iter(evidence.currencies))
        elif evidence.with_currency < total:
            reason += "; amounts without one match any currency"
    return settings, reason + _unreadable(evidence, best)


# --- codes and text -------------------------------------------------------------------------------


def _is_code(evidence: AttributeEvidence) -> bool:
    """Whether the values are codes; short codes may look like numbers."""
    return (
        _nearly_all(*_CODES)(evidence) and evidence.share(ValueKind.CODE, ValueKind.DIGITS) * 2 > 1
    )


def _is_identifier(evidence: AttributeEvidence) -> bool:
    """Whether separators may differ: the name or predictions say so, and values stay distinct."""
    if evidence.has_decimal_mark or evidence.looks_alike_as_identifiers:
        return False
    if is_named(evidence.path, IDENTIFIER_WORDS):
        words = sum(evidence.kinds[kind] for kind in (*_CODES, ValueKind.DATE))
        return words + evidence.single_words >= _NEARLY_ALL * evidence.kinds.total()
    return _is_code(evidence) and _differs_in_form(evidence)


def _are_prefixed_numbers(evidence: AttributeEvidence) -> bool:
    """Whether values such as R1001 are identifiers: there is no amount, also not by the name."""
    return (
        evidence.prefixed_numbers > 0
        and not evidence.has_amounts
        and _nearly_all(*_AMOUNTS)(evidence)
        and not is_named(evidence.path, AMOUNT_WORDS)
    )


def _propose_identifier(evidence: AttributeEvidence) -> Proposal:
    return CODES if evidence.looks_alike_as_identifiers else IDENTIFIERS


def _differs_in_form(evidence: AttributeEvidence) -> bool:
    return any(evidence.differences[difference] for difference in _IN_FORM)


def _named(words: frozenset[str], fits: _Fits) -> _Fits:
    return lambda evidence: is_named(evidence.path, words) and fits(evidence)


def _mostly(count: Callable[[AttributeEvidence], int]) -> _Fits:
    return lambda evidence: (
        evidence.kinds.total() > 0 and count(evidence) >= _MOSTLY * evidence.kinds.total()
    )


def _propose_phone(evidence: AttributeEvidence) -> Proposal:
    settings, reason = phone_proposal(plural(evidence.kinds.total(), "telephone number"))
    unreadable = _unreadable(evidence, Reader.PHONE) if settings["match"] == "phone" else ""
    return settings, reason + unreadable


def _propose_enumeration(evidence: AttributeEvidence) -> Proposal:
    texts = [text for text, _ in evidence.texts.most_common()]
    listed = ", ".join(shorten(text, _MAX_SHOWN) for text in texts[:_MAX_EXAMPLES])
    more = ", …" if len(texts) > _MAX_EXAMPLES else ""
    reason = f"{plural(evidence.distinct, 'distinct string')}: {listed}{more}"
    if _differs_in_form(evidence) or len(set(map(normalized, texts))) < len(texts):
        return {"match": "normalized_text"}, f"{reason}; case and whitespace differ"
    return {"match": "exact"}, f"{reason}; compared exactly"


def _propose_exact(evidence: AttributeEvidence) -> Proposal:
    """Propose an exact comparison for text that mostly consists of digits, except for its form."""
    number = sum(evidence.kinds[kind] for kind in _OF_DIGITS)
    total = evidence.kinds.total()
    what = f"{number:,} of {total:,} are codes, dates or numbers in several formats"
    if _differs_in_form(evidence):
        return {"match": "normalized_text"}, f"{what}; case and whitespace differ"
    return {"match": "exact"}, f"{what}, compared exactly"


_BY_DIFFERENCE: Final[
    Sequence[tuple[Difference, Callable[[AttributeEvidence], Sequence[Proposal]]]]
] = (
    (Difference.NUMBER_FORMAT, lambda evidence: (_propose_number(evidence),)),
    (
        Difference.DATE_FORMAT,
        lambda evidence: (
            _propose_date(evidence),
            _propose_date(evidence, ordered=False),
            _propose_date(evidence, "partial_date", ordered=False),
        ),
    ),
    (Difference.TIME_FORMAT, lambda _: (TIMES,)),
    (Difference.CURRENCY_NAME, lambda _: (CURRENCIES,)),
)
"""Proposals for text whose predictions mean the same in another form."""
_NUMBERS: Final = (ValueKind.WHOLE_NUMBER, ValueKind.DECIMAL_NUMBER)
_CODES: Final = (
    ValueKind.CODE, ValueKind.DIGITS, ValueKind.NUMBER_TEXT, ValueKind.IMPOSSIBLE_DATE,
)  # fmt: skip
_AMOUNTS: Final = (ValueKind.AMOUNT, ValueKind.NUMBER_TEXT, ValueKind.DIGITS)
_OF_DIGITS: Final = (ValueKind.DATE, ValueKind.FOREIGN_DATE, ValueKind.AMOUNT, *_CODES)
_TEXTS: Final = frozenset(ValueKind) - {ValueKind.BOOLEAN, *_NUMBERS}
_SHORT_TEXTS: Final = _TEXTS - {ValueKind.LONG_TEXT, ValueKind.YES_OR_NO, ValueKind.AMOUNT}
_COMPARATOR_RULES: Final = (
    _ComparatorRule(_nearly_all(ValueKind.BOOLEAN), _always(BOOLEANS)),
    _ComparatorRule(
        _nearly_all(ValueKind.YES_OR_NO), _fixed("strings that mean yes or no", match="boolean")
    ),
    _ComparatorRule(
        lambda evidence: (
            _are_numbers(evidence) and evidence.share(ValueKind.WHOLE_NUMBER) >= _NEARLY_ALL
        ),
        _always(INTEGERS),
    ),
    _ComparatorRule(
        lambda evidence: _are_numbers(evidence) and evidence.most_decimals <= _MONEY_DECIMALS,
        _fixed(
            "numbers with at most two decimals, equal up to 0.001",
            match="numeric_tolerance",
            tolerance=0.001,
        ),
    ),
    _ComparatorRule(
        _are_numbers,
        _fixed(
            "numbers with many decimals, with a relative tolerance of one millionth",
            match="numeric_tolerance",
            tolerance=0.000001,
            relative=True,
        ),
    ),
    _ComparatorRule(_are_currencies, _always(CURRENCIES)),
    _ComparatorRule(_are_times, _always(TIMES)),
    _ComparatorRule(_have_months, lambda evidence: _propose_date(evidence, "partial_date")),
    _ComparatorRule(
        lambda evidence: _are_dates(evidence) and _have_times(evidence),
        lambda evidence: _propose_date(evidence, "timestamp"),
    ),
    _ComparatorRule(_are_dates, _propose_date),
    _ComparatorRule(
        lambda evidence: (
            evidence.share(ValueKind.DATE) >= _NEARLY_ALL
            and not evidence.candidates_look_like(*_DATES)
            and not _is_identifier(evidence)
        ),
        _fixed("dates, but most predictions that differ cannot be parsed as dates", match="exact"),
    ),
    _ComparatorRule(_readable_as(ValueKind.EMAIL), _always(EMAILS)),
    _ComparatorRule(
        _readable_as(ValueKind.WEB_ADDRESS),
        _always(WEB_ADDRESSES),
    ),
    _ComparatorRule(
        _named(
            PHONE_WORDS,
            _mostly(lambda evidence: evidence.count(Reader.PHONE)),
        ),
        _propose_phone,
    ),
    _ComparatorRule(
        _is_identifier,
        _always(IDENTIFIERS),
    ),
    _ComparatorRule(_are_prefixed_numbers, _propose_identifier),
    _ComparatorRule(_is_code, _always(CODES)),
    _ComparatorRule(_readable_as(*_AMOUNTS), _propose_number),
    _ComparatorRule(
        lambda evidence: evidence.share(*_OF_DIGITS) * 2 > 1,
        _propose_exact,
    ),
    _ComparatorRule(
        _named(ADDRESS_WORDS, _mostly(lambda evidence: evidence.postal_addresses)),
        _always(ADDRESSES),
    ),
    _ComparatorRule(
        _named(
            NAME_WORDS,
            _mostly(lambda evidence: evidence.proper_names),
        ),
        _always(NAMES),
    ),
    _ComparatorRule(
        lambda evidence: evidence.is_enumeration and not evidence.share(ValueKind.LONG_TEXT),
        _propose_enumeration,
    ),
    _ComparatorRule(
        lambda evidence: evidence.share(ValueKind.LONG_TEXT) * 2 > 1,
        _fixed(
            "long text, compared by meaning; numbers must be the same",
            match="semantic",
            threshold=0.8,
            guards={"numbers": True},
        ),
    ),
    _ComparatorRule(
        _nearly_all(*_TEXTS),
        _always(SHORT_TEXT),
    ),
)

_FALLBACK: Final = _ComparatorRule(
    lambda _: True, _fixed("values of several types, compared exactly", match="exact")
)

"""Find likely faults in ground truth: mixed types and formats, duplicates, wrong totals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from itertools import product
from typing import Final, NamedTuple

from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import extractOne

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.value_kinds import Reader, ValueKind, key_words, kind_of_value, readers_of
from fieldmark.data.inputs import InputLike
from fieldmark.data.pairing import open_truth
from fieldmark.errors import DataError
from fieldmark.model.case import CaseInput
from fieldmark.model.json import JsonObject, JsonValue, kind_of
from fieldmark.model.outcome import Presence
from fieldmark.report.document import Column, Data, Document, Heading, Line, Row, Table, Tone
from fieldmark.report.render import ShownRecord
from fieldmark.runs.run_options import InputsLike, read_inputs, with_yaml
from fieldmark.values.equality import canonical_text
from fieldmark.values.numbers import Number, NumberFormat, as_number, numbers_in, read_amount
from fieldmark.values.paths import ROOT, join, leaves
from fieldmark.values.presence import presence
from fieldmark.values.records import to_json
from fieldmark.values.text import Ignored, exact_text, ignoring, plural, shorten, unified

MAX_FINDINGS: Final = 1_000
_MAX_ATTRIBUTES: Final = 10_000
_MAX_DOCUMENTS: Final = 200_000
"""More documents are not searched for duplicates."""
_MAX_TEXTS: Final = 1_000
_MAX_ALL_TEXTS: Final = 100_000
_MAX_TALLIES: Final = 60
_MAX_EXAMPLES: Final = 3
_MAX_SHOWN: Final = 60
_MAX_NAME: Final = 200
_MIN_LEAVES: Final = 3
"""Documents with fewer values may be equal by chance."""
_MIN_OCCURRENCES: Final = 3
_ALIKE: Final = 0.9
_SPELLING: Final = 0.9
_REPEATED: Final = 1.2
_MAX_ADJUSTMENTS: Final = 4
_CENT: Final = Decimal("0.01")
_HALF_CENT: Final = Decimal("0.005")


class LintCheck(StrEnum):
    """The kinds of findings, in the order of the list."""

    UNREADABLE = "unreadable"
    DUPLICATE_ID = "duplicate_id"
    DUPLICATE_DOCUMENT = "duplicate_document"
    TYPES = "types"
    IMPOSSIBLE_DATE = "impossible_date"
    UNLIKE_OTHERS = "unlike_others"
    FORMATS = "formats"
    TOTALS = "totals"
    SPELLING = "spelling"
    ALWAYS_EMPTY = "always_empty"


class Example(NamedTuple):
    """A value of a finding, or its problem, and the id of its document."""

    case: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A likely fault: how often it occurs, with a few examples."""

    check: LintCheck
    attribute: str
    count: int
    message: str
    examples: tuple[Example, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return the finding as JSON."""
        return to_json(self)


@dataclass(frozen=True, kw_only=True, repr=False)
class LintResult(ShownRecord):
    """The findings in ground truth.

    Attributes:
        documents: The number of documents.
        total: The number of findings, also beyond the limit of the list.
        findings: The findings, at most as many as the limit.
        notes: Remarks on the documents.
    """

    documents: int
    total: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return to_json(self)

    def document(self, *, top: int | None = None) -> Document:
        """Return one finding per row, with examples."""
        findings = plural(self.total, "finding") if self.total else "no findings"
        rows: list[Row] = []
        data: list[Row] = []
        for finding in self.findings:
            examples = [f"{case}: {text}" for case, text in finding.examples]
            rows.append({**finding.to_dict(), "examples": [*examples]})
            data.append({**finding.to_dict(), "examples": "; ".join(examples)})
        table = Table(
            columns=(
                Column("Check", "check"),
                Column("Attribute", "attribute", folds=True),
                Column("Finding", "message", folds=True),
                Column("Examples", "examples", tone=Tone.QUIET, below=True),
            ),
            rows=rows,
            top=top,
            total=self.total,
            noun="finding",
        )
        return Document(
            *(Line(note, Tone.WARNING) for note in self.notes),
            Heading(f"{findings} in {plural(self.documents, 'document')}"),
            table,
            data=Data(("check", "attribute", "count", "message", "examples"), data),
        )


@checked
def lint(truth: InputLike, *, inputs: InputsLike = None) -> LintResult:
    """Find likely faults in ground truth: mixed types and formats, duplicates, wrong totals.

    Args:
        truth: Ground truth as for `score`.
        inputs: How rows are read.

    >>> import fieldmark as fm
    >>> found = fm.lint([{"id": 1, "total": 5}, {"id": 2, "total": "6"}])
    >>> [(each.check.value, each.attribute, each.message) for each in found.findings]
    [('types', 'total', 'values of several types: number (1), string (1)')]
    """
    linter = TruthLinter()
    stream = open_truth(with_yaml(truth), read_inputs(inputs), unique_ids=False)
    first_error = ""
    with closing(stream):
        for batch in stream.batches():
            for case in batch:
                if case.input is CaseInput.INVALID_TRUTH:
                    first_error = first_error or case.note
                    linter.add_unreadable(case.id, case.note)
                else:
                    linter.add(case.expected, case.id)
    if not linter.documents:
        raise DataError(f"cannot read any ground truth; first error: {first_error}")
    return linter.result([*stream.structural, *stream.warnings])


# --- evidence -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Tally:
    """How often something occurs, and its first examples."""

    count: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, case: str, text: str) -> None:
        self.count += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(Example(case, shorten(text, _MAX_SHOWN)))


@dataclass(slots=True)
class _Attribute:
    """What occurs in one attribute.

    `texts` are the first distinct strings, with their number and the first document.
    """

    path: str
    occurrences: int = 0
    empty: int = 0
    types: dict[str, _Tally] = field(default_factory=dict)
    kinds: dict[ValueKind, _Tally] = field(default_factory=dict)
    date_formats: dict[str, _Tally] = field(default_factory=dict)
    date_orders: dict[Reader, _Tally] = field(default_factory=dict)
    amounts: dict[str, _Tally] = field(default_factory=dict)
    texts: dict[str, _Tally] = field(default_factory=dict)
    totals: _Tally = field(default_factory=_Tally)
    totals_checked: int = 0

    def add(self, value: JsonValue, case: str) -> None:
        """Add a value; empty lists and objects are empty here."""
        self.occurrences += 1
        if presence(value) is not Presence.VALUE or value in ([], {}):
            self.empty += 1
            return
        shown = value if isinstance(value, str) else _shortened(value)
        self.types.setdefault(
            _TYPE_NAMES.get(kind_of(value).value, kind_of(value).value), _Tally()
        ).add(case, shown)
        if isinstance(value, str):
            self._add_text(value, case)

    def _add_text(self, text: str, case: str) -> None:
        kind = kind_of_value(text)
        self.kinds.setdefault(kind, _Tally()).add(case, text)
        readers = readers_of(text)
        if kind in {ValueKind.DATE, ValueKind.FOREIGN_DATE}:
            shape = _shape(text)
            if shape in self.date_formats or len(self.date_formats) < _MAX_TALLIES:
                self.date_formats.setdefault(shape, _Tally()).add(case, text)
            only = readers & {Reader.DATE_DMY, Reader.DATE_MDY}
            if len(only) == 1:
                self.date_orders.setdefault(next(iter(only)), _Tally()).add(case, text)
        elif kind in _NUMBER_KINDS:
            formats = readers & {Reader.NUMBER_US, Reader.NUMBER_EU}
            if len(formats) == 1:
                self.amounts.setdefault(f"{next(iter(formats))} format", _Tally()).add(case, text)
            amount = read_amount(text)
            has_currency = amount is not None and bool(amount.currencies)
            name = "with a currency" if has_currency else "without a currency"
            self.amounts.setdefault(name, _Tally()).add(case, text)

    def add_spelling(self, text: str, case: str) -> int:
        """Add a string to the distinct ones; return 1 if it is new."""
        tally = self.texts.get(text)
        if tally is not None:
            tally.count += 1
            return 0
        if len(self.texts) >= _MAX_TEXTS or len(text) > _MAX_NAME:
            return 0
        tally = self.texts[text] = _Tally()
        tally.add(case, text)
        return 1

    def share(self, *kinds: ValueKind) -> float:
        """Return the share of strings that have these kinds."""
        total = sum(tally.count for tally in self.kinds.values())
        count = sum(self.kinds[kind].count for kind in kinds if kind in self.kinds)
        return count / total if total else 0.0


_TYPE_NAMES: Final = {"array": "list"}
_NUMBER_KINDS: Final = (ValueKind.NUMBER_TEXT, ValueKind.DIGITS, ValueKind.AMOUNT)
_DATE_KINDS: Final = (ValueKind.DATE, ValueKind.IMPOSSIBLE_DATE, ValueKind.FOREIGN_DATE)
_NUMBER_RUN: Final = re.compile(r"[0-9]+")
_LETTER_RUN: Final = re.compile(r"[^\W\d_]+")


def _shortened(value: JsonValue) -> str:
    if isinstance(value, list):
        return f"list of {plural(len(value), 'item')}"
    return (
        f"object with {plural(len(value), 'key')}" if isinstance(value, dict) else exact_text(value)
    )


_YEAR_DIGITS: Final = 3
"""Days and months have fewer digits."""


def _shape(text: str) -> str:
    """Return the format of a date: the same for texts that differ only in digits and letters.

    >>> _shape("31/12/2018") == _shape("1/2/2019"), _shape("31/12/18") == _shape("31/12/2018")
    (True, False)
    """
    years = _NUMBER_RUN.sub(
        lambda digits: "9" if len(digits[0]) < _YEAR_DIGITS else "9" * len(digits[0]),
        text,
    )
    return " ".join(_LETTER_RUN.sub("A", years).split())


class TruthLinter:
    """Collects evidence from documents, with bounded memory."""

    def __init__(self) -> None:
        self.documents = 0
        self._attributes: dict[str, _Attribute] = {}
        self._all_texts = 0
        self._unreadable = _Tally()
        self._ids: set[int] = set()
        self._duplicate_ids = _Tally()
        self._contents: dict[int, str] = {}
        self._duplicates = _Tally()
        self._dropped = False

    def add(self, document: JsonValue, case: str) -> None:
        """Add a document with the id of its case."""
        self.documents += 1
        if self.documents <= _MAX_DOCUMENTS:
            self._add_identity(document, case)
        if isinstance(document, dict):
            self._add_object(document, "", case)
        else:
            self._add_value(document, "" if isinstance(document, list) else ROOT, case)

    def add_unreadable(self, case: str, reason: str) -> None:
        """Add a document that cannot be read."""
        self._unreadable.add(case, reason)

    def result(self, notes: Sequence[str] = ()) -> LintResult:
        """Return all findings, the most serious checks first."""
        findings = [*self._document_findings()]
        for attribute in self._attributes.values():
            for check in _CHECKS:
                findings += check(attribute)
        order = {check: position for position, check in enumerate(LintCheck)}
        findings.sort(key=lambda finding: order[finding.check])
        notes = list(notes)
        if self.documents > _MAX_DOCUMENTS:
            notes.append(
                f"only the first {_MAX_DOCUMENTS:,} documents were searched for duplicates"
            )
        if self._dropped:
            notes.append(f"only the first {_MAX_ATTRIBUTES:,} attributes were checked")
        if self._all_texts >= _MAX_ALL_TEXTS:
            notes.append(f"only the first {_MAX_ALL_TEXTS:,} strings were compared for spelling")
        return LintResult(
            documents=self.documents + self._unreadable.count,
            total=len(findings),
            findings=tuple(findings[:MAX_FINDINGS]),
            notes=tuple(notes),
        )

    def _add_identity(self, document: JsonValue, case: str) -> None:
        if hash(case) in self._ids:
            self._duplicate_ids.add(case, "used before")
        self._ids.add(hash(case))
        values = [value for _, value in leaves(document) if presence(value) is Presence.VALUE]
        content = hash(canonical_text(document))
        if len(values) < _MIN_LEAVES:
            return
        if content in self._contents:
            self._duplicates.add(case, f"equal to {self._contents[content]}")
        else:
            self._contents[content] = case

    def _document_findings(self) -> Iterator[Finding]:
        rows = (
            (
                LintCheck.UNREADABLE,
                self._unreadable,
                "document cannot be read",
                "documents cannot be read",
            ),
            (LintCheck.DUPLICATE_ID, self._duplicate_ids, "id is used again", "ids are used again"),
            (
                LintCheck.DUPLICATE_DOCUMENT,
                self._duplicates,
                "document is equal to an earlier one",
                "documents are equal to earlier ones",
            ),
        )
        for check, tally, singular, many in rows:
            if tally.count:
                yield _finding(check, "", tally, plural(tally.count, singular, many))

    def _add_value(self, value: JsonValue, path: str, case: str) -> None:
        attribute = self._attributes.get(path)
        if attribute is None:
            if len(self._attributes) >= _MAX_ATTRIBUTES:
                self._dropped = True
                return
            attribute = self._attributes[path] = _Attribute(path)
        attribute.add(value, case)
        if isinstance(value, str) and self._all_texts < _MAX_ALL_TEXTS:
            self._all_texts += attribute.add_spelling(value, case)
        if isinstance(value, dict):
            self._add_object(value, path, case)
        elif isinstance(value, list):
            for item in value:
                self._add_value(item, f"{path}[]", case)

    def _add_object(self, value: JsonObject, path: str, case: str) -> None:
        for key, inner in value.items():
            self._add_value(inner, join(path, key), case)
        for key, fault in _sum_faults(value):
            owner = self._attributes.get(join(path, key))
            if owner is not None:
                owner.totals_checked += 1
                if fault:
                    owner.totals.add(case, fault)


# --- checks of attributes -------------------------------------------------------------------------


def _finding(check: LintCheck, path: str, tally: _Tally, message: str) -> Finding:
    return Finding(
        check=check,
        attribute=path,
        count=tally.count,
        message=message,
        examples=tuple(tally.examples),
    )


def _rarest(tallies: Mapping[str, _Tally]) -> tuple[list[tuple[str, _Tally]], _Tally]:
    """Return the tallies by number, and one for all except the largest, the rarest first."""
    ranked = sorted(tallies.items(), key=lambda item: -item[1].count)
    others = _Tally(sum(tally.count for _, tally in ranked[1:]))
    for _, tally in reversed(ranked[1:]):
        others.examples += tally.examples[: _MAX_EXAMPLES - len(others.examples)]
    return ranked, others


def _check_types(attribute: _Attribute) -> Iterator[Finding]:
    if len(attribute.types) > 1:
        ranked, others = _rarest(attribute.types)
        counts = ", ".join(f"{name} ({tally.count:,})" for name, tally in ranked)
        yield _finding(
            LintCheck.TYPES, attribute.path, others, f"values of several types: {counts}"
        )


def _check_impossible_dates(attribute: _Attribute) -> Iterator[Finding]:
    tally = attribute.kinds.get(ValueKind.IMPOSSIBLE_DATE)
    dated = attribute.share(ValueKind.DATE) * 2 > 1 or "date" in key_words(attribute.path)
    if tally is not None and dated:
        message = f"{plural(tally.count, 'date')} that cannot exist"
        yield _finding(LintCheck.IMPOSSIBLE_DATE, attribute.path, tally, message)


_ALIKE_KINDS: Final[Mapping[str, tuple[ValueKind, ...]]] = {
    "dates": _DATE_KINDS,
    "numbers": _NUMBER_KINDS,
    "e-mail addresses": (ValueKind.EMAIL,),
    "web addresses": (ValueKind.WEB_ADDRESS,),
}


def _check_unlike_others(attribute: _Attribute) -> Iterator[Finding]:
    total = sum(tally.count for tally in attribute.kinds.values())
    for name, kinds in _ALIKE_KINDS.items():
        others = {kind.value: tally for kind, tally in attribute.kinds.items() if kind not in kinds}
        if not others or attribute.share(*kinds) < _ALIKE:
            continue
        _, unlike = _rarest({"": _Tally(total), **others})
        message = f"{unlike.count:,} of {plural(total, 'value')} cannot be read as {name}"
        yield _finding(LintCheck.UNLIKE_OTHERS, attribute.path, unlike, message)


def _check_formats(attribute: _Attribute) -> Iterator[Finding]:
    if attribute.share(*_DATE_KINDS) * 2 > 1:
        if len(attribute.date_formats) > 1:
            ranked, others = _rarest(attribute.date_formats)
            listed = ", ".join(
                f"{tally.examples[0].text} ({tally.count:,})" for _, tally in ranked[:_MAX_EXAMPLES]
            )
            more = ", …" if len(ranked) > _MAX_EXAMPLES else ""
            message = f"dates in {len(ranked)} formats: {listed}{more}"
            yield _finding(LintCheck.FORMATS, attribute.path, others, message)
        if len(attribute.date_orders) > 1:
            orders = {order.value: tally for order, tally in attribute.date_orders.items()}
            ranked, others = _rarest(orders)
            counts = ", ".join(f"{name} ({tally.count:,})" for name, tally in ranked)
            message = f"day and month in both orders: {counts}"
            yield _finding(LintCheck.FORMATS, attribute.path, others, message)
    if attribute.share(*_NUMBER_KINDS) * 2 > 1:
        for names in (("us format", "eu format"), ("with a currency", "without a currency")):
            signs: dict[str, _Tally] = {
                name: attribute.amounts[name] for name in names if name in attribute.amounts
            }
            if len(signs) > 1:
                ranked, others = _rarest(signs)
                counts = ", ".join(f"{name} ({tally.count:,})" for name, tally in ranked)
                yield _finding(LintCheck.FORMATS, attribute.path, others, f"amounts {counts}")


def _check_always_empty(attribute: _Attribute) -> Iterator[Finding]:
    if attribute.occurrences == attribute.empty >= _MIN_OCCURRENCES:
        message = f"always empty, in {plural(attribute.empty, 'place')}"
        tally = _Tally(attribute.empty)
        yield _finding(LintCheck.ALWAYS_EMPTY, attribute.path, tally, message)


def _check_totals(attribute: _Attribute) -> Iterator[Finding]:
    if attribute.totals.count:
        message = (
            f"amounts do not add up in {attribute.totals.count:,} of "
            f"{attribute.totals_checked:,} places"
        )
        yield _finding(LintCheck.TOTALS, attribute.path, attribute.totals, message)


def _check_spelling(attribute: _Attribute) -> Iterator[Finding]:
    """Find strings that are nearly equal to another one that is at least as frequent."""
    total = sum(tally.count for tally in attribute.texts.values())
    if attribute.share(ValueKind.TEXT) < _ALIKE or total < _REPEATED * len(attribute.texts):
        return
    ranked = sorted(attribute.texts.items(), key=lambda item: -item[1].count)
    keys = [ignoring(unified(text), [Ignored.PUNCTUATION, Ignored.ACCENTS]) for text, _ in ranked]
    similar = _Tally()
    for index, earlier in _nearest_earlier(keys):
        (text, tally), (usual, more) = ranked[index], ranked[earlier]
        shown, as_usual = (shorten(label, _MAX_SHOWN) for label in (text, usual))
        note = f"{shown} ({tally.count:,}) and {as_usual} ({more.count:,})"
        similar.count += 1
        if len(similar.examples) < _MAX_EXAMPLES:
            similar.examples.append(Example(tally.examples[0].case, note))
    if similar.count:
        message = f"{plural(similar.count, 'string')} nearly equal to another one"
        yield _finding(LintCheck.SPELLING, attribute.path, similar, message)


def _nearest_earlier(keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the place of each key that is nearly equal to an earlier one, and the place of that."""
    first: dict[str, int] = {}
    by_numbers: dict[tuple[str, ...], dict[int, str]] = {}
    for index, key in enumerate(keys):
        if key in first:
            yield index, first[key]
            continue
        first[key] = index
        earlier = by_numbers.setdefault(tuple(numbers_in(key)), {})
        nearest = extractOne(
            key, earlier, scorer=Levenshtein.normalized_similarity, score_cutoff=_SPELLING
        )
        if nearest is None:
            earlier[index] = key
        else:
            yield index, nearest[2]


_CHECKS: Final[tuple[Callable[[_Attribute], Iterator[Finding]], ...]] = (
    _check_types,
    _check_impossible_dates,
    _check_unlike_others,
    _check_formats,
    _check_totals,
    _check_spelling,
    _check_always_empty,
)


# --- sums -----------------------------------------------------------------------------------------

_ITEM_AMOUNTS: Final = frozenset(
    (
        "amount",
        "total",
        "linetotal",
        "lineamount",
        "extendedcost",
        "extendedprice",
        "extendedamount",
        "totalprice",
        "totalamount",
    )
)
_SUBTOTALS: Final = frozenset(("subtotal", "nettotal", "netamount", "totalnet", "totalbeforetax"))
_TOTALS: Final = frozenset(
    (
        "total",
        "grandtotal",
        "grosstotal",
        "totalgross",
        "totalamount",
        "ordertotal",
        "invoicetotal",
        "totaldue",
        "amountdue",
        "receipttotal",
    )
)
_TAXES: Final = frozenset(
    (
        "tax",
        "salestax",
        "totaltax",
        "taxamount",
        "taxtotal",
        "vat",
        "vatamount",
        "totalvat",
        "gst",
        "gstamount",
    )
)
_ADJUSTMENTS: Final = frozenset(
    (
        "discount",
        "shipping",
        "freight",
        "tip",
        "gratuity",
        "fee",
        "charge",
        "charges",
        "rounding",
        "deposit",
        "adjustment",
        "handling",
        "service",
        "credit",
        "prepaid",
        "surcharge",
        "postage",
    )
)


class _Sums(NamedTuple):
    """The amounts of an object that belong together."""

    subtotals: list[Decimal]
    totals: list[Decimal]
    taxes: list[Decimal]
    adjustments: list[Decimal]
    total_keys: list[str]


def _sum_faults(document: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the key of each sum that can be checked, and its problem if it has one."""
    sums = _sums(document)
    if not (sums.totals or sums.subtotals) or max(len(sums.totals), len(sums.subtotals)) > 1:
        return
    if len(sums.adjustments) > _MAX_ADJUSTMENTS:
        return
    # Each discount or fee may be subtracted, ignored or added.
    adjustments = {
        sum(
            (sign * amount for sign, amount in zip(signs, sums.adjustments, strict=True)),
            Decimal(0),
        )
        for signs in product((-1, 0, 1), repeat=len(sums.adjustments))
    }
    tax = sum(sums.taxes, Decimal(0))
    if sums.totals and sums.subtotals and sums.taxes and sums.total_keys:
        want, net = sums.totals[0], sums.subtotals[0]
        sizes = {net + tax + adjustment for adjustment in adjustments} | {
            net + adjustment for adjustment in adjustments
        }
        close = any(abs(want - size) <= 2 * _CENT for size in sizes)
        yield sums.total_keys[0], "" if close else f"{want} is not {net} plus tax {tax}"
    lists = [(key, _item_amounts(value)) for key, value in document.items()]
    summed = [(key, amounts) for key, amounts in lists if amounts]
    if len(summed) == 1:
        key, amounts = summed[0]
        size, slack = sum(amounts, Decimal(0)), _CENT + _HALF_CENT * len(amounts)
        wanted = [*sums.subtotals, *sums.totals, *(total - tax for total in sums.totals)]
        close = any(
            abs(size + adjustment - want) <= slack for adjustment in adjustments for want in wanted
        )
        named = f"subtotal {sums.subtotals[0]}" if sums.subtotals else f"total {sums.totals[0]}"
        yield key, "" if close else f"{plural(len(amounts), 'item')} add up to {size}, {named}"


def _sums(document: JsonObject) -> _Sums:
    """Return the amounts of an object and of the objects in it, by what their names say."""
    sums = _Sums([], [], [], [], [])
    inner = [value for value in document.values() if isinstance(value, dict)]
    for owner in (document, *inner):
        for key, value in owner.items():
            amount = _amount(value)
            words = key_words(key)
            name = "".join(words)
            if amount is None:
                continue
            if name in _SUBTOTALS:
                sums.subtotals.append(amount)
            elif name in _TOTALS:
                sums.totals.append(amount)
                if owner is document:
                    sums.total_keys.append(key)
            elif name in _TAXES:
                sums.taxes.append(amount)
            elif amount and not _ADJUSTMENTS.isdisjoint(words):
                sums.adjustments.append(amount)
    return sums


def _item_amounts(value: JsonValue) -> list[Decimal]:
    """Return the amounts of all items if exactly one of their fields is named so."""
    if not isinstance(value, list) or len(value) < 1:
        return []
    items = [item for item in value if isinstance(item, dict)]
    names = {key for item in items for key in item if "".join(key_words(key)) in _ITEM_AMOUNTS}
    if len(items) < len(value) or len(names) != 1:
        return []
    name = names.pop()
    amounts = [_amount(item.get(name)) for item in items]
    return [] if None in amounts else [amount for amount in amounts if amount is not None]


def _amount(value: JsonValue) -> Decimal | None:
    number: Number | None = as_number(value, NumberFormat.AUTO)
    if number is None:
        return None
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)

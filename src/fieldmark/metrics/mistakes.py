"""The mistakes of cases, with their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from fieldmark.metrics.taxonomy import MISTAKES
from fieldmark.model.case import Case, UnparsedDocuments
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.kernel import DOCUMENTS, parsed
from fieldmark.model.outcome import FACT_MASK, FACTS, Presence
from fieldmark.model.outcomes import AttributeTable, FieldOutcome, Outcomes
from fieldmark.values.paths import ROOT, resolve, resolve_unparsed

if TYPE_CHECKING:
    from fieldmark.model.kernel._kernel import Document


Source: TypeAlias = "JsonValue | Missing | Document"
"""A document, which may be unparsed; `MISSING` if it does not exist or was not saved."""

_FACTS: Final = frozenset(code for code, each in enumerate(FACTS) if each.outcome in MISTAKES)
_MAX_KNOWN: Final = 8_192
_FEW_VALUES: Final = 16
"""The number of mistakes whose values are read faster from unparsed documents."""


class Mistake(NamedTuple):
    """A mistake and its values; `MISSING` if a side has none or the documents were not saved.

    It is `lone` if its list item has no counterpart.
    """

    record: FieldOutcome
    attribute: str
    lone: bool
    expected: JsonValue | Missing
    candidate: JsonValue | Missing


class MistakePlace(NamedTuple):
    """A mistake without its values."""

    record: FieldOutcome
    attribute: str
    lone: bool


class CaseMistakes:
    """The mistakes of one case; its documents are parsed when they are needed."""

    __slots__ = ("_documents", "_mistakes", "_parsed", "case", "outcomes", "places", "table")

    def __init__(
        self,
        places: Sequence[MistakePlace],
        outcomes: Outcomes,
        table: AttributeTable,
        case: Case,
        *,
        has_values: bool,
    ) -> None:
        self.places = places
        self.outcomes = outcomes
        self.table = table
        self.case = case
        self._documents: UnparsedDocuments | None = None
        if has_values:
            self._documents = case.unparsed or (case.expected, case.candidate)
        self._parsed: tuple[JsonValue | Missing, JsonValue | Missing] | None = None
        self._mistakes: list[Mistake] | None = None

    @property
    def has_documents(self) -> bool:
        """Whether both documents exist and were saved."""
        return self._documents is not None and self._documents[1] is not MISSING

    @property
    def documents(self) -> tuple[JsonValue | Missing, JsonValue | Missing]:
        """The ground truth and the prediction; `MISSING` if they were not saved."""
        if self._parsed is None:
            expected, candidate = self._documents or (MISSING, MISSING)
            self._parsed = parsed(expected), parsed(candidate)
        return self._parsed

    @property
    def sources(self) -> tuple[Source, Source]:
        """The documents from which the values of the mistakes are read fastest."""
        if self._parsed is None and self._documents and len(self.places) <= _FEW_VALUES:
            return self._documents
        return self.documents

    @property
    def mistakes(self) -> list[Mistake]:
        """The mistakes with their values."""
        if self._mistakes is None:
            truth, answer = self.sources
            self._mistakes = [
                Mistake(
                    record,
                    attribute,
                    lone,
                    _value(truth, record.path, record.expected_presence),
                    _value(answer, record.candidate_path, record.candidate_presence),
                )
                for record, attribute, lone in self.places
            ]
        return self._mistakes


class MistakeReader:
    """Finds the mistakes of cases.

    Cases of saved runs share their outcomes, so their places are kept, together with the outcomes,
    so that no others have the same identity.
    """

    __slots__ = ("_known", "_table")

    def __init__(self) -> None:
        self._known: dict[int, tuple[Outcomes, list[MistakePlace]]] = {}
        self._table: AttributeTable | None = None

    def places(self, outcomes: Outcomes, table: AttributeTable) -> Sequence[MistakePlace]:
        """Return the mistakes of a case without their values."""
        if table is not self._table:
            self._known.clear()
            self._table = table
        known = self._known.get(id(outcomes))
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[id(outcomes)] = outcomes, list(_places(outcomes, table))
        return known[1]

    def read(
        self, outcomes: Outcomes, table: AttributeTable, case: Case, *, has_values: bool = True
    ) -> CaseMistakes:
        """Return the mistakes of a case; `has_values` says whether its documents were saved."""
        places = self.places(outcomes, table)
        return CaseMistakes(places, outcomes, table, case, has_values=has_values)


def value_at(document: Source, path: str) -> JsonValue | Missing:
    """Return the value of a field in a document."""
    if type(document) in DOCUMENTS:
        return resolve_unparsed(cast("Document", document), path)
    whole = cast("JsonValue", document)
    return whole if path == ROOT else resolve(whole, path)


def _value(document: Source, path: str, presence: Presence) -> JsonValue | Missing:
    if presence is Presence.ABSENT or document is MISSING:
        return MISSING
    return value_at(document, path)


def _places(outcomes: Outcomes, table: AttributeTable) -> Iterator[MistakePlace]:
    """Yield every mistake, its attribute, and whether its list item exists on one side only."""
    positions = [place for place, cell in enumerate(outcomes.cells) if cell & FACT_MASK in _FACTS]
    if not positions:
        return
    marks = iter(outcomes.items)
    upcoming = next(marks, None)
    lone: dict[str, bool] = {}
    for position, record in zip(positions, outcomes.records(table, _FACTS), strict=True):
        while upcoming is not None and upcoming[0] <= position:
            _, attribute, expected, candidate, _ = upcoming
            lone[attribute] = expected is None or candidate is None
            upcoming = next(marks, None)
        path = table.path(record.attribute)
        alone = any(alone and path.startswith(name) for name, alone in lone.items())
        yield MistakePlace(record, path, alone)

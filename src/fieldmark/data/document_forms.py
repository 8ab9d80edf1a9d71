"""How the documents of both sides are read, decided once from the first rows.

Extraction services write metadata around values (`values/envelopes.py`), and the cells of CSV
files are text (`cell_types.py`). The decision depends on the first rows of both inputs alone, so
neither the number of workers nor where an interrupted run continues makes a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Final, NamedTuple

from fieldmark.data.cell_types import CellType, attribute_text, column_types
from fieldmark.data.inputs import Cells, Envelopes, Inputs
from fieldmark.data.json_parser import Role, UnreadableRow
from fieldmark.data.model_text import CandidateJson, parse_model_text
from fieldmark.data.rows import RowBlock
from fieldmark.data.sides import InputSide, OpenedInputs, make_dialect
from fieldmark.errors import DataError, OptionHint, OptionPhrase, OptionText
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.rule import Rules
from fieldmark.plan.rule_matching import rules_of_field
from fieldmark.values.envelopes import (
    NO_ENVELOPE,
    Attribute,
    Envelope,
    Separated,
    recognized,
    values_in_objects,
)
from fieldmark.values.paths import ROOT
from fieldmark.values.value_confidences import (
    ConfidenceOptions,
    ConfidenceReader,
    ReadConfidences,
)

_SAMPLE_ROWS: Final = 64
_FEW_ROWS: Final = 8
_SAMPLE_CELLS: Final = 256
_SAMPLE_BYTES: Final = 1 << 17
_NAMED: Final = 3
_TYPED: Final = frozenset(("exact", "numeric_tolerance", "boolean", "money", "ignore"))
"""Comparators that read numbers and booleans; every other rule of a column is for its text."""
_TYPED_DEFAULTS: Final = _TYPED | {"normalized_text"}
"""Comparators of all fields that compare numbers and booleans by value."""
_NOUNS: Final = {Role.TRUTH: "ground truth", Role.CANDIDATE: "predictions"}


class DocumentForms(NamedTuple):
    """Where both sides have metadata, and the types of the cells of CSV files."""

    expected: Envelope = NO_ENVELOPE
    candidate: Envelope = NO_ENVELOPE
    types: Mapping[Attribute, CellType] = {}

    @property
    def is_plain(self) -> bool:
        """Whether documents are read as they are."""
        return not (self.expected or self.candidate or self.types)


PLAIN: Final = DocumentForms()


def detect_forms(opened: OpenedInputs, options: Inputs) -> tuple[DocumentForms, list[str]]:
    """Return how the documents of two sides are read, and notes for the user."""
    both = opened.truth.layout.partner_key
    if opened.candidate is None and both is None:
        return PLAIN, []
    sides = opened.truth, opened.candidate or opened.truth
    for side in sides:
        _extend_sample(side)
    keys = sides[0].layout.value_key, both or sides[1].layout.value_key
    samples = [_documents(side, key, options) for side, key in zip(sides, keys, strict=True)]
    forms = PLAIN
    notes: list[str] = []
    if options.envelopes == Envelopes.UNWRAP:
        expected, candidates = (sample[:_SAMPLE_ROWS] for sample in samples)
        forms, notes = detect_envelopes(expected, candidates)
        named = options.confidences is not None and options.confidences.value is not None
        if not (forms.candidate.value or named):
            opened.structural += _warn_values_in_objects(candidates, expected)
    texts = [side.source.text_cells for side in sides]
    if any(texts) and options.cells == Cells.TYPED:
        # A cell with the document of a row is JSON, whose values have types, or a single value.
        are_rows = [key is None for key, text in zip(keys, texts, strict=True) if text]
        values = (
            _without_metadata(samples[0], forms.expected),
            _without_metadata(samples[1], forms.candidate, options.confidences),
        )
        types = column_types(
            zip(values, texts, strict=True),
            lambda attribute: has_text_rule(options.cell_rules, attribute),
            only_root=not any(are_rows),
        )
        forms = forms._replace(types=types)
        notes += _type_notes(types)
    return forms, notes


def _without_metadata(
    documents: Sequence[JsonValue],
    envelope: Envelope,
    confidences: ConfidenceOptions | None = None,
) -> Iterator[JsonValue]:
    """Yield the documents of a sample as they are compared, except those that deviate."""
    reader = None if confidences is None else ConfidenceReader(confidences)
    for document in documents:
        if reader is not None:
            separated: ReadConfidences | Separated = reader.read(document, envelope=envelope)
        else:
            separated = envelope.separate(document)
        if not separated.deviates:
            yield separated.document


def _warn_values_in_objects(
    candidates: Sequence[JsonValue], expected: Sequence[JsonValue]
) -> list[str]:
    """Return a warning if predictions have values in objects that are not known to be envelopes."""
    key, attributes = values_in_objects(candidates, expected)
    if not key:
        return []
    names = ", ".join(map(attribute_text, attributes[:_NAMED]))
    more = ", …" if len(attributes) > _NAMED else ""
    message = f"single values in ground truth, but objects with {key!r} in predictions"
    hint = f"to compare these values, name the key in the rules, as in confidence: {{value: {key}}}"
    return [f"{message}: {names}{more}; {hint}"]


def detect_candidate_form(side: InputSide, options: Inputs) -> DocumentForms:
    """Return how predictions are read without ground truth."""
    if options.envelopes == Envelopes.KEEP:
        return PLAIN
    _extend_sample(side)
    documents = _documents(side, side.layout.value_key, options)
    return DocumentForms(candidate=recognized(documents[:_SAMPLE_ROWS]))


def detect_envelopes(
    expected: Sequence[JsonValue], candidates: Sequence[JsonValue]
) -> tuple[DocumentForms, list[str]]:
    """Return where the documents of a sample of both sides have metadata, and notes."""
    forms = DocumentForms(recognized(expected, candidates), recognized(candidates, expected))
    sides = zip((forms.expected, forms.candidate), Role, strict=True)
    return forms, [envelope_note(envelope, role) for envelope, role in sides if envelope]


def envelope_note(envelope: Envelope, role: Role = Role.CANDIDATE) -> str:
    """Return a note about metadata that is not compared."""
    where = [f"the value is in {envelope.value!r}"] if envelope.value else []
    names = [*envelope.keys, *(f"*{suffix}" for suffix in envelope.suffixes)]
    if names:
        more = ", …" if len(names) > _NAMED else ""
        where.append(f"next to values in {', '.join(names[:_NAMED])}{more}")
    return OptionText(
        f"{_NOUNS[role]} with metadata, which is not compared ({'; '.join(where)}); compare it "
        "with ",
        OptionHint(OptionPhrase.WITH_VALUE, "envelopes", Envelopes.KEEP.value),
    )


def warn_deviating(number: int) -> str:
    """Return the warning about documents without the envelope of their input."""
    if number == 1:
        return "1 document does not have the metadata of the others, and was compared as it is"
    documents = f"{number:,} documents do not have the metadata of the others"
    return f"{documents}, and were compared as they are"


def warn_other_cells(number: int) -> str:
    """Return the warning about cells that have another type than their column."""
    cells, they_are = ("1 cell", "it is") if number == 1 else (f"{number:,} cells", "they are")
    return f"{cells} in columns of numbers or booleans compared as text, as {they_are} neither"


def has_text_rule(rules: Sequence[Rules], attribute: str) -> bool:
    """Return whether the rule of an attribute reads text."""
    path = attribute.replace("[]", "[0]")
    for own in rules:
        matches = rules_of_field(own.fields, attribute, path)
        own_rules = [match.rule.comparator for match in matches if match.rule.comparator]
        comparator, typed = (own_rules[-1], _TYPED) if own_rules else (own.default, _TYPED_DEFAULTS)
        if comparator is not None and comparator.name not in typed:
            return True
    return False


def _type_notes(types: Mapping[Attribute, CellType]) -> list[str]:
    """Return a note about the columns that do not have text."""
    shown: list[str] = []
    for cell_type in CellType:
        names = [attribute_text(own) for own, known in types.items() if known is cell_type]
        if names:
            columns = ", ".join("the value" if name == ROOT else name for name in names[:_NAMED])
            more = ", …" if len(names) > _NAMED else ""
            shown.append(f"{cell_type.value}s in {columns}{more}")
    if not shown:
        return []
    return [
        OptionText(
            f"cells of CSV read as {' and '.join(shown)}; read text with ",
            OptionHint(OptionPhrase.WITH_VALUE, "cells", Cells.TEXT.value),
        )
    ]


def _extend_sample(side: InputSide) -> None:
    """Read some rows ahead if the first block has only a few, as with large documents."""
    blocks = side.blocks
    ahead = [*islice(blocks, 1)]
    rows = len(side.sample.rows)
    try:
        while rows < _FEW_ROWS and side.source.bytes_read < _SAMPLE_BYTES:
            block = next(blocks, None)
            if block is None:
                break
            ahead.append(block)
            rows += len(block.rows)
    except DataError as error:
        blocks = _raised(error)  # where the rows before it have been read
    side.blocks = chain(ahead, blocks)
    if len(ahead) > 1:
        known = [block.ids for block in ahead if block.ids is not None]
        side.sample = RowBlock(
            [row for block in ahead for row in block.rows],
            [position for block in ahead for position in block.positions],
            [*chain.from_iterable(known)] if known else None,
        )


def _raised(error: DataError) -> Iterator[RowBlock]:
    yield from ()
    raise error


def _documents(side: InputSide, key: str | None, options: Inputs) -> list[JsonValue]:
    """Return the first documents of a side; text that contains JSON is parsed."""
    id_key, last = side.layout.id_key, options.candidate_json == CandidateJson.LAST
    other_keys = {id_key, options.confidence_key}
    documents: list[JsonValue] = []
    for row in side.sample.rows[:_SAMPLE_CELLS]:
        document: JsonValue | Missing | UnreadableRow = row
        if isinstance(row, dict):
            document = (
                {name: value for name, value in row.items() if name not in other_keys}
                if key is None
                else row.get(key, MISSING)
            )
        elif key is not None or (id_key is not None and side.layout.id_needed):
            continue
        if isinstance(document, str):
            with suppress(DataError):
                read = parse_model_text(
                    document,
                    make_dialect(side.dialect.role, options),
                    options.parse,
                    last=last,
                    repair=options.repair,
                )
                document = read.value if isinstance(read.value, dict | list) else document
        if not isinstance(document, Missing | UnreadableRow):
            documents.append(document)
    return documents

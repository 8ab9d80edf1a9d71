"""Warnings about inputs that are probably read in a way the user did not intend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fieldmark.data.inputs import Coverage, Pairing
from fieldmark.data.json_parser import JsonDialect, Role, UnreadableRow
from fieldmark.data.model_text import parse_model_text
from fieldmark.data.row_layout import CANDIDATE_KEYS, EXPECTED_KEYS, id_text
from fieldmark.data.rows import RowBlock
from fieldmark.errors import DataError, OptionHint, OptionPhrase, OptionText
from fieldmark.model.case import Case
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.dates import read_day
from fieldmark.values.json_text import all_finite
from fieldmark.values.numbers import as_number
from fieldmark.values.paths import leaves
from fieldmark.values.text import plural

if TYPE_CHECKING:
    from fieldmark.data.sides import InputSide


_CHECKED_ROWS: Final = 3
_WRAPPER_DEPTH: Final = 3
_KEY_OPTIONS: Final = {Role.TRUTH: "expected", Role.CANDIDATE: "candidate"}
_KEYS_OF_THE_OTHER_SIDE: Final = {Role.TRUTH: CANDIDATE_KEYS, Role.CANDIDATE: EXPECTED_KEYS}
_NOUNS: Final = {Role.TRUTH: "documents of the ground truth", Role.CANDIDATE: "predictions"}
_OTHER_FORMATS: Final[tuple[tuple[str, str], ...]] = (
    (r"\s*\[\s*(?:\n|\Z)|\s*\{\s*(?:\n|\Z)", "multi-line JSON; use the extension .json"),
    (r"\s*<", "XML or HTML, which is not supported"),
    (r"---\s*(?:\n|\Z)|(?:- )?[\w-]+:(?:\s|\Z)", "YAML; use the extension .yaml"),
    (r"[^{}\[\],\t\n]+\t[^{}\[\]\n]*(?:\n|\Z)", "TSV; use the extension .tsv"),
    (r"[^{}\[\],\n]+(?:,[^{}\[\],\n]*)+(?:\n|\Z)", "CSV; use the extension .csv"),
)
"""Patterns for the start of files that are not JSONL, and their likely formats; rarely needed."""


def first_non_finite(cases: Iterable[Case]) -> str:
    """Return the first case whose candidate has a NaN or infinite number, with its path."""
    for case in cases:
        # An unparsed document has only finite numbers.
        candidate = case.candidate if case.unparsed is None else case.unparsed[1]
        if isinstance(candidate, float | list | dict) and not all_finite(candidate):
            paths = (path for path, value in leaves(candidate) if not all_finite(value))
            return f"case {case.id!r}, {next(paths)}"
    return ""


def warn_non_finite(name: str, number: int, first: str) -> str:
    """Return a warning about NaN and infinite numbers; `first` is from `first_non_finite`."""
    where = f"; first: {first}" if first else ""
    return f"{name}: NaN or infinite numbers, which match nothing ({number:,}{where})"


def check_pairs(
    coverage: Coverage, pair: str | None, ids: str | None, unreadable: Sequence[str]
) -> None:
    """Raise an error if the rows of two inputs do not belong together.

    `ids` is from `describe_ids`; `None` if rows were paired by position. If a side is `unreadable`,
    that is the reason.
    """
    unpaired, unexpected = coverage.unpaired, coverage.unexpected
    if ids is not None:
        if unexpected and unpaired and unpaired == coverage.total - coverage.invalid_truth:
            raise DataError(OptionText("no rows paired: the two inputs have no id in common", ids))
    elif (unpaired or unexpected) and pair != Pairing.POSITION:
        if unreadable:
            raise DataError(unreadable[0])
        rows, others = coverage.total, coverage.total - unpaired + unexpected
        raise DataError(
            OptionText(
                f"the rows have no ids to pair them by, and there are {rows:,} in the ground truth "
                f"but {others:,} in the predictions; give both inputs ids, or pair by position "
                "anyway with ",
                OptionHint(OptionPhrase.WITH_VALUE, "pair", Pairing.POSITION.value),
            )
        )


def describe_ids(truth: InputSide, candidate: InputSide) -> str:
    """Return the first ids, and how rows could be paired, if the first rows share no id."""
    sides = [_sample_ids(side) for side in (truth, candidate)]
    if not all(sides) or not set(sides[0]).isdisjoint(sides[1]):
        return ""
    first = [", ".join(map(repr, ids[:_CHECKED_ROWS])) for ids in sides]
    rows = [
        [row for row in side.sample.rows if isinstance(row, dict)] for side in (truth, candidate)
    ]
    keys = rows[0][0].keys() & rows[1][0].keys() if all(rows) else set()
    shared = {
        key: len(set.intersection(*({id_text(row.get(key)) for row in side} for side in rows)))
        for key in sorted(keys)
        if _identifies(key, rows[0]) and _identifies(key, rows[1])
    }
    key = max(shared, key=shared.__getitem__, default="")
    set_key = OptionHint(OptionPhrase.SET_KEY_TO, "id", key)
    return OptionText(
        f" (ground truth: {first[0]}, …; predictions: {first[1]}, …); ",
        set_key if shared.get(key) else "check the id key",
        ", or pair rows by position with ",
        OptionHint(OptionPhrase.WITH_VALUE, "pair", Pairing.POSITION.value),
    )


def _sample_ids(side: InputSide) -> list[str]:
    if side.sample.ids is not None:
        return side.sample.ids
    key = side.layout.id_key or ""
    ids = [id_text(row.get(key)) for row in side.sample.rows if isinstance(row, dict)]
    return [name for name in ids if name is not None]


def _identifies(key: str, rows: Sequence[JsonObject]) -> bool:
    """Return whether every row has its own value for a key, which is no measured quantity."""
    values = [row.get(key) for row in rows]
    texts = {id_text(value) for value in values}
    return None not in texts and len(texts) == len(rows) and all(map(_may_be_id, values))


def _may_be_id(value: JsonValue) -> bool:
    """Return whether a value is an integer, or a text that is neither a date nor a decimal number.

    >>> [_may_be_id(each) for each in ("INV-7", "0042", 7, 7.5, "7.5", "2024-01-31", True)]
    [True, True, True, False, False, False, False]
    """
    if not isinstance(value, str):
        return isinstance(value, int) and not isinstance(value, bool)
    if value.isdigit():
        return True
    return read_day(value) is None and as_number(value) is None


def warn_unreadable_sides(coverage: Coverage, sides: Sequence[InputSide]) -> list[str]:
    """Return a warning for each side that is mostly unreadable, with its likely format."""
    readable = coverage.total - coverage.missing - coverage.invalid_truth
    counts = (
        (coverage.invalid_truth, coverage.total, sides[0], "ground truth row"),
        (coverage.unparseable, readable, sides[-1], "prediction"),
    )
    warnings: list[str] = []
    for faults, total, side, noun in counts:
        if 2 * faults <= total:
            continue
        prefix = _prefix(side)
        looks = _guess_format(side.sample) if faults == total else ""
        if looks:
            warnings.append(f"{prefix}cannot parse any row; the file looks like {looks}")
        else:
            warnings.append(f"{prefix}cannot parse {faults:,} of {plural(total, noun)}")
    return warnings


def _prefix(side: InputSide) -> str:
    """Return the name of a file; data in memory has the noun of the warning."""
    name = side.source.name
    return "" if name in ("", *(role.label for role in Role)) else f"{name}: "


def _guess_format(sample: RowBlock) -> str:
    """Return the likely format if the first rows are not JSON, or an empty string."""
    row = next(iter(sample.rows), None)
    if len(sample.rows) > 1 and not all(isinstance(r, UnreadableRow) for r in sample.rows[:2]):
        return ""
    if isinstance(row, UnreadableRow):
        text = row.head.decode(errors="replace")
    elif isinstance(row, str):
        text = row
    else:
        return ""
    return next((name for pattern, name in _OTHER_FORMATS if re.match(pattern, text)), "")


def warn_nested_documents(truth: InputSide, candidate: InputSide | None) -> list[str]:
    """Return a warning with the key that seems to contain the documents of one side."""
    expected = _documents(truth, truth.layout.value_key)
    candidates = _documents(candidate or truth, (candidate or truth).layout.value_key)
    if candidate is None:
        candidates = _documents(truth, truth.layout.partner_key)
    for side, role, own, other_documents in (
        (candidate or truth, Role.CANDIDATE, candidates, expected),
        (truth, Role.TRUTH, expected, candidates),
    ):
        keys = _wrapper(own, other_documents, _KEYS_OF_THE_OTHER_SIDE[role])
        if keys:
            name = ".".join(keys)
            hint: str | OptionHint = OptionHint(OptionPhrase.SET_KEY_TO, _KEY_OPTIONS[role], name)
            if candidate is None or side.layout.value_key is not None:
                hint = f"replace each row by its {name!r}"
            found_in = f"{_prefix(side)}the {_NOUNS[role]} appear to be in {name!r}; "
            return [OptionText(found_in, hint, " to read them")]
    return []


def warn_truth_as_predictions(candidate: InputSide, *, same_file: bool) -> list[str]:
    """Return a warning if the predictions seem to be the ground truth itself."""
    key = candidate.layout.value_key
    if key in EXPECTED_KEYS:
        where = f"{_prefix(candidate)}predictions are read from {key!r}"
        set_key = OptionHint(OptionPhrase.SET_KEY, "candidate")
        return [
            OptionText(
                f"{where}, which usually contains ground truth; ",
                set_key,
                " if they are in another key",
            )
        ]
    if same_file:
        return [f"{_prefix(candidate)}both inputs are this file, so all documents are equal"]
    return []


def _documents(side: InputSide, key: str | None) -> list[JsonObject]:
    """Return the first documents of a side that are objects."""
    id_key, dialect = side.layout.id_key, JsonDialect(role=Role.CANDIDATE)
    documents: list[JsonObject] = []
    for row in side.sample.rows[:_CHECKED_ROWS]:
        if not isinstance(row, dict):
            continue
        document = row if key is None else row.get(key)
        if isinstance(document, str):
            with suppress(DataError):
                document = parse_model_text(document, dialect).value
        if isinstance(document, dict):
            documents.append({name: value for name, value in document.items() if name != id_key})
    return documents


def warn_confidences(coverage: Coverage) -> list[str]:
    """Return warnings about confidences that could not be read, or may be read wrongly."""
    warnings: list[str] = []
    if number := coverage.unreadable_confidences:
        warnings.append(
            f"{plural(number, 'confidence')} could not be read; a confidence is a number from 0 to "
            "1 or 0 to 100, a percentage, null or N/A"
        )
    if number := coverage.unrecognized_confidences:
        warnings.append(
            f"{plural(number, 'value')} with a confidence and other keys; set the keys of both in "
            "the rules, as in confidence: {value: value, confidence: confidence}"
        )
    to_1, to_100 = coverage.confidences_to_1, coverage.confidences_to_100
    if to_1 and to_100:
        warnings.append(
            f"confidences from 0 to 1 in {plural(to_1, 'prediction')} and from 0 to 100 in "
            f"{to_100:,}; set the scale in the rules, as in confidence: {{scale: 100}}"
        )
    return warnings


def _wrapper(
    documents: Sequence[JsonObject], other_documents: Sequence[JsonObject], excluded: Sequence[str]
) -> tuple[str, ...]:
    """Return the keys below which all documents have most keys of the others, or nothing.

    An `excluded` key contains a copy of the other side.
    """
    if not documents or not other_documents or _has_most(set(other_documents[0]), documents[0]):
        return ()
    keys = set(other_documents[0])
    level: list[tuple[tuple[str, ...], Sequence[JsonObject]]] = [((), documents)]
    for _ in range(_WRAPPER_DEPTH):
        deeper: list[tuple[tuple[str, ...], Sequence[JsonObject]]] = []
        for path, outer in level:
            for key in outer[0]:
                inner = [
                    value for document in outer if isinstance(value := document.get(key), dict)
                ]
                if len(inner) < len(outer) or (not path and (key in keys or key in excluded)):
                    continue
                if all(_has_most(keys, document) for document in inner):
                    return (*path, key)
                deeper.append(((*path, key), inner))
        level = deeper
    return ()


def _has_most(keys: set[str], value: JsonObject) -> bool:
    """Return whether an object has more than half of the keys."""
    return 2 * len(keys & value.keys()) > len(keys)

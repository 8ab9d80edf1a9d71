"""Labels: pairs of values with the verdict of a person, for calibration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Final

from fieldmark.metrics.identity import canonical_sha256
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.escape import from_csv
from fieldmark.values.json_text import strict_json
from fieldmark.values.records import EXCLUDED, computed_field, record_fields, to_json

_YES: Final = frozenset({"true", "yes", "y", "1", "match", "pass", "same", "correct", "right"})
_NO: Final = frozenset(
    {"false", "no", "n", "0", "mismatch", "fail", "different", "incorrect", "wrong"}
)
_MATCHED: Final = frozenset({"match", "pass"})
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Two values, and whether a person says that they match; `None` if there is no verdict yet.

    `judge` is the comparator or the evaluator whose `similarity` and `outcome` a run recorded. A
    label without `path` is about two whole documents.
    """

    case_id: str = ""
    path: str = ""
    expected: JsonValue | Missing
    candidate: JsonValue
    verdict: bool | None = None
    attribute: str = ""
    judge: str = ""
    outcome: str = ""
    similarity: float | None = None
    input: Annotated[JsonValue | Missing, EXCLUDED] = MISSING

    @property
    @computed_field()
    def pair(self) -> str:
        """A hash of both values, which reveals changes in a spreadsheet."""
        return _digest(None if self.expected is MISSING else self.expected, self.candidate)

    @property
    def accepted(self) -> bool | None:
        """Whether the run accepted the pair, if the label comes from a run."""
        return self.outcome in _MATCHED if self.outcome else None

    def to_dict(self) -> JsonObject:
        """Return the label as JSON; a missing verdict is null."""
        return to_json(self)


LABEL_COLUMNS: Final = tuple(field.key for field in record_fields(Label))
"""The keys of a label, which are the columns of a table of labels."""


def label_from_json(row: object, *, needs_expected: bool = True) -> Label:
    """Parse a label from JSON or from a row of a table; an invalid one raises ValueError.

    The hash of both values says which JSON the cells of a table mean.
    """
    if not isinstance(row, dict):
        keys = "'expected', 'candidate' and 'verdict'"
        raise ValueError(f"expected an object with {keys}")  # noqa: TRY004
    for key in ("expected", "candidate", "verdict"):
        if key not in row and (needs_expected or key != "expected"):
            raise ValueError(f"{key!r} is required")
    expected: JsonValue | Missing = row["expected"] if "expected" in row else MISSING  # noqa: SIM401
    candidate: JsonValue = row["candidate"]
    pair = row.get("pair")
    if isinstance(pair, str) and pair:
        expected, candidate = _original(expected, candidate, pair)
    word = "" if row["verdict"] is None else str(row["verdict"]).strip().lower()
    if word and word not in _YES | _NO:
        raise ValueError(f"verdict must be true or false, got {row['verdict']!r}")
    return Label(
        expected=expected,
        candidate=candidate,
        verdict=word in _YES if word else None,
        similarity=_similarity(row.get("similarity")),
        input=row["input"] if "input" in row else MISSING,  # noqa: SIM401
        **{
            name: from_csv(str(row.get(name) or ""))
            for name in ("case_id", "path", "attribute", "judge", "outcome")
        },
    )


def _similarity(cell: object) -> float | None:
    """Return a similarity, which some spreadsheets write with a comma; `None` if it is none."""
    try:
        value = float(str(cell).replace(",", "."))
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None


def _original(
    expected: JsonValue | Missing, candidate: JsonValue, pair: str
) -> tuple[JsonValue | Missing, JsonValue]:
    """Return the values with this hash: values of a cell may be escaped, or JSON as text."""
    for first in _readings(None if expected is MISSING else expected):
        for other in _readings(candidate):
            if _digest(first, other) == pair:
                return MISSING if expected is MISSING else first, other
    raise ValueError(
        "the values differ from the values written for labeling; a spreadsheet may have converted "
        "them: import all columns as text, or label the page or the JSONL file"
    )


def _readings(cell: JsonValue) -> Iterator[JsonValue]:
    """Yield the possible values of a cell of a table."""
    yield cell
    if isinstance(cell, str):
        yield from_csv(cell)
        with suppress(ValueError, RecursionError):
            yield json.loads(from_csv(cell))
        if not cell:
            yield None
    else:
        # A string that looks like a JSON object or array.
        yield strict_json(cell).decode()
        yield json.dumps(cell, ensure_ascii=False)


def _digest(expected: JsonValue, candidate: JsonValue) -> str:
    return canonical_sha256([expected, candidate])[:_DIGITS]

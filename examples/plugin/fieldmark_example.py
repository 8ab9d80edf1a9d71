"""One plug-in of each kind: a frozen dataclass whose fields are its options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar

from fieldmark.errors import DataError
from fieldmark.evaluators.base import Score
from fieldmark.metrics.counts import verdict_at
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Reason
from fieldmark.model.reader import LeftOut
from fieldmark.report.shown_run import ShownRun
from fieldmark.runs.targets.target import TargetCall, TargetResponse
from fieldmark.values.annotations import PositiveInt
from fieldmark.values.strategy_options import check_options


@dataclass(frozen=True, slots=True, kw_only=True)
class SamePrefix:
    """Match strings that start with the same characters."""

    name: ClassVar[str] = "same_prefix"
    reflexive: ClassVar[bool] = True  # equal values match without a call
    length: PositiveInt = 3

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Compare the first characters of both values as text."""
        if str(expected)[: self.length] == str(candidate)[: self.length]:
            return MATCHED
        return Comparison.differs(Reason.DIFFERENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestText:
    """Score candidates without strings that are too long."""

    name: ClassVar[str] = "longest_text"
    limit: int = 100

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score 1 if no string is longer than the limit."""
        del expected  # the ground truth does not matter
        found = candidate.items() if isinstance(candidate, dict) else ()
        long = tuple(key for key, value in found if len(str(value)) > self.limit)
        score = 0.0 if long or unreadable or not isinstance(candidate, dict) else 1.0
        return Score(score=score, verdict=verdict_at(score, 1.0), misses=long)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValues:
    """Files with lines `key=value`; a blank line ends a document."""

    name: ClassVar[str] = "key_values"
    suffixes: ClassVar[tuple[str, ...]] = (".kv",)

    def read(self, file: BinaryIO) -> Iterator[JsonObject]:
        """Yield one row per document."""
        for part in file.read().decode().split("\n\n"):
            pairs = [line.partition("=") for line in part.splitlines() if line]
            if not all(equals for _, equals, _ in pairs):
                raise DataError("expected lines of the form key=value")
            if pairs:
                yield {key: value for key, _, value in pairs}


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoColumns:
    """Exports of a tool with the columns `gold` and `model`."""

    name: ClassVar[str] = "two_columns"

    def rows(self, value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
        """Return a row for each entry of `results`."""
        results = value.get("results") if isinstance(value, dict) else None
        if not isinstance(results, list):
            raise DataError("expected an object with a list of results")
        rows: list[JsonObject] = []
        for number, row in enumerate(results, 1):
            if isinstance(row, dict):
                sides = {"expected": row["gold"], "candidate": row["model"]}
                rows.append({"id": str(number), **sides})
            else:
                left_out.add("result")
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCases:
    """The ids of the cases that did not pass, one per line."""

    name: ClassVar[str] = "failed_cases"
    file: ClassVar[str] = "failed.txt"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the ids."""
        ids = [case.id for case in run.cases() if case.verdict != "pass"]
        out.write_text("".join(f"{each}\n" for each in ids), "utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpperCase:
    """Produces a candidate by writing the input in upper case."""

    name: ClassVar[str] = "upper_case"
    key: str = "text"

    def unready(self) -> str | None:
        """Return why the target cannot be used: it always can."""
        return None

    def identity(self) -> JsonObject:
        """Return what a response depends on besides the request."""
        return {"key": self.key}

    @contextmanager
    def opened(self, timeout: float) -> Iterator[TargetCall]:
        """Yield a function that answers one request within the time limit."""
        del timeout  # nothing here takes time
        yield lambda request: TargetResponse(value={self.key: str(request["input"]).upper()})

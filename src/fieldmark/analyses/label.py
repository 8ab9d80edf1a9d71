"""Draw pairs of values, or judged cases, of a run for labeling by people."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.recount import RunLike, stored_run
from fieldmark.errors import ConfigError, DataError, Location
from fieldmark.evaluators.base import EvaluatorResult
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.model.outcome import Outcome, Reason
from fieldmark.report.document import Column, Data, Document, Format, Line, Table
from fieldmark.report.html.page import label_page
from fieldmark.report.render import ShownRecord, document_csv
from fieldmark.report.tables import outcome_text
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.labels import LABEL_COLUMNS, Label
from fieldmark.values.equality import equal
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import PathError, configured_attribute, parse_path, resolve
from fieldmark.values.text import did_you_mean, plural

ORDERS: Final = ("uncertain", "random")
_COMPARED: Final = frozenset(
    outcome.label for outcome in (Outcome.MATCH, Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR)
)

_Drawn: TypeAlias = tuple[float, bytes, Label]
"""How uncertain a label is, a tie breaker, and the label."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LabelSheet(ShownRecord):
    """Pairs without verdicts, in the recommended order of labeling."""

    run: str
    labels: tuple[Label, ...]

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {"run": self.run, "labels": [label.to_dict() for label in self.labels]}

    def document(self, *, top: int | None = None) -> Document:
        """Return where the pairs come from; only the data has their values."""
        rows = [label.to_dict() for label in self.labels]
        table = Table(
            columns=(
                Column("Case", "case_id"),
                Column("Field", "path", folds=True),
                Column("Outcome", "outcome"),
                Column("Similarity", "similarity", Format.NUMBER),
            ),
            rows=[
                {**row, "outcome": outcome_text(label.outcome)}
                for row, label in zip(rows, self.labels, strict=True)
            ],
            top=top,
            noun="pair",
        )
        return Document(
            Line(f"{plural(len(self), 'pair')} of {self.run} to label"),
            table,
            data=Data(LABEL_COLUMNS, rows),
        )

    def to_jsonl(self) -> bytes:
        """Return one JSON object per label."""
        return b"".join(strict_json(each.to_dict()) + b"\n" for each in self.labels)

    def to_csv(self) -> bytes:
        """Return a table for spreadsheets; no cell can be read as a formula."""
        return document_csv(self.document()).encode("utf-8")

    def to_html(self) -> bytes:
        """Return a page for labeling, which needs no server."""
        return label_page(self.run, self.labels)

    def write(self, path: str | Path) -> None:
        """Write the labels in the format of the suffix: .jsonl, .csv or .html."""
        writers = {".jsonl": self.to_jsonl, ".csv": self.to_csv, ".html": self.to_html}
        suffix = Path(path).suffix.lower()
        if suffix not in writers:
            message = f"{path}: the suffix must be one of: {', '.join(writers)}"
            raise ConfigError.of(message)
        write_atomic(Path(path), writers[suffix]())


@checked
def label(
    run: RunLike,
    *,
    number: int = 100,
    paths: Sequence[str] = (),
    evaluator: str | None = None,
    order: str = "uncertain",
    seed: int = 0,
) -> LabelSheet:
    """Draw pairs of different values from a saved run, for labeling by people.

    The pairs are spread over attributes and outcomes. The same seed draws the same pairs.

    Args:
        run: A saved run: its directory, id, tag or `latest`, or a result of `score` or `open_run`.
        number: The number of pairs.
        paths: The attributes to draw from; by default all.
        evaluator: Draw the cases that this evaluator scored, or their fields if it scores fields
            separately.
        order: `uncertain` begins with the matches of lowest and the mismatches of highest
            similarity; `random` has no order.
        seed: The seed of the random numbers.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "name": "Acme"}, {"id": "b", "name": "Bolt"}]
    >>> predictions = [{"id": "a", "name": "Acme Ltd"}, {"id": "b", "name": "Bolt"}]
    >>> sheet = fm.label(fm.score(truth, predictions, match="fuzzy", out="run"))
    >>> [(each.expected, each.candidate, each.outcome) for each in sheet]
    [('Acme', 'Acme Ltd', 'wrong_value')]
    """
    if number < 1:
        raise ConfigError.of(f"number must be at least 1, got {number}")
    if order not in ORDERS:
        raise ConfigError.of(f"order must be one of: {', '.join(ORDERS)}; got {order!r}")
    stored = stored_run(run)
    drawing = _Drawing(number, random=order == "random", seed=seed)
    wanted = [_attribute(path) for path in (paths if not isinstance(paths, str) else [paths])]
    known: dict[str, None] = {}
    hidden = 0
    for case in stored.cases():
        hidden += not case.has_values
        found = _fields(case) if evaluator is None else _judged(case, evaluator)
        for each, uncertainty in found:
            known[each.attribute] = None
            if not wanted or each.attribute in wanted:
                drawing.add(each, uncertainty)
        if evaluator is not None:
            known.update(dict.fromkeys(result.name for result in case.evaluator_results))
    labels = drawing.labels()
    if not labels:
        place = Location(str(stored.path))
        if hidden:
            raise DataError("the run was saved without values", place)
        raise DataError(_nothing_found(wanted, evaluator, list(known)), place)
    return LabelSheet(run=stored.path.name, labels=tuple(labels))


def _attribute(path: str) -> str:
    try:
        return configured_attribute(parse_path(path))
    except PathError:
        return path


def _nothing_found(wanted: Sequence[str], evaluator: str | None, known: Sequence[str]) -> str:
    for name in [evaluator] if evaluator is not None else wanted:
        if name not in known:
            what = "evaluator" if evaluator is not None else "pair of different values of"
            hint = did_you_mean(name, known)
            return f"no {what} {name!r}{f'; {hint}' if hint else ''}"
    return "nothing to label: no two different values were compared"


def _fields(case: CaseResult) -> Iterator[tuple[Label, float]]:
    """Yield the pairs of different values of a case, with how certain the comparator was."""
    for compared in case.iter_fields() if case.has_values else ():
        expected, candidate = compared.expected, compared.candidate
        if compared.outcome not in _COMPARED or expected is MISSING or candidate is MISSING:
            continue
        if equal(expected, candidate):
            continue
        each = compared.finite()
        accepted = each.outcome == Outcome.MATCH.label
        similarity = float(accepted) if each.similarity is None else each.similarity
        yield (
            Label(
                expected=each.expected,
                candidate=None if each.candidate is MISSING else each.candidate,
                case_id=case.id,
                path=each.path,
                attribute=each.attribute,
                judge=each.comparator,
                outcome=each.outcome,
                # A guard rejects a pair at any threshold.
                similarity=0.0 if each.reason is Reason.GUARD_FAILED else each.similarity,
            ),
            similarity if accepted else 1.0 - similarity,
        )


def _judged(case: CaseResult, name: str) -> Iterator[tuple[Label, float]]:
    """Yield a case that an evaluator scored, or its fields, with how certain the evaluator was."""
    for result in case.evaluator_results if case.has_values else ():
        score = result.score
        if result.name != name or score.score is None or case.case.candidate is MISSING:
            continue
        fields = score.details.get("fields")
        if isinstance(fields, dict):
            for path, own in fields.items():
                if isinstance(own, dict) and "settled" not in own:
                    yield from _judged_field(case, result, path, own)
        elif not equal(case.case.expected, case.case.candidate):
            passed = score.verdict is Verdict.PASS
            yield (
                Label(
                    expected=case.case.expected,
                    candidate=case.case.candidate,
                    case_id=case.id,
                    judge=name,
                    outcome=(Verdict.PASS if passed else Verdict.FAIL).value,
                    similarity=score.score,
                ),
                _certainty(score.score, score.details, passed=passed),
            )


def _judged_field(
    case: CaseResult, result: EvaluatorResult, path: str, own: JsonObject
) -> Iterator[tuple[Label, float]]:
    value = own.get("score")
    if not isinstance(value, int | float) or case.case.candidate is MISSING:
        return
    parsed = parse_path(path)
    expected, candidate = resolve(case.case.expected, parsed), resolve(case.case.candidate, parsed)
    if candidate is MISSING:
        return
    passed = value >= _pass_threshold(result.score.details)
    yield (
        Label(
            expected=expected,
            candidate=candidate,
            case_id=case.id,
            path=path,
            attribute=path,
            judge=result.name,
            outcome=(Verdict.PASS if passed else Verdict.FAIL).value,
            similarity=float(value),
        ),
        _certainty(float(value), own, passed=passed),
    )


def _pass_threshold(details: JsonObject) -> float:
    """Return the lowest score that passes, as the judge describes it."""
    judge = details.get("judge")
    given = judge.get("pass_threshold") if isinstance(judge, dict) else None
    given = given.get("threshold") if isinstance(given, dict) else given
    return given if isinstance(given, int | float) else 1.0


def _certainty(score: float, details: JsonObject, *, passed: bool) -> float:
    """Return how far a score is from the other verdict; samples that differ reduce it."""
    spread = details.get("spread")
    differing = spread if isinstance(spread, int | float) else 0.0
    return (score if passed else 1.0 - score) - differing


@dataclass(slots=True)
class _Drawing:
    """The first labels of each attribute and outcome; equal pairs are drawn once.

    Which labels are drawn depends on their content and the seed, not on the order of the cases.
    """

    number: int
    random: bool = field(kw_only=True)
    seed: int = field(kw_only=True)
    _strata: dict[tuple[str, str], dict[bytes, _Drawn]] = field(default_factory=dict)

    def add(self, each: Label, certainty: float) -> None:
        """Add a label, unless enough others of its stratum come before it."""
        verdict = "match" if each.accepted else "mismatch"
        stratum = self._strata.setdefault((each.attribute, verdict), {})
        tie = self._hash(each.attribute, each.pair)
        stratum.setdefault(tie, (0.0 if self.random else certainty, tie, each))
        if len(stratum) >= 2 * self.number:
            kept = sorted(stratum.values(), key=lambda drawn: drawn[:2])[: self.number]
            stratum.clear()
            stratum.update((drawn[1], drawn) for drawn in kept)

    def labels(self) -> list[Label]:
        """Return the labels: the first of each stratum, the second of each, and so on."""
        columns = [
            sorted(stratum.values(), key=lambda drawn: drawn[:2])
            for _, stratum in sorted(self._strata.items(), key=lambda item: self._hash(*item[0]))
        ]
        drawn = (each for row in zip_longest(*columns) for each in row if each is not None)
        return [label for _, (*_, label) in zip(range(self.number), drawn, strict=False)]

    def _hash(self, *parts: str) -> bytes:
        return hashlib.sha256(strict_json([self.seed, *parts])).digest()

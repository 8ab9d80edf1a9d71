"""Draw pairs for labeling by people, and calibrate a comparator or a judge on their verdicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias, cast

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.saved_run import RunLike, stored_run
from fieldmark.data.inputs import InputLike
from fieldmark.data.json_parser import JsonDialect, UnreadableRow
from fieldmark.data.sources import open_source
from fieldmark.errors import ConfigError, DataError, Location, OptionError, Problem
from fieldmark.evaluators.base import (
    ConfiguredEvaluator,
    EvaluatorResult,
    Score,
    Status,
    needs_expected,
)
from fieldmark.metrics.agreement import (
    BestThreshold,
    CrossValidation,
    JudgeAgreement,
    JudgedPair,
    ThresholdTarget,
    agreement_at,
    auc,
    base_rate,
    best_threshold,
    cross_validate,
    sweep,
    threshold_between,
    threshold_for,
)
from fieldmark.metrics.gates import GateResult, check_gates
from fieldmark.metrics.identity import canonical_sha256
from fieldmark.metrics.summary import NO_SPENT
from fieldmark.model.case import Case, CaseContext, Verdict
from fieldmark.model.comparison import BatchComparator, Comparator, Comparison, TextPair
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome, Reason
from fieldmark.report.document import (
    Column,
    Data,
    Document,
    Format,
    Items,
    Line,
    Row,
    Table,
    warning,
)
from fieldmark.report.html.page import label_page
from fieldmark.report.render import ShownRecord, document_csv
from fieldmark.report.run_document import usage_lines
from fieldmark.report.tables import number, outcome_text
from fieldmark.rules.calibration import CALIBRATED_OPTIONS, judge_identity
from fieldmark.rules.config_values import Code
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.error_boundary import safe_comparator
from fieldmark.runs.eval_file import load_eval
from fieldmark.runs.evaluator_runner import open_evaluators, unready_judges
from fieldmark.runs.gates import parse_gates
from fieldmark.runs.labels import LABEL_COLUMNS, Label, label_from_json
from fieldmark.runs.provider_set import ProviderSet, for_run
from fieldmark.runs.settings import RulesLike, resolve_settings
from fieldmark.values.equality import equal
from fieldmark.values.json_text import pretty_json, strict_json
from fieldmark.values.paths import PathError, configured_attribute, parse_path, resolve
from fieldmark.values.records import OMIT_DEFAULT, to_json
from fieldmark.values.text import did_you_mean, plural, shorten

ORDERS: Final = ("uncertain", "random")
_COMPARED: Final = frozenset(
    outcome.label for outcome in (Outcome.MATCH, Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR)
)

_Drawn: TypeAlias = tuple[float, bytes, Label]
"""How uncertain a label is, a tie breaker, and the label."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LabelSheet(ShownRecord):
    """Pairs without verdicts, in the recommended order of labeling.

    Attributes:
        run: The name of the run.
        labels: The pairs.
    """

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
        return b"".join(strict_json(label.to_dict()) + b"\n" for label in self.labels)

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
        run: A saved run with values.
        number: The number of pairs.
        paths: The attributes to draw from; all by default.
        evaluator: An evaluator of the run: the cases that it scored are drawn, or their fields if
            it scores fields separately.
        order: `"uncertain"` draws matches with the lowest and mismatches with the highest
            similarity first; `"random"` draws at random.
        seed: The seed of the draw.

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
        drawable = _fields(case) if evaluator is None else _judged(case, evaluator)
        for pair, uncertainty in drawable:
            known[pair.attribute] = None
            if not wanted or pair.attribute in wanted:
                drawing.add(pair, uncertainty)
        if evaluator is not None:
            known.update(dict.fromkeys(result.name for result in case.evaluator_results))
    labels = drawing.labels()
    if not labels:
        location = Location(str(stored.path))
        if hidden:
            raise DataError("the run was saved without values", location)
        raise DataError(_nothing_found(wanted, evaluator, list(known)), location)
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
        field = compared.finite()
        accepted = field.outcome == Outcome.MATCH.label
        similarity = float(accepted) if field.similarity is None else field.similarity
        yield (
            Label(
                expected=field.expected,
                candidate=None if field.candidate is MISSING else field.candidate,
                case_id=case.id,
                path=field.path,
                attribute=field.attribute,
                judge=field.comparator,
                outcome=field.outcome,
                # A guard rejects a pair at any threshold.
                similarity=0.0 if field.reason is Reason.GUARD_FAILED else field.similarity,
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
            for path, result_of_field in fields.items():
                if isinstance(result_of_field, dict) and "settled" not in result_of_field:
                    yield from _judged_field(case, result, path, result_of_field)
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
    case: CaseResult, result: EvaluatorResult, path: str, field_details: JsonObject
) -> Iterator[tuple[Label, float]]:
    value = field_details.get("score")
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
        _certainty(float(value), field_details, passed=passed),
    )


def _pass_threshold(details: JsonObject) -> float:
    """Return the lowest score that passes, as the judge describes it."""
    judge = details.get("judge")
    threshold = judge.get("pass_threshold") if isinstance(judge, dict) else None
    threshold = threshold.get("threshold") if isinstance(threshold, dict) else threshold
    return threshold if isinstance(threshold, int | float) else 1.0


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

    def add(self, label: Label, certainty: float) -> None:
        """Add a label, unless enough others of its stratum come before it."""
        verdict = "match" if label.accepted else "mismatch"
        stratum = self._strata.setdefault((label.attribute, verdict), {})
        tie = self._hash(label.attribute, label.pair)
        stratum.setdefault(tie, (0.0 if self.random else certainty, tie, label))
        if len(stratum) >= 2 * self.number:
            first = sorted(stratum.values(), key=lambda drawn: drawn[:2])[: self.number]
            stratum.clear()
            stratum.update((drawn[1], drawn) for drawn in first)

    def labels(self) -> list[Label]:
        """Return the labels: the first of each stratum, the second of each, and so on."""
        columns = [
            sorted(stratum.values(), key=lambda drawn: drawn[:2])
            for _, stratum in sorted(self._strata.items(), key=lambda item: self._hash(*item[0]))
        ]
        drawn = (
            drawn_label
            for row in zip_longest(*columns)
            for drawn_label in row
            if drawn_label is not None
        )
        return [label for _, (*_, label) in zip(range(self.number), drawn, strict=False)]

    def _hash(self, *parts: str) -> bytes:
        return hashlib.sha256(strict_json([self.seed, *parts])).digest()


_MAX_EXAMPLES: Final = 10
_MAX_EXAMPLE_LENGTH: Final = 60
_DEFAULT_THRESHOLD: Final = 0.8
_RECORDED: Final = "recorded"
_FORMAT: Final = 1
_SAMPLE: Final = tuple(JudgedPair(score, score > 0) for score in (0.0, 0.0, 1.0, 1.0))
"""Labels for which every metric is defined, to check the names of metrics."""


class _JudgedLabel(NamedTuple):
    """A label and its similarity; `None` if the comparison failed."""

    label: Label
    similarity: float | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongVerdict:
    """A pair whose similarity is on the wrong side of the threshold; `people` say if it matches."""

    case_id: Annotated[str, OMIT_DEFAULT] = ""
    path: Annotated[str, OMIT_DEFAULT] = ""
    expected: JsonValue
    candidate: JsonValue
    people: bool
    similarity: float
    note: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration(ShownRecord):
    """The agreement of a comparator or judge with human verdicts.

    `warnings` say why the result may mean less than it seems to.

    Attributes:
        judge: The comparator, judge or recorded similarities.
        threshold: The current threshold.
        judged: All labeled pairs with their similarities.
        examples: The first pairs with a wrong verdict.
        errors: The number of pairs that could not be judged.
        first_error: The first of these errors.
        target: The precision or recall that the chosen threshold must reach.
        seed: The seed of the random numbers.
        unlabeled: The number of rows without a verdict, which are not used.
        options: The options that identify the judge.
        has_threshold: Whether a rule can set the threshold.
        labels_sha256: The hash of the labels.
        contradictions: The number of pairs with both verdicts.
        recorded_judges: The judges that computed recorded similarities.
        spent: The cost of models.
        gates: The results of the gates.
    """

    judge: str
    threshold: float
    judged: tuple[JudgedPair, ...]
    examples: tuple[WrongVerdict, ...] = ()
    errors: int = 0
    first_error: str = ""
    target: ThresholdTarget | None = None
    seed: int = 0
    unlabeled: int = 0
    options: JsonObject = field(default_factory=dict)
    has_threshold: bool = True
    labels_sha256: str = ""
    contradictions: int = 0
    recorded_judges: tuple[str, ...] = ()
    spent: JsonObject = field(default_factory=dict)
    gates: tuple[GateResult, ...] = ()

    @property
    def current(self) -> JudgeAgreement:
        """The agreement at the current threshold."""
        return agreement_at(self.judged, self.threshold)

    @property
    def best(self) -> BestThreshold | None:
        """The threshold with the highest agreement."""
        return best_threshold(self.judged)

    @property
    def chosen(self) -> JudgeAgreement | None:
        """The agreement at the best threshold for the target; `None` if none reaches it."""
        return threshold_for(self.judged, self.target)

    @property
    def cross_validation(self) -> CrossValidation | None:
        """The agreement on labels that the threshold was not chosen on."""
        return cross_validate(self.judged, self.target, seed=self.seed)

    @property
    def auc(self) -> float | None:
        """The area under the ROC curve, over all thresholds."""
        return auc(self.judged)

    @property
    def base_rate(self) -> float | None:
        """The agreement of a judge that always gives the more frequent verdict."""
        return base_rate(self.judged)

    @property
    def has_both_verdicts(self) -> bool:
        """Whether some labels are matches and others are not."""
        return len({pair.right for pair in self.judged}) > 1

    @property
    def passed(self) -> bool:
        """Whether all pairs were compared and all gates passed."""
        return not self.errors and all(gate.passed for gate in self.gates)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt the result."""
        return tuple(self._warnings())

    def _warnings(self) -> Iterator[str]:
        if len(self.recorded_judges) > 1:
            yield (
                f"the similarities come from {' and '.join(self.recorded_judges)}, which have no "
                "common threshold; select the labels of one field by its path"
            )
        if self.contradictions:
            yield f"{plural(self.contradictions, 'pair')} with both verdicts"
        if not self.judged:
            return
        if not self.has_both_verdicts:
            word = "a match" if self.judged[0].right else "no match"
            yield (
                f"every label says {word}; kappa, AUC and thresholds are undefined until some "
                "labels say the opposite"
            )
            return
        share, base = self.current.share or 0.0, self.base_rate or 0.0
        if share <= base:
            matches = sum(pair.right for pair in self.judged)
            word = "match" if 2 * matches >= len(self.judged) else "no match"
            yield (
                "at the current threshold, the judge is no better than the base rate: it agrees "
                f"with {share:.3f} of the labels, and always saying {word!r} with {base:.3f}"
            )
        if (self.auc or 0.0) <= 0.5:  # noqa: PLR2004 - a coin
            yield "matches are not more similar than other pairs (AUC up to 0.5)"
        if self.target is not None and self.chosen is None:
            yield f"no threshold reaches {self.target}"
        validation = self.cross_validation
        if validation is None:
            yield "too few labels to measure a threshold on labels that it was not chosen on"
        elif self.target is None and (validation.held_out.share or 0.0) <= base:
            yield "on labels that were held out, no threshold is better than the base rate"
        elif self.target is not None and self.chosen is not None:
            reached = getattr(validation.held_out.rates, self.target.metric)
            if reached is None or reached < self.target.value:
                shown = "undefined" if reached is None else f"{reached:.3f}"
                name = self.target.metric
                yield f"on labels that were held out, {name} is {shown}, below the target"

    def metrics(self) -> JsonObject:
        """Return all metrics by name, for gates; without prefix at the current threshold."""
        cross, best, chosen = self.cross_validation, self.best, self.chosen
        now = self.current.to_dict()
        undefined: JsonObject = dict.fromkeys(now)
        return {
            "pairs": len(self.judged) + self.errors,
            "errors": self.errors,
            "unlabeled": self.unlabeled,
            "auc": self.auc,
            "base_rate": self.base_rate,
            **now,
            "best": {**undefined} if best is None else best.to_dict(),
            "chosen": {**undefined} if chosen is None else chosen.to_dict(),
            "cross_validated": {**undefined} if cross is None else cross.to_dict(),
            "spent": self.spent or NO_SPENT,
        }

    def to_dict(self) -> JsonObject:
        """Return the result as JSON."""
        now = self.current.to_dict()
        metrics = {name: value for name, value in self.metrics().items() if name not in now}
        return {
            "format": _FORMAT,
            "judge": self.judge,
            "target": None if self.target is None else dict(self.target._asdict()),
            "first_error": self.first_error,
            **metrics,
            "now": now,
            "sweep": [row.to_dict() for row in sweep(self.judged)],
            "examples": [to_json(example) for example in self.examples],
            "warnings": list[JsonValue](self.warnings),
            "gates": [
                {name: getattr(gate, name) for name in ("name", "limit", "value", "passed", "note")}
                for gate in self.gates
            ],
        }

    def document(self, *, top: int | None = None) -> Document:
        """Return the agreement at each threshold, and the pairs with a wrong verdict."""
        best, cross = self.best, self.cross_validation
        rows = "" if not self.unlabeled else f"; {plural(self.unlabeled, 'row')} without a verdict"
        texts = [
            f"{self.judge}: {plural(len(self.judged), 'pair')} with human verdicts{rows}",
            _threshold_text("current", self.current),
        ]
        data: list[Row] = [{"at": "current", **self.current.to_dict()}]
        if best is not None:
            texts += [
                _threshold_text("best", best.agreement),
                f"within one standard error of the best: {best.low:g} to {best.high:g}",
            ]
            data.append({"at": "best", **best.agreement.to_dict()})
        if self.target is not None and self.chosen is not None:
            texts.append(_threshold_text(f"for {self.target}", self.chosen))
            data.append({"at": "chosen", **self.chosen.to_dict()})
        if cross is not None:
            limits = "" if cross.low is None else f", thresholds {cross.low:g} to {cross.high:g}"
            held_out = _agreement_text(cross.held_out)
            texts.append(f"held out ({cross.folds} folds{limits}): {held_out}")
            data.append({"at": "cross_validated", **cross.held_out.to_dict(), "threshold": None})
        texts.append(f"AUC {number(self.auc)}, base rate {number(self.base_rate)}")
        examples = [_example_line(example) for example in self.examples[:top]]
        return Document(
            *map(Line, (*texts, *usage_lines(self.spent, {}))),
            Items(lines=examples, more=len(self.examples) - len(examples), noun="pair"),
            *map(warning, self.warnings),
            data=Data(list(data[0]), data),
        )

    def save(self, path: str | Path) -> None:
        """Write a file for rules with `threshold: calibrated`; it contains no value of a label."""
        if self.judge == _RECORDED:
            raise ConfigError.of(
                "recorded similarities cannot be referenced by a rule",
                hint="name the comparator that was measured: match, or rules with path",
            )
        chosen, cross = self.chosen, self.cross_validation
        why = self.first_error if self.has_threshold else f"{self.judge} has none"
        if not why and not self.has_both_verdicts:
            why = "the labels do not have both verdicts"
        if why or chosen is None:
            why = why or f"no threshold reaches {self.target}"
            raise ConfigError.of(f"there is no threshold to save: {why}")
        content: JsonObject = {
            "format": _FORMAT,
            "judge": self.judge,
            "options": self.options,
            "target": None if self.target is None else dict(self.target._asdict()),
            "threshold": chosen.threshold,
            "labels": {"pairs": len(self.judged), "sha256": self.labels_sha256},
            "auc": self.auc,
            "base_rate": self.base_rate,
            "chosen": chosen.to_dict(),
            "cross_validated": None if cross is None else cross.to_dict(),
        }
        write_atomic(Path(path), pretty_json(content))


def _threshold_text(label: str, agreement: JudgeAgreement) -> str:
    return f"{label:7} threshold {agreement.threshold:g}: {_agreement_text(agreement)}"


def _agreement_text(agreement: JudgeAgreement) -> str:
    interval = agreement.kappa_interval
    bounds = "" if interval is None else f" ({interval[0]:.3f} to {interval[1]:.3f})"
    precision, recall, _ = agreement.rates
    return (
        f"agreement {number(agreement.share)}, kappa {number(agreement.kappa)}{bounds}, "
        f"precision {number(precision)}, recall {number(recall)}, "
        f"false positives {agreement.judge_only}, false negatives {agreement.people_only}"
    )


def _example_line(example: WrongVerdict) -> Line:
    verdict = "match" if example.people else "no match"
    text = f"human verdict {verdict}, similarity {example.similarity:.3f}"
    sides = (json.dumps(side, ensure_ascii=False) for side in (example.expected, example.candidate))
    pair = " | ".join(shorten(side, _MAX_EXAMPLE_LENGTH) for side in sides)
    note = f" ({example.note})" if example.note else ""
    return Line(f"{text}: {pair}{note}", public=text)


@checked
def calibrate(
    labels: InputLike,
    *,
    rules: RulesLike = None,
    match: str | None = None,
    path: str | None = None,
    evaluation: str | Path | None = None,
    evaluator: str | None = None,
    threshold: float | None = None,
    target: str | None = None,
    seed: int = 0,
    offline: bool = False,
    min: Mapping[str, float] | None = None,  # noqa: A002 - as on the command line
    max: Mapping[str, float] | None = None,  # noqa: A002
    allow_code: bool = False,
) -> Calibration:
    """Measure a comparator, a judge or recorded similarities against human verdicts.

    Args:
        labels: Rows with `expected`, `candidate` and `verdict`, and `similarity` if it is recorded;
            rows without a verdict are not used.
        rules: A rules file with the comparator to measure.
        match: The name of the comparator to measure.
        path: The field of the rules whose comparator and labels are used.
        evaluation: An eval file with the evaluator to measure.
        evaluator: The name of the evaluator, such as an `llm_judge`.
        threshold: The current threshold; by default from the judge, or 0.8.
        target: A precision or recall that the threshold must reach, such as `"precision=0.95"`.
        seed: The seed of the random numbers.
        offline: Use only cached responses of models.
        min: Lower limits of metrics such as `kappa`.
        max: Upper limits of metrics.
        allow_code: Rules may name Python functions, which are then imported and run.

    >>> rows = [{"expected": "Acme", "candidate": c, "verdict": v}
    ...         for c, v in [("Acme Ltd", False), ("acme", True), ("Acne", True)]]
    >>> calibrate(rows, match="fuzzy").best.agreement.share
    1.0
    """
    try:
        wanted = None if target is None else ThresholdTarget.parse(target)
    except OptionError as error:
        raise ConfigError.of(str(error)) from error
    gates = parse_gates(min, max)
    sample = Calibration(judge="", threshold=0.5, judged=_SAMPLE, target=wanted)
    unknown = [gate for gate in check_gates(gates, sample.metrics()) if not gate.known]
    if unknown:
        raise ConfigError([Problem(gate.note) for gate in unknown])
    judge = _judge(rules, match, path, evaluation, evaluator, allow_code=allow_code)
    judge = for_run(judge, offline=offline)
    where = str(labels) if isinstance(labels, str | Path) else "labels"
    read = list(_labels(labels, judge))
    if path is not None:
        read = _of_path(read, path, where, required=rules is None)
    usable = [label for label in read if label.verdict is not None]
    if not usable:
        message = "no label has a verdict" if read else "no labels found"
        hint = "enter true or false in the column verdict" if read else ""
        raise DataError(f"{message}; {hint}" if hint else message, Location(where))
    providers = ProviderSet(judge)
    problems = providers.unready()
    if isinstance(judge, ConfiguredEvaluator):
        problems += unready_judges([judge])
    if problems:
        raise ConfigError(problems)
    if judge is None:
        judged = _recorded(usable)
    elif isinstance(judge, ConfiguredEvaluator):
        judged = _evaluated(judge, usable)
    else:
        judged = _compared(safe_comparator(judge), usable)
    limit = _current_threshold(judge, usable) if threshold is None else threshold
    failed = [pair for pair in judged if pair.similarity is None]
    configured = judge.evaluator if isinstance(judge, ConfiguredEvaluator) else judge
    identity = {} if configured is None else judge_identity(configured)
    # The hash does not depend on the order of the labels.
    content: list[JsonValue] = [[label.pair, label.path, label.verdict] for label in usable]
    content.sort(key=str)
    verdicts = {(label.pair, label.path, label.verdict) for label in usable}
    different_pairs = {(label.pair, label.path) for label in usable}
    result = Calibration(
        judge=_RECORDED if judge is None else str(identity["judge"]),
        options=cast("JsonObject", identity.get("options", {})),
        has_threshold=any(hasattr(configured, name) for name in CALIBRATED_OPTIONS),
        threshold=limit,
        judged=tuple(
            JudgedPair(pair.similarity, bool(pair.label.verdict))
            for pair in judged
            if pair.similarity is not None
        ),
        examples=tuple(_examples(judged, limit)),
        errors=len(failed),
        first_error=failed[0].note if failed else "",
        target=wanted,
        seed=seed,
        unlabeled=len(read) - len(usable),
        labels_sha256=canonical_sha256(content),
        contradictions=len(verdicts) - len(different_pairs),  # pairs with both verdicts
        recorded_judges=tuple(sorted({label.judge for label in usable if label.judge}))
        if judge is None
        else (),
        spent=providers.spent(),
    )
    return replace(result, gates=_checked_gates(result, check_gates(gates, result.metrics())))


def _checked_gates(result: Calibration, gates: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """Return the gates; none on agreement passes if labels have one verdict only."""
    if result.has_both_verdicts:
        return tuple(gates)
    counts = ("pairs", "errors", "unlabeled", "spent")
    return tuple(
        gate
        if gate.name.startswith(counts)
        else gate._replace(passed=False, note="the labels do not have both verdicts")
        for gate in gates
    )


# --- the judge ------------------------------------------------------------------------------------


def _judge(
    rules: RulesLike,
    match: str | None,
    path: str | None,
    evaluation: str | Path | None,
    evaluator: str | None,
    *,
    allow_code: bool,
) -> Comparator | ConfiguredEvaluator | None:
    """Return the comparator or judge to measure, or `None` for recorded similarities."""
    if evaluation is not None:
        if rules is not None or match is not None:
            raise ConfigError.of("evaluation cannot be combined with rules or match")
        return _evaluator(evaluation, evaluator, allow_code=allow_code)
    if evaluator is not None:
        raise ConfigError.of("evaluator requires evaluation, an eval file")
    if rules is None and match is None:
        return None
    settled = resolve_settings(rules=rules, match=match, allow_code=allow_code).rules
    if path is None:
        return settled.default
    for rule in settled.fields:
        if rule.path == path and rule.comparator is not None:
            return rule.comparator
    if rules is None:
        return settled.default  # the path selects labels
    known = [rule.path for rule in settled.fields if rule.comparator is not None]
    hint = did_you_mean(path, known)
    raise ConfigError.of(f"path: no rule for {path!r} with a comparator", hint=hint)


def _evaluator(
    evaluation: str | Path, name: str | None, *, allow_code: bool
) -> ConfiguredEvaluator:
    spec = load_eval(evaluation, code=Code.ALLOW if allow_code else Code.REFUSE)
    known = [member.name for member in spec.members]
    if name is None and len(known) == 1:
        name = known[0]
    for member in spec.members:
        if member.name == name:
            return member
    listed = f"must be one of: {', '.join(known)}"
    if name is None:
        raise ConfigError.of("evaluator is required", spec.location, listed)
    raise ConfigError.of(f"unknown evaluator {name!r}", spec.location, listed)


def _current_threshold(
    judge: Comparator | ConfiguredEvaluator | None, labels: Sequence[Label]
) -> float:
    """Return the threshold of the judge, or one that separates what the run accepted."""
    configured = judge.evaluator if isinstance(judge, ConfiguredEvaluator) else judge
    for name in CALIBRATED_OPTIONS:
        setting = getattr(configured, name, None)
        if isinstance(setting, int | float):
            return float(setting)
    if judge is None:
        by_outcome: dict[bool, list[float]] = {True: [], False: []}
        for label in labels:
            if label.accepted is not None and label.similarity is not None:
                by_outcome[label.accepted].append(label.similarity)
        accepted, rejected = by_outcome[True], by_outcome[False]
        if accepted and rejected and max(rejected) < min(accepted):
            return threshold_between(max(rejected), min(accepted))
    return _DEFAULT_THRESHOLD


# --- labels ---------------------------------------------------------------------------------------


def _labels(source: InputLike, judge: Comparator | ConfiguredEvaluator | None) -> Iterator[Label]:
    with_expected = not isinstance(judge, ConfiguredEvaluator) or needs_expected([judge])
    opened = open_source(source, JsonDialect(), side="labels")
    with closing(opened):
        for block in opened.blocks():
            for row, position in zip(block.rows, block.positions, strict=True):
                try:
                    cells = None if isinstance(row, UnreadableRow) else row
                    yield label_from_json(cells, needs_expected=with_expected)
                except ValueError as error:
                    raise DataError(str(error), opened.location(position)) from None


def _of_path(labels: list[Label], path: str, where: str, *, required: bool) -> list[Label]:
    """Return the labels of a field; a label without an attribute belongs to any field."""
    attributes = dict.fromkeys(label.attribute for label in labels if label.attribute)
    if not attributes:
        if required:
            hint = "name the rules with a comparator for the path"
            raise ConfigError.of("path: the labels have no attribute", Location(where), hint)
        return labels
    wanted = {path, _attribute(path)}
    selected = [label for label in labels if not label.attribute or label.attribute in wanted]
    if not selected:
        listed = ", ".join(list(attributes)[:5])
        raise DataError(f"no label of {path}; the labels are of: {listed}", Location(where))
    return selected


# --- similarities ---------------------------------------------------------------------------------


def _recorded(labels: Sequence[Label]) -> list[_JudgedLabel]:
    """Return the recorded similarities; a pair that has none was decided without one."""
    judged: list[_JudgedLabel] = []
    for label in labels:
        similarity = label.similarity
        if similarity is None and label.accepted is not None:
            similarity = float(label.accepted)
        if similarity is None:
            hint = "add a similarity to every label, or name a comparator"
            raise ConfigError.of("a label has no similarity from 0 to 1", hint=hint)
        judged.append(_JudgedLabel(label, similarity))
    return judged


def _compared(comparator: Comparator, labels: Sequence[Label]) -> list[_JudgedLabel]:
    """Compare all labels; a comparator that calls a provider gets its pairs in one batch."""
    pairs = [(cast("JsonValue", label.expected), label.candidate) for label in labels]
    if not hasattr(comparator, "settle"):
        return [
            _of_comparison(label, comparator.compare(*pair))
            for label, pair in zip(labels, pairs, strict=True)
        ]
    batched = cast("BatchComparator", comparator)
    settled = [batched.settle(*pair) for pair in pairs]
    open_pairs: list[TextPair] = list(
        dict.fromkeys(
            comparison for comparison in settled if not isinstance(comparison, Comparison)
        )
    )
    comparisons = dict(zip(open_pairs, batched.ask(open_pairs), strict=True)) if open_pairs else {}
    return [
        _of_comparison(
            label, comparison if isinstance(comparison, Comparison) else comparisons[comparison]
        )
        for label, comparison in zip(labels, settled, strict=True)
    ]


def _of_comparison(label: Label, comparison: Comparison) -> _JudgedLabel:
    if comparison.failed:
        return _JudgedLabel(label, None, comparison.note or str(comparison.reason))
    if comparison.reason is Reason.GUARD_FAILED:
        # A pair that a guard rejects does not match at any threshold.
        return _JudgedLabel(label, 0.0, comparison.note)
    return _JudgedLabel(
        label,
        comparison.score if comparison.similarity is None else comparison.similarity,
        comparison.note,
    )


def _evaluated(judge: ConfiguredEvaluator, labels: Sequence[Label]) -> list[_JudgedLabel]:
    """Score all labels with an evaluator, several at a time."""
    concurrency = getattr(judge.evaluator, "concurrency", 1)
    cases = [_case(judge, label, number) for number, label in enumerate(labels, 1)]
    with (
        open_evaluators([judge], concurrency=concurrency) as runner,
        ThreadPoolExecutor(concurrency, "label") as pool,
    ):
        scores: list[Score] = [result.score for (result,) in pool.map(runner.score, cases)]
    return [
        _JudgedLabel(
            label,
            None if score.status is Status.ERROR else score.score,
            score.reasoning,
        )
        for label, score in zip(labels, scores, strict=True)
    ]


def _case(judge: ConfiguredEvaluator, label: Label, number: int) -> Case:
    """Return a label as a case; a field that is judged on its own is the only one of its case."""
    expected: JsonValue | Missing = label.expected
    candidate = label.candidate
    if label.path and label.path in getattr(judge.evaluator, "fields", ()):
        candidate = {label.path: candidate}
        expected = MISSING if expected is MISSING else {label.path: expected}
    return Case(
        id=label.case_id or str(number),
        expected=None if expected is MISSING else expected,
        candidate=candidate,
        context=CaseContext(input=label.input),
    )


def _examples(judged: Sequence[_JudgedLabel], threshold: float) -> list[WrongVerdict]:
    """Return the pairs with a wrong verdict, the farthest from the threshold first."""
    wrong = [
        WrongVerdict(
            case_id=label.case_id,
            path=label.path,
            expected=None if label.expected is MISSING else label.expected,
            candidate=label.candidate,
            people=bool(label.verdict),
            similarity=similarity,
            note=note,
        )
        for label, similarity, note in judged
        if similarity is not None and (similarity >= threshold) != label.verdict
    ]
    wrong.sort(key=lambda example: -abs(example.similarity - threshold))
    return wrong[:_MAX_EXAMPLES]

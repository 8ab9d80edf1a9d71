"""Review the fields of a run: their order, decisions of people, and the effect of the decisions."""

from __future__ import annotations

import getpass
import hashlib
import heapq
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.improve import corrected
from fieldmark.analyses.saved_run import (
    RecountedRun,
    RunLike,
    paired_cases,
    stored_rules,
    stored_run,
)
from fieldmark.compare.wrappers import AnyOf, Tokens
from fieldmark.data.json_rows import ensure_json
from fieldmark.errors import ConfigError, DataError, FieldmarkError, Location
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome
from fieldmark.plan import compile_plan
from fieldmark.report.document import Cell, Column, Data, Document, Format, Line, Row, Table, note
from fieldmark.report.metric_titles import METRIC_TITLES
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import outcome_text
from fieldmark.rules.config_files import load_file
from fieldmark.rules.rules_file import native_form
from fieldmark.runs.case_processor import CaseProcessor
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.labels import Label
from fieldmark.runs.provider_set import ProviderSet, for_run
from fieldmark.runs.regions import stored_reading, with_reader_rules
from fieldmark.runs.reviews import (
    Change,
    Decision,
    FieldKey,
    Review,
    UnfitChangeError,
    append_review,
    corrected_document,
    current_reviews,
    read_reviews,
    truth_fields,
    values_hash,
)
from fieldmark.runs.run_options import RunOptions, restored_options
from fieldmark.runs.settings import RulesLike, Settings, resolve_settings
from fieldmark.runs.stored_cases import compared_case
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.equality import equal
from fieldmark.values.json_text import pretty_json, strict_json
from fieldmark.values.paths import PathError, covers, parse_path, path_key
from fieldmark.values.records import to_json
from fieldmark.values.text import plural

_MAX_COMMENT: Final = 10_000
_DECIDED: Final = (
    Decision.ACCEPT_TRUTH,
    Decision.ACCEPT_CANDIDATE,
    Decision.CORRECTION,
    Decision.AMBIGUOUS,
)
_VERDICTS: Final = {
    Decision.ACCEPT_TRUTH: False,
    Decision.AMBIGUOUS: True,
}
"""The verdict of a decision on the two values of a field, for calibration.

An accepted candidate or a correction says that the truth was wrong, not whether the values match.
"""
_NO_COMPARATOR: Final = frozenset({"path", "weight", "required", "description"})
"""The settings of a rule that do not say how values are compared."""
_MAX_QUEUED: Final = 1000
_MATCH: Final = Outcome.MATCH.label
_MISTAKES: Final = frozenset(
    outcome.label
    for outcome in (
        Outcome.WRONG_VALUE,
        Outcome.FORMAT_ERROR,
        Outcome.OMISSION,
        Outcome.HALLUCINATION,
    )
)
_OTHER_DATA: Final = "the values of the field have changed since it was reviewed"
_NO_FIELD: Final = "the run has no such field"


class ReviewConflictError(ConfigError):
    """A decision on a field that was reviewed in the meantime."""


# --- decisions ------------------------------------------------------------------------------------


@checked
def add_review(
    run: RunLike,
    case_id: str,
    path: str,
    decision: str,
    *,
    value: JsonValue | Missing = MISSING,
    comment: str = "",
) -> Review:
    """Save a decision about one field beside a run; neither the run nor the truth changes.

    The last decision on a field counts.

    Args:
        run: A run that was saved with values.
        case_id: The id of the case.
        path: The path of the field in the ground truth.
        decision: `accept_truth`, `accept_candidate`, `correction`, `ambiguous` if both values are
            acceptable, or `comment`.
        value: The value of a `correction`, or another acceptable value of an `ambiguous` field.
        comment: A text to save with the decision.

    >>> import fieldmark as fm
    >>> run = fm.score([{"id": "a", "total": 5}], [{"id": "a", "total": 6}], out="reviewed")
    >>> _ = fm.add_review(run, "a", "total", "accept_candidate")
    >>> fm.review(run).effect.after.micro.f1
    1.0
    """
    if decision not in [known.value for known in (*_DECIDED, Decision.COMMENT)]:
        known = ", ".join((*_DECIDED, Decision.COMMENT))
        raise ConfigError.of(f"decision must be one of: {known}; got {decision!r}")
    value = value if value is MISSING else ensure_json(value)
    stored = stored_run(run)
    case = stored.find(case_id)
    if case is None:
        raise ConfigError.of(f"case {case_id!r} not found in {stored.path.name}")
    fields = [field for field in truth_fields(case) if field.field.path == path]
    _check_values(stored, case)
    if not fields:
        raise ConfigError.of(f"case {case_id!r} has no compared field {path!r}")
    if len(fields) > 1:
        raise ConfigError.of(
            f"{path!r} names a missing and an extra item; review them in the web application"
        )
    return decide(stored, case, fields[0].field, Decision(decision), value=value, comment=comment)


def decide(
    stored: StoredRun,
    case: CaseResult,
    reviewed: FieldResult,
    decision: Decision,
    *,
    value: JsonValue | Missing = MISSING,
    comment: str = "",
    replaces: str | None = None,
) -> Review:
    """Check and save a decision about a field of a case.

    `replaces` is the id of the review that the user saw, empty if there was none. If there is
    another one by now, nothing is saved.
    """
    if len(comment) > _MAX_COMMENT:
        raise ConfigError.of(f"a comment exceeds the limit of {_MAX_COMMENT:,} characters")
    if decision is Decision.COMMENT and not comment.strip():
        raise ConfigError.of("a comment must not be empty")
    _check_values(stored, case)
    values = _values(reviewed, decision, value)
    name = user_name()

    def make(earlier: Sequence[Review]) -> Review:
        current = current_reviews(list(earlier))
        review = current.get(field_key(case.id, reviewed))
        if replaces is not None and replaces != ("" if review is None else review.id):
            raise ReviewConflictError.of(
                f"{reviewed.path} was reviewed by {review.by if review else 'someone'} in the "
                "meantime; nothing was saved",
                hint="open the field again to see the decision",
            )
        made = Review(
            id=secrets.token_hex(8),
            case_id=case.id,
            path=reviewed.path,
            candidate_path=reviewed.candidate_path,
            decision=decision,
            expected=reviewed.expected,
            candidate=reviewed.candidate,
            values=values,
            comment=comment,
            by=name,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        reviews_of_case = {key: review for key, review in current.items() if key.case_id == case.id}
        for applied in _applied_in(case, {**reviews_of_case, made.field: made}):
            if applied.review is made and applied.problem:
                hint = "decide about the other fields of its place first, or correct the truth"
                raise ConfigError.of(f"{reviewed.path}: {applied.problem}", hint=hint)
        return made

    return append_review(stored.path, make)


@checked
def undo_review(run: RunLike, review_id: str) -> Review:
    """Withdraw a decision; the decision before it counts again.

    Args:
        run: A saved run: its directory, id, tag or `latest`, or a result of `score` or `open_run`.
        review_id: The id of the decision.

    >>> import fieldmark as fm
    >>> run = fm.score([{"id": "a", "total": 5}], [{"id": "a", "total": 6}], out="undone")
    >>> made = fm.add_review(run, "a", "total", "accept_candidate")
    >>> _ = fm.undo_review(run, made.id)
    >>> len(fm.review(run))
    0
    """
    name = user_name()

    def make(earlier: Sequence[Review]) -> Review:
        withdrawn = {review.undoes for review in earlier}
        for review in earlier:
            if review.id == review_id and review.decision is not Decision.UNDO:
                if review_id in withdrawn:
                    raise ConfigError.of(f"review {review_id!r} was already withdrawn")
                return replace(
                    review,
                    id=secrets.token_hex(8),
                    decision=Decision.UNDO,
                    values=(),
                    comment="",
                    by=name,
                    at=datetime.now(UTC).isoformat(timespec="seconds"),
                    undoes=review_id,
                )
        raise ConfigError.of(f"review {review_id!r} not found")

    return append_review(stored_run(run).path, make)


def field_key(case_id: str, reviewed: FieldResult) -> FieldKey:
    """Return what identifies a field in the review file."""
    return FieldKey(
        case_id,
        reviewed.path,
        reviewed.candidate_path,
        reviewed.expected is not MISSING,
        reviewed.candidate is not MISSING,
    )


def user_name() -> str:
    """Return the name of the local user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def _values(
    reviewed: FieldResult, decision: Decision, value: JsonValue | Missing
) -> tuple[JsonValue, ...]:
    """Return the values of a decision; raise an error for one that cannot be made."""
    if decision is Decision.CORRECTION:
        if value is MISSING:
            raise ConfigError.of("a correction needs a value", hint="null means that it is empty")
        return (value,)
    if decision is not Decision.AMBIGUOUS:
        if value is not MISSING:
            raise ConfigError.of(f"the decision {decision} has no value")
        return ()
    if reviewed.comparator == Tokens.name:
        raise ConfigError.of(
            f"{reviewed.path} cannot be ambiguous, because its words are counted",
            hint="type a correction",
        )
    has_list = reviewed.comparator == AnyOf.name and isinstance(reviewed.expected, list)
    accepted = cast("list[JsonValue]", reviewed.expected) if has_list else [reviewed.expected]
    candidates = [*accepted, reviewed.candidate, *([] if value is MISSING else [value])]
    distinct: list[JsonValue] = []
    for candidate in candidates:
        known = None if candidate is MISSING else candidate
        if isinstance(known, list | dict):
            raise ConfigError.of(
                f"{reviewed.path} cannot be ambiguous, because a value is a list or an object",
                hint="type a correction",
            )
        if not any(equal(known, value) for value in distinct):
            distinct.append(known)
    if len(distinct) <= len(accepted):
        raise ConfigError.of(f"{reviewed.path} is not ambiguous: there is only one value")
    return tuple(distinct)


def _check_values(stored: StoredRun, case: CaseResult) -> None:
    if not case.has_values:
        hint = "score again with values to review it"
        location = Location(str(stored.path))
        raise DataError(f"the run was saved without values; {hint}", location)


# --- the state of a review ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedField:
    """The current review of a field; `problem` says why it does not apply to the run."""

    review: Review
    attribute: str = ""
    comparator: str = ""
    outcome: str = ""
    problem: str = ""
    label: Label | None = None

    def to_dict(self) -> JsonObject:
        """Return the review as JSON, with the data of the run about the field."""
        return {
            **self.review.to_dict(),
            "attribute": self.attribute,
            "outcome": self.outcome,
            **({"problem": self.problem} if self.problem else {}),
        }


class AttributeEffect(NamedTuple):
    """The F1 and the number of mistakes of an attribute, before and after a review."""

    attribute: str
    f1_before: float | None
    f1_after: float | None
    mistakes_before: int
    mistakes_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewEffect:
    """The metrics of a run before the review and with the reviewed truth.

    `cases` is the number of cases whose truth is another one.
    """

    before: Summary
    after: Summary
    cases: int

    @property
    def attributes(self) -> tuple[AttributeEffect, ...]:
        """The attributes whose metrics change."""
        effects: list[AttributeEffect] = []
        for path in {**self.before.attributes, **self.after.attributes}:
            old, new = self.before.attributes.get(path), self.after.attributes.get(path)
            change = AttributeEffect(
                path,
                None if old is None else old.f1,
                None if new is None else new.f1,
                0 if old is None else old.errors_by_type.total,
                0 if new is None else new.errors_by_type.total,
            )
            if change.f1_before != change.f1_after or (
                change.mistakes_before != change.mistakes_after
            ):
                effects.append(change)
        return tuple(effects)

    def to_dict(self) -> JsonObject:
        """Return the metrics that every run has, and the attributes that change."""
        return {
            "cases": self.cases,
            "before": dict(self.before.metrics),
            "after": dict(self.after.metrics),
            "attributes": [attribute._asdict() for attribute in self.attributes],
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class ReviewResult(ShownRecord):
    """The current decisions on the fields of a run, and their effect.

    Attributes:
        run: The name of the run.
        fields: The reviewed fields.
        effect: The metrics before and after; `None` if they cannot be computed again.
        note: The reason for a missing effect.
        rules: The rules for the corrected truth, if it needs other rules than the run.
    """

    run: str
    fields: tuple[ReviewedField, ...]
    effect: ReviewEffect | None = None
    note: str = ""
    rules: JsonObject | None = None
    _stored: StoredRun
    _any_of: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.decided)

    @property
    def decided(self) -> tuple[ReviewedField, ...]:
        """The fields with a decision that applies to the run."""
        return tuple(
            field
            for field in self.fields
            if not field.problem and field.review.decision in _DECIDED
        )

    @property
    def unapplied(self) -> tuple[ReviewedField, ...]:
        """The reviews of values that the run does not have."""
        return tuple(field for field in self.fields if field.problem)

    @property
    def decisions(self) -> dict[str, int]:
        """The number of fields by decision."""
        counts = Counter(field.review.decision for field in self.decided)
        return {decision.value: counts[decision] for decision in _DECIDED}

    @property
    def labels(self) -> tuple[Label, ...]:
        """The pairs of different values with a verdict, for `calibrate`."""
        return tuple(field.label for field in self.decided if field.label is not None)

    def corrected_truth(self) -> Iterator[JsonObject]:
        """Yield a row for each case with the reviewed truth, in the form that `score` reads."""
        by_case = _by_case(self.decided)
        for case in self._stored.cases():
            _check_values(self._stored, case)
            changes = list(_changes(case, by_case.get(case.id, ()), self._any_of))
            row: JsonObject = {"id": case.id, "expected": _corrected(case, changes)}
            if case.tags:
                row["tags"] = list(case.tags)
            if case.metadata is not None:
                row["metadata"] = case.metadata
            yield row

    def export(self, path: str | Path) -> Path | None:
        """Write the corrected truth as JSONL, and return the file of the rules that it needs.

        The rules are written next to it, if any field is ambiguous.
        """
        self.check_export()
        rows = b"".join(strict_json(row) + b"\n" for row in self.corrected_truth())
        target = Path(path)
        beside = None if self.rules is None else rules_path(target)
        if beside is not None:
            write_atomic(beside, pretty_json(self.rules))
        write_atomic(target, rows)
        return beside

    def check_export(self) -> None:
        """Raise an error if the corrected truth needs rules that are not known."""
        if self._any_of and self.rules is None:
            raise ConfigError.of(f"the rules for ambiguous fields cannot be written: {self.note}")

    def to_dict(self) -> JsonObject:
        """Return the decisions and their effect as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "decisions": dict(self.decisions),
            "labels": len(self.labels),
            "unapplied": len(self.unapplied),
            "effect": None if self.effect is None else self.effect.to_dict(),
            "note": self.note,
            "rules": self.rules,
            "reviews": [field.to_dict() for field in self.fields],
        }

    def document(self, *, top: int | None = None) -> Document:
        """Return the number of decisions, then the metrics and attributes before and after."""
        if not self.fields:
            return Document(Line(f"{self.run}: no field was reviewed"))
        counts = ((name.replace("_", " "), count) for name, count in self.decisions.items())
        decisions = ", ".join(f"{count} {name}" for name, count in counts if count)
        reviewed = plural(len(self), "reviewed field")
        comments = sum(bool(field.review.comment) for field in self.fields)
        lines = [
            f"{self.run}: {reviewed}{': ' if decisions else ''}{decisions}",
            *([plural(comments, "comment")] if comments else []),
        ]
        effect = self.effect
        if effect is None:
            lines.append(f"the metrics with the reviewed truth are not known: {self.note}")
            return Document(*map(Line, lines))
        after = effect.after.metrics
        metrics: list[Row] = [
            {
                "kind": "metric",
                "name": Cell(name, METRIC_TITLES.get(name, name)),
                "before": before,
                "after": after[name],
            }
            for name, before in effect.before.metrics.items()
        ]
        attributes: list[Row] = [
            {
                "kind": "attribute",
                "name": change.attribute,
                "before": change.f1_before,
                "after": change.f1_after,
                "mistakes_before": change.mistakes_before,
                "mistakes_after": change.mistakes_after,
            }
            for change in effect.attributes
        ]
        before_after = (
            Column("Before", "before", Format.NUMBER),
            Column("After", "after", Format.NUMBER),
        )
        return Document(
            *map(Line, lines),
            Line(f"with the reviewed truth ({plural(effect.cases, 'changed case')}):"),
            Table(
                name="metrics",
                columns=(Column("Metric", "name"), *before_after),
                rows=[row for row in metrics if row["before"] != row["after"]],
            ),
            Table(
                name="attributes",
                columns=(Column("Attribute (F1)", "name"), *before_after),
                rows=attributes,
                top=top,
                noun="attribute",
            ),
            *([] if effect.cases else [Line("nothing changes")]),
            data=Data(
                ("kind", "name", "before", "after", "mistakes_before", "mistakes_after"),
                [*metrics, *attributes],
            ),
        )


def rules_path(truth: Path) -> Path:
    """Return the file of the rules for a corrected truth."""
    return truth.with_name(f"{truth.name.split('.')[0] or 'truth'}.rules.json")


@checked
def review(
    run: RunLike,
    *,
    rules: RulesLike = None,
    effect: bool = True,
    allow_code: bool = False,
) -> ReviewResult:
    """Return the decisions on the fields of a run, and its metrics with the reviewed truth.

    Cases whose truth changes are compared again with the rules of the run. Models are not called;
    only their cached responses are used.

    Args:
        run: A saved run.
        rules: The rules of the run, if their file has been moved.
        effect: Compare cases again; otherwise only the decisions are returned.
        allow_code: Import and run Python functions that rules name.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "vendor": "Acme"}, {"id": "b", "vendor": "Bolt"}]
    >>> predictions = [{"id": "a", "vendor": "ACME Ltd"}, {"id": "b", "vendor": "Bolt"}]
    >>> run = fm.score(truth, predictions, out="run-reviewed")
    >>> _ = fm.add_review(run, "a", "vendor", "ambiguous")
    >>> found = fm.review(run)
    >>> found.effect.before.micro.f1, found.effect.after.micro.f1
    (0.5, 1.0)
    >>> list(found.corrected_truth())[0]
    {'id': 'a', 'expected': {'vendor': ['Acme', 'ACME Ltd']}}
    """
    return review_of(stored_run(run), rules=rules, effect=effect, allow_code=allow_code)


def review_of(
    stored: StoredRun,
    *,
    rules: RulesLike = None,
    effect: bool = True,
    allow_code: bool = False,
    read_files: bool = True,
) -> ReviewResult:
    """Return the decisions on an opened run, and their effect.

    Without `read_files`, a rules file that the run names is not read.
    """
    reviews = current_reviews(read_reviews(stored.path))
    fields = tuple(_applied(stored, reviews))
    result = ReviewResult(run=stored.path.name, fields=fields, _stored=stored)
    by_case = _by_case(result.decided)
    new_any_of = {
        reviewed.attribute
        for reviewed in result.decided
        if reviewed.review.decision is Decision.AMBIGUOUS and reviewed.comparator != AnyOf.name
    }
    result = replace(result, _any_of=frozenset(new_any_of))
    try:
        settings, document = _settings(
            stored, rules, sorted(new_any_of), allow_code=allow_code, read_files=read_files
        )
        result = replace(result, rules=document if new_any_of else None)
        if not effect:
            return result
        return replace(result, effect=_effect(stored, settings, by_case, result._any_of))  # noqa: SLF001
    except FieldmarkError as error:
        return replace(result, note=str(error))


def _by_case(fields: Iterable[ReviewedField]) -> dict[str, list[ReviewedField]]:
    by_case: dict[str, list[ReviewedField]] = {}
    for reviewed in fields:
        by_case.setdefault(reviewed.review.case_id, []).append(reviewed)
    return by_case


def _applied(stored: StoredRun, reviews: Mapping[FieldKey, Review]) -> Iterator[ReviewedField]:
    """Yield the current reviews in the order of the cases, then reviews of unknown cases."""
    waiting: dict[str, dict[FieldKey, Review]] = {}
    for key, review in reviews.items():
        waiting.setdefault(key.case_id, {})[key] = review
    for case in stored.cases() if waiting else ():
        reviews_of_case = waiting.pop(case.id, None)
        if reviews_of_case is None:
            continue
        yield from _applied_in(case, reviews_of_case)
        if not waiting:
            break
    for others in waiting.values():
        for review in others.values():
            yield ReviewedField(review=review, problem="the run has no such case")


def _applied_in(
    case: CaseResult, reviews_of_case: Mapping[FieldKey, Review]
) -> list[ReviewedField]:
    """Return the current reviews of a case, and whether they apply to it."""
    paths = {key.path for key in reviews_of_case}
    fields = [field.field for field in truth_fields(case) if field.field.path in paths]
    known = {field_key(case.id, field): field for field in fields}
    places = {(field.path, field.candidate_path) for field in fields}
    reviewed: list[ReviewedField] = []
    for key, review in reviews_of_case.items():
        field = known.get(key)
        if field is None:
            changed = (key.path, key.candidate_path) in places
            reviewed.append(
                ReviewedField(review=review, problem=_OTHER_DATA if changed else _NO_FIELD)
            )
            continue
        same = values_hash(field.expected, field.candidate) == review.values_hash
        reviewed.append(
            ReviewedField(
                review=review,
                attribute=field.attribute,
                comparator=field.comparator,
                outcome=field.outcome,
                problem="" if same else _OTHER_DATA,
                label=_label(review, field) if same else None,
            )
        )
    while True:
        try:
            applied = [field for field in reviewed if not field.problem]
            _corrected(case, list(_changes(case, applied, frozenset())))
        except UnfitChangeError as error:
            unfit = field_key(case.id, error.field.field)
            reviewed = [
                replace(field, problem=str(error)) if field.review.field == unfit else field
                for field in reviewed
            ]
        else:
            return reviewed


def _label(made: Review, reviewed: FieldResult) -> Label | None:
    """Return a decision as a label; `None` if it says nothing about two different values."""
    verdict, expected, candidate = _VERDICTS.get(made.decision), made.expected, made.candidate
    if verdict is None or expected is MISSING or candidate is MISSING:
        return None
    if expected is None or candidate is None or equal(expected, candidate):
        return None
    return Label(
        expected=expected,
        candidate=candidate,
        verdict=verdict,
        case_id=made.case_id,
        path=made.path,
        attribute=reviewed.attribute,
        judge=reviewed.comparator,
        outcome=reviewed.outcome,
        similarity=reviewed.similarity,
    )


def _changes(
    case: CaseResult, reviewed: Sequence[ReviewedField], any_of: frozenset[str]
) -> Iterator[Change]:
    """Yield the changes of the truth of a case by its reviews.

    A list in a field that now has acceptable values becomes one of them.
    """
    if not (reviewed or any_of) or case.case.input is not CaseInput.OK:
        return
    decisions = {field.review.field: field.review for field in reviewed}
    for truth_field in truth_fields(case):
        made = decisions.get(field_key(case.id, truth_field.field))
        one_of_several = truth_field.field.attribute in any_of
        value: JsonValue | Missing = truth_field.field.expected
        if made is not None and made.decision is Decision.AMBIGUOUS:
            yield Change(truth_field, list(made.values))
            continue
        if made is not None and made.decision is Decision.ACCEPT_CANDIDATE:
            value = made.candidate
        elif made is not None and made.decision is Decision.CORRECTION:
            value = made.values[0]
        if one_of_several and isinstance(value, list):
            value = [value]
        if value is not truth_field.field.expected:
            yield Change(truth_field, value)


def _corrected(case: CaseResult, changes: Sequence[Change]) -> JsonValue:
    """Return the truth of a case with changes."""
    if not changes:
        return case.case.expected
    return corrected_document(case.case.expected, changes, case.case.candidate)


# --- metrics with the reviewed truth --------------------------------------------------------------


def _effect(
    stored: StoredRun,
    settings: Settings,
    by_case: Mapping[str, Sequence[ReviewedField]],
    any_of: frozenset[str],
) -> ReviewEffect:
    """Compare the cases with another truth again, and sum up all cases."""
    before = stored.complete_summary
    settings = replace(settings, rules=for_run(settings.rules, offline=True))
    ProviderSet(settings.rules).check_ready()
    plan = compile_plan(settings.rules)
    processor = CaseProcessor(plan, stored.convention)
    counted = RecountedRun(stored, table=plan.table)
    counted.confidence = None  # the confidences of values do not depend on the truth
    changed = 0
    for case in counted.all_cases():
        if case.case.input is CaseInput.FAILED:
            counted.add(case)
            continue
        reviewed = by_case.get(case.id, ())
        changes = list(_changes(case, reviewed, any_of)) if reviewed else []
        if changes:
            changed += 1
            corrected = compared_case(case)._replace(expected=_corrected(case, changes))
            (compared,) = processor.process([corrected])
            case = counted.counted(  # noqa: PLW2901
                replace(case, case=corrected, outcomes=compared.outcomes, confidences=None)
            )
        counted.add(case)
    return ReviewEffect(before=before, after=counted.summary(), cases=changed)


def _settings(
    stored: StoredRun,
    rules: RulesLike,
    any_of: Sequence[str],
    *,
    allow_code: bool,
    read_files: bool,
) -> tuple[Settings, JsonObject | None]:
    """Return the rules of a run, changed so that fields have acceptable values, and their file."""
    manifest = stored.manifest
    if manifest.command == "eval":
        raise ConfigError.of(
            "the scores of evaluators are not computed again",
            hint="export the corrected truth and run the evaluation again",
        )
    options = manifest.options or {}
    named_rules = rules if rules is not None else cast("RulesLike", options.get("rules"))
    reading = stored_reading(stored.summary)

    def with_options(rules: RulesLike) -> Settings:
        run_options: RunOptions = {
            **restored_options(options),
            "rules": rules,
            "convention": str(options.get("convention") or manifest.convention.name),
            "allow_code": allow_code,
            "confidence": None,
        }
        return resolve_settings(**run_options)

    def alone(rules: RulesLike) -> Settings:
        return resolve_settings(rules=rules, default=stored.convention, allow_code=allow_code)

    ways: list[tuple[RulesLike, Callable[[RulesLike], Settings]]] = []
    if rules is None and (own_rules := stored_rules(stored)) is not None:
        ways.append((own_rules, alone))
    if read_files or not isinstance(named_rules, str):
        ways.append((named_rules, with_options))
    for possible_rules, resolved in ways:
        settings = with_reader_rules(resolved(possible_rules), reading)
        if settings.applied.comparison_sha256 == manifest.convention.comparison_sha256:
            if not any_of:
                return settings, None
            document = _with_any_of(_document(possible_rules), any_of)
            return with_reader_rules(resolved(document), reading), document
    what = (
        "the rules differ from the rules of the run"
        if rules is not None
        else "the rules of the run have changed or were not saved with it"
    )
    raise ConfigError.of(what, hint="name the rules that it was scored with")


def _document(rules: RulesLike) -> JsonObject:
    """Return rules in the native form, as they are written in a file."""
    if rules is None:
        return {}
    if isinstance(rules, str | Path):
        return native_form(load_file(rules).value)
    if isinstance(rules, Mapping | list | tuple):
        return native_form(cast("JsonValue", rules))
    hint = "name a rules file"
    raise ConfigError.of("rules that are Python objects cannot be written", hint=hint)


def _with_any_of(document: JsonObject, attributes: Iterable[str]) -> JsonObject:
    """Return rules with lists of acceptable values for some attributes."""
    fields = document.get("fields")
    rows = [row for row in fields if isinstance(row, dict)] if isinstance(fields, list) else []
    for attribute in attributes:
        covering = sorted(_covering(rows, attribute), key=lambda item: item[:2])
        strongest = covering[-1][2] if covering else {}
        comparing = [row for *_, row in covering if row.keys() - _NO_COMPARATOR]
        rule: JsonObject = {
            **({} if not comparing else comparing[-1]),
            **{key: strongest[key] for key in _NO_COMPARATOR if key in strongest},
            "path": attribute,
            "any_of": True,
        }
        rows = [row for row in rows if path_key(str(row.get("path"))) != path_key(attribute)]
        rows.append(rule)
    return {**document, "fields": list[JsonValue](rows)}


def _covering(rows: Sequence[JsonObject], attribute: str) -> Iterator[tuple[bool, int, JsonObject]]:
    """Yield the rules that apply to an attribute; exact paths override patterns."""
    wanted = parse_path(attribute)
    for number, row in enumerate(rows):
        try:
            path = parse_path(str(row.get("path")))
        except PathError:
            continue
        if covers(path, wanted):
            yield not path.is_pattern, number, row


def review_note(result: ReviewResult) -> str:
    """Return how many reviews do not apply, or an empty string."""
    if not result.unapplied:
        return ""
    first = result.unapplied[0]
    number = plural(len(result.unapplied), "review")
    verb = "does" if len(result.unapplied) == 1 else "do"
    return (
        f"{number} {verb} not apply to this run and {verb} not count; first: "
        f"{first.review.case_id} {first.review.path}: {first.problem}"
    )


# --- fields to review first -----------------------------------------------------------------------


class Queue(StrEnum):
    """Which fields come first."""

    COST = "cost"
    CONFIDENCE = "confidence"
    DISAGREEMENT = "disagreement"
    RANDOM = "random"


class Vote(NamedTuple):
    """The value that a run has for a field."""

    run: str
    value: JsonValue | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedField:
    """A field to review; `case` is the number of its case in the run.

    `cost` is the loss of the field in the score of its case. `votes` are the values of other runs,
    and `agreement` is the share of pairs of runs that agree.
    """

    case: int
    field: FieldResult
    cost: float | None = None
    votes: tuple[Vote, ...] = ()
    agreement: float | None = None
    review: Review | None = None

    @property
    def values_hash(self) -> str:
        """A hash of both values, to notice a decision on other values."""
        return values_hash(self.field.expected, self.field.candidate)

    @property
    def decided(self) -> bool:
        """Whether there is a decision on these values."""
        return (
            self.review is not None
            and self.review.decision is not Decision.COMMENT
            and self.review.values_hash == self.values_hash
        )

    def to_dict(self) -> JsonObject:
        """Return the field as JSON."""
        return {
            "case": self.case,
            "case_id": self.field.case_id,
            **self.field.to_dict(),
            "weight": self.field.weight,
            "cost": self.cost,
            "agreement": self.agreement,
            "votes": [to_json(vote) for vote in self.votes],
            "review": None if self.review is None else self.review.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReviewQueue(ShownRecord):
    """The first fields of a queue.

    Attributes:
        run: The name of the run.
        queue: The kind of queue.
        total: The number of fields to choose from.
        fields: The first fields.
        attributes: All attributes with such fields.
        hidden: The number of cases left out because they were saved without values.
        unread: The number of cases left out because they have no readable prediction.
        unpaired: The number of cases left out because not all runs have them.
    """

    run: str
    queue: Queue
    total: int
    fields: tuple[QueuedField, ...]
    attributes: tuple[str, ...] = ()
    hidden: int = 0
    unread: int = 0
    unpaired: int = 0

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def decided(self) -> int:
        """How many of the fields have a decision."""
        return sum(field.decided for field in self.fields)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about omitted fields."""
        rows = (
            (self.hidden, "saved without values cannot be reviewed"),
            (self.unread, "without a readable prediction left out"),
            (self.unpaired, "not in all runs left out"),
        )
        return tuple(f"{plural(count, 'case')} {reason}" for count, reason in rows if count)

    def to_dict(self) -> JsonObject:
        """Return the queue as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "queue": self.queue.value,
            "total": self.total,
            "decided": self.decided,
            "attributes": list(self.attributes),
            "notes": list(self.notes),
            "fields": [field.to_dict() for field in self.fields],
        }

    def document(self, *, top: int | None = None) -> Document:
        """Return the fields in the order of their review."""
        rows: list[Row] = [
            {
                "case_id": queued.field.case_id,
                "path": queued.field.path,
                "attribute": queued.field.attribute,
                "outcome": Cell(queued.field.outcome, outcome_text(queued.field.outcome)),
                "cost": queued.cost,
                "confidence": queued.field.confidence,
                "agreement": queued.agreement,
                "decision": "" if queued.review is None else queued.review.decision.value,
            }
            for queued in self.fields
        ]
        figure = [] if self.queue is Queue.RANDOM else [_FIGURES[self.queue]]
        decided = f", {self.decided:,} decided" if self.decided else ""
        return Document(
            Line(f"{len(self):,} of {plural(self.total, 'field')} to review{decided}"),
            *map(note, self.notes),
            Table(
                columns=(
                    Column("Case", "case_id"),
                    Column("Field", "path", folds=True),
                    Column("Outcome", "outcome"),
                    *figure,
                    Column("Decision", "decision"),
                ),
                rows=rows,
                top=top,
                noun="field",
            ),
            data=Data(list(rows[0]) if rows else (), rows),
        )


_FIGURES: Final = {
    Queue.COST: Column("Cost", "cost", Format.NUMBER),
    Queue.CONFIDENCE: Column("Confidence", "confidence", Format.NUMBER),
    Queue.DISAGREEMENT: Column("Agreement", "agreement", Format.NUMBER),
}


@checked
def review_queue(
    run: RunLike,
    queue: str = "cost",
    *,
    number: int = 100,
    attribute: str | None = None,
    others: Sequence[RunLike] = (),
    seed: int = 0,
) -> ReviewQueue:
    """Return the fields of a run to review first.

    Args:
        run: A run that was saved with values.
        queue: `cost` for the mistakes that cost most score, `confidence` for the values with the
            lowest confidence, `disagreement` for the fields on which the run and `others` differ
            most, or `random` for an audit.
        number: The number of fields.
        attribute: Return only fields of this attribute.
        others: Other runs over the same cases.
        seed: The seed of a `random` queue.

    >>> import fieldmark as fm
    >>> run = fm.score([{"id": "a", "total": 5}], [{"id": "a", "total": 6}], out="queued")
    >>> [each.field.path for each in fm.review_queue(run).fields]
    ['total']
    """
    if queue not in list(Queue):
        raise ConfigError.of(f"queue must be one of: {', '.join(Queue)}; got {queue!r}")
    if not 1 <= number <= _MAX_QUEUED:
        raise ConfigError.of(f"number must be from 1 to {_MAX_QUEUED:,}")
    if isinstance(others, str):
        raise TypeError("others must be a list of runs, got str")
    runs = [_other_run(run) for run in others]
    return queue_of(
        stored_run(run), Queue(queue), number=number, attribute=attribute, others=runs, seed=seed
    )


@checked
def _other_run(others: RunLike) -> StoredRun:
    return stored_run(others)


def queue_of(
    stored: StoredRun,
    queue: Queue,
    *,
    number: int,
    attribute: str | None,
    others: Sequence[StoredRun],
    seed: int,
) -> ReviewQueue:
    """Return a queue of an opened run."""
    if queue is Queue.DISAGREEMENT and not others:
        hint = "choose other runs over the same cases"
        raise ConfigError.of("disagreement needs at least two runs", hint=hint)
    if queue is Queue.CONFIDENCE and stored.complete_summary.confidence is None:
        hint = "score again with --confidence (in Python: confidence=True)"
        raise ConfigError.of("the run has no confidences", hint=hint)
    collected = _Collected(number, attribute)
    match queue:
        case Queue.COST:
            _by_cost(stored, collected)
        case Queue.CONFIDENCE:
            _by_confidence(stored, collected)
        case Queue.DISAGREEMENT:
            _by_disagreement(stored, collected, others)
        case Queue.RANDOM:
            _at_random(stored, collected, seed)
    if collected.hidden and not collected.total:
        raise DataError("the run was saved without values", Location(str(stored.path)))
    reviews = current_reviews(read_reviews(stored.path))
    fields = (
        (queued, reviews.get(field_key(queued.field.case_id, queued.field)))
        for queued in collected.fields()
    )
    return ReviewQueue(
        run=stored.path.name,
        queue=queue,
        total=collected.total,
        fields=tuple(replace(queued, review=review) for queued, review in fields),
        attributes=tuple(sorted(collected.attributes)),
        hidden=collected.hidden,
        unread=collected.unread,
        unpaired=collected.unpaired,
    )


_Rank: TypeAlias = tuple[float, float, bytes]


@dataclass(slots=True)
class _Collected:
    """The first fields by rank, in memory that does not grow with the run."""

    number: int
    attribute: str | None
    total: int = 0
    hidden: int = 0
    unread: int = 0
    unpaired: int = 0
    attributes: set[str] = field(default_factory=set)
    _kept: list[tuple[_Rank, int, QueuedField]] = field(default_factory=list)

    def readable(self, case: CaseResult) -> bool:
        """Whether a case has two documents; others are counted."""
        self.hidden += not case.has_values
        unread = case.case.input is not CaseInput.OK
        self.unread += case.has_values and unread
        return case.has_values and not unread

    def add(self, queued: QueuedField, rank: tuple[float, float], tie: bytes = b"") -> None:
        """Add a field; the lowest rank comes first."""
        self.attributes.add(queued.field.attribute)
        if self.attribute not in (None, queued.field.attribute):
            return
        self.total += 1
        self._kept.append(((*rank, tie), self.total, queued))
        if len(self._kept) >= 4 * self.number:
            self._kept = heapq.nsmallest(self.number, self._kept, key=lambda item: item[:2])

    def fields(self) -> Iterator[QueuedField]:
        for *_, queued in heapq.nsmallest(self.number, self._kept, key=lambda item: item[:2]):
            yield queued


def _by_cost(stored: StoredRun, collected: _Collected) -> None:
    counted = RecountedRun(stored)
    counter = CaseCounter(counted.convention, counted.table)
    for number, case in enumerate(counted.all_cases(), 1):
        if not collected.readable(case) or not case.stats.errors.total:
            continue
        for truth_field in truth_fields(case):
            reviewed = truth_field.field
            if reviewed.outcome in _MISTAKES:
                cost = _cost(case, truth_field.positions, counter)
                queued = QueuedField(case=number, field=reviewed, cost=cost)
                collected.add(queued, (-(cost or 0.0), -reviewed.weight))


def _cost(case: CaseResult, positions: tuple[int, ...], counter: CaseCounter) -> float | None:
    """Return how much higher the score of a case would be if a field were correct."""
    base = case.stats.score
    if base is None:
        return None
    score = counter.stats(corrected(case.outcomes, positions), unreadable=False).score
    return None if score is None else score - base


def _by_confidence(stored: StoredRun, collected: _Collected) -> None:
    for number, case in enumerate(stored.cases(), 1):
        for reviewed in _fields(case) if collected.readable(case) else ():
            if reviewed.confidence is not None:
                collected.add(
                    QueuedField(case=number, field=reviewed),
                    (reviewed.confidence, -reviewed.weight),
                )


def _at_random(stored: StoredRun, collected: _Collected, seed: int) -> None:
    """Draw fields by a hash of the seed and their place, not by the order of the cases."""
    for number, case in enumerate(stored.cases(), 1):
        for reviewed in _fields(case) if collected.readable(case) else ():
            key = list(field_key(case.id, reviewed))
            tie = hashlib.sha256(strict_json([seed, *key])).digest()
            collected.add(QueuedField(case=number, field=reviewed), (0.0, 0.0), tie)


def _by_disagreement(stored: StoredRun, collected: _Collected, others: Sequence[StoredRun]) -> None:
    """Compare the values that runs have for each field of the ground truth."""
    names = [run.path.name for run in (stored, *others)]
    numbers: dict[str, int] = {}

    def numbered() -> Iterator[CaseResult]:
        for number, case in enumerate(stored.cases(), 1):
            numbers[case.id] = number
            yield case

    for cases in paired_cases([numbered(), *(run.cases() for run in others)]):
        case_of_run = cases[0]
        if case_of_run is None:
            continue
        if not collected.readable(case_of_run):
            continue
        if not all(case is not None and case.has_values for case in cases):
            collected.unpaired += 1
            continue
        tables = [
            {field.path: field for field in _fields(case) if field.expected_presence != "absent"}
            for case in cases
            if case is not None
        ]
        for reviewed in _fields(case_of_run):
            if reviewed.expected_presence == "absent":
                values: list[FieldResult | None] = [reviewed, *([None] * len(others))]
            else:
                values = [table.get(reviewed.path) for table in tables]
            pairs = list(combinations(values, 2))
            # Two runs agree if they have the same value, or if the values of both match.
            agreement = sum(_agree(first, second) for first, second in pairs) / len(pairs)
            if agreement < 1:
                queued = QueuedField(
                    case=numbers[case_of_run.id],
                    field=reviewed,
                    agreement=agreement,
                    votes=tuple(
                        Vote(name, MISSING if field is None else field.candidate)
                        for name, field in zip(names, values, strict=True)
                    ),
                )
                collected.add(queued, (agreement, -reviewed.weight))


def _agree(first: FieldResult | None, second: FieldResult | None) -> bool:
    first_value, second_value = (
        MISSING if field is None else field.candidate for field in (first, second)
    )
    if first is not None and second is not None and first.outcome == second.outcome == _MATCH:
        return True
    if first_value is MISSING or second_value is MISSING:
        return first_value is second_value
    return equal(first_value, second_value)


def _fields(case: CaseResult) -> Iterable[FieldResult]:
    return (field.field for field in truth_fields(case))

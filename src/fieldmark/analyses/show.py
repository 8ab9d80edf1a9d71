"""Show the worst cases of a run, one case, or why one of its fields has its outcome."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeAlias, cast

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.improve import corrected
from fieldmark.analyses.saved_run import RunLike, stored_rules, stored_run
from fieldmark.compare.auto import Auto, comparator_for
from fieldmark.errors import ConfigError, DataError, Location, with_hint
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.identity import described
from fieldmark.metrics.summary import FieldCost, field_cost
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.outcomes import Attribute, ItemPlace
from fieldmark.model.rule import Rules
from fieldmark.plan.rule_matching import rules_of_field
from fieldmark.report.case_view import case_view
from fieldmark.report.difference_text import repeated_error_text
from fieldmark.report.document import (
    Cell,
    Column,
    Data,
    Document,
    Format,
    Line,
    Row,
    Table,
    Tone,
    facts,
)
from fieldmark.report.exports.common import (
    CASE_LIST_COLUMNS,
    field_columns,
    field_row,
    is_mistake,
    json_text,
    row_cells,
)
from fieldmark.report.exports.json import case_document
from fieldmark.report.html.cases import CaseLine, repeated_errors, worst_cases
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import cost_facts, input_text, mistake_counts, outcome_text, score_text
from fieldmark.rules.rule_catalog import normalization
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.runs.regions import stored_reading, with_reader_rules
from fieldmark.runs.settings import resolve_settings
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import PathError
from fieldmark.values.records import Key, to_json
from fieldmark.values.text import did_you_mean

if TYPE_CHECKING:
    from rich.console import RenderableType


_LIST: Final = (
    Column("Case", "case_id", folds=True),
    Column("Score", "score", Format.NUMBER),
    Column("Verdict", "verdict"),
    Column("Mistakes", "mistakes", folds=True),
    Column("Tags", "tags", folds=True),
)
_SIDES: Final = (
    Column("Expected", "expected", folds=True),
    Column("Predicted", "candidate", folds=True),
)
_TONES: Final = {"pass": Tone.GOOD, "partial": Tone.WARNING}
_MAX_IDS: Final = 10_000
"""The number of ids that are searched for a suggestion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFilter:
    """The cases to list; `None` selects all."""

    verdict: str | None = None
    mistake: str | None = None
    tag: str | None = None

    def selects(self, case: CaseResult) -> bool:
        """Whether a case is selected."""
        return (
            (self.verdict is None or (case.verdict or case.status) == self.verdict)
            and (self.mistake is None or case.errors_by_type.get(self.mistake, 0) > 0)
            and (self.tag is None or self.tag in case.tags)
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class CaseList(ShownRecord):
    """The worst cases of a run; `total` is the number of all selected cases."""

    total: int
    lines: Annotated[Sequence[CaseLine], Key("cases")]

    @classmethod
    def of(cls, cases: Iterable[CaseResult], top: int | None = None) -> CaseList:
        """Return the worst cases by score and number of mistakes, at most `top`."""
        worst = worst_cases(cases, top or sys.maxsize)
        return cls(total=worst.total, lines=worst.lines)

    def to_dict(self) -> JsonObject:
        """Return the list as JSON."""
        return to_json(self)

    def document(self, *, top: int | None = None) -> Document:
        """Return one line per case, and how many are not shown."""
        rows = [_list_row(line) for line in self.lines]
        table = Table(
            name="cases", columns=_LIST, rows=rows, top=top, total=self.total, noun="case"
        )
        return Document(table, data=Data(tuple(CASE_LIST_COLUMNS), rows))


@dataclass(frozen=True, kw_only=True, repr=False)
class CaseDetails(ShownRecord):
    """One case with its fields; a terminal shows both documents as one tree."""

    case: CaseResult
    values: bool = True
    only_mistakes: bool = False

    def to_dict(self) -> JsonObject:
        """Return the case as JSON."""
        return case_document(self.case, values=self.values, only_mistakes=self.only_mistakes)

    def terminal(self, *, top: int | None = None, styled: bool = True) -> RenderableType:  # noqa: ARG002 - no table
        """Return the case for a terminal; without styles, brackets mark what differs."""
        return case_view(self.case, only_mistakes=self.only_mistakes, styled=styled)

    def document(self, *, top: int | None = None) -> Document:
        """Return the verdict, errors that several values have in common, and the fields."""
        case = self.case
        score = score_text(case.score, vacuous=case.vacuous)
        verdict = case.verdict or case.status
        keys = field_columns(values=self.values, confidence=case.confidences is not None)
        rows: list[Row] = []
        for field in case.iter_fields():
            if self.only_mistakes and not is_mistake(field):
                continue
            cells = dict(zip(keys, row_cells(field_row(case, field), keys), strict=True))
            rows.append(
                {
                    **cells,
                    "expected": Cell(cells.get("expected"), json_text(field.expected)),
                    "candidate": Cell(cells.get("candidate"), json_text(field.candidate)),
                    "outcome": Cell(field.outcome, outcome_text(field.outcome)),
                }
            )
        columns = [
            Column("Field", "path", folds=True),
            *_SIDES * self.values,
            Column("Outcome", "outcome"),
        ]
        return Document(
            Line(f"{case.id}: {verdict}, score {score} ({case.convention.name})"),
            *(
                Line(f"Repeated error: {repeated_error_text(error)}")
                for error in (repeated_errors(case) if self.values else ())
            ),
            Table(name="fields", columns=columns, rows=rows, top=top, noun="field"),
            data=Data(tuple(keys), rows),
        )


def show_cases(
    run: RunLike, *, wanted: CaseFilter | None = None, top: int | None = None
) -> CaseList:
    """Return the worst cases of a run, by score and number of mistakes.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
    >>> run = fm.score(truth, [{"id": "a", "total": 1}, {"id": "b", "total": 3}], out="shown")
    >>> [line[0] for line in show_cases(run).lines]
    ['b', 'a']
    """
    stored = stored_run(run)
    selects = (wanted or CaseFilter()).selects
    return CaseList.of(filter(selects, stored.cases()), top)


def show_case(run: RunLike, case_id: str, *, values: bool = True) -> CaseResult:
    """Return the case with this id; the error for an unknown id suggests the most similar one."""
    stored = stored_run(run)
    case = stored.find(case_id)
    if case is not None:
        return case if values else case.without_values()
    ids = [case.id for case in islice(stored.cases(), _MAX_IDS)]
    message = with_hint(f"case {case_id!r} not found", did_you_mean(case_id, ids))
    raise DataError(message if ids else "no cases found", Location(str(stored.path)))


def _list_row(line: CaseLine) -> Row:
    """Return a case with its mistakes as text, and by type for CSV."""
    problem = "" if line.input == "ok" else input_text(line.input)
    verdict = line.verdict or line.status
    return {
        "case_id": line.id,
        "score": Cell(line.score, score_text(line.score, vacuous=line.vacuous)),
        "verdict": Cell(line.verdict, verdict, _TONES.get(verdict, Tone.BAD)),
        "status": line.status,
        "input": line.input,
        "mistakes": ", ".join(filter(None, (problem, mistake_counts(line.mistakes)))),
        "tags": ", ".join(line.tags),
        **line.mistakes._asdict(),
        "vacuous": line.vacuous,
    }


_MAX_PATHS: Final = 10_000
"""The number of paths that are searched for a suggestion."""
_NO_RULES: Final = (
    "the rules of the run, so the options and the threshold of the comparator are unknown"
)
_NO_VALUES: Final = "the values of the field, because the run was saved without values"


Facts: TypeAlias = list[tuple[str, str]]
"""Labels and texts, as people read them."""


class AlignedItem(NamedTuple):
    """The items of both sides that contain a field; a side without one is `None`."""

    list: str
    expected: ItemPlace | None
    candidate: ItemPlace | None
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRule:
    """The rule of a field; `options` are `None` if they were not stored with the run.

    `source` says where the rule comes from. `detected` is the comparator that `auto` chose.
    """

    comparator: str
    options: JsonObject | None
    source: str
    path: str = ""
    weight: float = 1.0
    required: bool = True
    detected: str = ""
    normalization: str = ""

    @property
    def threshold(self) -> float | None:
        """The threshold of the comparator, if it has one."""
        threshold = (self.options or {}).get("threshold")
        if isinstance(threshold, dict):
            threshold = threshold.get("threshold")
        return float(threshold) if isinstance(threshold, int | float) else None

    def facts(self) -> Facts:
        """Return the rule for people."""
        # The options of `auto` belong to the comparison by meaning.
        used = not self.detected or self.detected == "semantic"
        shown = _options_text(self.options or {}) if used else ""
        name = f"{self.comparator}, here {self.detected}" if self.detected else self.comparator
        facts = [
            ("comparator", name),
            ("options", "not stored" if self.options is None else shown or "none"),
            ("rule", self.source),
            ("normalization", self.normalization),
            ("threshold", "" if self.threshold is None or not used else f"{self.threshold:g}"),
            ("weight", "" if self.weight == 1 else f"{self.weight:g}"),
            ("required", "" if self.required else "no"),
        ]
        return [fact for fact in facts if fact[1]]

    def to_dict(self) -> JsonObject:
        """Return the rule as JSON."""
        return {
            "comparator": self.comparator,
            "detected": self.detected,
            "options": self.options,
            "threshold": self.threshold,
            "normalization": self.normalization,
            "source": self.source,
            "path": self.path,
            "weight": self.weight,
            "required": self.required,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class ExplainResult(ShownRecord):
    """A field of a case: its items, its rule, its outcome, and its cost.

    Attributes:
        run: The name of the run.
        case_score: The score of the case.
        field: The field with its outcome and values.
        items: The aligned list items around the field.
        rule: The rule of the field, and where it comes from.
        cost: The counts of the field under the convention.
        convention: The name of the convention.
        score_if_correct: The score of the case without this mistake.
        not_stored: Parts of the explanation that the run does not contain.
    """

    run: str
    case_score: float | None
    field: FieldResult
    items: Sequence[AlignedItem]
    rule: AppliedRule
    cost: FieldCost
    convention: str
    score_if_correct: float | None = None
    not_stored: tuple[str, ...] = ()

    def facts(self) -> Facts:
        """Return everything for people, as labels and texts."""
        field = self.field.finite()
        pairs: Facts = [("case", field.case_id), ("path", field.path)]
        if field.candidate_path != field.path:
            pairs.append(("path in the prediction", field.candidate_path))
        pairs.append(("attribute", field.attribute))
        for item in self.items:
            pairs.append(("item", _item_text(item)))
        for side, value, presence in (
            ("expected", field.expected, field.expected_presence),
            ("predicted", field.candidate, field.candidate_presence),
        ):
            text = presence if value is MISSING else _value_text(value)
            stored = presence != "value" or value is not MISSING
            pairs.append((side, text if stored else "not stored"))
        pairs += self.rule.facts()
        if field.similarity is not None:
            pairs.append(("similarity", f"{field.similarity:.4g}"))
        pairs.append(("outcome", field.outcome.replace("_", " ")))
        pairs.append(("reason", "" if field.reason is None else field.reason.replace("_", " ")))
        pairs.append(("note", "; ".join(filter(None, (*field.flags, field.note)))))
        pairs += cost_facts(self.cost, self.convention)
        if self.case_score is not None:
            after = self.score_if_correct
            gain = "" if after is None else f", {after:.4g} if this field were correct"
            pairs.append(("score of the case", f"{self.case_score:.4g}{gain}"))
        pairs += [("not stored", text) for text in self.not_stored]
        return [fact for fact in pairs if fact[1]]

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "case_id": self.field.case_id,
            "field": {**self.field.to_dict(), "candidate_path": self.field.candidate_path},
            "items": [dict(item._asdict()) for item in self.items],
            "rule": self.rule.to_dict(),
            "convention": self.convention,
            "counts": dict(self.cost.counts._asdict()),
            "metrics": list(self.cost.metrics),
            "case_score": self.case_score,
            "score_if_correct": self.score_if_correct,
            "not_stored": list(self.not_stored),
            "facts": [list(fact) for fact in self.facts()],
        }

    def document(self, *, top: int | None = None) -> Document:  # noqa: ARG002 - a short table
        """Return everything as labels and texts."""
        table = facts(self.facts())
        return Document(table, data=Data(("fact", "value"), table.rows))


@checked
def explain(run: RunLike, case_id: str, path: str) -> ExplainResult:
    """Explain the outcome of a field: its items, rule, similarity and cost.

    Nothing is compared again: stored outcomes are explained by the rules that the run was made
    with, and `not_stored` says what the run does not contain.

    Args:
        run: A saved run.
        case_id: The id of the case.
        path: The path of the field in the ground truth or in the candidate.

    >>> import fieldmark as fm
    >>> rules = {"fields": [{"path": "vendor", "match": "fuzzy", "threshold": 0.9}]}
    >>> pairs = [({"vendor": "Acme"}, {"vendor": "Acne"})]
    >>> found = fm.explain(fm.score(pairs, rules=rules, out="explained"), "1", "vendor")
    >>> found.field.outcome, found.field.similarity, found.rule.threshold, found.cost.counts.fp
    ('wrong_value', 0.75, 0.9, 1)
    """
    stored = stored_run(run)
    return explain_field(RunRules(stored), show_case(stored, case_id), path)


def explain_field(rules: RunRules, case: CaseResult, path: str) -> ExplainResult:
    """Explain the field of a case."""
    position, field = _find_field(case, path, rules.run)
    attribute = case.attributes.attributes[case.outcomes.cells[position] >> CELL_BITS]
    convention = case.convention
    missing = [] if case.has_values else [_NO_VALUES]
    if rules.rules is None:
        missing.append(_NO_RULES)
    counter = CaseCounter(convention, case.attributes)
    unreadable = case.case.input is not CaseInput.OK
    score = counter.stats(case.outcomes, unreadable=unreadable).score
    # The score of a case with evaluators is theirs.
    known = score is not None and case.score is not None and isclose(score, case.score)
    fixed = counter.stats(corrected(case.outcomes, {position}), unreadable=unreadable).score
    return ExplainResult(
        run=rules.run.path.name,
        case_score=case.score,
        field=field,
        items=_enclosing_items(case, position, field.attribute),
        rule=rules.of(attribute, field),
        cost=field_cost(case.outcomes.cells[position] & FACT_MASK, convention.counting),
        convention=convention.name,
        score_if_correct=fixed if known and fixed != score else None,
        not_stored=tuple(missing),
    )


class RunRules:
    """The rules that a run was made with, if they are stored with it."""

    def __init__(self, run: StoredRun) -> None:
        self.run = run
        self.rules: Rules | None = None
        stored, applied = stored_rules(run), run.manifest.convention
        if stored is None:
            return
        try:
            settings = resolve_settings(rules=cast("dict[str, object]", stored))
            settings = with_reader_rules(settings, stored_reading(run.summary))
        except ConfigError:
            return
        # Only the rules of the run have its hash: rules with a model are stored without the model.
        if settings.applied.comparison_sha256 == applied.comparison_sha256:
            self.rules = settings.rules

    def of(self, attribute: Attribute, field: FieldResult | None = None) -> AppliedRule:
        """Return the rule of an attribute, or of one of its fields."""
        source, path = self._default, ""
        options: JsonObject | None = None
        if self.rules is not None:
            comparator = self.rules.default
            concrete = attribute.path if field is None else field.path
            try:
                matches = rules_of_field(self.rules.fields, attribute.path, concrete)
            except (PathError, ValueError):
                matches = []
            for match in matches:
                if match.rule.comparator is not None:
                    comparator, path = match.rule.comparator, match.rule.path
                    source = f"rule {match.rank + 1} ({path}) {self._file}"
            # A field may be compared by a part of its rule, which is then not known here.
            if comparator is not None and comparator.name == attribute.comparator:
                stored_options = described(comparator).get("options")
                options = stored_options if isinstance(stored_options, dict) else {}
            else:
                source, path = "not known", ""
        else:
            source = "a rule of the run, which is not stored" if attribute.configured else source
        expected = MISSING if field is None else field.expected
        detected = ""
        if attribute.comparator == Auto.name and expected is not MISSING:
            detected = comparator_for(expected)
        return AppliedRule(
            comparator=attribute.comparator,
            options=options,
            source=source,
            path=path,
            weight=attribute.weight,
            required=attribute.required,
            detected=detected,
            normalization=normalization(detected or attribute.comparator, options),
        )

    @property
    def _file(self) -> str:
        rules = (self.run.manifest.options or {}).get("rules")
        # A report is shared, so it does not say where the file is.
        return f"of {Path(rules).name}" if isinstance(rules, str) else "of the rules of the run"

    @property
    def _default(self) -> str:
        defaults = (self.run.manifest.rules or {}).get("defaults")
        if isinstance(defaults, dict) and "match" in defaults:
            return f"default {self._file}"
        return f"default of the convention {self.run.manifest.convention.name}"


def _find_field(case: CaseResult, path: str, run: StoredRun) -> tuple[int, FieldResult]:
    """Return the field with a path, the path in the candidate, or the only one of an attribute."""
    fields = list(enumerate(case.iter_fields()))
    for name in ("path", "candidate_path", "attribute"):
        matching = [numbered for numbered in fields if getattr(numbered[1], name) == path]
        if len(matching) == 1 or (matching and name == "path"):
            return matching[0]
    known = [field.path for _, field in fields[:_MAX_PATHS]]
    message = f"field {path!r} was not compared in case {case.id!r}"
    several = [field.path for _, field in fields if field.attribute == path]
    hint = f"name one of its fields, such as {several[0]}" if several else did_you_mean(path, known)
    raise DataError(with_hint(message, hint), Location(str(run.path)))


def _enclosing_items(case: CaseResult, position: int, attribute: str) -> tuple[AlignedItem, ...]:
    """Return the aligned items that contain the field at a position, outermost first."""
    current: dict[str, AlignedItem] = {}
    for start, path, expected, candidate, similarity in case.outcomes.items:
        if start > position:
            break
        current[path] = AlignedItem(path, expected, candidate, similarity)
    inside = [item for path, item in current.items() if attribute.startswith(path)]
    return tuple(sorted(inside, key=lambda item: len(item.list)))


# --- document -------------------------------------------------------------------------------------


def _item_text(item: AlignedItem) -> str:
    expected, candidate = (
        "none" if index is None else f"[{index}]" if isinstance(index, int) else index
        for index in (item.expected, item.candidate)
    )
    similarity = "" if item.similarity is None else f", similarity {item.similarity:.4g}"
    return f"{item.list}: expected {expected}, predicted {candidate}{similarity}"


def _options_text(options: JsonObject) -> str:
    """Return the options that are set, except for the threshold, which has a line of its own.

    >>> _options_text({"inner": {"name": "fuzzy", "options": {"ignore": ["accents"]}}})
    'inner fuzzy (ignore accents)'
    """
    return ", ".join(
        f"{name} {_option_text(value)}"
        for name, value in options.items()
        if value not in (None, [], {}, False) and name != "threshold"
    )


def _option_text(value: JsonValue) -> str:
    """Return an option: a strategy as its name with its options, and a list by its members."""
    if isinstance(value, list):
        return ", ".join(map(_option_text, value))
    if not isinstance(value, dict):
        return _value_text(value)
    name, options = value.get("name"), value.get("options")
    if not isinstance(name, str):
        return _options_text(value)
    set_options = options if isinstance(options, dict) else {}
    threshold = set_options.get("threshold")
    shown = [
        _options_text(set_options),
        "" if threshold is None else f"threshold {_value_text(threshold)}",
    ]
    inner = ", ".join(filter(None, shown))
    return f"{name} ({inner})" if inner else name


def _value_text(value: JsonValue) -> str:
    return value if isinstance(value, str) and value else strict_json(value).decode()

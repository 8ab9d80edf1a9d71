"""Explain the outcome of one field of a saved run."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from fieldmark.api.arguments import checked
from fieldmark.api.improve import corrected_fact
from fieldmark.api.recount import RunLike, stored_rules, stored_run
from fieldmark.api.show import show_case
from fieldmark.compare.auto import Auto, comparator_for
from fieldmark.errors import ConfigError, DataError, Location, with_hint
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.field_cost import field_cost
from fieldmark.metrics.identity import described
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.outcomes import Attribute, Outcomes
from fieldmark.model.rule import Rules
from fieldmark.plan.rule_matching import rules_of_field
from fieldmark.run.settings import resolve_settings
from fieldmark.store.reader import StoredRun
from fieldmark.values.paths import PathError
from fieldmark.values.text import did_you_mean
from fieldmark.wire.case_result import CaseResult, FieldResult
from fieldmark.wire.explanation import AlignedItem, AppliedRule, Explanation

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["ExplainResult", "RunRules", "explain", "explain_field"]

_MAX_PATHS: Final = 10_000
"""The number of paths that are searched for a suggestion."""
_NO_RULES: Final = (
    "the rules of the run, so the options and the threshold of the comparator are unknown"
)
_NO_VALUES: Final = "the values of the field, because the run was saved without values"


@dataclass(frozen=True, kw_only=True, repr=False)
class ExplainResult(Explanation):
    """Why a field has its outcome."""

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.explain_view import explain_view

        return explain_view(self)


@checked
def explain(run: RunLike, case_id: str, path: str) -> ExplainResult:
    """Explain the outcome of a field: its items, rule, similarity and cost.

    `path` is the path of the field in the ground truth or in the candidate. Nothing is compared
    again: stored outcomes are explained by the rules that the run was made with, and `not_stored`
    says what the run does not contain.

    >>> import fieldmark as fm
    >>> rules = {"fields": [{"path": "vendor", "match": "fuzzy", "threshold": 0.9}]}
    >>> pairs = [({"vendor": "Acme"}, {"vendor": "Acne"})]
    >>> found = fm.explain(fm.score(pairs, rules=rules, out="run"), "1", "vendor")
    >>> found.field.outcome, found.field.similarity, found.rule.threshold, found.cost.counts.fp
    ('wrong_value', 0.75, 0.9, 1)
    """
    stored = stored_run(run)
    return explain_field(RunRules(stored), show_case(stored, case_id), path)


def explain_field(rules: RunRules, case: CaseResult, path: str) -> ExplainResult:
    """Explain the field of a case."""
    position, field = _find(case, path, rules.run)
    attribute = case.attributes.attributes[case.outcomes.cells[position] >> CELL_BITS]
    convention = case.convention
    missing = [] if case.has_values else [_NO_VALUES]
    if rules.rules is None:
        missing.append(_NO_RULES)
    counter = CaseCounter(convention, case.attributes)
    unreadable = case.case.input is not CaseInput.OK
    own = counter.stats(case.outcomes, unreadable=unreadable).score
    # The score of a case with evaluators is theirs.
    known = own is not None and case.score is not None and isclose(own, case.score)
    fixed = counter.stats(_corrected(case.outcomes, position), unreadable=unreadable).score
    return ExplainResult(
        run=rules.run.path.name,
        case_score=case.score,
        field=field,
        items=_items(case, position, field.attribute),
        rule=rules.of(attribute, field),
        cost=field_cost(case.outcomes.cells[position] & FACT_MASK, convention.counting),
        convention=convention.name,
        score_if_correct=fixed if known and fixed != own else None,
        not_stored=tuple(missing),
    )


def _corrected(block: Outcomes, position: int) -> Outcomes:
    """Return a case with one field extracted correctly."""
    cells = list(block.cells)
    cells[position] = cells[position] & ~FACT_MASK | corrected_fact(cells[position] & FACT_MASK)
    comparisons = {place: each for place, each in block.comparisons.items() if place != position}
    return Outcomes(cells, comparisons, block.items, fallback=block.fallback)


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
        except ConfigError:
            return
        # Only the rules of the run have its hash: those with a model are stored without it.
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
                found = described(comparator).get("options")
                options = found if isinstance(found, dict) else {}
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
        )

    @property
    def _file(self) -> str:
        given = (self.run.manifest.options or {}).get("rules")
        # A report is shared, so it does not say where the file is.
        return f"of {Path(given).name}" if isinstance(given, str) else "of the rules of the run"

    @property
    def _default(self) -> str:
        defaults = (self.run.manifest.rules or {}).get("defaults")
        if isinstance(defaults, dict) and "match" in defaults:
            return f"default {self._file}"
        return f"default of the convention {self.run.manifest.convention.name}"


def _find(case: CaseResult, path: str, run: StoredRun) -> tuple[int, FieldResult]:
    """Return the field with a path, the path in the candidate, or the only one of an attribute."""
    fields = list(enumerate(case.iter_fields()))
    for name in ("path", "candidate_path", "attribute"):
        found = [each for each in fields if getattr(each[1], name) == path]
        if len(found) == 1 or (found and name == "path"):
            return found[0]
    known = [field.path for _, field in fields[:_MAX_PATHS]]
    message = f"field {path!r} was not compared in case {case.id!r}"
    several = [field.path for _, field in fields if field.attribute == path]
    hint = f"name one of its fields, such as {several[0]}" if several else did_you_mean(path, known)
    raise DataError(with_hint(message, hint), Location(str(run.path)))


def _items(case: CaseResult, position: int, attribute: str) -> tuple[AlignedItem, ...]:
    """Return the aligned items that contain the field at a position, outermost first."""
    current: dict[str, AlignedItem] = {}
    for start, path, expected, candidate, similarity in case.outcomes.items:
        if start > position:
            break
        current[path] = AlignedItem(path, expected, candidate, similarity)
    inside = [each for path, each in current.items() if attribute.startswith(path)]
    return tuple(sorted(inside, key=lambda each: len(each.list)))

"""Explain the outcome of one field of a saved run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.improve import corrected_fact
from fieldmark.analyses.recount import RunLike, stored_rules, stored_run
from fieldmark.analyses.show import show_case
from fieldmark.compare.auto import Auto, comparator_for
from fieldmark.errors import ConfigError, DataError, Location, with_hint
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.identity import described
from fieldmark.metrics.summary import FieldCost, field_cost
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.outcomes import Attribute, ItemPlace, Outcomes
from fieldmark.model.rule import Rules
from fieldmark.plan.rule_matching import rules_of_field
from fieldmark.report.document import Data, Document, facts
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import cost_facts
from fieldmark.rules.rule_catalog import normalization
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.runs.settings import resolve_settings
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import PathError
from fieldmark.values.text import did_you_mean

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
        found = (self.options or {}).get("threshold")
        if isinstance(found, dict):
            found = found.get("threshold")
        return float(found) if isinstance(found, int | float) else None

    def facts(self) -> Facts:
        """Return the rule for people."""
        # The options of `auto` are the options of its comparison by meaning.
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
            text = presence if value is MISSING else _text(value)
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
            "items": [dict(each._asdict()) for each in self.items],
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

    Nothing is compared again: the rules that the run was made with explain its stored outcomes, and
    `not_stored` names missing parts of the run.

    Args:
        run: A saved run: its directory, id, tag or `latest`, or a result of `score` or `open_run`.
        case_id: The id of the case.
        path: The path of the field in the ground truth or in the candidate.

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
            normalization=normalization(detected or attribute.comparator, options),
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


# --- document -------------------------------------------------------------------------------------


def _item_text(item: AlignedItem) -> str:
    ours, theirs = (
        "none" if place is None else f"[{place}]" if isinstance(place, int) else place
        for place in (item.expected, item.candidate)
    )
    similarity = "" if item.similarity is None else f", similarity {item.similarity:.4g}"
    return f"{item.list}: expected {ours}, predicted {theirs}{similarity}"


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
        return _text(value)
    name, options = value.get("name"), value.get("options")
    if not isinstance(name, str):
        return _options_text(value)
    given = options if isinstance(options, dict) else {}
    threshold = given.get("threshold")
    shown = [_options_text(given), "" if threshold is None else f"threshold {_text(threshold)}"]
    inner = ", ".join(filter(None, shown))
    return f"{name} ({inner})" if inner else name


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) and value else strict_json(value).decode()

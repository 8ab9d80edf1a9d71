"""Show what to fix first in a run: similar mistakes, and slices that are weaker than others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.run_result import RunResult
from fieldmark.analyses.saved_run import RecountedRun, RunLike, stored_run
from fieldmark.errors import ConfigError
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.counts import MISTAKES, ErrorCounts
from fieldmark.metrics.mistakes import (
    MistakeCluster,
    MistakeClusters,
    MistakeExample,
    MistakeReader,
)
from fieldmark.metrics.patterns import BY_NAME
from fieldmark.metrics.rates import macro_mean, rates, sortable
from fieldmark.metrics.repeated_errors import RepeatedError, RepeatedErrors
from fieldmark.metrics.slices import METADATA, TAG, value_texts
from fieldmark.metrics.summary import Micro, Summary
from fieldmark.metrics.weak_slices import (
    MIN_CASES,
    AttributeInSlice,
    SearchedCase,
    WeakSlice,
    find_weak_slices,
)
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.kernel import parsed
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome, Presence, fact
from fieldmark.model.outcomes import Outcomes
from fieldmark.report.advice_text import (
    attribute_in_slice_text,
    attribute_in_slice_to_json,
    conditions_text,
    rule_sentences,
    rule_to_json,
)
from fieldmark.report.difference_text import named_p, repeated_error_text, repeated_error_to_json
from fieldmark.report.document import (
    Block,
    Cell,
    Column,
    Data,
    Document,
    Format,
    Heading,
    Items,
    Line,
    Row,
    Table,
    Tone,
    note,
)
from fieldmark.report.metric_titles import slice_text
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import DASH, outcome_text
from fieldmark.runs.attribute_table import StoredAttributes
from fieldmark.runs.case_result import CaseResult, date_orders
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.values.paths import join
from fieldmark.values.text import plural

_CORRECT: Final = fact(Outcome.MATCH, Presence.VALUE, Presence.VALUE)
_MAX_PATTERNS: Final = 3
_MAX_KNOWN: Final = 4_096
_STEP: Final = 1 << 60
"""Gains are added up in integer steps, so that sums do not depend on their order."""
_EXPECTED_VALUE: Final = frozenset({Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR, Outcome.OMISSION})


_COLUMNS: Final = (
    Column("Fix first", "attribute", folds=True),
    Column("F1", "f1", Format.NUMBER),
    Column("Mistakes", "mistakes", Format.COUNT),
    Column("Cases", "cases", Format.COUNT),
    Column("Gain", "gain_mean_score", Format.NUMBER, tone=Tone.GOOD),
    Column("Mostly", "dominant"),
    Column("Patterns", "pattern", tone=Tone.QUIET, folds=True),
)
_DATA: Final = (
    "attribute", "f1", "mistakes", "dominant", "cases", "gain_mean_score",
    "gain_macro_f1_by_attribute", "gain_micro_f1", "pattern", "hint",
)  # fmt: skip
_MAX_VALUE_LENGTH: Final = 60
_MAX_CLUSTERS: Final = 10
_MAX_NAMES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeGain:
    """One attribute: its mistakes, their patterns, and the gain of each metric without them."""

    attribute: str
    f1: float | None
    mistakes: ErrorCounts
    cases: int
    mean_score: float
    macro_f1: float
    micro_f1: float
    patterns: tuple[tuple[str, int], ...]

    @property
    def dominant(self) -> str:
        """The most frequent type of its mistakes."""
        counts = self.mistakes._asdict()
        return max(counts, key=lambda name: counts[name])

    @property
    def hint(self) -> str:
        """What to change in the extraction, for the most frequent pattern."""
        return BY_NAME[self.patterns[0][0]].hint if self.patterns else ""

    def to_dict(self) -> JsonObject:
        """Return the attribute as JSON."""
        return {
            "attribute": self.attribute,
            "f1": self.f1,
            "mistakes": self.mistakes.total,
            "errors_by_type": dict(self.mistakes._asdict()),
            "dominant": self.dominant,
            "cases": self.cases,
            "gain": {
                "mean_score": self.mean_score,
                "macro_f1_by_attribute": self.macro_f1,
                "micro_f1": self.micro_f1,
            },
            "patterns": [{"pattern": name, "mistakes": times} for name, times in self.patterns],
            "hint": self.hint,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class ImproveResult(ShownRecord):
    """Attributes by the gain from fixing them, clusters of similar mistakes, repeated errors.

    Attributes:
        run: The name of the run.
        summary: The metrics of the run.
        attributes: The attributes, the largest gain first.
        clusters: Groups of mistakes with the same pattern.
        repeated: Errors that several values have in common.
        notes: Remarks, beginning with warnings about the structure of the documents.
    """

    run: str
    summary: Summary
    attributes: tuple[AttributeGain, ...]
    clusters: tuple[MistakeCluster, ...]
    repeated: tuple[RepeatedError, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "metrics": dict(self.summary.headline),
            "attributes": [attribute.to_dict() for attribute in self.attributes],
            "clusters": [
                {
                    "pattern": cluster.pattern.name,
                    "title": cluster.pattern.title,
                    "hint": cluster.pattern.hint,
                    "rules": [rule_to_json(rule) for rule in cluster.rules],
                    "rule_sentences": rule_sentences(cluster),
                    "mistakes": cluster.number,
                    "attributes": dict(cluster.attributes.most_common()),
                    "examples": [_example_to_json(example) for example in cluster.examples],
                }
                for cluster in self.clusters
            ],
            "repeated": [repeated_error_to_json(error) for error in self.repeated],
            "notes": list(self.notes),
        }

    def document(self, *, top: int | None = None) -> Document:
        """Return attributes by the gain of fixing them, then mistakes grouped by pattern."""
        rows = [_row(gain) for gain in self.attributes]
        data = Data(_DATA, rows)
        notes = map(note, self.notes)
        if not rows:
            scored = self.summary.cases.scored
            found = Line("no mistakes found", Tone.GOOD) if scored else Line("no case was scored")
            return Document(*notes, found, data=data)
        return Document(
            *notes,
            Table(name="attributes", columns=_COLUMNS, rows=rows, top=top, noun="attribute", gap=1),
            *_pattern_blocks(self),
            data=data,
        )


def corrected_fact(code: int) -> int:
    """Return the fact of a field if it had been extracted correctly."""
    current = FACTS[code]
    if current.outcome in _EXPECTED_VALUE:
        return _CORRECT
    if current.outcome is Outcome.HALLUCINATION:
        return fact(Outcome.BOTH_EMPTY, current.expected, current.expected)
    return code


_FIXED: Final = tuple(corrected_fact(code) for code in range(1 << CELL_BITS))


def corrected(block: Outcomes, positions: Collection[int]) -> Outcomes:
    """Return the outcomes that a case would have if the fields at these positions were correct."""
    cells = list(block.cells)
    for position in positions:
        cells[position] = cells[position] & ~FACT_MASK | _FIXED[cells[position] & FACT_MASK]
    comparisons = {
        position: comparison
        for position, comparison in block.comparisons.items()
        if position not in positions
    }
    return Outcomes(cells, comparisons, block.items, fallback=block.fallback)


@checked
def improve(run: RunLike) -> ImproveResult:
    """Rank attributes by the gain from fixing them, and group mistakes by pattern.

    Recommendations concern the prompt, the schema and post-processing, never the measurement.
    Warnings about the structure of the documents are the first notes.

    Args:
        run: A saved run: its directory, id, tag or `latest`, or a result of `score` or `open_run`.

    >>> import fieldmark as fm
    >>> truth = [{"id": "1", "date": "2024-03-02", "total": 5}]
    >>> run = fm.score(truth, [{"id": "1", "date": "2024-02-03", "total": 5}], out="run")
    >>> step = fm.improve(run)
    >>> step.attributes[0].attribute, step.clusters[0].pattern.title
    ('date', 'day and month swapped')
    """
    counted = RecountedRun(stored_run(run))
    orders = date_orders(counted.run.cases)
    clusters, gains = MistakeClusters(orders), _Gains(counted)
    repeated = RepeatedErrors(orders)
    reader = MistakeReader()
    without_values = 0
    with relaxed_gc():
        for case in counted.cases():
            counted.add(case)
            gains.add(case)
            without_values += not case.has_values
            mistakes = reader.read(
                case.outcomes, counted.table, case.case, has_values=case.has_values
            )
            clusters.add(mistakes)
            if case.has_values:
                repeated.add_mistakes(mistakes)
    gains.settle()
    stored = counted.run.summary
    notes = () if stored is None else stored.structural_warnings
    if counted.failed:
        notes = (*notes, f"left out {plural(len(counted.failed), 'case')} that failed")
    if without_values:
        cases = plural(without_values, "case")
        notes = (*notes, f"{cases} without values: mistakes known only by type")
    target = counted.run.manifest.target
    options = None if target is None else target.get("options")
    if target is not None and isinstance(options, dict):
        prompt = options.get("prompt")
        file = prompt.get("file") if isinstance(prompt, dict) else ""
        where = f" ({file})" if file else ""
        compare = f"`fieldmark diff {counted.run.path.name} latest`"
        step = f"change its prompt{where}, run the evaluation again, and compare with {compare}"
        notes = (*notes, f"the target is {target.get('name')}: {step}")
    summary = counted.summary()
    return ImproveResult(
        run=counted.run.path.name,
        summary=summary,
        attributes=tuple(_ranked(summary, counted.convention.counting, gains, clusters)),
        clusters=tuple(clusters.largest()),
        repeated=repeated.errors(),
        notes=notes,
    )


@dataclass(slots=True)
class _KnownGains:
    """The score of outcomes, and the scores that they would have if an attribute were correct.

    `cases` is the number of cases with these outcomes, which stay in memory, so that no others have
    the same identity.
    """

    block: Outcomes
    base: float | None
    scores: Mapping[str, float | None]
    cases: int = 0


class _Gains:
    """The gains in the scores of cases if single attributes were correct."""

    __slots__ = ("_counter", "_known", "_table", "cases", "scored", "steps")

    def __init__(self, counted: RecountedRun) -> None:
        self._table = counted.table
        self._counter = CaseCounter(counted.convention, counted.table)
        self._known: dict[tuple[int, bool], _KnownGains] = {}
        self.scored = 0
        self.steps: Counter[str] = Counter()
        self.cases: Counter[str] = Counter()

    def add(self, case: CaseResult) -> None:
        """Add the gains of every attribute of a case with mistakes."""
        # Cases of saved runs share their outcomes if they are the same.
        key = id(case.outcomes), case.case.input is not CaseInput.OK
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._count(self._known.pop(next(iter(self._known))))
            known = self._known[key] = self._gains(case.outcomes, unreadable=key[1])
        known.cases += 1

    def settle(self) -> None:
        """Count all added cases."""
        for known in self._known.values():
            self._count(known)
        self._known.clear()

    def _count(self, known: _KnownGains) -> None:
        self.scored += known.cases if known.base is not None else 0
        for path, score in known.scores.items():
            self.cases[path] += known.cases
            if known.base is not None and score is not None:
                self.steps[path] += known.cases * round((score - known.base) * _STEP)

    def _gains(self, block: Outcomes, *, unreadable: bool) -> _KnownGains:
        wrong: dict[str, set[int]] = {
            self._table.path(cell >> CELL_BITS): set()
            for cell in block.cells
            if _FIXED[cell & FACT_MASK] != cell & FACT_MASK
        }
        for position, cell in enumerate(block.cells) if wrong else ():
            if (path := self._table.path(cell >> CELL_BITS)) in wrong:
                wrong[path].add(position)
        base = self._counter.stats(block, unreadable=unreadable).score
        scores = {
            path: self._counter.stats(corrected(block, positions), unreadable=unreadable).score
            for path, positions in wrong.items()
        }
        return _KnownGains(block, base, scores)

    def mean(self, path: str) -> float:
        """Return the gain in the mean score if an attribute were correct."""
        return self.steps[path] / (self.scored * _STEP) if self.scored else 0.0


def _ranked(
    summary: Summary, counting: CountingOptions, gains: _Gains, clusters: MistakeClusters
) -> list[AttributeGain]:
    """Return the attributes with mistakes, the largest gain first."""
    counts = {path: _counts(metrics) for path, metrics in summary.attributes.items()}
    rows: list[AttributeGain] = []
    for path, metrics in summary.attributes.items():
        errors = metrics.errors_by_type
        if not errors.total:
            continue
        expected_values = errors.total - errors.hallucination
        correct = Counts(tp=metrics.tp + expected_values, tn=metrics.tn)
        macro = macro_mean({**counts, path: correct}.values(), counting).f1
        micro = rates(_counts(summary.micro) + counts[path].times(-1) + correct, counting).f1
        patterns = clusters.by_attribute.get(path, Counter())
        rows.append(
            AttributeGain(
                attribute=path,
                f1=metrics.f1,
                mistakes=errors,
                cases=gains.cases[path],
                mean_score=gains.mean(path),
                macro_f1=(macro or 0.0) - (summary.macro_f1_by_attribute or 0.0),
                micro_f1=(micro or 0.0) - (summary.micro.f1 or 0.0),
                patterns=tuple(patterns.most_common(_MAX_PATTERNS)),
            )
        )
    return sorted(
        rows, key=lambda row: (-sortable(row.mean_score), -sortable(row.micro_f1), row.attribute)
    )


def _counts(metrics: Micro) -> Counts:
    return Counts(metrics.tp, metrics.tn, metrics.fp, metrics.fn)


def _example_to_json(example: MistakeExample) -> JsonObject:
    """Return an example as JSON, without absent values."""
    document: JsonObject = {"case_id": example.case_id, "path": example.path}
    if example.expected is not MISSING:
        document["expected"] = example.expected
    if example.candidate is not MISSING:
        document["candidate"] = example.candidate
    return {**document, "other_field": example.note} if example.note else document


def _row(gain: AttributeGain) -> Row:
    """Return an attribute with what fixing it would gain."""
    patterns = [f"{BY_NAME[name].title} ({times})" for name, times in gain.patterns]
    return {
        "attribute": gain.attribute,
        "f1": gain.f1,
        "mistakes": gain.mistakes.total,
        "dominant": Cell(gain.dominant, outcome_text(gain.dominant)),
        "cases": gain.cases,
        "gain_mean_score": Cell(gain.mean_score, f"+{gain.mean_score:.3f}"),
        "gain_macro_f1_by_attribute": gain.macro_f1,
        "gain_micro_f1": gain.micro_f1,
        "pattern": Cell(gain.patterns[0][0] if gain.patterns else "", ", ".join(patterns)),
        "hint": gain.hint,
    }


def _pattern_blocks(step: ImproveResult) -> Iterator[Block]:
    """Yield errors that many values have in common, and mistakes of each pattern."""
    if step.repeated:
        yield Heading("Repeated errors")
        yield Items(
            lines=[Line(repeated_error_text(error)) for error in step.repeated[:_MAX_CLUSTERS]]
        )
    for cluster in step.clusters[:_MAX_CLUSTERS]:
        names = [f"{path} {times}" for path, times in cluster.attributes.most_common()]
        more = f", and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        mistakes = plural(cluster.number, "mistake")
        shown = f"{', '.join(names[:_MAX_NAMES])}{more}"
        yield Heading(f"{cluster.pattern.title}: {mistakes} ({shown})")
        yield Items(
            lines=[Line(_example_text(example), Tone.QUIET) for example in cluster.examples]
        )
        yield Line(f"→ {cluster.pattern.hint}")
        for sentence in rule_sentences(cluster):
            yield Line(f"→ {sentence}")
    if (left_out := len(step.clusters) - _MAX_CLUSTERS) > 0:
        yield Line(f"… and {plural(left_out, 'more pattern')}; --format json lists all", Tone.QUIET)


def _example_text(example: MistakeExample) -> str:
    source = f" (value of {example.note})" if example.note else ""
    sides = f"{_short_value(example.expected)} → {_short_value(example.candidate)}"
    return f"{example.case_id}  {example.path}: {sides}{source}"


def _short_value(value: JsonValue | Missing) -> str:
    """Return a value on one line, truncated if it is long."""
    if isinstance(value, Missing):
        return DASH
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = repr(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[: _MAX_VALUE_LENGTH - 1]}…"


_SEARCHED: Final = 20_000
"""The maximum number of cases that are held in memory."""
_MAX_LENGTH: Final = 100
"""Longer values are text, not names of groups."""


_SLICE_DATA: Final = (
    "slice", "attribute", "cases", "f1", "others_f1", "wrong", "others_wrong", "p", "p_adjusted",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class FindSlicesResult(ShownRecord):
    """Slices that are significantly weaker than the other cases, the weakest first.

    Attributes:
        run: The name of the run.
        slices: The weak slices.
        cases: The number of searched cases.
        tested: The number of tested slices.
        attributes: The attributes that are wrong more often in a slice than elsewhere, the most
            additional wrong cases first.
        attribute_tests: The number of tests of an attribute in a slice.
        notes: Remarks on the search.
    """

    run: str
    slices: tuple[WeakSlice, ...]
    cases: int
    tested: int
    attributes: tuple[AttributeInSlice, ...] = ()
    attribute_tests: int = 0
    notes: tuple[str, ...] = ()

    @property
    def finding(self) -> str:
        """The strongest finding as a sentence, or an empty string."""
        if self.attributes:
            return attribute_in_slice_text(self.attributes[0])
        return _weak_slice_text(self.slices[0]) if self.slices else ""

    def finding_to_dict(self) -> JsonObject | None:
        """Return the strongest finding as JSON, with its attribute, or `None`."""
        if not self.finding:
            return None
        attribute = self.attributes[0].attribute if self.attributes else None
        return {"text": self.finding, "attribute": attribute}

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "cases": self.cases,
            "tested": self.tested,
            "attribute_tests": self.attribute_tests,
            "finding": self.finding_to_dict(),
            "attributes": [attribute_in_slice_to_json(finding) for finding in self.attributes],
            "slices": [
                {
                    "slice": [{"key": key, "value": value} for key, value in weak.conditions],
                    "name": conditions_text(weak.conditions),
                    "text": _weak_slice_text(weak),
                    "cases": weak.cases,
                    "f1": weak.f1,
                    "others_f1": weak.others,
                    "p": weak.p,
                    "p_adjusted": weak.adjusted,
                    "attributes": [dict(weak._asdict()) for weak in weak.attributes],
                    "overlap": None
                    if weak.overlap is None
                    else {"text": slice_text(*weak.overlap[0]), "cases": weak.overlap[1]},
                }
                for weak in self.slices
            ],
            "notes": list(self.notes),
        }

    def document(self, *, top: int | None = None) -> Document:
        """Return lines for attributes that are weak in a slice, and for weak slices."""
        searched = f"{plural(self.tested, 'slice')} of {plural(self.cases, 'case')} tested"
        blocks: list[Block] = []
        if not self.tested:
            blocks.append(Line(f"no slices to test in {plural(self.cases, 'case')}"))
        elif not (self.slices or self.attributes):
            nothing = "no slice is significantly weaker than the other cases"
            blocks.append(Line(f"{nothing}, in F1 or an attribute ({searched})"))
        if self.attributes:
            tests = plural(self.attribute_tests, "test")
            blocks.append(Heading(f"Attributes weak in a slice (Holm-adjusted p; {tests})"))
            findings = self.attributes[:top]
            lines = [
                Line(f"{attribute_in_slice_text(finding)}, {named_p(finding.adjusted)}")
                for finding in findings
            ]
            more = len(self.attributes) - len(findings)
            blocks.append(Items(lines=lines, more=more, noun="finding"))
        if self.slices:
            shown = self.slices[:top]
            blocks.append(Heading(f"Weak slices (micro F1, Holm-adjusted p; {searched})"))
            lines = [Line(f"{_weak_slice_text(weak)} ({named_p(weak.adjusted)})") for weak in shown]
            blocks.append(Items(lines=lines, more=len(self.slices) - len(shown), noun="slice"))
        rows: list[Row] = [
            {
                "slice": conditions_text(weak.conditions),
                "cases": weak.cases,
                "f1": weak.f1,
                "others_f1": weak.others,
                "p": weak.p,
                "p_adjusted": weak.adjusted,
            }
            for weak in self.slices
        ]
        rows += [
            {
                "slice": slice_text(*finding.condition),
                "attribute": finding.attribute,
                "cases": finding.cases,
                "wrong": finding.share,
                "others_wrong": finding.other_share,
                "p": finding.p,
                "p_adjusted": finding.adjusted,
            }
            for finding in self.attributes
        ]
        return Document(*blocks, *map(note, self.notes), data=Data(_SLICE_DATA, rows))


@checked
def find_slices(run: RunLike, *, min_cases: int = MIN_CASES) -> FindSlicesResult:
    """Search for slices that are significantly weaker than the other cases.

    A slice is weaker if its F1 is lower, or if an attribute is wrong more often. Cases are grouped
    by every tag, by metadata and by single values of the expected document, and for the F1 by pairs
    of them.

    Args:
        run: A run, which need not be saved.
        min_cases: The smallest number of cases inside and outside of a slice.

    >>> import fieldmark as fm
    >>> truth = [{"id": n, "vendor": "Acme" if n % 4 else "Bolt", "total": n} for n in range(200)]
    >>> wrong = [{**row, "total": -1} if row["vendor"] == "Bolt" else row for row in truth]
    >>> [found] = fm.find_slices(fm.score(truth, wrong)).slices
    >>> found.conditions, found.cases, found.f1, found.others
    ((('vendor', 'Bolt'),), 50, 0.5, 1.0)
    """
    if min_cases < 1:
        raise ConfigError.of(f"min_cases must be at least 1, got {min_cases}")
    if isinstance(run, RunResult) and run.path is None:
        cases, name = iter(run.cases), ""
    else:
        stored = stored_run(run)
        rows = stored.rows(StoredAttributes(stored.attributes), unparsed=True)
        cases, name = (case for _, case in rows), stored.path.name
    chance = random.Random(0)  # noqa: S311 - the same sample every time
    sample: list[tuple[Case, tuple[Counts, float, frozenset[str], frozenset[str]]]] = []
    attributes = _ComparedAttributes()
    searched = without_values = 0
    with relaxed_gc():
        for case in cases:
            f1 = case.stats.f1
            if case.stats.failed or f1 is None:
                continue
            searched += 1
            without_values += not case.has_values
            index = len(sample) if len(sample) < _SEARCHED else chance.randrange(searched)
            if index < _SEARCHED:
                metrics = case.counts, f1, *attributes.of(case)
                sample[index : index + 1] = [(_without_candidate(case.case), metrics)]
        described = (SearchedCase(_features(case), *metrics) for case, metrics in sample)
        search = find_weak_slices(described, min_cases=min_cases)
    notes: list[str] = []
    if searched > len(sample):
        notes.append(f"searched a random sample of {len(sample):,} of {plural(searched, 'case')}")
    if search.slices_left_out:
        notes.append(f"{plural(search.slices_left_out, 'smaller slice')} not tested")
    if search.attributes_left_out:
        left_out = plural(search.attributes_left_out, "attribute")
        notes.append(f"{left_out} with fewer mistakes not tested")
    if without_values:
        notes.append(f"{plural(without_values, 'case')} without values: grouped only by tag")
    if not search.tested:
        least = plural(min_cases, "case")
        notes.append(f"no slice has at least {least}, and as many outside of it")
    return FindSlicesResult(
        run=name,
        slices=search.slices,
        cases=len(sample),
        tested=search.tested,
        attributes=search.attributes,
        attribute_tests=search.attribute_tests,
        notes=tuple(notes),
    )


_COMPARED: Final = frozenset({Outcome.MATCH, Outcome.BOTH_EMPTY, *MISTAKES})


class _ComparedAttributes:
    """The attributes with mistakes in a case, and the attributes that were compared."""

    def __init__(self) -> None:
        self._known: dict[frozenset[int], tuple[frozenset[str], frozenset[str]]] = {}

    def of(self, case: CaseResult) -> tuple[frozenset[str], frozenset[str]]:
        """Return the attributes of a case; many cases share theirs."""
        cells = frozenset(case.outcomes.cells)
        known = self._known.get(cells)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            attributes = case.attributes
            wrong, compared = (
                frozenset(
                    attributes.path(cell >> CELL_BITS)
                    for cell in cells
                    if FACTS[cell & FACT_MASK].outcome in outcomes
                )
                for outcomes in (MISTAKES, _COMPARED)
            )
            known = self._known[cells] = wrong, compared
        return known


def _without_candidate(case: Case) -> Case:
    """Return a case without its prediction, to hold many in memory."""
    expected = None if case.unparsed is None else (case.unparsed[0], MISSING)
    return case._replace(candidate=MISSING, unparsed=expected)


def _features(case: Case) -> dict[str, list[str]]:
    """Return the values of a case by key: tags, metadata and scalars of the expected document."""
    context = case.context
    expected = case.expected if case.unparsed is None else parsed(case.unparsed[0])
    features = {TAG: list(case.tags)} if case.tags else {}
    features |= dict(_scalars(None if context is None else context.metadata, METADATA))
    features |= dict(_scalars(expected, ""))
    return features


def _scalars(value: JsonValue | Missing, prefix: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the values of an object that are not in lists, by path."""
    pending = [("", value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, dict):
            pending += [(join(path, key), item[key]) for key in reversed(item)]
        elif path and item is not MISSING and not isinstance(item, list):
            texts = [text for text in value_texts(item) if len(text) <= _MAX_LENGTH]
            if texts:
                yield f"{prefix}{path}", texts


def _weak_slice_text(weak: WeakSlice) -> str:
    """Return a weak slice as a sentence.

    >>> _weak_slice_text(WeakSlice((("vendor", "Acme"),), 41, 0.61, 0.93, 1e-9, 1e-7))
    'vendor = Acme: F1 0.61 against 0.93, 41 cases'
    """
    names = [
        conditions_text(weak.conditions),
        *(f"also {conditions_text(conditions)}" for conditions in weak.same),
    ]
    f1s = f"F1 {weak.f1:.2f} against {weak.others:.2f}"
    return f"{', '.join(names)}: {f1s}, {plural(weak.cases, 'case')}"

"""The gates of a run: limits on metrics, and on their drop compared with a baseline."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from fieldmark.data.input_files import is_url
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.evaluators.base import data_dependent_prefixes
from fieldmark.metrics.confidence import ConfidenceTally
from fieldmark.metrics.gates import (
    Gate,
    GateKind,
    GateResult,
    check_gate,
    check_gates,
    drop_gates,
    gates_of,
    run_failures,
)
from fieldmark.metrics.slices import parse_slice_keys
from fieldmark.metrics.summary import (
    NO_SPENT,
    NO_USAGE,
    AppliedConvention,
    EvaluatorSummary,
    Summary,
    summarize,
    summary_to_json,
)
from fieldmark.metrics.tally import Tally
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.rule import Depth, Rules, Scope
from fieldmark.runs.attribute_table import StoredAttributes
from fieldmark.runs.case_processor import RunTotals
from fieldmark.runs.manifest import Manifest, RunEntry
from fieldmark.runs.run_index import COMPLETE, LATEST, ROOT, find_run
from fieldmark.runs.run_options import RunOptions, restored_options, strings
from fieldmark.runs.settings import Settings
from fieldmark.runs.stored_run import StoredRun, open_run
from fieldmark.runs.warnings import with_confidence
from fieldmark.values.paths import PathError, configured_attribute, parse_path
from fieldmark.values.records import to_json
from fieldmark.values.text import did_you_mean

_ATTRIBUTES: Final = "attributes."
_OF_KEYS: Final = ("slices", "groups")
_CONFIDENCE: Final = "confidence"
_DATA_DEPENDENT: Final = (_ATTRIBUTES, "detection.", f"{_CONFIDENCE}.{_ATTRIBUTES}", *_OF_KEYS)
"""Prefixes of metrics that are known only after the data has been read."""


def parse_gates(
    minima: Mapping[str, float] | None, maxima: Mapping[str, float] | None
) -> list[Gate]:
    """Return gates for limits by metric name."""
    gates: list[Gate] = []
    problems: list[Problem] = []
    for kind, limits in ((GateKind.MIN, minima), (GateKind.MAX, maxima)):
        for name, limit in (limits or {}).items():
            try:
                gates.append(Gate(name=name, limit=limit, kind=kind))
            except OptionError as error:
                problems.append(Problem(f"{kind}: {error.message}"))
            except TypeError:
                message = f"{kind}: expected a number for {name}, got {limit!r}"
                problems.append(Problem(message))
    if problems:
        raise ConfigError(problems)
    return gates


def resolve_baseline(options: RunOptions, evaluation: str = "") -> RunOptions:
    """Return the options with the directory of the baseline.

    A baseline is named like any run: in the directory of `out`, or in `runs`. `latest` is the
    latest complete run other than the new run. The baseline of an evaluation, given by its name, is
    a run of the same evaluation, unless it is named by its path or full id.
    """
    name, out = options["baseline"], options["out"]
    if name is None:
        return options
    if is_url(name):
        from fieldmark.runs.remote_runs import fetch_run

        return {**options, "baseline": fetch_run(name)}

    local = out is not None and not is_url(out)
    roots = [*([Path(cast("str | Path", out)).absolute().parent] if local else []), Path(ROOT)]

    def accept(entry: RunEntry) -> bool:
        written = out is not None and entry.id == Path(out).name
        same_file = not options["file"] or (
            bool(entry.inputs) and Path(entry.inputs[0]).name == Path(options["file"]).name
        )
        same = not evaluation or (entry.eval == evaluation and same_file)
        return entry.status == COMPLETE and not written and same

    problems: Sequence[Problem] = ()
    for root in roots:
        try:
            return {**options, "baseline": find_run(name, root, accept=accept)}
        except ConfigError as error:
            problems = error.problems
    if evaluation and str(name).partition("~")[0] == LATEST:
        raise ConfigError.of(
            f"baseline {str(name)!r} not found: no such complete run of {evaluation!r}",
            hint="run it without a baseline first",
        )
    raise ConfigError(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGates:
    """The gates of a run, and how far its metrics may drop below a baseline.

    `unchecked` names gates against a baseline that a rescored run does not check.
    """

    gates: tuple[Gate, ...] = ()
    baseline: Path | str | None = None
    max_drop: Mapping[str, float] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: RunOptions, gates: Sequence[Gate] = ()) -> RunGates:
        """Return the gates of the options, after the given ones."""
        baseline, max_drop = options["baseline"], options["max_drop"] or {}
        if baseline is None and max_drop:
            raise ConfigError.of(
                "max_drop requires a baseline", hint="name a saved run as the baseline"
            )
        if baseline is not None and not max_drop:
            raise ConfigError.of(
                "baseline requires max_drop",
                hint="set max_drop, such as 0.01, or micro.f1=0.02 for one metric",
            )
        return cls(
            gates=(*gates, *parse_gates(options["min"], options["max"])),
            baseline=baseline,
            max_drop=max_drop,
            by=strings(options["by"]),
        )

    def with_gates_of(self, results: Sequence[GateResult]) -> RunGates:
        """Return these gates with the gates of the rescored run, which its results name.

        Gates of the rules replace gates on the same metric; gates that are given as options replace
        all.
        """
        checked, drops = gates_of(results)
        own = {(gate.name, gate.kind) for gate in self.gates}
        others = tuple(gate for gate in checked if (gate.name, gate.kind) not in own)
        return replace(self, gates=(*self.gates, *others), unchecked=drops)

    def check_names(
        self,
        settings: Settings,
        evaluators: Callable[[], Mapping[str, EvaluatorSummary]] = dict,
    ) -> None:
        """Raise an error for metrics that no run with these settings has, before the run.

        `evaluators` returns the summaries of evaluators without any case.
        """
        problems = [
            *_unconfigured(self.gates, settings.rule_sets),
            *_without_key(self.gates, self.by),
        ]
        rated = [gate for gate in self.gates if gate.name.startswith(_CONFIDENCE)]
        if rated and settings.confidence is None:
            hint = "read them with --confidence (in Python: confidence=True) or by the rules"
            message = f"{rated[0].name!r} requires the confidences of predictions"
            raise ConfigError.of(message, hint=hint)
        known = [gate for gate in self.gates if not gate.name.startswith(_DATA_DEPENDENT)]
        if known:
            empty = summarize(
                Tally(AttributeTable()),
                settings.convention,
                applied=settings.applied,
                evaluators=evaluators(),
            )
            empty = replace(empty, usage=NO_USAGE, spent=NO_SPENT)
            if settings.confidence is not None:
                empty = with_confidence(empty, ConfidenceTally(), settings.confidence)
            metrics = {name: to_json(evaluator) for name, evaluator in empty.evaluators.items()}
            unsure = tuple(data_dependent_prefixes(cast("JsonObject", metrics), "evaluators."))
            sure = [gate for gate in known if not gate.name.startswith(unsure)]
            known_metrics = summary_to_json(empty)
            for gate in sure:
                try:
                    check_gate(gate, known_metrics)
                except OptionError as error:
                    problems.append(Problem(error.message))
        if problems:
            raise ConfigError(problems)
        if self.baseline is not None:
            before = self._baseline_metrics(self.baseline, settings.applied)
            check_drops(before, before, self.max_drop)

    def check_data(self, manifest: Manifest) -> None:
        """Raise an error if the baseline has other evaluators, ground truth or cases."""
        if self.baseline is None:
            return

        stored = open_run(self.baseline)
        truths = [run_manifest.truth for run_manifest in (stored.manifest, manifest)]
        files = [truth for truth in truths if truth is not None and truth.bytes is not None]
        if [*stored.manifest.evaluators] != [*manifest.evaluators]:
            raise ConfigError.of(
                f"baseline {stored.path} has different evaluators",
                hint="compare with a run of the same evaluation",
            )
        if len(files) == len(truths) and files[0].has_same_content(files[1]) is False:
            raise ConfigError.of(
                f"baseline {stored.path} has different ground truth",
                hint="score the baseline again with the same ground truth",
            )
        options = [run_manifest.options for run_manifest in (stored.manifest, manifest)]
        selections = [_selection(run_options) for run_options in options if run_options is not None]
        if len(set(selections)) > 1:
            raise ConfigError.of(
                f"baseline {stored.path} has a different selection of cases "
                f"({' vs. '.join(selections)})",
                hint="compare with a run of the same cases",
            )

    def checked(
        self,
        summary: Summary,
        *,
        max_errors: int = 0,
        unmet: bool = False,
        values: bool = True,
        failed: Collection[str] = (),
    ) -> Summary:
        """Return the summary with all gates checked and the reasons why the run did not pass.

        A gate on an unknown metric fails. `max_errors` and `unmet` are arguments of `run_failures`.
        `failed` are the ids of the failed cases, which are not compared with the baseline. Without
        `values`, gates may name classes, but no message suggests any.
        """
        results: tuple[GateResult, ...] = ()
        if self.gates or self.baseline is not None:
            metrics = summary_to_json(summary)
            results = check_gates(self.gates, metrics)
            if not values:
                hidden = check_gates(self.gates, summary_to_json(summary.without_classes()))
                pairs = zip(results, hidden, strict=True)
                results = tuple(result if result.known else other for result, other in pairs)
            if self.baseline is not None:
                before = self._baseline_metrics(self.baseline, summary.convention)
                common = None
                if failed:
                    stored = open_run(self.baseline)
                    common = _metrics_without(stored, frozenset(failed), self.by), metrics
                results += check_drops(before, metrics, self.max_drop, common)
        failures = run_failures(
            summary.cases,
            results,
            max_errors=max_errors,
            failed_evaluator=any(evaluator.error for evaluator in summary.evaluators.values()),
            unmet=unmet,
        )
        if self.unchecked:
            text = f"gates against a baseline are not checked again: {', '.join(self.unchecked)}"
            summary = replace(summary, warnings=tuple(dict.fromkeys([*summary.warnings, text])))
        return replace(summary, gates=results, failures=failures)

    def _baseline_metrics(self, baseline: Path | str, convention: AppliedConvention) -> JsonObject:
        """Return the metrics of the baseline, which must have the same rules and convention."""
        stored = open_run(baseline)
        if stored.summary is None:
            raise ConfigError.of(
                f"baseline {stored.path} is not complete (status: {stored.status})"
            )
        if not convention.is_comparable(stored.manifest.convention):
            hint = "score the baseline again with the same rules and convention"
            message = f"baseline {stored.path} has different rules or a different convention"
            raise ConfigError.of(message, hint=hint)
        return summary_to_json(stored.summary)


def _metrics_without(stored: StoredRun, failed: Collection[str], by: Sequence[str]) -> JsonObject:
    """Return the metrics of a baseline without the cases that failed in another run."""
    from fieldmark.runs.evaluator_runner import EvaluatorTotals  # starts programs and models

    table = AttributeTable()
    totals = RunTotals(table, values=True, sampled=False, by=parse_slice_keys(by))
    evaluators = EvaluatorTotals()
    for _, result in stored.rows(StoredAttributes(stored.attributes, table)):
        if result.id not in failed:
            totals.count([result])
            evaluators.add([result])
    applied, convention = stored.manifest.convention, stored.convention
    scored = evaluators.summaries()
    summary = summarize(totals.tally, convention, applied=applied, evaluators=scored)
    if totals.slices is not None:
        slices = totals.slices.summaries(summary, convention)
        summary = replace(summary, by=tuple(by), slices=slices)
    return summary_to_json(summary)


def _selection(options: JsonObject) -> str:
    """Return the selection of cases of an evaluation, as on the command line."""
    chosen = restored_options(options)
    parts = [f"--only {tag}" for tag in sorted(chosen.get("only", ()))]
    parts += [f"--case {case_id}" for case_id in sorted(chosen.get("cases", ()))]
    return " ".join(parts) or "all"


def check_drops(
    before: JsonObject,
    after: JsonObject,
    max_drop: Mapping[str, float] | None,
    common: tuple[JsonObject, JsonObject] | None = None,
) -> tuple[GateResult, ...]:
    """Check how far metrics dropped against the limits."""
    try:
        return drop_gates(before, after, max_drop or {}, common)
    except OptionError as error:
        raise ConfigError([Problem(f"max_drop: {error.message}")]) from error


def _unconfigured(gates: Sequence[Gate], rule_sets: Sequence[Rules]) -> Iterator[Problem]:
    """Yield a problem for gates on attributes without a rule, if only configured fields count."""
    if any(rules.scope is not Scope.CONFIGURED or rules.depth is Depth.TOP for rules in rule_sets):
        return
    paths = [_attribute(rule.path) for rules in rule_sets for rule in rules.fields]
    if not paths:
        return
    for gate in gates:
        name = gate.name.removeprefix(_ATTRIBUTES)
        if name == gate.name or any(
            "*" in path or name.startswith((f"{path}.", f"{path}[")) for path in paths
        ):
            continue
        metric = name.rpartition(".")[2]
        hint = did_you_mean(gate.name, [f"{_ATTRIBUTES}{path}.{metric}" for path in paths])
        yield Problem(f"unknown metric {gate.name!r}", hint=hint or "no rule covers this attribute")


def _without_key(gates: Sequence[Gate], by: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for gates on slices by a key that the cases are not grouped by."""
    for gate in gates:
        for kind, end in zip(_OF_KEYS, ("=", ""), strict=True):
            name = gate.name.removeprefix(kind)
            if name == gate.name:
                continue
            known = any(name[2:].startswith(f"{key}{end}") for key in by) and name[0] == "["
            if not known:
                example = f'{kind}["{by[0] if by else "vendor"}{end and "=Acme"}"]'
                yield Problem(
                    f"unknown metric {gate.name!r}",
                    hint=f"slices are by {', '.join(by)}, and are named as in {example}"
                    if by
                    else "set by (--by) to group the cases into slices",
                )


def _attribute(path: str) -> str:
    try:
        return configured_attribute(parse_path(path))
    except PathError:
        return path

"""Run an eval file: its cases, evaluators and gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias, Unpack

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.run_result import EvalResult, run_result
from fieldmark.analyses.runs import annotate
from fieldmark.data.arrow_tables import read_table
from fieldmark.errors import ConfigError, Problem
from fieldmark.evaluators.base import empty_metrics
from fieldmark.metrics.summary import EvaluatorSummary, Summary
from fieldmark.model.case import Case
from fieldmark.rules.config_values import Code, Context, locate
from fieldmark.runs.eval_file import EvalSpec, load_eval, read_eval
from fieldmark.runs.eval_setup import (
    CaseSelection,
    check_ready,
    check_selection,
    eval_inputs,
    eval_settings,
    eval_sources,
    fingerprints,
    for_target,
    one_per_target,
    open_cases,
    own_evaluators,
    target_identity,
    with_optional_truth,
)
from fieldmark.runs.evaluator_runner import EvaluatorTotals, has_judges
from fieldmark.runs.gates import RunGates, resolve_baseline
from fieldmark.runs.manifest import make_manifest
from fieldmark.runs.provider_set import ProviderSet, for_run
from fieldmark.runs.regions import with_reader_rules
from fieldmark.runs.resume import run_directories
from fieldmark.runs.run_directory import new_run_id
from fieldmark.runs.run_index import ROOT
from fieldmark.runs.run_options import (
    EvalOptions,
    RunOptions,
    complete_options,
    resampling,
    stored_options,
)
from fieldmark.runs.session import Observer, PreparedRun, Progress
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.plain_json import is_table

EvalSource: TypeAlias = str | Path | Mapping[str, object] | EvalSpec
"""An eval file or its contents, whose cases may be a data frame."""

_SIDES: Final = ("expected", "candidate")
_DOCUMENTS: Final = frozenset({*_SIDES, "input", "metadata"})
"""The keys of a case that contain documents; documents cannot contain functions."""
_SEGMENT: Final = 256
_SLOW_SEGMENT: Final = 32
"""Results are written more often if there are judges or a target, because they are slow."""


@checked
def evaluate(
    source: EvalSource,
    *,
    preflight: bool = True,
    observers: Sequence[Observer] = (),
    progress: Progress | None = None,
    **options: Unpack[EvalOptions],
) -> EvalResult:
    """Run all evaluators of an eval file over its cases.

    Large files are processed by `workers` processes or by another `engine`, as for `score`, unless
    evaluators call programs or models.

    Args:
        source: An eval file or its contents.
        preflight: Check every judge, model and target before the first case. `check_ready_eval`
            does the same beforehand.
        observers: Functions that are called with the results of each segment.
        progress: Called regularly with the cases processed, the bytes read, and the total bytes if
            known.
        **options: The options below, which replace options of the file. `min` and `max`
            add gates. `out` is a new directory for the run, or with `resume` the directory of an
            interrupted run.

    >>> import fieldmark as fm
    >>> run = fm.evaluate({
    ...     "cases": [{"id": "a", "expected": {"total": 10}, "candidate": {"total": 10}}],
    ...     "evaluators": [{"type": "field_accuracy", "fields": [{"path": "total"}]}],
    ... })
    >>> run.mean_score
    1.0
    """
    spec = _eval_spec(source, Code.ALLOW if options.get("allow_code") else Code.REFUSE)
    eval_options: EvalOptions = {**spec.options, **options}
    return evaluate_with(
        complete_options(file=spec.location.file, **eval_options),
        spec,
        preflight=preflight,
        observers=observers,
        progress=progress,
        keep_cases=True,
    )


def evaluate_with(
    options: RunOptions,
    spec: EvalSpec,
    *,
    preflight: bool = True,
    observers: Sequence[Observer] = (),
    progress: Progress | None = None,
    keep_cases: bool = False,
    retried: StoredRun | None = None,
) -> EvalResult:
    """Run an evaluation with run options; `keep_cases` and `retried` as for `score_with`.

    The run of one of several targets has its name as a tag.
    """
    target, max_errors = options["target"], options["max_errors"]
    spec = for_target(spec, target)
    if max_errors is not None:
        spec = replace(spec, max_errors=max_errors)
    selection = CaseSelection(options["only"], options["cases"])
    prepared = _prepare(spec, options, selection, preflight=preflight)
    prepared = replace(prepared, retried=retried)
    run = run_result(
        prepared, options, progress=progress, observers=observers, keep_cases=keep_cases
    )
    if target and run.path is not None and not run.url:
        annotate(run.path, add=[target])
    return EvalResult(
        run.summary,
        run.notes,
        run.path,
        case_source=run.case_source,
        url=run.url,
        name=spec.name,
        unmet=tuple(map(str, selection.unmatched())),
    )


def check_ready_eval(spec: EvalSpec, *, offline: bool = False) -> None:
    """Raise an error if a judge, a model or the target of an evaluation cannot be used."""
    spec = for_run(spec, offline=offline)
    settings = with_reader_rules(eval_settings(spec), eval_inputs(spec))
    providers = ProviderSet(settings.rules, spec.evaluators, spec.cases, spec.safety)
    check_ready(spec, providers.unready())


def eval_cases(spec: EvalSpec) -> Iterator[Case]:
    """Yield the cases of an evaluation without running anything."""
    spec = with_optional_truth(spec)
    with closing(open_cases(spec, eval_inputs(spec))) as stream:
        yield from chain.from_iterable(stream.batches())


def plan_evals(
    files: Sequence[str | Path], shared: RunOptions, *, targets: Sequence[str], save: bool
) -> list[tuple[EvalSpec, RunOptions]]:
    """Return the evaluations of all files with their options, or raise all of their problems.

    A file with several targets is one evaluation for each target. With `save`, a run without `out`
    has a directory in `runs`. Baselines are found before the first run, so `latest` is never a run
    of these evaluations.
    """
    problems: list[Problem] = []
    specs: list[tuple[EvalSpec, str]] = []
    for file in files:
        try:
            loaded = load_eval(file, code=Code.ALLOW if shared["allow_code"] else Code.REFUSE)
            for spec in one_per_target(loaded, targets):
                check_ready_eval(spec, offline=shared["offline"])
                several = loaded.targets and spec.target
                specs.append((spec, spec.target.name if several and spec.target else ""))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    directories = _directories(specs, shared["out"]) if save else [None] * len(specs)
    planned: list[tuple[EvalSpec, RunOptions]] = []
    for (spec, target), out in zip(specs, directories, strict=True):
        file = spec.location.file
        options: RunOptions = {
            **spec.options, **shared, "file": file, "target": target, "out": out
        }  # fmt: skip
        try:
            planned.append((spec, with_baseline(complete_options(**options), spec)))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return planned


def _directories(
    specs: Sequence[tuple[EvalSpec, str]], parent: str | Path | None
) -> list[str | Path | None]:
    """Return a directory for the run of each file, or of each target of a single file."""
    if parent is None:
        return [Path(ROOT) / new_run_id() for _ in specs]
    if len(specs) == 1:
        return [parent]
    one_file = len({spec.location.file for spec, _ in specs}) == 1
    names = [target if one_file and target else spec.name for spec, target in specs]
    return [*run_directories(parent, names, "eval")]


def with_baseline(options: RunOptions, spec: EvalSpec) -> RunOptions:
    """Return the options with the directory of the baseline, which must be comparable."""
    options = resolve_baseline(options, spec.name)
    if options["baseline"] is not None:
        selection = CaseSelection(options["only"], options["cases"])
        _prepare(spec, options, selection, preflight=False).stream.close()
    return options


def _prepare(
    spec: EvalSpec, options: RunOptions, selection: CaseSelection, *, preflight: bool
) -> PreparedRun:
    """Resolve and check an evaluation before the first case is run."""
    options = resolve_baseline(options, spec.name)
    gates = RunGates.of(options, spec.gates)
    spec = with_optional_truth(for_run(spec, offline=options["offline"]))
    inputs = eval_inputs(spec)
    settings = with_reader_rules(eval_settings(spec), inputs)
    gates.check_names(settings, lambda: _empty_summaries(spec))
    models = (settings.rules, spec.evaluators, spec.cases, spec.safety)
    providers = ProviderSet(*models, target=spec.target)
    if preflight:
        check_ready(spec, providers.unready())
    case_evaluators = own_evaluators(spec)
    evaluators = [
        *spec.evaluators,
        *(evaluator for single in case_evaluators.values() for evaluator in single),
    ]
    slow = spec.target is not None or has_judges(evaluators) or spec.safety is not None
    size = _SLOW_SEGMENT if slow else _SEGMENT
    saved, manifest = options["out"] is not None or options["resume"], None
    if saved or options["baseline"] is not None:
        manifest = make_manifest(
            "eval",
            settings,
            providers,
            limits=inputs.limits,
            sources=eval_sources(spec),
            options=stored_options(options, "eval"),
            segment_size=size,
            name=spec.name,
            evaluators=fingerprints(spec),
            target=None if spec.target is None else target_identity(spec.target),
            pages=options["pages"],
        )
        gates.check_data(manifest)
    check_selection(spec, selection)

    def check_end(summary: Summary) -> None:
        if selection.excluded and not summary.cases.total:
            raise ConfigError.of(
                f"no case selected from {selection.excluded}: {selection}",
                spec.location,
                "check the selected tags and ids",
            )

    return PreparedRun(
        settings=settings,
        stream=open_cases(spec, inputs, quotes=options["values"]),
        gates=gates,
        providers=providers,
        segment_size=size,
        max_errors=spec.max_errors,
        resampling=resampling(options),
        manifest=manifest if saved else None,
        evaluators=spec.evaluators,
        own_evaluators=case_evaluators,
        concurrency=options["concurrency"],
        target=spec.target,
        selection=selection,
        location=spec.location,
        check_end=check_end,
    )


def _empty_summaries(spec: EvalSpec) -> dict[str, EvaluatorSummary]:
    """Return the summaries of all evaluators without cases, which contain every metric name."""
    totals = EvaluatorTotals(member.name for member in spec.members)
    return totals.summaries(empty_metrics(spec.members))


def _eval_spec(source: EvalSource, code: Code) -> EvalSpec:
    if isinstance(source, EvalSpec):
        return source
    if isinstance(source, str | Path):
        return load_eval(source, code=code)
    context = Context(code=code)
    located = locate(_with_rows(source), context.problems, documents=_DOCUMENTS)
    context.problems.raise_any()
    spec = read_eval(located, context)
    context.problems.raise_any()
    return spec


def _with_rows(source: object) -> object:
    """Return the contents of an eval file with the rows of data frames as lists of cases.

    A missing value is a key that the case does not have, unless it is a document.
    """
    if not isinstance(source, Mapping):
        return source
    made = dict(source)
    for key, value in made.items():
        if is_table(type(value)):
            made[key] = [
                {name: cell for name, cell in row.items() if cell is not None or name in _SIDES}
                for row in read_table(value, str(key))
            ]
    return made

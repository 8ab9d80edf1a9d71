"""Use case: run an eval file, from its cases to a verdict that a release can be gated on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, cast

from fieldmark.api.asking import Asked
from fieldmark.api.asking import offline as went_offline
from fieldmark.api.baseline import baseline_of
from fieldmark.api.books import Books
from fieldmark.api.detection import with_regions
from fieldmark.api.eval_cases import (
    Wanted,
    fingerprints,
    inputs_of,
    open_cases,
    refuse_unmet,
    refuse_unready,
    sources_of,
    with_nothing_expected,
)
from fieldmark.api.eval_rules import settings_of
from fieldmark.api.eval_run import EvalRun, nothing_said
from fieldmark.api.finishing import Finishing
from fieldmark.api.gates import check_names, gates_of
from fieldmark.api.lists import list_notes
from fieldmark.api.requests import EvalRequest, baseline_request, eval_request, request_of_run
from fieldmark.api.resuming import Keeping, begin, finish, folder_for
from fieldmark.api.run_result import RunResult
from fieldmark.api.settings import Settings
from fieldmark.api.watching import Progress, manifest, teller
from fieldmark.config.context import Context
from fieldmark.config.eval_file import load_eval, read_eval
from fieldmark.config.eval_spec import EvalSpec
from fieldmark.config.located import locate
from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import PairStream
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.evaluation import Observer

__all__ = ["EvalResult", "EvalSource", "evaluate", "refuse_unready_eval", "resume_eval"]

EvalSource: TypeAlias = "str | Path | Mapping[str, JsonValue] | EvalSpec"
"""An eval file, or what one holds."""


@dataclass(frozen=True, repr=False)
class EvalResult(RunResult):
    """A run of an eval file: every figure, what each evaluator said, and its gates.

    `unmet` says which of the tags and ids that were asked for no case has.
    """

    name: str = ""
    unmet: tuple[str, ...] = ()


def evaluate(
    source: EvalSource,
    *,
    only: Iterable[str] = (),
    cases: Iterable[str] = (),
    concurrency: int | None = None,
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    out: str | Path | None = None,
    values: bool = True,
    resume: bool = False,
    accept_changes: bool = False,
    offline: bool = False,
    intervals: bool | None = None,
    baseline: str | Path | None = None,
    max_drop: Mapping[str, float] | None = None,
    max_errors: int | None = None,
    preflight: bool = True,
    observers: Sequence[Observer] = (),
    progress: Progress | None = None,
) -> EvalResult:
    """Run all evaluators of an eval file over its cases.

    `only` keeps the cases with one of some tags, `cases` those whose id fits a pattern. Gates are
    added to those of the file. `out` names a new folder for the run's results, or with `resume`
    that of a run that was broken off. With `offline`, models are asked for nothing but answers
    that are kept. With `intervals`, and for a run that is kept, figures get confidence intervals.
    `max_drop` says how far figures may fall below those of a `baseline`. `preflight` looks whether
    everybody can be asked before anybody is; `refuse_unready_eval` does the same beforehand.

    >>> import fieldmark as fm
    >>> run = fm.evaluate({
    ...     "cases": [{"id": "a", "expected": {"total": 10}, "candidate": {"total": 10}}],
    ...     "evaluators": [{"type": "field_accuracy", "fields": [{"path": "total"}]}],
    ... })
    >>> run.mean_score
    1.0
    """
    spec = went_offline(_spec(source), wanted=offline)
    if max_errors is not None:
        spec = replace(spec, max_errors=max_errors)
    keeping = Keeping(
        out=out,
        resume=resume,
        accept_changes=accept_changes,
        values=values,
        intervals=intervals,
    )
    gates = [*spec.gates, *gates_of(at_least, at_most)]
    finishing = Finishing(gates=gates, baseline=baseline_of(baseline, max_drop))
    limits = {"at_least": at_least or {}, "at_most": at_most or {}}
    chosen = {"only": _texts(only), "cases": _texts(cases), **limits, "values": values}
    chosen |= {"max_errors": max_errors, **baseline_request(finishing.baseline)}
    prepared = _prepared(spec, finishing, chosen, preflight=preflight)
    return prepared.run(keeping, concurrency or spec.concurrency, observers, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """An evaluation with everything checked that can be checked before it is run."""

    spec: EvalSpec
    settings: Settings
    stream: PairStream
    wanted: Wanted
    asked: Asked
    about: JsonObject
    finishing: Finishing

    def run(
        self,
        keeping: Keeping,
        concurrency: int,
        observers: Sequence[Observer],
        progress: Progress | None,
    ) -> EvalResult:
        """Run it, from its first case to its verdict."""
        spec, stream, settings = self.spec, self.stream, self.settings
        with ExitStack() as stack:
            stack.enter_context(closing(stream))
            folder = stack.enter_context(folder_for(keeping, self.about) or nullcontext())
            run = EvalRun(spec, settings, stream, self.wanted, begin(settings, folder))
            if keeping.sampled:
                run.watchers.append(run.sampled())
            if progress is not None:
                run.watchers.append(teller(progress, stream))
            if folder is not None:
                run.write_to(folder, values=keeping.values)
            books = Books(self.asked, folder)
            run.observers += observers
            summary = books.added(run.finished(concurrency, values=keeping.values))
            summary = self.finishing.finished(summary, run.sample, settings.convention)
            lists = run.plan.lists()
            path = finish(folder, run.plan.table, lists, summary, self.asked.spent())
        notes = (*stream.notes, *list_notes(lists))
        return EvalResult(
            summary, notes, path, name=spec.name, max_errors=spec.max_errors, unmet=run.unmet
        )


def _prepared(
    spec: EvalSpec, finishing: Finishing, chosen: Mapping[str, object], *, preflight: bool
) -> _Prepared:
    spec = with_nothing_expected(spec)
    reading = inputs_of(spec)
    settings = with_regions(settings_of(spec), reading)
    check_names(finishing.gates, settings, lambda: nothing_said(spec))
    if finishing.baseline is not None:
        finishing.baseline.refuse_unlike(settings)
    asked = Asked(settings.rules, spec.evaluators, spec.cases)
    if preflight:
        refuse_unready(spec, asked.unready())
    about = {**_about(spec, settings, reading, chosen), "providers": asked.identities()}
    wanted = Wanted(cast("list[str]", chosen["only"]), cast("list[str]", chosen["cases"]))
    refuse_unmet(spec, wanted)
    return _Prepared(
        spec=spec,
        settings=settings,
        stream=open_cases(spec, reading),
        wanted=wanted,
        asked=asked,
        about=about,
        finishing=finishing,
    )


def refuse_unready_eval(spec: EvalSpec, *, offline: bool = False) -> None:
    """Refuse an evaluation in which somebody cannot be asked: who judges, or makes candidates."""
    spec = went_offline(spec, wanted=offline)
    settings = with_regions(settings_of(spec), inputs_of(spec))
    refuse_unready(spec, Asked(settings.rules, spec.evaluators, spec.cases).unready())


def _about(
    spec: EvalSpec, settings: Settings, reading: Inputs, chosen: Mapping[str, object]
) -> JsonObject:
    """What the manifest of a run says of an evaluation."""
    made_from = manifest(settings, reading, *sources_of(spec))
    request = eval_request(spec.location.file, **chosen)
    about: JsonObject = {"command": "eval", "eval": spec.name, **made_from}
    return {**about, "evaluators": fingerprints(spec), "request": request}


def resume_eval(
    run: str | Path,
    *,
    accept_changes: bool = False,
    offline: bool = False,
    concurrency: int | None = None,
    observers: Sequence[Observer] = (),
    progress: Progress | None = None,
) -> EvalResult:
    """Go on with a run that was broken off, from what its manifest says that was asked for."""
    asked = cast("EvalRequest", request_of_run(Path(run), "eval"))
    return evaluate(
        asked["file"],
        only=asked["only"],
        cases=asked["cases"],
        concurrency=concurrency,
        at_least=asked["at_least"],
        at_most=asked["at_most"],
        max_errors=asked["max_errors"],
        baseline=asked.get("baseline"),
        max_drop=asked.get("max_drop"),
        out=run,
        values=asked["values"],
        resume=True,
        accept_changes=accept_changes,
        offline=offline,
        observers=observers,
        progress=progress,
    )


def _texts(given: Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _spec(source: EvalSource) -> EvalSpec:
    if isinstance(source, EvalSpec):
        return source
    if isinstance(source, str | Path):
        return load_eval(source)
    context = Context()
    located = locate(source, context.problems)
    context.problems.raise_any()
    spec = read_eval(located, context)
    context.problems.raise_any()
    return spec

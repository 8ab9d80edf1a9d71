"""Score two data sets: the main job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import cast

from fieldmark.api.asking import Asked
from fieldmark.api.asking import offline as went_offline
from fieldmark.api.baseline import Baseline, baseline_of
from fieldmark.api.books import Books
from fieldmark.api.detection import Detection, with_regions
from fieldmark.api.finishing import Finishing
from fieldmark.api.gates import check_names, gates_of
from fieldmark.api.lists import list_notes
from fieldmark.api.reading import InputsLike, inputs_of
from fieldmark.api.requests import ScoreRequest, request_of_run, score_request
from fieldmark.api.resuming import Keeping, begin, finish, folder_for
from fieldmark.api.run_result import RunResult
from fieldmark.api.score_run import ScoreRun
from fieldmark.api.settings import Choice, RulesLike, Settings, settle
from fieldmark.api.watching import Progress, Source, manifest
from fieldmark.data.pairing import PairStream, open_pairs
from fieldmark.metrics.gates import Gate
from fieldmark.metrics.summary import summarise
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.collector import patient_collector
from fieldmark.run.segments import segment_size

__all__ = ["resume_score", "score"]


def score(
    truth: Source,
    candidate: Source | None = None,
    *,
    rules: RulesLike = None,
    convention: str = "confusion",
    options: Mapping[str, JsonValue] | None = None,
    match: str | None = None,
    align: str | None = None,
    scope: str | None = None,
    depth: str | None = None,
    inputs: InputsLike = None,
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
    workers: int = 1,
    progress: Progress | None = None,
) -> RunResult:
    """Compare two data sets and count every field.

    `truth` and `candidate` are files, folders, or iterables of documents; with `candidate` left
    out, rows hold both sides. `out` names a new folder for the run's results, or with `resume`
    that of a run that was broken off. With `offline`, models are asked for nothing but answers
    that are kept. `max_errors` is how many cases may fail to be evaluated. Large files may be
    shared among `workers` processes; any number of them gives the same bytes.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
    >>> found = [{"id": "b", "total": 2}, {"id": "a", "total": 3}]
    >>> fm.score(truth, found).attributes["total"].f1
    0.5
    """
    choice = _choice(convention, options, match, align, scope, depth)
    limits = {"at_least": at_least or {}, "at_most": at_most or {}}
    reading = inputs_of(inputs)
    settings = _ready(with_regions(settle(rules, **choice), reading), offline=offline)
    finishing = _finishing(gates_of(**limits), baseline_of(baseline, max_drop), settings)
    stream = open_pairs(truth, candidate, reading, quotes=values)
    asked = {"rules": rules, **choice, **limits, "values": values, "max_errors": max_errors}
    request = score_request((truth, candidate), reading, finishing.baseline, **asked)
    about = _about(settings, stream, truth, candidate, request=request, kept=out is not None)
    keeping = Keeping(
        out=out, resume=resume, accept_changes=accept_changes, values=values, intervals=intervals
    )
    run = _scored(stream, settings, finishing, about, keeping, progress=progress, workers=workers)
    return replace(run, max_errors=max_errors or 0)


def _about(
    settings: Settings,
    stream: PairStream,
    *sources: Source | None,
    request: JsonObject | None,
    kept: bool,
) -> JsonObject:
    """What the manifest says; a run that is not kept has none, and no input is hashed for it."""
    if not kept:
        return {}
    made_from = manifest(settings, stream.options, *sources)
    size = segment_size(stream.case_bytes)
    return {"command": "score", **made_from, "request": request, "segment": size}


def _finishing(gates: Sequence[Gate], baseline: Baseline | None, settings: Settings) -> Finishing:
    """What the figures have to reach, if that can be found out of a run with these settings."""
    check_names(gates, settings)
    if baseline is not None:
        baseline.refuse_unlike(settings)
    return Finishing(gates=gates, baseline=baseline)


def _choice(
    convention: str,
    options: Mapping[str, JsonValue] | None,
    match: str | None,
    align: str | None,
    scope: str | None,
    depth: str | None,
) -> Choice:
    return {
        "convention": convention,
        "options": options or {},
        "match": match,
        "align": align,
        "scope": scope,
        "depth": depth,
    }


def _ready(settings: Settings, *, offline: bool) -> Settings:
    """The settings, if whoever they ask about meaning can be asked."""
    settings = replace(settings, rules=went_offline(settings.rules, wanted=offline))
    Asked(settings.rules).refuse_unready()
    return settings


def _scored(
    stream: PairStream,
    settings: Settings,
    finishing: Finishing,
    about: JsonObject,
    keeping: Keeping,
    *,
    progress: Progress | None,
    workers: int,
) -> RunResult:
    with ExitStack() as stack:
        stack.enter_context(closing(stream))
        folder = folder_for(keeping, about)
        stack.enter_context(folder or nullcontext())
        stack.enter_context(patient_collector())
        begun = begin(settings, folder)
        run = ScoreRun(stream, begun, settings, folder, keeping, progress=progress)
        detection = Detection(stream.format_in)
        run.watchers += [detection] if stream.format_in else []
        asked = Asked(settings.rules)
        books = Books(asked, folder)
        tally = run.counted(workers)
        summary = summarise(
            tally, settings.convention, rules=settings.rules, warnings=run.warnings(tally)
        )
        summary = books.added(detection.added(summary))
        summary = finishing.finished(summary, run.sample, settings.convention)
        path = finish(folder, begun.plan.table, run.lists, summary, asked.spent())
    return RunResult(summary, (*stream.notes, *list_notes(run.lists)), path)


def resume_score(
    run: str | Path,
    *,
    accept_changes: bool = False,
    offline: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> RunResult:
    """Go on with a run that was broken off, from what its manifest says that was asked for."""
    asked = cast("ScoreRequest", request_of_run(Path(run), "score"))
    return score(
        **asked,
        out=run,
        resume=True,
        accept_changes=accept_changes,
        offline=offline,
        workers=workers,
        progress=progress,
    )

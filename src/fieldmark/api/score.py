"""Score predictions against ground truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fieldmark.api.arguments import checked, strings
from fieldmark.data.inputs import InputLike
from fieldmark.data.pairing import PairedFiles, open_pairs
from fieldmark.errors import ConfigError
from fieldmark.model.json import JsonValue
from fieldmark.run.case_processor import segment_size
from fieldmark.run.gates import RunGates, resolve_baseline
from fieldmark.run.options import InputsLike, RunOptions, read_inputs
from fieldmark.run.provider_set import ProviderSet, for_run
from fieldmark.run.result import RunResult
from fieldmark.run.session import PreparedRun, Progress, run_session
from fieldmark.run.settings import ConfidenceLike, RulesLike, resolve_settings
from fieldmark.run.yaml_inputs import with_yaml
from fieldmark.wire.manifest import ManifestInput

__all__ = ["prepare_score", "score", "score_with"]

_JUDGED_SEGMENT: Final = 32
"""Results are written more often if a model judges safety, because it is slow."""


@checked
def score(
    truth: InputLike,
    candidate: InputLike | None = None,
    *,
    rules: RulesLike = None,
    convention: str | None = None,
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
    by: Iterable[str] = (),
    pages: str | Path | None = None,
    max_errors: int | None = None,
    engine: str = "processes",
    workers: int | str | None = None,
    results: str = "jsonl",
    allow_code: bool = False,
    confidence: ConfidenceLike = None,
    progress: Progress | None = None,
) -> RunResult:
    """Compare predictions with ground truth and compute all metrics.

    `truth` and `candidate` are files, directories, data frames or iterables of documents, which may
    be models and dataclasses; without `candidate`, rows contain both sides. The default convention
    is that of the rules, otherwise `confusion`; gates of the rules are checked too. `out` is a new
    directory for the run, or a new prefix of an object store such as `s3://bucket/run`, or with
    `resume` that of an interrupted run. With `offline`, only cached responses of models are used.
    `max_errors` is the number of cases that may have evaluation errors. `max_drop` limits how much
    worse a metric may be than in the run `baseline`, which is named as for `diff`. `summary.slices`
    contains the metrics of slices of the cases `by` tag, `metadata.KEY` or a path of the expected
    document. `pages` is a directory with page images or PDF files, which `fieldmark serve --pages`
    shows beside the fields. With `confidence`, the confidences of predictions are read, and the
    result says how well they tell correct from wrong values; it may be options as in a rules file.
    Large files are processed by `workers` processes, with `"auto"` one per core, by default one, or
    by a Ray cluster if the `engine` is `"ray"` or `"ray://host:port"`, by default with all its
    cores; the results depend on neither. With the `results` `"parquet"`, a saved run also has its
    outcomes as Parquet files. With `allow_code`, a rules file may name Python functions, which are
    then imported and run. The result contains all cases and fields, also without `out`.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
    >>> predictions = [{"id": "b", "total": 2}, {"id": "a", "total": 3}]
    >>> fm.score(truth, predictions).attributes["total"].f1
    0.5
    >>> fm.score(truth, predictions, by=["total"]).summary.slices["total=2"].micro.f1
    1.0
    """
    run_options = RunOptions(
        truth=truth,
        candidate=candidate,
        rules=rules,
        convention=convention,
        options=options or {},
        match=match,
        align=align,
        scope=scope,
        depth=depth,
        inputs=read_inputs(inputs),
        at_least=at_least or {},
        at_most=at_most or {},
        out=out,
        values=values,
        resume=resume,
        accept_changes=accept_changes,
        offline=offline,
        intervals=intervals,
        baseline=baseline,
        max_drop=max_drop or {},
        by=strings(by),
        pages=pages,
        max_errors=max_errors,
        engine=engine,
        workers=workers,
        results=results,
        allow_code=allow_code,
        confidence=confidence,
    )
    return score_with(run_options, progress=progress, keep_cases=True)


def score_with(
    options: RunOptions, *, progress: Progress | None = None, keep_cases: bool = False
) -> RunResult:
    """Score with run options; with `keep_cases`, the result has the cases of an unsaved run."""
    prepared = prepare_score(options)
    return run_session(prepared, options, progress=progress, keep_cases=keep_cases)


def prepare_score(
    options: RunOptions, *, inputs: Sequence[ManifestInput] | None = None
) -> PreparedRun:
    """Resolve and check the options before any row is read.

    The `inputs` of the manifest are read and hashed unless they are known.
    """
    options = resolve_baseline(options)
    if options.pages is not None or any(key.in_metadata for key in options.slice_keys):
        options = replace(options, inputs=replace(options.inputs, context=True))
    if options.truth is None:
        raise ConfigError.of("truth is required")
    settings = resolve_settings(
        options.rules,
        convention=options.convention,
        options=options.options,
        match=options.match,
        align=options.align,
        scope=options.scope,
        depth=options.depth,
        allow_code=options.allow_code,
        confidence=options.confidence,
    )
    inputs_read = replace(options.inputs, confidences=settings.confidence)
    if options.inputs.format_in is not None:
        from fieldmark.run.detection import with_regions

        settings = with_regions(settings, options.inputs)
    settings = replace(
        settings,
        rules=for_run(settings.rules, offline=options.offline),
        safety=for_run(settings.safety, offline=options.offline),
    )
    providers = ProviderSet(settings.rules, settings.safety)
    providers.check_ready()
    if settings.safety is not None:
        from fieldmark.run.safety import check_safety

        check_safety(settings.safety)
    gates = RunGates.of(options, settings.gates)
    gates.check_names(settings)
    sources = [each for each in (options.truth, options.candidate) if each is not None]
    truth, candidate = with_yaml(options.truth), with_yaml(options.candidate)
    files = PairedFiles.of(truth, candidate, inputs_read)
    stream = open_pairs(truth, candidate, inputs_read, quotes=options.values)
    size = segment_size(stream.case_bytes)
    if not providers.are_local and settings.safety is not None:
        size = min(size, _JUDGED_SEGMENT)
    saved, manifest = options.out is not None or options.resume, None
    if saved or options.baseline is not None:
        from fieldmark.run.manifest import make_manifest

        manifest = make_manifest(
            "score",
            settings,
            providers,
            limits=options.inputs.limits,
            sources=sources,
            options=options.stored("score"),
            segment_size=size,
            inputs=inputs,
            pages=options.pages,
        )
        try:
            gates.check_data(manifest)
        except ConfigError:
            stream.close()
            raise
    return PreparedRun(
        settings=settings,
        stream=stream,
        gates=gates,
        providers=providers,
        segment_size=size,
        files=files,
        max_errors=options.max_errors or 0,
        manifest=manifest if saved else None,
    )

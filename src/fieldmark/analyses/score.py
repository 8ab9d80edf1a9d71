"""Score predictions against ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Unpack

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.run_result import RunResult, run_result
from fieldmark.data.inputs import InputLike
from fieldmark.data.pairing import PairedFiles, open_pairs
from fieldmark.errors import ConfigError
from fieldmark.runs.case_processor import segment_size
from fieldmark.runs.error_boundary import check_safety
from fieldmark.runs.gates import RunGates, resolve_baseline
from fieldmark.runs.manifest import ManifestInput, make_manifest
from fieldmark.runs.provider_set import ProviderSet, for_run
from fieldmark.runs.regions import with_reader_rules
from fieldmark.runs.run_options import (
    RunOptions,
    ScoreOptions,
    complete_options,
    read_inputs,
    resampling,
    slice_keys,
    stored_options,
    with_yaml,
)
from fieldmark.runs.session import PreparedRun, Progress
from fieldmark.runs.settings import resolve_settings
from fieldmark.runs.stored_run import StoredRun

_JUDGED_SEGMENT: Final = 32
"""Results are written more often if a model judges safety, because it is slow."""


@checked
def score(
    truth: InputLike,
    candidate: InputLike | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[ScoreOptions],
) -> RunResult:
    """Compare predictions with ground truth and compute all metrics.

    The result contains all cases and fields, also without `out`. `summary.slices` contains the
    metrics of the slices `by`, and gates of the rules are checked too. Results depend neither on
    the engine nor on the number of workers.

    Args:
        truth: Ground truth: a file, a directory, a data frame, or an iterable of documents, which
            may be models or dataclasses.
        candidate: Predictions in the same forms. Without them, the rows of `truth` contain both
            sides.
        progress: Called regularly with the cases processed, the bytes read, and the total bytes if
            known.
        **options: The options below. `out` is a directory or the prefix of an object store, such as
            `s3://bucket/run`; with `resume`, it is the directory of an interrupted run.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
    >>> predictions = [{"id": "b", "total": 2}, {"id": "a", "total": 3}]
    >>> fm.score(truth, predictions).attributes["total"].f1
    0.5
    >>> fm.score(truth, predictions, by=["total"]).summary.slices["total=2"].micro.f1
    1.0
    """
    run_options = complete_options(truth=truth, candidate=candidate, **options)
    return score_with(run_options, progress=progress, keep_cases=True)


def score_with(
    options: RunOptions,
    *,
    progress: Progress | None = None,
    keep_cases: bool = False,
    retried: StoredRun | None = None,
) -> RunResult:
    """Score with run options; with `keep_cases`, the result has the cases of an unsaved run.

    Only the failed cases of a `retried` run are compared.
    """
    prepared = replace(prepare_score(options), retried=retried)
    return run_result(prepared, options, progress=progress, keep_cases=keep_cases)


def prepare_score(
    options: RunOptions, *, inputs: Sequence[ManifestInput] | None = None
) -> PreparedRun:
    """Resolve and check the options before any row is read.

    The `inputs` of the manifest are read and hashed unless they are known.
    """
    options = resolve_baseline(options)
    if options["truth"] is None:
        raise ConfigError.of("truth is required")
    reading = read_inputs(options["inputs"])
    if options["pages"] is not None or any(key.in_metadata for key in slice_keys(options)):
        reading = replace(reading, context=True)
    settings = resolve_settings(**options)
    reading = replace(reading, confidences=settings.confidence, cell_rules=(settings.rules,))
    settings = with_reader_rules(settings, reading)
    settings = replace(
        settings,
        rules=for_run(settings.rules, offline=options["offline"]),
        safety=for_run(settings.safety, offline=options["offline"]),
    )
    providers = ProviderSet(settings.rules, settings.safety)
    providers.check_ready()
    if settings.safety is not None:
        check_safety(settings.safety)
    gates = RunGates.of(options, settings.gates)
    gates.check_names(settings)
    truth, candidate = with_yaml(options["truth"]), with_yaml(options["candidate"])
    files = PairedFiles.of(truth, candidate, reading)
    stream = open_pairs(truth, candidate, reading, quotes=options["values"])
    size = segment_size(stream.case_bytes)
    if not providers.are_local and settings.safety is not None:
        size = min(size, _JUDGED_SEGMENT)
    saved, manifest = options["out"] is not None or options["resume"], None
    if saved or options["baseline"] is not None:
        manifest = make_manifest(
            "score",
            settings,
            providers,
            limits=reading.limits,
            sources=score_sources(options),
            options=stored_options(options, "score"),
            segment_size=size,
            inputs=inputs,
            pages=options["pages"],
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
        max_errors=options["max_errors"] or 0,
        resampling=resampling(options),
        manifest=manifest if saved else None,
    )


def score_sources(options: RunOptions) -> list[InputLike]:
    """Return the inputs of a run."""
    return [source for source in (options["truth"], options["candidate"]) if source is not None]

"""Compare and judge only the failed cases of a saved run again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, cast

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.evaluate import evaluate_with
from fieldmark.analyses.run_result import RunResult
from fieldmark.analyses.saved_run import RunLike, stored_run
from fieldmark.analyses.score import score_with
from fieldmark.data.input_files import is_url
from fieldmark.errors import ConfigError
from fieldmark.rules.config_values import Code
from fieldmark.runs.eval_file import load_eval
from fieldmark.runs.run_directory import new_run_id
from fieldmark.runs.run_options import PROCESSES, RunOptions, complete_options, restored_options
from fieldmark.runs.session import Progress
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.text import plural

_INPUTS: Final = {"score": ("truth", "candidate"), "eval": ("file",)}
"""The inputs that a user can name again, by the command that made the run."""


@checked
def retry_errors(
    run: RunLike,
    *,
    inputs: Iterable[str | Path] = (),
    out: str | Path | None = None,
    max_errors: int | None = None,
    offline: bool = False,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Compare and judge the failed cases of a complete run again, in a new run.

    A case failed if a comparison, an evaluator or the target failed, for example because a model
    was not available. All other cases keep their results, so that the new run is the run without
    the outage, apart from its id, times and usage. The inputs are read again and must not have
    changed. The old run is never changed; the new run names it.

    Args:
        run: A saved run: its directory, id, tag or `latest`, or a result of `score` or `evaluate`.
        inputs: The inputs, if they are elsewhere now: ground truth and predictions, or the eval
            file. By default, they are the files that the run names.
        out: A new directory, or a new prefix of an object store; by default a directory beside the
            old run.
        max_errors: The number of cases that may fail; by default as in the run.
        offline: Use only cached responses of models.
        allow_code: Rules and eval files may name Python functions, which are then imported and run.
        progress: Called regularly, as for `score`.
    """
    stored = stored_run(run)
    summary = stored.complete_summary
    if not (summary.cases.errors or summary.uncounted_errors):
        raise ConfigError.of(f"{stored.path} has no failed cases")
    changes: dict[str, object] = {
        **_inputs(stored, [*inputs]),
        "out": stored.path.parent / new_run_id() if out is None else out,
        "offline": offline,
        "allow_code": allow_code,
        "engine": PROCESSES,
        "workers": 1,
        **({} if max_errors is None else {"max_errors": max_errors}),
    }
    options = restored_options(stored.manifest.options or {})
    options = cast("RunOptions", {**options, **changes})
    if stored.manifest.command == "score":
        return score_with(complete_options(**options), progress=progress, retried=stored)
    spec = load_eval(str(options["file"]), code=Code.ALLOW if allow_code else Code.REFUSE)
    options = cast("RunOptions", {**spec.options, **options})
    return evaluate_with(complete_options(**options), spec, progress=progress, retried=stored)


def _inputs(run: StoredRun, named: list[str | Path]) -> dict[str, str | Path]:
    """Return the inputs of a run: the files that it names, or these files in the same order."""
    manifest = run.manifest
    keys = _INPUTS.get(manifest.command)
    parent = manifest.rescored_from or {}
    if parent and not parent.get("retried_cases"):
        raise ConfigError.of(
            f"{run.path} was rescored, and its cases cannot be repeated",
            hint=f"repeat the failed cases of {parent.get('run')}, and rescore the result",
        )
    if keys is None or manifest.options is None:
        raise ConfigError.of(
            f"{run.path} cannot be repeated",
            hint="its inputs are needed, but were not files, or its rules were Python objects",
        )
    files = {key: str(source) for key in keys if (source := manifest.options.get(key)) is not None}
    if named and len(named) != len(files):
        raise ConfigError.of(
            f"{run.path} has {plural(len(files), 'input')}, got {len(named)}",
            hint=f"name them in this order: {', '.join(files.values())}",
        )
    if named:
        return dict(zip(files, named, strict=True))
    missing = [name for name in files.values() if not is_url(name) and not Path(name).exists()]
    if missing:
        raise ConfigError.of(
            f"the inputs of {run.path} are needed, and were not found: {', '.join(missing)}",
            hint="name all inputs with RUN (in Python: inputs=[…]); their content is checked",
        )
    return {}

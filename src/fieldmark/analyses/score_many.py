"""Score the predictions of several models against the same ground truth, and rank them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, Unpack

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.rank import RankResult, input_name, rank
from fieldmark.analyses.result import RunResult
from fieldmark.analyses.score import score_with
from fieldmark.data.input_files import STDIN, is_url
from fieldmark.data.inputs import InputLike
from fieldmark.errors import ConfigError, Problem
from fieldmark.model.json import JsonObject
from fieldmark.runs.gates import resolve_baseline
from fieldmark.runs.resume import run_directories
from fieldmark.runs.run_options import RunOptions, ScoreOptions, complete_options
from fieldmark.runs.session import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType


CandidatesLike: TypeAlias = Mapping[str, InputLike] | Sequence[str | Path]
"""The predictions of several models by name, or files that are named after the models."""

_AT_LEAST: Final = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class ScoredRuns:
    """The runs of several models by name, and their ranking."""

    runs: Mapping[str, RunResult]
    ranking: RankResult

    @property
    def passed(self) -> bool:
        """Whether all runs passed: the command would exit with code 0."""
        return all(run.passed for run in self.runs.values())

    def to_dict(self) -> JsonObject:
        """Return the ranking as JSON."""
        return self.ranking.to_dict()

    def __repr__(self) -> str:
        return repr(self.ranking)

    def __rich__(self) -> RenderableType:
        return self.ranking.__rich__()


@checked
def score_many(
    truth: InputLike,
    candidates: CandidatesLike,
    *,
    metric: str | None = None,
    **options: Unpack[ScoreOptions],
) -> ScoredRuns:
    """Score the predictions of several models, with one run for each, and rank them.

    Without `out`, only the metrics of the runs are kept, and not their cases.

    Args:
        truth: The ground truth, as for `score`. It is read once for each model, so it cannot be an
            iterator.
        candidates: Predictions by the name of their model, or files.
        metric: The metric of the ranking.
        **options: The options of `score`, listed below; `out` is a directory that gets one run for
            each model.

    >>> import fieldmark as fm
    >>> truth = [{"id": n, "total": n} for n in range(40)]
    >>> wrong = [{"id": n, "total": 0} for n in range(40)]
    >>> scored = fm.score_many(truth, {"careful": truth, "careless": wrong})
    >>> [(run.name, run.value) for run in scored.ranking.runs]
    [('careful', 1.0), ('careless', 0.025)]
    >>> scored.runs["careless"].micro.tp
    1
    """
    if options.get("resume"):
        raise ConfigError.of("resume: several runs cannot be resumed")
    run_options = complete_options(truth=truth, **options)
    return score_many_with(run_options, named_candidates(candidates), metric=metric)


def named_candidates(candidates: CandidatesLike) -> dict[str, InputLike]:
    """Return predictions by the name of their model; files of the same name are numbered."""
    if isinstance(candidates, Mapping):
        return dict(candidates)
    found: dict[str, InputLike] = {}
    for path in candidates:
        _check_path(path)
        name = own = input_name(str(path)) or str(path)
        number = 1
        while name in found:
            number += 1
            name = f"{own}-{number}"
        found[name] = path
    return found


def _check_path(given: object) -> None:
    if not isinstance(given, str | Path):
        kind = type(given).__name__
        raise TypeError(f"candidates must be files, or a mapping from names, got {kind}")


def score_many_with(
    options: RunOptions,
    candidates: Mapping[str, InputLike],
    *,
    directories: Sequence[str | Path] | None = None,
    metric: str | None = None,
    progress: Progress | None = None,
) -> ScoredRuns:
    """Score several predictions with the same options; each run has its own directory.

    By default, the directories are below `out`, named after the models.
    """
    if len(candidates) < _AT_LEAST:
        raise ConfigError.of(
            f"a ranking needs the predictions of at least two models, got {len(candidates)}"
        )
    check_files(options["truth"], candidates)
    # Before the first run, so that `latest` is none of these runs.
    options = resolve_baseline(options)
    with _parent(options["out"]) as parent:
        found = directories or run_directories(parent, list(candidates))
        runs = {
            name: score_with({**options, "candidate": given, "out": directory}, progress=progress)
            for (name, given), directory in zip(candidates.items(), found, strict=True)
        }
        ranking = rank(runs, metric=metric, seed=options["seed"])
    if directories is None and options["out"] is None:
        runs = {name: replace(run, path=None) for name, run in runs.items()}
        kept = tuple(replace(run, path="") for run in ranking.runs)
        ranking = replace(ranking, runs=kept)
    return ScoredRuns(runs=runs, ranking=ranking)


@contextmanager
def _parent(out: str | Path | None) -> Iterator[str | Path]:
    """Return the directory of all runs, which is removed if the runs are not saved."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="fieldmark-") as directory:
        yield Path(directory)


def check_files(truth: InputLike | None, candidates: Mapping[str, InputLike]) -> None:
    """Raise an error for inputs that cannot be read, before the first run is made."""
    inputs = [truth, *candidates.values()]
    if any(each == STDIN for each in inputs if isinstance(each, str)):
        raise ConfigError.of("standard input can be read only once, so it cannot be ranked")
    if isinstance(truth, Iterator):
        raise ConfigError.of("truth is read once for each model", hint="give a list or a file")
    files = [each for each in inputs if isinstance(each, str | Path) and not is_url(each)]
    missing = [each for each in files if not Path(each).exists()]
    if missing:
        raise ConfigError([Problem(f"{each}: file not found") for each in missing])

"""Run options: one class for Python arguments, the command line, HTTP and the manifest."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from fieldmark.data.files import STDIN, is_url, redacted_url
from fieldmark.data.inputs import InputLike, Inputs
from fieldmark.errors import ConfigError, MissingExtra, OptionError, Problem
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.settings import ConfidenceLike, RulesLike
from fieldmark.values.text import did_you_mean

if TYPE_CHECKING:
    from fieldmark.metrics.slices import SliceKey

__all__ = [
    "AUTO",
    "JSONL",
    "PARQUET",
    "PROCESSES",
    "InputsLike",
    "RunOptions",
    "options_of_run",
    "read_inputs",
    "run_directories",
]

PROCESSES: Final = "processes"
"""The engine that runs workers on this machine."""
JSONL: Final = "jsonl"
PARQUET: Final = "parquet"
"""Results as JSONL, or as Parquet files too."""
AUTO: Final = "auto"
"""As many workers as there are cores."""
_RAY: Final = re.compile(r"ray(?:://[^\s/]+)?\Z")

InputsLike: TypeAlias = "Inputs | Mapping[str, object] | None"
"""Options for reading rows, as an object or as a mapping."""

_NOT_RESUMABLE: Final = (
    "its inputs were data in memory, standard input, or a URL with credentials or a query, or its "
    "rules were Python objects, which are "
    "not saved"
)
_STORED: Final = {
    "score": (
        "truth", "candidate", "rules", "convention", "options", "match", "align", "scope", "depth",
        "inputs", "at_least", "at_most", "values", "max_errors", "baseline", "max_drop", "by",
        "pages",
    ),
    "eval": (
        "file", "target", "only", "cases", "at_least", "at_most", "values", "max_errors",
        "baseline", "max_drop", "by", "pages",
    ),
}  # fmt: skip
"""The options that determine the results of a run and are stored in its manifest."""
_PATHS: Final = ("truth", "candidate", "rules", "file", "baseline", "pages")
_UNSTORED_INPUTS: Final = ("limits", "context", "confidences")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """All options of a run.

    A run compares `truth` and `candidate`, or runs an eval `file`: `target` selects one of its
    targets, `only` cases by tag and `cases` cases by id pattern. `at_least` and `at_most` are
    limits on metrics, which may drop by `max_drop` compared with the `baseline`. All metrics are
    also computed for slices of the cases `by` tag, metadata or path. `pages` is the directory with
    page images, which are shown beside the fields of a case. With `confidence`, the
    confidences of predictions are read. With `out` the run is saved; without `values`, it is saved
    without documents. An `engine` with `workers` processes large inputs. `results` is the format of
    the results. With `allow_code`, rules may name Python functions.
    """

    truth: InputLike | None = None
    candidate: InputLike | None = None
    file: str | Path = ""
    target: str = ""
    rules: RulesLike = None
    convention: str | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    match: str | None = None
    align: str | None = None
    scope: str | None = None
    depth: str | None = None
    inputs: Inputs = field(default_factory=Inputs)
    only: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    baseline: str | Path | None = None
    max_drop: Mapping[str, float] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    pages: str | Path | None = None
    max_errors: int | None = None
    values: bool = True
    out: str | Path | None = None
    resume: bool = False
    accept_changes: bool = False
    offline: bool = False
    intervals: bool | None = None
    engine: str = PROCESSES
    workers: int | str | None = None
    concurrency: int | None = None
    results: str = JSONL
    allow_code: bool = False
    confidence: ConfidenceLike = None

    def __post_init__(self) -> None:
        if self.engine != PROCESSES:
            if not _RAY.match(self.engine):
                engines = f"{PROCESSES}, ray, ray://HOST:PORT"
                raise ConfigError.of(f"engine must be one of: {engines}; got {self.engine!r}")
            if find_spec("ray") is None:
                raise MissingExtra("the engine ray", "ray")
        if self.results not in (JSONL, PARQUET):
            raise ConfigError.of(
                f"results must be one of: {JSONL}, {PARQUET}; got {self.results!r}"
            )
        if self.results == PARQUET and find_spec("pyarrow") is None:
            raise MissingExtra("writing Parquet", "tables")
        if self.pages is not None and not Path(self.pages).is_dir():
            raise ConfigError.of(f"pages: directory {str(self.pages)!r} not found")
        known = self.workers in (AUTO, None)
        if not (known or (isinstance(self.workers, int) and self.workers >= 1)):
            message = f"workers must be {AUTO!r} or an integer of at least 1, got {self.workers!r}"
            raise ConfigError.of(message)
        try:
            keys = self.slice_keys
        except OptionError as error:
            raise ConfigError.of(f"by: {error.message}") from error
        if hidden := [] if self.values else [key.text for key in keys if key.needs_values]:
            raise ConfigError.of(
                f"by: {hidden[0]!r} cannot be combined with a run without values, because values "
                "are the names of its slices",
                hint="slice by tag, or save values",
            )

    @property
    def slice_keys(self) -> tuple[SliceKey, ...]:
        """What the cases are grouped by."""
        if not self.by:
            return ()
        from fieldmark.metrics.slices import parse_slice_keys  # only needed with slices

        return parse_slice_keys(self.by)

    @property
    def worker_count(self) -> int:
        """The number of worker processes on this machine; by default, one."""
        if self.workers is None or isinstance(self.workers, int):
            return self.workers or 1
        available = getattr(os, "sched_getaffinity", None)
        return len(available(0)) if available else os.cpu_count() or 1

    @property
    def most_tasks(self) -> int | None:
        """The most tasks that a cluster may run at the same time; by default, it decides."""
        return self.workers if isinstance(self.workers, int) else None

    @property
    def wants_intervals(self) -> bool:
        """Whether to compute confidence intervals; by default, only for saved runs."""
        return self.out is not None if self.intervals is None else self.intervals

    def stored(self, command: str) -> JsonObject | None:
        """Return the options for the manifest, or `None` if a run with them cannot be resumed.

        Data in memory, standard input, rules that are Python objects, and URLs with credentials or
        a query are not saved.
        """
        values = {name: getattr(self, name) for name in _STORED[command]}
        for name in _PATHS:
            value = values.get(name)
            if is_url(value):
                if redacted_url(value) != value:
                    return None  # credentials and signatures are not saved
            elif isinstance(value, str | Path) and value not in ("", STDIN):
                values[name] = str(Path(value).resolve())
        inputs = (values.get("truth", ""), values.get("candidate"))
        if any(each is not None and not isinstance(each, str) for each in inputs):
            return None
        if STDIN in inputs or values.get("file") == "":
            return None
        if not isinstance(values.get("rules"), str | Mapping | list | None):
            return None
        if not all(map(_is_importable, _functions_in(values.get("rules")))):
            return None
        if command == "score":
            values["inputs"] = {
                key: value
                for key, value in asdict(self.inputs).items()
                if key not in _UNSTORED_INPUTS
            }
        if not self.by:
            del values["by"]
        if self.pages is None:
            del values["pages"]
        if self.confidence is not None:
            values["confidence"] = self.confidence
        return {name: cast("JsonValue", _to_json(value)) for name, value in values.items()}

    @classmethod
    def from_stored(cls, stored: JsonObject) -> RunOptions:
        """Return the options that were stored in a manifest."""
        known = {"confidence", *(name for names in _STORED.values() for name in names)}
        values: dict[str, object] = {k: v for k, v in stored.items() if k in known}
        for name in ("only", "cases", "by"):
            values[name] = tuple(cast("list[str]", values.get(name, [])))
        values["inputs"] = read_inputs(cast("Mapping[str, object]", values.get("inputs", {})))
        return cls(**values)  # type: ignore[arg-type]

    def resumed(self, run: str | Path, **changes: object) -> RunOptions:
        """Return the options for resuming an interrupted run."""
        return replace(self, out=run, resume=True, **changes)  # type: ignore[arg-type]


def read_inputs(given: InputsLike) -> Inputs:
    """Return the options for reading rows; raise an error for invalid ones."""
    if given is None or isinstance(given, Inputs):
        return given or Inputs()
    if not isinstance(given, Mapping):
        raise ConfigError.of(f"inputs: expected fm.Inputs or a mapping, got {type(given).__name__}")
    known = [field.name for field in fields(Inputs)]
    unknown = [str(name) for name in given if name not in known]
    if unknown:
        raise ConfigError(
            [
                Problem(f"inputs: unknown option {name!r}", hint=did_you_mean(name, known))
                for name in unknown
            ]
        )
    try:
        return Inputs(**given)  # type: ignore[arg-type]
    except OptionError as error:
        raise ConfigError.of(f"inputs: {error}") from error


def options_of_run(path: str | Path, command: str) -> RunOptions:
    """Return the options of an interrupted run."""
    from fieldmark.run.remote_runs import fetch_manifest
    from fieldmark.store.reader import open_run  # only a resumed run needs them

    manifest = fetch_manifest(path) if is_url(path) else open_run(path).manifest
    if manifest.command != command:
        raise ConfigError.of(
            f"{path} was not started by `fieldmark {command}`",
            hint=f"use `fieldmark {manifest.command} --resume`" if manifest.command else "",
        )
    if manifest.options is None:
        raise ConfigError.of(f"{path} cannot be resumed", hint=_NOT_RESUMABLE)
    return RunOptions.from_stored(manifest.options)


def run_directories(
    parent: str | Path, names: Sequence[str], unnamed: str = "run"
) -> list[str | Path]:
    """Return a directory or URL below another for each run; names that are used again are numbered.

    >>> [path.name for path in run_directories(Path("runs"), ["gpt 4", "gpt/4", "..."])]
    ['gpt-4', 'gpt-4-2', 'run']
    """
    uses: Counter[str] = Counter()
    directories: list[str | Path] = []
    for shown in names:
        plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in shown)
        name = plain.lstrip(".") or unnamed
        uses[name] += 1
        name = name if uses[name] == 1 else f"{name}-{uses[name]}"
        directories.append(
            f"{str(parent).rstrip('/')}/{name}" if is_url(parent) else Path(parent) / name
        )
    return directories


def _functions_in(value: object) -> Iterator[Callable[..., object]]:
    """Yield the functions in rules that are Python data."""
    if isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _functions_in(inner)
    elif callable(value):
        yield value


def _is_importable(function: Callable[..., object]) -> bool:
    from fieldmark.python_function import PythonFunction  # rarely needed

    return PythonFunction.of(function).importable


def _to_json(value: object) -> object:
    if callable(value):
        from fieldmark.values.value_types import reference_of  # rarely needed

        return reference_of(value)
    if isinstance(value, Mapping):
        return {str(key): _to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)

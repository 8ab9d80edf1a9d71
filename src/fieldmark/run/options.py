"""Run options: one record for Python arguments, the command line, HTTP and the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Final, cast

from fieldmark.data.files import STDIN
from fieldmark.data.inputs import InputLike, Inputs
from fieldmark.errors import ConfigError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.input_options import read_inputs
from fieldmark.run.settings import RulesLike

__all__ = ["RunOptions", "options_of_run"]

_NOT_RESUMABLE: Final = "The run was begun from data in memory or standard input."
_STORED: Final = {
    "score": (
        "truth", "candidate", "rules", "convention", "options", "match", "align", "scope", "depth",
        "inputs", "at_least", "at_most", "values", "max_errors", "baseline", "max_drop",
    ),
    "eval": (
        "file", "only", "cases", "at_least", "at_most", "values", "max_errors", "baseline",
        "max_drop",
    ),
}  # fmt: skip
"""The options that decide the results of a run, which its manifest stores."""
_PATHS: Final = ("truth", "candidate", "rules", "file", "baseline")
_UNSTORED_INPUTS: Final = ("limits", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Everything that a run is asked to do.

    A run compares `truth` and `candidate`, or runs an eval `file`, of which `only` keeps the cases
    with one of some tags and `cases` those whose id matches a pattern. Figures must be `at_least`
    and `at_most` so high, and may drop by `max_drop` below the `baseline`. With `out` the run is
    saved; without `values`, no document is.
    """

    truth: InputLike | None = None
    candidate: InputLike | None = None
    file: str | Path = ""
    rules: RulesLike = None
    convention: str = "confusion"
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
    max_errors: int | None = None
    values: bool = True
    out: str | Path | None = None
    resume: bool = False
    accept_changes: bool = False
    offline: bool = False
    intervals: bool | None = None
    workers: int = 1
    concurrency: int | None = None

    @property
    def wants_intervals(self) -> bool:
        """Whether figures get confidence intervals: by default, those of a saved run."""
        return self.out is not None if self.intervals is None else self.intervals

    def stored(self, command: str) -> JsonObject | None:
        """The options as a manifest stores them; nothing if they cannot be used again.

        Data in memory, standard input and rules as Python objects cannot.
        """
        values = {name: getattr(self, name) for name in _STORED[command]}
        for name in _PATHS:
            if isinstance(values.get(name), str | Path) and values[name] not in ("", STDIN):
                values[name] = str(Path(values[name]).resolve())
        inputs = (values.get("truth", ""), values.get("candidate"))
        if any(each is not None and not isinstance(each, str) for each in inputs):
            return None
        if STDIN in inputs or values.get("file") == "":
            return None
        if not isinstance(values.get("rules"), str | Mapping | list | None):
            return None
        if command == "score":
            values["inputs"] = {
                key: value
                for key, value in asdict(self.inputs).items()
                if key not in _UNSTORED_INPUTS
            }
        return {name: cast("JsonValue", _to_json(value)) for name, value in values.items()}

    @classmethod
    def from_stored(cls, stored: JsonObject) -> RunOptions:
        """The options that a manifest stores."""
        known = {each.name for each in fields(cls)}
        values: dict[str, object] = {k: v for k, v in stored.items() if k in known}
        for name in ("only", "cases"):
            values[name] = tuple(cast("list[str]", values.get(name, [])))
        values["inputs"] = read_inputs(cast("Mapping[str, object]", values.get("inputs", {})))
        return cls(**values)  # type: ignore[arg-type]

    def resumed(self, run: str | Path, **changes: object) -> RunOptions:
        """The same options for the rest of an interrupted run."""
        return replace(self, out=run, resume=True, **changes)  # type: ignore[arg-type]


def options_of_run(path: Path, command: str) -> RunOptions:
    """The options that an interrupted run was started with."""
    from fieldmark.store.run_reader import open_run  # only a resumed run needs it

    manifest = open_run(path).manifest
    if manifest.command != command:
        raise ConfigError.of(
            f"{path} was not begun by `fieldmark {command}`.",
            hint=f"Go on with `fieldmark {manifest.command} --resume`." if manifest.command else "",
        )
    if manifest.options is None:
        raise ConfigError.of(f"{path} cannot go on by its name alone.", hint=_NOT_RESUMABLE)
    return RunOptions.from_stored(manifest.options)


def _to_json(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)

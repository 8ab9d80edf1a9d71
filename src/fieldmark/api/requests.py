"""What was asked of a run, kept in its manifest so that the run can go on without being asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, TypedDict, cast

from fieldmark.api.baseline import Baseline
from fieldmark.data.files import STDIN
from fieldmark.data.inputs import Inputs
from fieldmark.errors import ConfigError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.store.reader import open_run

__all__ = [
    "EvalRequest",
    "ScoreRequest",
    "baseline_request",
    "eval_request",
    "request_of_run",
    "score_request",
]

_NOT_RESUMABLE: Final = "The run was begun from data in memory or standard input."
_NOT_ASKED: Final = ("limits", "context")


class ScoreRequest(TypedDict):
    """The arguments of `score` that decide its results."""

    truth: str
    candidate: str | None
    rules: str | dict[str, JsonValue] | list[JsonValue] | None
    convention: str
    options: dict[str, JsonValue]
    match: str | None
    align: str | None
    scope: str | None
    depth: str | None
    inputs: dict[str, object]
    at_least: dict[str, float]
    at_most: dict[str, float]
    values: bool
    max_errors: int | None
    baseline: str | None
    max_drop: dict[str, float]


def baseline_request(baseline: Baseline | None) -> dict[str, object]:
    """The run that another must not fall behind, from wherever it is asked for again."""
    if baseline is None:
        return {"baseline": None, "max_drop": {}}
    return {"baseline": str(Path(baseline.run).resolve()), "max_drop": baseline.max_drop}


def score_request(
    sources: Sequence[object], inputs: Inputs, baseline: Baseline | None = None, **rest: object
) -> JsonObject | None:
    """The request as JSON; nothing if some of it cannot be asked for again."""
    names = [_name(source) for source in sources]
    if None in names[:1] or (len(sources) > 1 and sources[1] is not None and names[1] is None):
        return None
    rules = rest.get("rules")
    asked = {key: value for key, value in asdict(inputs).items() if key not in _NOT_ASKED}
    if rules is not None and not isinstance(rules, str | Path | Mapping | list):
        return None
    rest["rules"] = str(Path(rules).resolve()) if isinstance(rules, str | Path) else rules
    rest |= baseline_request(baseline)
    request = {"truth": names[0], "candidate": names[1], **rest, "inputs": asked}
    return {key: cast("JsonValue", _plain(value)) for key, value in request.items()}


class EvalRequest(TypedDict):
    """The arguments of `evaluate` that decide its results."""

    file: str
    only: list[str]
    cases: list[str]
    at_least: dict[str, float]
    at_most: dict[str, float]
    values: bool
    max_errors: int | None
    baseline: str | None
    max_drop: dict[str, float]


def eval_request(file: str, **rest: object) -> JsonObject | None:
    """The request as JSON; nothing if the evaluation came from no file."""
    if not file:
        return None
    place = str(Path(file).resolve())
    return {"file": place, **{key: cast("JsonValue", _plain(each)) for key, each in rest.items()}}


def request_of_run(path: Path, command: str) -> JsonObject:
    """What was asked of a run that is to go on."""
    manifest = open_run(path).manifest
    request = manifest.get("request")
    begun = manifest.get("command")
    if begun != command:
        raise ConfigError.of(
            f"{path} was not begun by `fieldmark {command}`.",
            hint=f"Go on with `fieldmark {begun} --resume`." if begun else "",
        )
    if not isinstance(request, dict):
        raise ConfigError.of(f"{path} cannot go on by its name alone.", hint=_NOT_RESUMABLE)
    return request


def _name(source: object) -> str | None:
    """Where a source is, from wherever it is asked for again."""
    if isinstance(source, Path) or (isinstance(source, str) and source != STDIN):
        return str(Path(source).resolve())
    return None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)

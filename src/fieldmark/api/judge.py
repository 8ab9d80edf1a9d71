"""A built-in evaluator as a code judge: a request in, a reply out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from fieldmark.config.context import Context
from fieldmark.config.evaluators import read_evaluator
from fieldmark.config.located import locate
from fieldmark.data.inputs import Inputs
from fieldmark.data.json_parser import parse_json
from fieldmark.data.pairing import open_pairs
from fieldmark.errors import ConfigError, DataError
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.run.evaluator_runner import open_evaluators

__all__ = ["as_judge", "open_judge"]

_ROWS: Final = Inputs(id_key="id", expected_key="expected", candidate_key="candidate", context=True)
_ANSWERS: Final = ("candidate_answer", "output", "output_text", "answer")
"""Where the candidate's text stands, by the names that AgentV has had for it."""


def as_judge(
    name: str, request: bytes, options: Mapping[str, JsonValue] | None = None
) -> JsonObject:
    """The reply of a built-in evaluator to one request.

    The request's `config` holds the evaluator's options, as an eval file would; `options` are
    those that hold for every request.

    >>> options = {"fields": [{"path": "total"}]}
    >>> as_judge("field_accuracy", b'{"expected": {"total": 1}, "candidate": {}}', options)["score"]
    0.0
    """
    with open_judge(name, options) as judge:
        return judge(request)


@contextmanager
def open_judge(
    name: str, options: Mapping[str, JsonValue] | None = None
) -> Iterator[Callable[[bytes], JsonObject]]:
    """What answers requests with a built-in evaluator, which is made anew only if it changes."""
    known: list[tuple[JsonObject, ConfiguredEvaluator]] = []

    def judge(raw: bytes) -> JsonObject:
        request = _request(raw)
        wanted: JsonObject = {**(options or {}), **_config(request)}
        if not known or known[0][0] != wanted:
            known[:] = [(wanted, _member(name, wanted))]
        return _judged(known[0][1], request)

    yield judge


def _judged(member: ConfiguredEvaluator, request: JsonObject) -> JsonObject:
    case = _case(request)
    with open_evaluators([member]) as runner:
        (result,) = runner.score(case)
    named = {"case_id": request["case_id"]} if "case_id" in request else {}
    return {**named, **result.score.to_dict()}


def _request(raw: bytes) -> JsonObject:
    request = parse_json(raw)
    if not isinstance(request, dict):
        raise DataError("the request must be an object")
    return request


def _config(request: JsonObject) -> JsonObject:
    config = request.get("config")
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise DataError("the config of a request must be an object")
    return config


def _member(name: str, options: JsonObject) -> ConfiguredEvaluator:
    context = Context(folder=Path.cwd())
    located = locate({**options, "type": name}, context.problems)
    member = read_evaluator(located, context)
    context.problems.raise_any()
    if member is None:
        raise ConfigError.of(f"{name} cannot be used as a judge.")
    return member


def _case(request: JsonObject) -> Case:
    """The case that a request is about, read as a row of data would be."""
    expected, candidate = _expected(request), _candidate(request)
    if candidate is MISSING:
        return Case("request", expected, MISSING, CaseInput.MISSING)
    row: JsonObject = {"id": "request", "expected": expected, "candidate": candidate}
    with closing(open_pairs([row], None, _ROWS)) as stream:
        return next(iter(stream.batches()))[0]


def _expected(request: JsonObject) -> JsonValue:
    if "expected" in request:
        return request["expected"]
    for key in ("expected_output", "reference_answer"):
        if request.get(key) is not None:
            said = _last_said(request[key])
            return _read(said) if isinstance(said, str) else said
    raise DataError("the request holds no expected, expected_output or reference_answer")


def _candidate(request: JsonObject) -> JsonValue | Missing:
    """The candidate: a value, or the text that was written for one; nothing if there is neither."""
    if request.get("candidate") is not None:
        return request["candidate"]
    for key in _ANSWERS:
        said = _last_said(request.get(key))
        if said is not None and said != "":
            return said
    return MISSING if "candidate" not in request or "candidate_answer" in request else None


def _last_said(value: JsonValue) -> JsonValue:
    """What the last message of an assistant holds, if a value is a list of messages."""
    if not isinstance(value, list):
        return value
    messages = [item for item in value if isinstance(item, dict) and "role" in item]
    if not messages or len(messages) != len(value):
        return value
    said = [message.get("content") for message in messages if message["role"] == "assistant"]
    return said[-1] if said else None


def _read(text: str) -> JsonValue:
    try:
        return parse_json(text.encode("utf-8", "surrogatepass"))
    except DataError:
        return text

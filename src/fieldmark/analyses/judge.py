"""Run a built-in evaluator as a code judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from fieldmark import registry
from fieldmark.data.inputs import Inputs
from fieldmark.data.json_parser import parse_json
from fieldmark.data.pairing import open_pairs
from fieldmark.errors import ConfigError, DataError, Location, with_location
from fieldmark.evaluators.base import ConfiguredEvaluator, Score, needs_expected
from fieldmark.judges.judge_protocol import parts_text
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.registry import Plugin
from fieldmark.rules.config_values import Context, locate
from fieldmark.rules.evaluator_settings import read_evaluator
from fieldmark.runs.evaluator_runner import open_evaluators
from fieldmark.values.paths import ROOT
from fieldmark.values.records import to_json

_ROWS: Final = Inputs(id_key="id", expected_key="expected", candidate_key="candidate", context=True)
_CANDIDATE_KEYS: Final = ("candidate_answer", "output", "output_text", "answer")
"""The keys that AgentV versions have used for the text of a candidate."""
_EXPECTED_KEYS: Final = ("expected_output", "expected_messages", "reference_answer")
"""The keys that AgentV versions have used for the ground truth."""
_NO_TRUTH: Final = (
    "the request has no ground truth: expected, expected_output, expected_messages or "
    "reference_answer must contain a JSON document"
)


def as_judge(
    name: str, request: bytes, options: Mapping[str, JsonValue] | None = None
) -> JsonObject:
    """Return the response of a built-in evaluator to one request.

    A request without the ground truth that the evaluator needs has the status `error`. The `config`
    of the request contains the options of the evaluator, as in an eval file, and overrides
    `options`.

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
    """Yield a function that answers requests; evaluators are reused while options are the same."""
    current: list[tuple[JsonObject, ConfiguredEvaluator]] = []
    if registry.canonical(Plugin.EVALUATORS, name) is None:
        _evaluator(name, {})  # before a request is read

    def judge(raw: bytes) -> JsonObject:
        try:
            request = parse_json(raw)
        except DataError as error:
            raise with_location(error, Location("request")) from error
        if not isinstance(request, dict):
            raise DataError("the request must be an object")
        config = request.get("config")
        if not isinstance(config, dict | None):
            raise DataError("config must be an object")
        wanted: JsonObject = {**(options or {}), **(config or {})}
        if not current or current[0][0] != wanted:
            current[:] = [(wanted, _evaluator(name, wanted))]
        evaluator = current[0][1]
        expected = _expected(request, as_text=hasattr(evaluator.evaluator, "opened"))
        if expected is MISSING and needs_expected([evaluator]):
            score = Score.error(_NO_TRUTH)
        else:
            case = _case(request, None if expected is MISSING else expected)
            with open_evaluators([evaluator]) as runner:
                missing = runner.missing_in_pair(case)
                (result,) = runner.score(case)
            score = result.score
            if missing:
                score = Score.error(", ".join(map(str, missing)))
            elif not isinstance(expected, dict | list | Missing) and (
                score.vacuous or _compares_fields(evaluator)
            ):
                # No field of a document exists in text or a number.
                score = Score.error(_NO_TRUTH)
        named = {"case_id": request["case_id"]} if "case_id" in request else {}
        return {**named, **to_json(score)}

    yield judge


def _evaluator(name: str, options: JsonObject) -> ConfiguredEvaluator:
    context = Context(directory=Path.cwd())
    evaluator = read_evaluator(locate({**options, "type": name}, context.problems), context)
    context.problems.raise_any()
    if evaluator is None:
        raise ConfigError.of(f"{name} cannot be used as a judge")
    return evaluator


def _compares_fields(evaluator: ConfiguredEvaluator) -> bool:
    """Whether an evaluator compares only fields of a document with the ground truth."""
    paths: tuple[str, ...] = getattr(evaluator.evaluator, "paths", ())
    return bool(paths) and ROOT not in paths and needs_expected([evaluator])


def _case(request: JsonObject, expected: JsonValue) -> Case:
    """Return the case of a request, read like a row of data."""
    candidate = _candidate(request)
    if candidate is MISSING:
        return Case("request", expected, MISSING, CaseInput.MISSING)
    row: JsonObject = {"id": "request", "expected": expected, "candidate": candidate}
    with closing(open_pairs([row], None, _ROWS)) as stream:
        return next(iter(stream.batches()))[0]


def _expected(request: JsonObject, *, as_text: bool) -> JsonValue | Missing:
    """Return the ground truth of a request; text that is not JSON is one only `as_text`."""
    if request.get("expected") is not None:
        return request["expected"]
    for key in _EXPECTED_KEYS:
        message = _last_message(request.get(key))
        if not isinstance(message, str):
            if message is not None and message != []:
                return message
            continue
        try:
            parsed = parse_json(message.encode("utf-8", "surrogatepass"))
        except DataError:
            parsed = message if as_text and message.strip() else None
        if parsed is not None:
            return parsed
    return MISSING


def _candidate(request: JsonObject) -> JsonValue | Missing:
    """Return the candidate: a value, text from a model, or missing."""
    if request.get("candidate") is not None:
        return request["candidate"]
    for key in _CANDIDATE_KEYS:
        answer = _last_message(request.get(key))
        if answer is not None and answer != "":
            return answer
    return MISSING if "candidate" not in request or "candidate_answer" in request else None


def _last_message(value: JsonValue) -> JsonValue:
    """Return the content of the last assistant message if a value is a list of messages."""
    if not isinstance(value, list) or not value:
        return value
    messages = [item for item in value if isinstance(item, dict) and "role" in item]
    if len(messages) != len(value):
        return value
    contents = [message.get("content") for message in messages if message["role"] == "assistant"]
    content = contents[-1] if contents else None
    text = parts_text(content)
    return content if text is None else text

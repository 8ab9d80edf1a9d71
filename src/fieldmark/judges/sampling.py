"""The same question asked several times, and what the answers have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fieldmark.judges.llm.answers import Answers
from fieldmark.judges.llm.cache import CacheError, Kept
from fieldmark.judges.llm.calls import Caller
from fieldmark.judges.llm.chat import ask
from fieldmark.judges.llm.chat_options import ChatConnection
from fieldmark.judges.llm.ledger import Call
from fieldmark.judges.llm.prompts import Prompt
from fieldmark.judges.llm.replies import Mark
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Sampled", "sampled"]


class Sampled(NamedTuple):
    """The marks of every sample by their ids, and the calls that brought them."""

    marks: tuple[dict[str, Mark], ...]
    calls: tuple[Call, ...]


def sampled(
    answers: Answers,
    connection: ChatConnection,
    prompt: Prompt,
    data: JsonObject,
    ids: Sequence[str],
    samples: int,
) -> Sampled:
    """The marks of each sample; one without an answer is an error of them all."""
    kept = [_one(answers, connection, prompt, data, ids, repeat) for repeat in range(samples)]
    return Sampled(
        tuple(_marks(each.answer, ids) for each in kept), tuple(each.call for each in kept)
    )


def _one(
    answers: Answers,
    connection: ChatConnection,
    prompt: Prompt,
    data: JsonObject,
    ids: Sequence[str],
    repeat: int,
) -> Kept:
    question: JsonObject = {"data": data, "ids": list(ids), "repeat": repeat}
    (known,) = answers.known([question])
    if known is not None:
        return known

    def call(caller: Caller) -> list[Kept]:
        marks, made = ask(caller, connection, prompt, data, ids, repeat)
        return [Kept({name: list(mark) for name, mark in marks.items()}, made)]

    (answer,) = answers.asked([question], call)
    return answer


def _marks(answer: JsonValue, ids: Sequence[str]) -> dict[str, Mark]:
    """The marks as they were kept."""
    marks: dict[str, Mark] = {}
    for name in ids:
        match answer.get(name) if isinstance(answer, dict) else None:
            case [float() | int() as score, str(reason)]:
                marks[name] = Mark(float(score), reason)
            case _:
                raise CacheError("the cache holds something else than marks")
    return marks

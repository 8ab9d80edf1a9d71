"""Puts a question to a model and reads its marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fieldmark.judges.llm.blocks import block_of
from fieldmark.judges.llm.calls import Caller
from fieldmark.judges.llm.chat_options import ChatConnection, ReplyFormat
from fieldmark.judges.llm.ledger import Call
from fieldmark.judges.llm.prompts import Prompt
from fieldmark.judges.llm.replies import Mark, read_marks, text_of
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Marked", "ask"]


class Marked(NamedTuple):
    """The marks of a reply by their ids, and the call that brought them."""

    marks: dict[str, Mark]
    call: Call


def ask(
    caller: Caller,
    connection: ChatConnection,
    prompt: Prompt,
    data: JsonValue,
    ids: Sequence[str],
    repeat: int = 0,
) -> Marked:
    """The marks that a model gives to data; whatever else it says is an error.

    A seed that is set counts up with `repeat`, so that samples can differ.
    """
    block = block_of(data)
    payload: JsonObject = {
        "model": connection.model,
        "messages": prompt.messages(block, ids),
        "temperature": connection.temperature,
        "max_tokens": connection.max_reply_tokens,
        "seed": None if connection.seed is None else connection.seed + repeat,
        **_reply_format(connection, prompt, block.nonce, ids),
    }
    body, call = caller.post(
        "chat/completions", connection.requested(payload), connection.longest_reply()
    )
    marks = read_marks(text_of(body), block.nonce, ids, reasons=prompt.reasons)
    clean = {name: mark._replace(reason=caller.hidden(mark.reason)) for name, mark in marks.items()}
    return Marked(clean, call)


def _reply_format(
    connection: ChatConnection, prompt: Prompt, nonce: str, ids: Sequence[str]
) -> JsonObject:
    match connection.reply_format:
        case ReplyFormat.JSON_OBJECT:
            return {"response_format": {"type": "json_object"}}
        case ReplyFormat.JSON_SCHEMA:
            schema: JsonObject = {
                "name": "marks",
                "strict": True,
                "schema": prompt.schema(nonce, ids),
            }
            return {"response_format": {"type": "json_schema", "json_schema": schema}}
        case ReplyFormat.NONE:
            return {}

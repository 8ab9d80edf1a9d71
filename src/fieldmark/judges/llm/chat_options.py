"""How a chat with a model is held: the options that every judge by chat has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fieldmark.compare.options import checked_choice
from fieldmark.judges.llm.connection import Connection, check_number
from fieldmark.model.json import JsonObject

__all__ = ["ChatConnection", "ReplyFormat"]

_HOTTEST: Final = 2.0


class ReplyFormat(StrEnum):
    """What an endpoint is told of the form of its reply, which is checked in any case."""

    JSON_OBJECT = "json_object"
    JSON_SCHEMA = "json_schema"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatConnection(Connection):
    """A model that answers in words."""

    temperature: float = 0.0
    seed: int | None = None
    reply_format: ReplyFormat = ReplyFormat.JSON_OBJECT
    max_reply_tokens: int = 2048

    def __post_init__(self) -> None:
        Connection.__post_init__(self)
        check_number("temperature", self.temperature, least=0, most=_HOTTEST)
        check_number("max_reply_tokens", self.max_reply_tokens, least=1)
        known = checked_choice("reply_format", self.reply_format, ReplyFormat)
        object.__setattr__(self, "reply_format", known)

    def parameters(self) -> JsonObject:
        """All that the endpoint's answer depends on besides what it is asked."""
        return {
            **Connection.parameters(self),
            "temperature": self.temperature,
            "seed": self.seed,
            "reply_format": self.reply_format.value,
            "max_reply_tokens": self.max_reply_tokens,
        }

"""How a chat with a model is held: the options that every judge by chat has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fieldmark.compare.options import checked_choice
from fieldmark.errors import OptionError
from fieldmark.judges.llm.connection import Connection, check_number
from fieldmark.model.json import JsonObject

__all__ = ["ChatConnection", "ReplyFormat"]

_HOTTEST: Final = 2.0
_LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""What endpoints call the length of the longest reply."""


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
        for option in _LIMITS:
            check_number(f"request.{option}", self.request.get(option), least=1)
        budget = self.max_tokens if self.max_cost is None else self.max_cost
        if budget is not None and not self._limits():
            message = "must leave a limit to replies, max_tokens or max_completion_tokens"
            raise OptionError("request", f"{message}: there is a budget")

    def longest_reply(self) -> int:
        """The most tokens that can come back, by whatever name the endpoint is told so."""
        return max(self._limits(), default=self.max_reply_tokens)

    def _limits(self) -> list[int]:
        sent = self.requested({"max_tokens": self.max_reply_tokens})
        found = (sent.get(option) for option in _LIMITS)
        return [int(limit) for limit in found if isinstance(limit, int | float)]

    def parameters(self) -> JsonObject:
        """All that the endpoint's answer depends on besides what it is asked."""
        return {
            **Connection.parameters(self),
            "temperature": self.temperature,
            "seed": self.seed,
            "reply_format": self.reply_format.value,
            "max_reply_tokens": self.max_reply_tokens,
        }

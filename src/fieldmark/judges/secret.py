"""Knows which values are secrets, and takes them out of what is written down."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus

from fieldmark.model.json import JsonValue

__all__ = ["REDACTED", "Redactor", "looks_secret"]

REDACTED: Final = "[redacted]"
_SHORTEST: Final = 6
"""A shorter value would be found in words that have nothing to do with it."""
_NAME: Final = re.compile(
    r"(?:^|_)(?:TOKENS?|SECRETS?|PASSWORD|PASSWD|PWD|PASSPHRASE|CREDENTIALS?|AUTH|AUTHORIZATION"
    r"|API_?KEYS?|ACCESS_KEY|PRIVATE_KEY|SIGNING_KEY|CONNECTION_STRING|DSN)(?:_|$)",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(
    r"\A(?:sk-|ghp_|gho_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|hf_|eyJ)[\w.-]{8,}\Z"
    r"|://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable holds something that nobody else may read.

    >>> looks_secret("OPENAI_API_KEY", "sk-1"), looks_secret("TOKENIZER", "o200k")
    (True, False)
    """
    return bool(_NAME.search(name) or _VALUE.search(value))


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces secrets, also where they are written in another way: escaped or encoded."""

    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Redactor:
        """The redactor for what a program was told through its environment.

        >>> Redactor.of({"API_KEY": "a-long-secret"}).text("refused: a-long-secret")
        'refused: [redacted]'
        """
        values = {
            value
            for name, value in env.items()
            if len(value) >= _SHORTEST and looks_secret(name, value)
        }
        spellings = {spelling for value in values for spelling in _spellings(value)}
        # The longest first, so that no part of one is left when another is found inside it.
        return cls(tuple(sorted(spellings, key=lambda text: (-len(text), text))))

    def text(self, text: str) -> str:
        """A text without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, REDACTED)
        return text

    def value(self, value: JsonValue) -> JsonValue:
        """A value whose texts and keys hold no secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return value


def _spellings(value: str) -> Iterable[str]:
    encoded = base64.b64encode(value.encode("utf-8", "surrogateescape")).decode()
    raw = value.encode("utf-8", "surrogateescape")
    return (
        value,
        quote(raw, safe=""),
        quote_plus(raw, safe=""),
        encoded,
        encoded.rstrip("="),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
    )

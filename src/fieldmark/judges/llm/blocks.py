"""Puts data where no instruction is looked for: in a block whose bounds nobody can foresee."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from typing import Final, NamedTuple

from fieldmark.model.json import JsonValue

__all__ = ["Block", "block_of"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_FRAME: Final = re.compile(r"<|\[(?=/?INST)")


class Block(NamedTuple):
    """Data between two lines that hold the nonce, which the data do not hold."""

    nonce: str
    text: str


def block_of(data: JsonValue, make: Callable[[], str] | None = None) -> Block:
    r"""Data as JSON in a block; the nonce is made anew until it does not occur in them.

    >>> block_of(["a"], lambda: "n1").text
    '<data-n1>\n["a"]\n</data-n1>'
    """
    text = _json(data)
    new = make or (lambda: secrets.token_hex(16))
    nonce = new()
    while nonce in text:
        nonce = new()
    return Block(nonce, f"<data-{nonce}>\n{text}\n</data-{nonce}>")


def _json(data: JsonValue) -> str:
    """One line of JSON; what frames a conversation elsewhere is escaped, and so are halves."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    text = _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    return _FRAME.sub(lambda found: f"\\u{ord(found.group()):04x}", text)

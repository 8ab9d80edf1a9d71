"""Secrets: detection by name or value, and redaction from text."""

from __future__ import annotations

import html
import re
from base64 import b32encode, b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final, NamedTuple

from fieldmark.model.json import JsonValue
from fieldmark.values.equality import canonical_text

_MIN_LENGTH: Final = 4
"""Shorter values would match ordinary text."""
_MIN_GUESSED_LENGTH: Final = 6
"""A value that only looks like a secret may be an ordinary word."""
_MIN_ENCODED_LENGTH: Final = 8
_SECRET_NAME: Final = re.compile(
    r"auth(?!or(?!i))|cookie|token|secret|passw|credential|signature|(?:^|[-_]|api|access)key$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Return whether a header or URL parameter with this name usually contains a secret.

    >>> is_secret_name("X-Api-Key"), is_secret_name("Authorization"), is_secret_name("Author")
    (True, True, False)
    """
    return _SECRET_NAME.search(name) is not None


_VARIABLE: Final = re.compile(
    r"(?:^|_)(?:TOKENS?|SECRETS?|PASSWORD|PASSWD|PWD|PASSPHRASE|CREDENTIALS?|AUTH|AUTHORIZATION"
    r"|API_?KEYS?|ACCESS_KEY|PRIVATE_KEY|SIGNING_KEY|CONNECTION_STRING|DSN)(?:_|$)",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(
    r"\A(?:sk-|ghp_|gho_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|hf_|eyJ)[\w.-]{8,}\Z"
    r"|://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)


def is_secret_variable(name: str, value: str) -> bool:
    """Return whether an environment variable probably contains a secret.

    >>> is_secret_variable("OPENAI_API_KEY", "sk-1"), is_secret_variable("TOKENIZER", "o200k")
    (True, False)
    """
    return bool(_VARIABLE.search(name) or _VALUE.search(value))


def find_secret(value: JsonValue, name: str = "") -> str | None:
    """Return the key of a probable secret at any depth of a value, or `None`.

    >>> find_secret({"max_tokens": 9, "extra": {"x-api-key": "abc"}})
    'x-api-key'
    """
    if isinstance(value, str):
        plain = value.removeprefix("Bearer ").strip()
        secret = not plain.isdecimal() and is_secret_variable(name.replace("-", "_"), plain)
        return name if secret else None
    inner: Iterable[tuple[str, JsonValue]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = ((name, item) for item in value)
    return next(filter(None, (find_secret(item, key) for key, item in inner)), None)


_MAX_LAYERS: Final = 4
"""How often text is decoded: JSON in a URL in JSON has three layers."""
_BYTE: Final = r"(?:%(?:25)*|\\++x)([0-9a-fA-F]{2})"
_BYTES: Final = re.compile(_BYTE)
_ESCAPE: Final = re.compile(
    rf"(?P<bytes>(?:{_BYTE})++)"
    r"|\\++(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\++u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u(?P<unit>[0-9a-fA-F]{4})|u\{(?P<point>[0-9a-fA-F]{1,6})\}|U(?P<long>[0-9a-fA-F]{8})"
    r"|(?P<letter>[^\\]|\Z))"
    r"|(?P<entity>&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?)",
    re.DOTALL,
)
"""Percent-encoding, backslash escapes and HTML entities; a search takes linear time."""
_LAST_CODE_POINT: Final = 0x10FFFF
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Redactor:
    """Replaces secret values with their names, also in other letter case or encoded.

    Recognized are backslash escapes as in JSON, percent-encoding and HTML entities, for any
    characters and in several layers, and hexadecimal, Base32 and Base64.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        # Longest first, because a secret may contain another one.
        known = sorted(values.items(), key=lambda item: -len(item[1]))
        self._spellings = [
            (name, _spellings(value)) for name, value in known if len(value) >= _MIN_LENGTH
        ]

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Redactor:
        """Return a redactor for the environment variables that look like secrets.

        >>> Redactor.from_environment({"API_KEY": "a-long-secret"}).redact("a-long-secret, fast")
        '[API_KEY], fast'
        """
        return cls(
            {
                name: value
                for name, value in env.items()
                if len(value) >= _MIN_GUESSED_LENGTH and is_secret_variable(name, value)
            }
        )

    def redact(self, text: str) -> str:
        """Return the text with every secret replaced with its name in brackets.

        >>> Redactor({"API_KEY": "sk-12345"}).redact("Bearer sk-12345 was refused")
        'Bearer [API_KEY] was refused'
        """
        separate: list[_Occurrence] = []
        for occurrence in sorted(self._occurrences(text)):
            if separate and occurrence.start < separate[-1].end:
                start, end, rank = separate.pop()
                end, rank = max(end, occurrence.end), min(rank, occurrence.rank)
                separate.append(_Occurrence(start, end, rank))
            else:
                separate.append(occurrence)
        names = [f"[{name}]" for name, _ in self._spellings]
        return _decoded(text, [_Escape(start, end, names[rank]) for start, end, rank in separate])

    def redact_value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with all its strings and keys redacted."""
        if not self._spellings:
            return value
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, list):
            return [self.redact_value(item) for item in value]
        if isinstance(value, dict):
            return {self.redact(key): self.redact_value(item) for key, item in value.items()}
        return value

    def find_in(self, value: JsonValue) -> str | None:
        """Return the name of a secret that occurs in a JSON value, or `None`."""
        if not self._spellings:
            return None
        text = (
            value
            if isinstance(value, str)
            else canonical_text(value).decode("utf-8", "surrogatepass")
        )
        first = min(self._occurrences(text), key=lambda occurrence: occurrence.rank, default=None)
        return None if first is None else self._spellings[first.rank][0]

    def _occurrences(self, text: str) -> Iterator[_Occurrence]:
        """Yield where secrets occur in the text, with their ranks in `_spellings`."""
        layers: list[_Layer] = []
        while self._spellings:
            same_case = text, _lower(text)
            for rank, (_, patterns) in enumerate(self._spellings):
                for any_case, pattern in patterns:
                    for match in pattern.finditer(same_case[any_case]):
                        start, end = match.span()
                        for layer in reversed(layers):
                            start, end = layer.source(start, end)
                        yield _Occurrence(start, end, rank)
            escapes = list(_escapes(text)) if len(layers) < _MAX_LAYERS else []
            if not escapes:
                return
            layers.append(_Layer(escapes))
            text = _decoded(text, escapes)


class _Occurrence(NamedTuple):
    start: int
    end: int
    rank: int


class _Escape(NamedTuple):
    """A part of a text, and its decoded form."""

    start: int
    end: int
    plain: str


class _Layer:
    """Finds the part of a text that became a part of the decoded text."""

    def __init__(self, escapes: list[_Escape]) -> None:
        self._escapes = escapes
        self._shifts = [
            0,
            *accumulate(len(escape.plain) - (escape.end - escape.start) for escape in escapes),
        ]
        shifted = zip(escapes, self._shifts, strict=False)
        self._starts = [escape.start + shift for escape, shift in shifted]

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return where decoded text comes from; an escape is never divided."""
        return self._source(start)[0], self._source(end - 1)[1]

    def _source(self, index: int) -> tuple[int, int]:
        number = bisect_right(self._starts, index)
        if number:
            escape = self._escapes[number - 1]
            if index < self._starts[number - 1] + len(escape.plain):
                return escape.start, escape.end
        index -= self._shifts[number]
        return index, index + 1


def _escapes(text: str) -> Iterator[_Escape]:
    """Yield all escapes in a text."""
    for match in _ESCAPE.finditer(text):
        start, end = match.span()
        kind, written = match.lastgroup, match[0]
        if match["bytes"]:
            encoded = list(_BYTES.finditer(written))
            first = 0
            for letter, size in _characters(bytes.fromhex("".join(byte[1] for byte in encoded))):
                last = encoded[first + size - 1]
                yield _Escape(start + encoded[first].start(), start + last.end(), letter)
                first += size
        elif kind == "entity":
            plain = html.unescape(written)
            if plain != written:
                yield _Escape(start, end, plain)
        elif kind == "low":
            pair = bytes.fromhex(match["high"] + match["low"])
            yield _Escape(start, end, pair.decode("utf-16-be"))
        elif kind == "letter":
            yield _Escape(start, end, _LETTERS.get(match["letter"], match["letter"]))
        else:
            code = int(match[kind or 0], 16)
            yield _Escape(start, end, chr(code) if code <= _LAST_CODE_POINT else "")


def _decoded(text: str, escapes: Iterable[_Escape]) -> str:
    """Return the text with its escapes decoded."""
    parts, at = list[str](), 0
    for start, end, plain in escapes:
        parts += [text[at:start], plain]
        at = end
    return "".join([*parts, text[at:]])


def _characters(raw: bytes) -> Iterator[tuple[str, int]]:
    """Yield the characters of UTF-8 with their sizes; invalid bytes are read as Latin-1."""
    for letter in raw.decode("utf-8", "surrogateescape"):
        encoded = letter.encode("utf-8", "surrogateescape")
        yield (letter if len(encoded) > 1 else chr(encoded[0])), len(encoded)


def _lower(text: str) -> str:
    """Return the text in lower case; no character changes its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(letter if len(letter.lower()) > 1 else letter.lower() for letter in text)


def _spellings(value: str) -> list[tuple[bool, re.Pattern[str]]]:
    """Return patterns for a value in decoded text, each with whether it has lower case only."""
    raw = value.encode("utf-8", "surrogateescape")
    plain = "".join(letter for letter, _ in _characters(raw))
    decoded = plain
    for _ in range(_MAX_LAYERS):
        decoded = _decoded(decoded, _escapes(decoded))
    texts = {value, plain, *([decoded] if len(decoded) >= _MIN_LENGTH else [])}
    texts |= {text.replace(" ", "+") for text in texts}  # in the query of a URL
    any_case = {re.escape(_lower(text)) for text in texts}
    any_case |= {raw.hex(), *(block.lower() for block in _in_blocks(raw, b32encode, 5))}
    same_case = set[str]()
    for block in _in_blocks(raw, b64encode, 6):
        same_case |= {block, block.replace(r"\+", r"\-").replace("/", "_")}
    return [(True, re.compile(pattern)) for pattern in sorted(any_case)] + [
        (False, re.compile(pattern)) for pattern in sorted(same_case)
    ]


def _in_blocks(raw: bytes, encode: Callable[[bytes], bytes], bits: int) -> Iterator[str]:
    """Yield patterns for bytes at any place of an encoded text with some bits per character."""
    block = bits if bits % 2 else bits // 2
    for before in range(block):
        # Only the characters that do not depend on the surrounding bytes.
        whole = encode(b"\0" * before + raw).decode()
        end = (before + len(raw)) * 8 // bits
        inner, tail = whole[-(-before * 8 // bits) : end], whole[end:].rstrip("=")
        if len(inner) >= _MIN_ENCODED_LENGTH:
            # At the end of the encoded text, the remaining characters are known too.
            yield re.escape(inner) + (f"(?:{re.escape(tail)}=*)?" if tail else "")

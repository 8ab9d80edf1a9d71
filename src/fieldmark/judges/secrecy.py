"""Values that are never written down: hidden in messages, noticed in answers."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import canonical_text

__all__ = ["Secrets", "is_secret_name", "looks_secret", "secret_within"]

_SHORTEST: Final = 4
"""Shorter values would be found everywhere, and protect nothing."""
_SHORTEST_GUESSED: Final = 6
"""What only looks like a secret may be any word."""
_SHORTEST_ENCODED: Final = 8
_SECRET_NAME: Final = re.compile(
    r"auth(?!or(?!i))|cookie|token|secret|passw|credential|signature|(?:^|[-_]|api|access)key$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether what has this name is most likely a secret: a header or a parameter of a URL.

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


def looks_secret(name: str, value: str) -> bool:
    """Whether an environment variable holds something that nobody else may read.

    >>> looks_secret("OPENAI_API_KEY", "sk-1"), looks_secret("TOKENIZER", "o200k")
    (True, False)
    """
    return bool(_VARIABLE.search(name) or _VALUE.search(value))


def secret_within(value: JsonValue, name: str = "") -> str | None:
    """The name under which a value most likely holds a secret, at any depth.

    >>> secret_within({"max_tokens": 9, "extra": {"x-api-key": "abc"}})
    'x-api-key'
    """
    if isinstance(value, str):
        plain = value.removeprefix("Bearer ").strip()
        secret = not plain.isdecimal() and looks_secret(name.replace("-", "_"), plain)
        return name if secret else None
    inner: Iterable[tuple[str, JsonValue]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = ((name, item) for item in value)
    return next(filter(None, (secret_within(item, key) for key, item in inner)), None)


class Secrets:
    """Secret values by name, known in every spelling in which they may come back."""

    __slots__ = ("_patterns",)

    def __init__(self, values: Mapping[str, str]) -> None:
        # The longest first, so that no part of one is left when another is found inside of it.
        known = sorted(values.items(), key=lambda item: -len(item[1]))
        self._patterns = [
            (name, re.compile("|".join(_spellings(value))))
            for name, value in known
            if len(value) >= _SHORTEST
        ]

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Secrets:
        """The secrets among environment variables.

        >>> Secrets.of({"API_KEY": "a-long-secret", "MODE": "fast"}).hidden("a-long-secret, fast")
        '[API_KEY], fast'
        """
        return cls(
            {
                name: value
                for name, value in env.items()
                if len(value) >= _SHORTEST_GUESSED and looks_secret(name, value)
            }
        )

    def hidden(self, text: str) -> str:
        """The text with the names of secrets in place of their values.

        >>> Secrets({"API_KEY": "sk-12345"}).hidden("Bearer sk-12345 was refused")
        'Bearer [API_KEY] was refused'
        """
        for name, pattern in self._patterns:
            text = pattern.sub(f"[{name}]", text)
        return text

    def hidden_in(self, value: JsonValue) -> JsonValue:
        """The value with the same done to all its texts and keys."""
        if not self._patterns:
            return value
        if isinstance(value, str):
            return self.hidden(value)
        if isinstance(value, list):
            return [self.hidden_in(item) for item in value]
        if isinstance(value, dict):
            return {self.hidden(key): self.hidden_in(item) for key, item in value.items()}
        return value

    def found_in(self, value: JsonValue) -> str | None:
        """The name of a secret whose value occurs in a text or anywhere in a value."""
        if not self._patterns:
            return None
        text = value if isinstance(value, str) else _as_text(value)
        return next((name for name, pattern in self._patterns if pattern.search(text)), None)


def _as_text(value: JsonValue) -> str:
    return canonical_text(value).decode("utf-8", "surrogatepass")


def _spellings(value: str) -> Iterator[str]:
    """Patterns of a value as it is, escaped or in percent signs, and within base64."""
    letters = re.sub(r"\\+", r"\\", value)
    yield "".join(_spelled(letter, first=not at) for at, letter in enumerate(letters))
    raw = value.encode("utf-8", "surrogateescape")
    for before in range(3):
        # Only the characters that do not also depend on what stands before and after.
        skipped = (0, 2, 3)[before]
        whole = b64encode(b"\0" * before + raw).decode()
        rest = (before + len(raw)) % 3
        end = len(whole) - (0, 3, 2)[rest]
        inner, tail = whole[skipped:end], whole[end:].rstrip("=")
        if len(inner) >= _SHORTEST_ENCODED:
            # Where nothing stands after it, the rest is known too.
            yield re.escape(inner) + (f"(?:{re.escape(tail)}=*)?" if tail else "")
            yield re.escape(inner.replace("+", "-").replace("/", "_"))


def _spelled(letter: str, *, first: bool) -> str:
    """One character in all the ways of JSON, also of JSON inside of JSON, and of URLs.

    Backslashes are taken all at once and never given back, and a match does not begin in the midst
    of them, so that a text full of them is still read in one pass.
    """
    if letter.isascii() and letter.isalnum():
        return letter
    some, any_number = (r"\\", "") if first else (r"\\++", r"\\*+")
    units = letter.encode("utf-16-be", "surrogatepass")
    in_json = r"\\++".join(f"u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    in_url = "".join(f"%(?:25)*{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))
    plain = r"(?<!\\)\\++" if letter == "\\" else any_number + re.escape(letter)
    blank = r"|\+" if letter == " " else ""
    return f"(?:{plain}|(?i:{some}{in_json}|{in_url}){blank})"

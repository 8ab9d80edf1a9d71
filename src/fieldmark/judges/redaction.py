"""Secrets: detection by name or value, and redaction from text."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import canonical_text

__all__ = ["Redactor", "find_secret", "is_secret_name", "is_secret_variable"]

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


class Redactor:
    """Replaces secret values with their names, also if they are escaped or encoded."""

    def __init__(self, values: Mapping[str, str]) -> None:
        # Longest first, because a secret may contain another one.
        known = sorted(values.items(), key=lambda item: -len(item[1]))
        self._patterns = [
            (name, re.compile("|".join(_spellings(value))))
            for name, value in known
            if len(value) >= _MIN_LENGTH
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
        for name, pattern in self._patterns:
            text = pattern.sub(f"[{name}]", text)
        return text

    def redact_value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with all its strings and keys redacted."""
        if not self._patterns:
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
        if not self._patterns:
            return None
        text = (
            value
            if isinstance(value, str)
            else canonical_text(value).decode("utf-8", "surrogatepass")
        )
        return next((name for name, pattern in self._patterns if pattern.search(text)), None)


def _spellings(value: str) -> Iterator[str]:
    """Yield patterns for a value: plain, JSON-escaped, percent-encoded, and inside Base64."""
    letters = re.sub(r"\\+", r"\\", value)
    yield "".join(_character_pattern(letter, first=not at) for at, letter in enumerate(letters))
    raw = value.encode("utf-8", "surrogateescape")
    for before in range(3):
        # Only the Base64 characters that do not depend on the surrounding bytes.
        skipped = (0, 2, 3)[before]
        whole = b64encode(b"\0" * before + raw).decode()
        rest = (before + len(raw)) % 3
        end = len(whole) - (0, 3, 2)[rest]
        inner, tail = whole[skipped:end], whole[end:].rstrip("=")
        if len(inner) >= _MIN_ENCODED_LENGTH:
            # At the end of the encoded text, the remaining characters are known too.
            yield re.escape(inner) + (f"(?:{re.escape(tail)}=*)?" if tail else "")
            yield re.escape(inner.replace("+", "-").replace("/", "_"))


def _character_pattern(letter: str, *, first: bool) -> str:
    """Return a pattern for one character in JSON, in JSON inside JSON, and in a URL.

    Backslashes match possessively, and a match never starts within a run of them, so that a text
    full of backslashes is searched in linear time.
    """
    if letter.isascii() and letter.isalnum():
        return letter
    some, any_number = (r"\\", "") if first else (r"\\++", r"\\*+")
    units = letter.encode("utf-16-be", "surrogatepass")
    in_json = r"\\++".join(f"u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    in_url = "".join(f"%(?:25)*{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))
    plain = r"(?<!\\)\\++" if letter == "\\" else any_number + re.escape(letter)
    space = r"|\+" if letter == " " else ""
    return f"(?:{plain}|(?i:{some}{in_json}|{in_url}){space})"

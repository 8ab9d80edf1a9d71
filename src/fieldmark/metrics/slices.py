"""Slices: groups of cases by tag, metadata or expected value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fieldmark.errors import ConfigError, OptionError
from fieldmark.model.case import Case
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.kernel import parsed
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import Path, PathError, parse_configured_path, resolve
from fieldmark.values.presence import is_blank
from fieldmark.values.text import shorten

TAG: Final = "tag"
MAX_SLICES: Final = 1_000
"""The maximum number of slices of a run, so that its summary stays readable."""
METADATA: Final = "metadata."
_MAX_LENGTH: Final = 200


class SliceKey(NamedTuple):
    """What cases are grouped by, as it was written; `path` is `None` for tags."""

    text: str
    path: Path | None = None
    in_metadata: bool = False

    @property
    def needs_values(self) -> bool:
        """Whether the names of its slices are values of documents or metadata."""
        return self.path is not None

    def names(self, case: Case) -> list[str]:
        """Return the slices of a case; a case without a value is in a slice of its own.

        >>> [key] = parse_slice_keys(["vendor.country"])
        >>> key.names(Case("1", {"vendor": {"country": "DE"}})), key.names(Case("2", {}))
        (['vendor.country=DE'], ['vendor.country='])
        """
        value: JsonValue | Missing
        document: JsonValue | Missing
        if self.path is None:
            value = list(case.tags)
        else:
            if self.in_metadata:
                document = MISSING if case.context is None else (case.context.metadata or MISSING)
            else:
                document = parsed(case.expected if case.unparsed is None else case.unparsed[0])
            value = MISSING if document is MISSING else resolve(document, self.path)
        return [f"{self.text}={text}" for text in value_texts(value) or ("",)]


def value_texts(value: JsonValue | Missing) -> list[str]:
    """Return the names of a value in slices: of a scalar, or of each scalar in a list.

    Empty values and objects have none. Numbers are the same if they are equal.

    >>> value_texts("Acme"), value_texts([2024.0, 7, True]), value_texts(" "), value_texts({})
    (['Acme'], ['2024', '7', 'true'], [], [])
    """
    items = value if isinstance(value, list) else [value]
    texts: dict[str, None] = {}
    for item in items:
        if isinstance(item, str):
            if not is_blank(item):
                texts[shorten(item, _MAX_LENGTH)] = None
        elif isinstance(item, bool | int | float):
            whole = isinstance(item, float) and item.is_integer()
            texts[strict_json(int(item) if whole else item).decode()] = None
    return list(texts)


def parse_slice_keys(texts: Iterable[str]) -> tuple[SliceKey, ...]:
    """Parse what cases are grouped by: `tag`, `metadata.KEY`, or a path of the expected document.

    A path in brackets, such as `["tag"]`, is always one of the document.
    """
    keys: list[SliceKey] = []
    for text in texts:
        if not isinstance(text, str):
            raise OptionError("by", f"expected strings, got {type(text).__name__}")
        if text in [key.text for key in keys]:
            raise OptionError("by", f"duplicate {text!r}")
        if text == TAG:
            keys.append(SliceKey(text))
            continue
        in_metadata = text.startswith(METADATA)
        try:
            path = parse_configured_path(text.removeprefix(METADATA))
        except PathError as error:
            raise OptionError("by", error.message) from None
        if path.is_pattern:
            raise OptionError("by", f"{text!r} must name one field, without wildcards")
        keys.append(SliceKey(text, path, in_metadata))
    return tuple(keys)


def check_slice_count(names: Iterable[str], keys: Sequence[SliceKey]) -> None:
    """Raise an error that names the key with the most slices if there are too many."""
    named = list(names)
    if len(named) <= MAX_SLICES:
        return
    most = max(keys, key=lambda key: sum(name.startswith(f"{key.text}=") for name in named))
    raise ConfigError.of(
        f"by: more than {MAX_SLICES:,} slices, most of them by {most.text!r}",
        hint="choose a key with fewer distinct values",
    )

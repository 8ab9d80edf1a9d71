"""Envelopes of extraction services: a value with its confidence, page, citations and so on.

A service writes such metadata around a value, as in `{"value": 10, "page": 1}`, or next to it, as
in `{"total": 10, "total_citations": []}`. What an input does is recognized once, from its first
documents and the documents of the other side. Its documents are then separated from their
metadata, which is where confidences are read from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

VALUE_KEYS: Final = ("value", "extracted_value", "content", "text", "answer")
"""The keys of a value with metadata around it; the first of them that an object has counts."""

_DESCRIPTIVE: Final = re.compile(
    r"""
      confidences? | confidence(?:score|level) | logprobs? | citations?
    | bbox(?:es)? | boundingbox(?:es)? | boundingregions | boundingpoly | polygons?
    | (?:source)?pages? | pagenumbers? | source(?:text|quote) | (?:exact)?quotes? | quotations?
    | evidence | provenance | groundings? | spans | chunk(?:ids|references)
    | reasoning | rationale | justification | metadata
    """,
    re.VERBOSE,
)
"""Metadata that no field of a document is named after, without case and separators."""
_METADATA: Final = re.compile(
    rf"""{_DESCRIPTIVE.pattern}
    | scores? | probability | certainty | (?:ocr|logprobs|extract|parse|granular)confidence
    | page(?:id|index|no) | boundingregion | box(?:es)? | geometry | coordinates
    | locations? | regions? | sources? | references? | referencetext | matchingtext
    | chunks? | chunkid | span | offsets? | snippets? | citationids
    | reason | explanation | raw | (?:raw|original)(?:text|value) | mentiontext | meta | insights
    """,
    re.VERBOSE,
)
"""Metadata that can also be the name of a field, so only in an object with a value."""
_SAMPLE_ITEMS: Final = 16
_SEPARATOR: Final = re.compile(r"[_\-\s]+")
_WORD_START: Final = re.compile(r"[_-]+[^_-]|(?<=[^A-Z_-])[A-Z]")

Attribute: TypeAlias = "tuple[str | None, ...]"
"""The keys that lead to a value; `None` stands for the items of a list."""


class Metadata(NamedTuple):
    """What a service wrote about a value: keys such as `page`, and the metadata of its parts."""

    own: JsonObject
    parts: Mapping[str | int, Metadata]

    def __bool__(self) -> bool:
        return bool(self.own or self.parts)


NO_METADATA: Final = Metadata({}, {})


class Separated(NamedTuple):
    """A document without metadata, and its metadata; `deviates` says that it was not separated."""

    document: JsonValue
    metadata: Metadata = NO_METADATA
    deviates: bool = False


@dataclass(frozen=True, slots=True)
class Envelope:
    """Where the documents of an input have metadata.

    `value` is the key of each value, if it is in an object with its metadata; `required` is another
    key of such objects, and with `any_keys`, all other keys are metadata. `suffixes` are the ends
    of keys with the metadata of their sibling, as `_citations`, and `keys` are keys with the
    metadata of the object that contains them, as `_meta`.
    """

    value: str = ""
    required: str = ""
    any_keys: bool = False
    suffixes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.value or self.suffixes or self.keys)

    def value_key(self, value: JsonObject) -> str | None:
        """Return the key of the value if an object is a value with its metadata."""
        if not self.value or self.value not in value:
            return None
        if self.required and self.required not in value:
            return None
        is_known = self.any_keys or all(
            key == self.value or is_metadata(key) or key in VALUE_KEYS for key in value
        )
        return self.value if is_known else None

    def sibling_of(self, key: str, value: JsonObject) -> str | None:
        """Return the sibling that a key has the metadata of; empty for the object around it."""
        if key in self.keys:
            return ""
        for suffix in self.suffixes:
            name = key.removesuffix(suffix)
            if name and name != key and name in value:
                return name
        return None

    def separate(self, document: JsonValue, other: JsonValue | Missing = MISSING) -> Separated:
        """Return a document without its metadata, and its metadata.

        A document with a value outside of an object with metadata stays as it is, and so does one
        whose counterpart on the `other` side has such a key too.

        >>> Envelope("value").separate({"total": {"value": 10, "page": 1}}).document
        {'total': 10}
        """
        if not self or not isinstance(document, dict | list):
            return Separated(document)
        if self.value and not all(wrapped for _, wrapped in self._leaves(document)):
            return Separated(document, deviates=True)
        if not isinstance(other, Missing):
            nodes = _nodes(other)
            if any(place in nodes for place, _ in self.places(document)):
                return Separated(document, deviates=True)
        return self.separate_parts(document)

    def separate_parts(self, document: JsonValue) -> Separated:
        """Return a document without the metadata of each part that has some."""
        if isinstance(document, list):
            items = [self.separate_parts(part) for part in document]
            of_items: dict[str | int, Metadata] = {
                index: item.metadata for index, item in enumerate(items) if item.metadata
            }
            return Separated([item.document for item in items], _metadata({}, of_items))
        if not isinstance(document, dict):
            return Separated(document)
        value_key = self.value_key(document)
        if value_key is not None:
            own = {key: part for key, part in document.items() if key != value_key}
            inner, metadata, _ = self.separate_parts(document[value_key])
            return Separated(inner, _metadata({**own, **metadata.own}, metadata.parts))
        fields: JsonObject = {}
        of_object: JsonObject = {}
        parts: dict[str | int, Metadata] = {}
        of_siblings: list[tuple[str, str, JsonValue]] = []
        for key, part in document.items():
            sibling = self.sibling_of(key, document)
            if sibling is None:
                fields[key], metadata, _ = self.separate_parts(part)
                if metadata:
                    parts[key] = metadata
            elif sibling:
                name = key.removeprefix(sibling).lstrip("_-")
                of_siblings.append((sibling, name[:1].lower() + name[1:], part))
            else:
                of_object[key.lstrip("_")] = part
        for sibling, name, part in of_siblings:
            known = parts.get(sibling, NO_METADATA)
            parts[sibling] = Metadata({name: part, **known.own}, known.parts)
        return Separated(fields, _metadata(of_object, parts))

    def _leaves(
        self, value: JsonValue, *, is_wrapped: bool = False
    ) -> Iterator[tuple[JsonValue, bool]]:
        """Yield the values of a document without its metadata, and whether they are wrapped."""
        if isinstance(value, dict):
            value_key = self.value_key(value)
            if value_key is not None:
                yield from self._leaves(value[value_key], is_wrapped=True)
                return
            for key, part in value.items():
                if self.sibling_of(key, value) is None:
                    yield from self._leaves(part, is_wrapped=is_wrapped)
        elif isinstance(value, list):
            for part in value:
                yield from self._leaves(part, is_wrapped=is_wrapped)
        elif value is not None:
            yield value, is_wrapped

    def places(
        self, value: JsonValue, at: Attribute = ()
    ) -> Iterator[tuple[Attribute, JsonObject | None]]:
        """Yield the attribute of the key of each value with metadata, and the object around both.

        Attributes are named as in the document without metadata. Of a metadata sibling, only its
        own attribute is yielded.
        """
        if isinstance(value, dict):
            value_key = self.value_key(value)
            if value_key is not None:
                yield (*at, value_key), value
                yield from self.places(value[value_key], at)
                return
            for key, part in value.items():
                if self.sibling_of(key, value) is None:
                    yield from self.places(part, (*at, key))
                else:
                    yield (*at, key), None
        elif isinstance(value, list):
            for part in value:
                yield from self.places(part, (*at, None))

    def is_used(
        self, documents: Sequence[JsonValue], nodes: Mapping[Attribute, set[type]] | None
    ) -> bool:
        """Return whether most documents have all values in objects, and the others bare values."""
        number = 0
        has_metadata = False
        kinds: dict[Attribute, set[type]] = {}
        for document in documents:
            if not all(is_wrapped for _, is_wrapped in self._leaves(document)):
                continue
            number += 1
            for place, wrapper in self.places(document):
                if wrapper is not None:
                    has_metadata = has_metadata or len(wrapper) > 1
                    kinds.setdefault(place, set()).add(_kind(wrapper[place[-1] or ""]))
        if not has_metadata or 2 * number <= len(documents):
            return False
        if nodes is None:
            return True
        if not nodes.keys().isdisjoint(kinds):
            return False  # the other side has a field of this name
        shared = [place for place in kinds if place[:-1] in nodes]
        bare = [place for place in shared if _same_kind(kinds[place], nodes[place[:-1]])]
        return bool(bare) and 2 * len(bare) >= len(shared)


NO_ENVELOPE: Final = Envelope()


def recognized(
    documents: Sequence[JsonValue], others: Sequence[JsonValue] | None = None
) -> Envelope:
    """Return where the documents of an input have metadata, from a sample of both sides.

    Most documents must have all of their values in objects with metadata, with the value in the
    same key, and the other side must have bare values there. A metadata sibling must have a sibling
    that the other side has, and the other side must not have such a key. Without another side, the
    documents alone decide.

    >>> recognized([{"total": {"value": 10, "page": 1}}], [{"total": 10}]).value
    'value'
    >>> recognized([{"total": {"value": 10, "page": 1}}], [{"total": {"value": 9}}]).value
    ''
    """
    names = {key for value in _objects(documents) for key in value}
    value_keys = [key for key in VALUE_KEYS if key in names]
    if not value_keys and not any(_is_prefixed(name) or _splits(name) for name in names):
        return NO_ENVELOPE
    nodes = None if others is None else _nodes_of(others)
    siblings = _recognized_siblings(documents, nodes)
    for key in value_keys:
        envelope = replace(siblings, value=key)
        if envelope.is_used(documents, nodes):
            return envelope
    return siblings


def values_in_objects(
    documents: Sequence[JsonValue], others: Sequence[JsonValue]
) -> tuple[str, list[Attribute]]:
    """Return the key of values in objects where the other side has single values, and where.

    Other keys of the objects may be data. Nothing is returned unless at least half of the objects
    with such a key are where the other side has single values.

    >>> values_in_objects([{"total": {"value": 10, "unit": "m"}}], [{"total": 10}])
    ('value', [('total',)])
    """
    names = {key for value in _objects(documents) for key in value}
    for key in VALUE_KEYS if documents else ():
        if key not in names:
            continue
        envelope, nodes = Envelope(key, any_keys=True), _nodes_of(others)
        objects = dict.fromkeys(
            place[:-1] for document in documents for place, _ in envelope.places(document)
        )
        single = [at for at in objects if nodes.get(at, set()) - {type(None)} == {str}]
        if single and 2 * len(single) >= len(objects):
            return key, single
    return "", []


def _recognized_siblings(
    documents: Sequence[JsonValue], nodes: Mapping[Attribute, set[type]] | None
) -> Envelope:
    """Return the metadata next to values, at keys that the other side does not have."""
    suffixes: set[str] = set()
    keys: set[str] = set()
    others = None if nodes is None else {at[-1] for at in nodes if at and at[-1] is not None}
    for value in _objects(documents):
        keys.update(filter(_is_prefixed, value))
        for key in value:
            of_siblings = [suffix for name, suffix in _splits(key) if name in value]
            if of_siblings and (others is None or key.removesuffix(of_siblings[0]) in others):
                suffixes.add(of_siblings[0])
    if others is not None:
        keys -= others
        suffixes -= {
            suffix for other in others for name, suffix in _splits(other) if name in others
        }
    return Envelope(suffixes=tuple(sorted(suffixes)), keys=tuple(sorted(keys)))


def _metadata(own: JsonObject, parts: Mapping[str | int, Metadata]) -> Metadata:
    return Metadata(own, parts) if own or parts else NO_METADATA


def _same_kind(own: set[type], others: set[type]) -> bool:
    """Return whether all known values of two attributes are objects, or none of either.

    A list may be the acceptable values of a single one.
    """
    own, others = own - {type(None)}, others - {type(None)}
    return not own or not others or (dict in own) == (dict in others)


def _kind(value: JsonValue) -> type:
    return type(value) if isinstance(value, dict | list | None) else str


def _nodes_of(documents: Sequence[JsonValue]) -> dict[Attribute, set[type]]:
    nodes: dict[Attribute, set[type]] = {}
    for document in documents:
        for at, kinds in _nodes(document).items():
            nodes.setdefault(at, set()).update(kinds)
    return nodes


def _nodes(document: JsonValue) -> dict[Attribute, set[type]]:
    """Return the attributes of all values in a document, with their kinds."""
    nodes: dict[Attribute, set[type]] = {}
    waiting: list[tuple[Attribute, JsonValue]] = [((), document)]
    while waiting:
        at, value = waiting.pop()
        nodes.setdefault(at, set()).add(_kind(value))
        if isinstance(value, dict):
            waiting += [((*at, key), part) for key, part in value.items()]
        elif isinstance(value, list):
            waiting += [((*at, None), part) for part in value]
    return nodes


def _objects(documents: Sequence[JsonValue]) -> Iterator[JsonObject]:
    """Yield the objects in documents, of long lists only those in the first items."""
    waiting: list[JsonValue] = [*documents]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value[:_SAMPLE_ITEMS]


@lru_cache(maxsize=4096)
def is_metadata(key: str) -> bool:
    """Return whether a key next to a value is usually metadata.

    >>> is_metadata("boundingBox"), is_metadata("page_number"), is_metadata("currency")
    (True, True, False)
    """
    return _METADATA.fullmatch(_plain(key)) is not None


def _is_prefixed(key: str) -> bool:
    """Return whether a key is metadata of the object around it, as `_meta`."""
    name = key.removeprefix("_")
    return name != key and (name == "meta" or _DESCRIPTIVE.fullmatch(_plain(name)) is not None)


@lru_cache(maxsize=4096)
def _splits(key: str) -> tuple[tuple[str, str], ...]:
    """Return the names and suffixes that a key with the metadata of a sibling can consist of.

    >>> _splits("total_page_number"), _splits("totalConfidence")
    ((('total', '_page_number'),), (('total', 'Confidence'),))
    """
    starts = [match.start() for match in _WORD_START.finditer(key)]
    pairs = [(key[:start], key[start:]) for start in starts if start]
    return tuple(pair for pair in pairs if _DESCRIPTIVE.fullmatch(_plain(pair[1])))


def _plain(key: str) -> str:
    return _SEPARATOR.sub("", key).lower()

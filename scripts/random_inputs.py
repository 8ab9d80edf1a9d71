"""Random documents and rules, and files with invalid options, for `compare_versions.py`.

All are derived from the JSON Schemas that the older version prints, so that new strategies and
options take part without a change here.
"""

from __future__ import annotations

import copy
import random
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
Row: TypeAlias = "dict[str, Json]"
Schema: TypeAlias = Mapping[str, object]

_KEYS: Final = ("vendor", "name", "date", "total", "currency", "lines", "address", "paid", "tags")
_TEXTS: Final = (
    "Acme Corp", "ACME Corp.", "Acme  Corporation", "", "N/A", "-", "31/01/2025", "2025-01-31",
    "Jan 31, 2025", "31.01.25", "1,234.50", "1.234,50 €", "USD 1234.5", "$1,234.50", "0", "true",
    "Yes", "+49 30 123456", "(030) 12 34 56", "John.Smith@Example.com", "john.smith@example.com",
    "https://www.example.com/a?b=1", "http://example.com/a/?b=1", "12 Main Street, Springfield",
    "12 Main St., Springfield", "Dr. John A. Smith", "Smith, John", "café", "cafe\u0301", "ﬁne",
    "\u200bzero", "INV-00017", "inv 17", "two years", "24 months", "not paid", "paid", "[1, 2]",
    "10 kg", "10000 g", "99.5%", "0.995", "null", "日本語", "naïve", "a b c", "c b a",
)  # fmt: skip
_NUMBERS: Final = (0, 1, -1, 5, 5.0, 5.004, 1234.5, 1234.51, 0.1, 1e-9, 10**17, 1e300, -0.0, 31)
_INVALID: Final[tuple[Json, ...]] = (None, True, -1, 2.5, 1e9, "x", "", [], {}, ["x", 1])


def _value(draw: random.Random, depth: int) -> Json:
    kind = draw.random()
    if depth and kind < 0.18:
        return {draw.choice(_KEYS): _value(draw, depth - 1) for _ in range(draw.randrange(4))}
    if depth and kind < 0.36:
        if draw.random() < 0.5:
            keys = draw.sample(_KEYS, 2)
            return [{key: _value(draw, 0) for key in keys} for _ in range(draw.randrange(5))]
        return [_value(draw, depth - 1) for _ in range(draw.randrange(5))]
    if kind < 0.75:
        return draw.choice(_TEXTS)
    return draw.choice((*_NUMBERS, True, False, None, draw.randrange(100), draw.random()))


def _document(draw: random.Random) -> dict[str, Json]:
    keys = draw.sample(_KEYS, draw.randrange(1, 7))
    return {key: _value(draw, 3) for key in keys}


def _mutated(draw: random.Random, value: Json, rate: float) -> Json:
    """Return a copy of a value in which some parts are changed, missing, added or moved."""
    if draw.random() < rate:
        return _value(draw, 2)
    if isinstance(value, dict):
        changed = {
            key: _mutated(draw, part, rate) for key, part in value.items() if draw.random() > rate
        }
        if draw.random() < rate:
            changed[draw.choice(_KEYS)] = _value(draw, 1)
        return changed
    if isinstance(value, list):
        items = [_mutated(draw, item, rate) for item in value if draw.random() > rate]
        if draw.random() < rate:
            draw.shuffle(items)
        return items
    if isinstance(value, str) and draw.random() < rate:
        place = draw.randrange(len(value) + 1)
        return value[:place] + draw.choice(string.ascii_letters) + value[place + 1 :]
    if isinstance(value, int | float) and not isinstance(value, bool) and draw.random() < rate:
        return draw.choice((str(value), value * 1.001, -value))
    return value


def _paths(value: Json, path: str = "") -> Iterator[str]:
    """Yield the paths of all parts of a document, with a pattern for list items."""
    if isinstance(value, dict):
        for key, part in value.items():
            inner = f"{path}.{key}" if path else key
            yield inner
            yield from _paths(part, inner)
    elif isinstance(value, list):
        for item in value[:1]:
            yield from _paths(item, f"{path}[*]")


_SIMPLE: Final[Mapping[str, Sequence[Json]]] = {
    "null": (None,),
    "boolean": (True, False),
    "integer": (0, 1, 2, 3, 10, -1),
    "number": (0, 0.01, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 2),
    "string": ("name", "date", "vendor", "a.b", "YYYY-MM-DD", "EUR", "[a-z]+"),
}
"""Values of a type, of which some are often invalid."""


class Sampler:
    """Draws values that a JSON Schema allows, and now and then one that it may not."""

    def __init__(self, schema: Schema, draw: random.Random, *, invalid: float = 0.01) -> None:
        definitions = schema["$defs"]
        assert isinstance(definitions, dict)  # noqa: S101 - for mypy
        self.definitions: dict[str, dict[str, object]] = definitions
        self._draw = draw
        self._invalid = invalid

    def strategies(self, kind: str) -> list[str]:
        """Return the names of the definitions of all strategies of a kind."""
        return [name for name in self.definitions if name.startswith(f"{kind}_")]

    def strategy(self, definition: str) -> Json:
        """Draw a strategy with some options."""
        name = definition.partition("_")[2]
        options = self.sample(self.definitions[definition])
        if not isinstance(options, dict):
            return options
        options.pop("type", None)
        return {"type": name, **options} if options else name

    def sample(self, schema: object) -> Json:
        """Draw a value."""
        draw = self._draw
        if not isinstance(schema, dict) or not schema or draw.random() < self._invalid:
            return copy.deepcopy(draw.choice(_INVALID))
        if "$ref" in schema:
            return self._referenced(str(schema["$ref"]).rpartition("/")[2])
        if "const" in schema:
            constant: Json = schema["const"]
            return constant
        if "enum" in schema:
            words = _list(schema["enum"])
            # Words with hyphens are only aliases, which some places refuse.
            return draw.choice([word for word in words if "-" not in str(word)] or words)
        if "anyOf" in schema:
            # What `calibrated` means is in a file, which random rules do not have.
            parts = [part for part in _list(schema["anyOf"]) if part != {"const": "calibrated"}]
            return self.sample(draw.choice(parts))
        return self._of_type(schema)

    def _referenced(self, name: str) -> Json:
        if (strategies := self.strategies(name)) and f"types_of_{name}" in self.definitions:
            return self.strategy(self._draw.choice(strategies))
        return self.sample(self.definitions[name])

    def _of_type(self, schema: dict[str, object]) -> Json:
        draw = self._draw
        kind = str(schema.get("type", "object"))
        if kind == "array":
            return [self.sample(schema.get("items", {})) for _ in range(draw.randrange(1, 3))]
        if kind in _SIMPLE:
            return draw.choice(_SIMPLE[kind])
        properties = schema.get("properties", {})
        required = _list(schema.get("required", []))
        assert isinstance(properties, dict)  # noqa: S101 - for mypy
        if not properties and "default" in schema:
            default: Json = schema["default"]  # type: ignore[assignment] # it is JSON
            return default
        return {
            key: self.sample(part)
            for key, part in properties.items()
            # Models of providers need a network.
            if part and key != "provider" and (key in required or draw.random() < 0.3)
        }


def _list(value: object) -> Sequence[Json]:
    assert isinstance(value, list)  # noqa: S101 - for mypy
    return value


def _rules(draw: random.Random, sampler: Sampler, document: Json) -> Json:
    """Draw rules for a document."""
    rules: dict[str, Json] = {}
    paths = [*dict.fromkeys(_paths(document))]
    chosen = draw.sample(paths, min(len(paths), draw.randrange(5)))
    fields: list[Json] = []
    for path in chosen:
        field: dict[str, Json] = {"path": path}
        kind = draw.choice(("match", "match", "align"))
        field[kind] = sampler.strategy(draw.choice(sampler.strategies(kind)))
        for key in ("weight", "required", "any_of", "count"):
            if draw.random() < (0.2 if key in {"weight", "required"} else 0.01):
                properties = sampler.definitions["field"]["properties"]
                assert isinstance(properties, dict)  # noqa: S101 - for mypy
                field[key] = sampler.sample(properties[key])
        fields.append(field)
    if fields:
        rules["fields"] = fields
    if draw.random() < 0.3:
        rules["defaults"] = {"match": sampler.strategy(draw.choice(sampler.strategies("match")))}
    if draw.random() < 0.2:
        rules["empty_tokens"] = ["N/A", "-"]
    if draw.random() < 0.2:
        rules["scope"] = draw.choice(("union", "truth", "configured"))
    if draw.random() < 0.1:
        rules["depth"] = draw.choice(("leaf", "top"))
    if draw.random() < 0.3:
        rules["convention"] = sampler.sample(sampler.definitions["convention"])
    if draw.random() < 0.05:
        rules["safety"] = {"type": "wordlist", "words": ["acme", "paid"]}
    return rules or None


def random_pairs(schema: Schema, count: int, seed: int) -> Iterator[dict[str, Json]]:
    """Yield arguments of `fm.compare`."""
    draw = random.Random(seed)
    sampler = Sampler(schema, draw)
    for _ in range(count):
        expected = _document(draw)
        candidate = _mutated(draw, expected, draw.choice((0.02, 0.1, 0.4)))
        pair: dict[str, Json] = {"expected": expected, "candidate": candidate}
        if (rules := _rules(draw, sampler, expected)) is not None:
            pair["rules"] = rules
        yield pair


def random_batches(schema: Schema, count: int, size: int, seed: int) -> Iterator[dict[str, Json]]:
    """Yield arguments of `fm.score`, with the same rules for all rows of a batch."""
    draw = random.Random(seed)
    sampler = Sampler(schema, draw, invalid=0.001)
    for _ in range(count):
        truth: list[Json] = []
        predictions: list[Json] = []
        rules = _rules(draw, sampler, _document(draw))
        for number in range(size):
            expected = _document(draw)
            truth.append({"id": str(number), "expected": expected})
            if draw.random() < 0.97:
                predictions.append({"id": str(number), "candidate": _mutated(draw, expected, 0.1)})
        draw.shuffle(predictions)
        batch: dict[str, Json] = {"truth": truth, "candidate": predictions, "intervals": False}
        if rules is not None:
            batch["rules"] = rules
        yield batch


def orders(count: int, seed: int) -> tuple[list[Row], list[Row], list[Row]]:
    """Return ground truth and two predictions, with tags and metadata.

    One country is worse than the others, so that weak slices are found.
    """
    draw = random.Random(seed)
    truth: list[Row] = []
    predictions: tuple[list[Row], list[Row]] = ([], [])
    for number in range(count):
        country = draw.choice(("DE", "US", "FR"))
        document: dict[str, Json] = {
            "number": f"INV-{number:05}",
            "vendor": draw.choice(("Acme Corp", "Bolt Ltd", "Cog GmbH", "Dot Inc")),
            "date": f"2025-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
            "currency": "USD" if country == "US" else "EUR",
            "total": round(draw.uniform(1, 5000), 2),
            "note": draw.choice(("", "paid", "two years", None)),
            "lines": [
                {"sku": f"S{draw.randrange(50)}", "amount": draw.randrange(1, 90)}
                for _ in range(draw.randrange(4))
            ],
        }
        row: Row = {"id": str(number), "expected": document}
        row["tags"] = [draw.choice(("scan", "photo"))]
        row["metadata"] = {"country": country}
        truth.append(row)
        for rows, rate in zip(predictions, (0.05, 0.03), strict=True):
            if draw.random() < 0.99:
                candidate = _mutated(draw, document, rate * 4 if country == "FR" else rate)
                rows.append({"id": str(number), "candidate": candidate})
    return truth, *predictions


def rated(count: int, seed: int) -> tuple[list[Row], list[Row]]:
    """Return ground truth and predictions whose confidences say how often they are correct."""
    draw = random.Random(seed)
    truth: list[Row] = []
    predictions: list[Row] = []
    for number in range(count):
        expected: dict[str, Json] = {"number": f"INV-{number}", "total": number, "vendor": "Acme"}
        values: dict[str, Json] = {}
        for key, value in expected.items():
            confidence = round(1 - 0.12 * draw.random() ** 2, 4)
            found = value if draw.random() < confidence else "?"
            values[key] = {"value": found, "confidence": confidence}
        truth.append({"id": str(number), "expected": expected})
        predictions.append({"id": str(number), "candidate": values})
    return truth, predictions


def invalid_rules(schema: Schema) -> Iterator[tuple[str, Json]]:
    """Yield rules with one strategy and one option that may be invalid, by definition."""
    sampler = Sampler(schema, random.Random(0), invalid=0)
    for kind in ("match", "align", "provider", "safety"):
        for definition in sampler.strategies(kind):
            name = definition.partition("_")[2]
            for options in _invalid_options(sampler.definitions[definition]):
                strategy: Json = {"type": name, **options}
                if kind in {"match", "align"}:
                    yield definition, {"fields": [{"path": "a", kind: strategy}]}
                else:
                    yield definition, {kind: strategy, "fields": [{"path": "a"}]}
    for options in _invalid_options(sampler.definitions["field"]):
        yield "field", {"fields": [{"path": "a", **options}]}
    for options in _invalid_options(_first(schema["anyOf"])):
        yield "rules", {"fields": [{"path": "a"}], **options}


def invalid_evals(schema: Schema) -> Iterator[tuple[str, Json]]:
    """Yield eval files with one key or one option of an evaluator that may be invalid."""
    sampler = Sampler(schema, random.Random(0), invalid=0)
    cases: Json = [{"id": "a", "expected": {"a": 1}, "candidate": {"a": 1}}]
    for definition in sampler.strategies("evaluator"):
        name = definition.partition("_")[2]
        for options in _invalid_options(sampler.definitions[definition]):
            yield (
                definition,
                {"cases": cases, "evaluators": [{"name": "e", "type": name, **options}]},
            )
    for definition in sampler.strategies("target"):
        for options in _invalid_options(sampler.definitions[definition]):
            name = definition.partition("_")[2]
            yield definition, {"cases": cases, "target": {name: options}}
    for options in _invalid_options(schema):
        evaluator: Json = {"name": "e", "type": "field_accuracy", "fields": [{"path": "a"}]}
        yield "eval", {"cases": cases, "evaluators": [evaluator], **options}


def _first(value: object) -> Schema:
    first = _list(value)[0]
    assert isinstance(first, dict)  # noqa: S101 - for mypy
    return first


def _invalid_options(schema: Schema) -> Iterator[dict[str, Json]]:
    """Yield options with one value that may be invalid, an unknown option and a misspelled one."""
    properties = schema.get("properties", {})
    assert isinstance(properties, dict)  # noqa: S101 - for mypy
    yield {}
    yield {"unknown_option": 1}
    for key, part in properties.items():
        if part:
            yield {f"{key}x": 1}
            for value in _INVALID:
                yield {key: value}

"""Rules from pydantic models, other classes, schemas and files."""

from __future__ import annotations

import enum
import json
import sys
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import fieldmark as fm
from fieldmark.rules.rules_file import load_rules


class Currency(enum.Enum):
    USD = "USD"
    EUR = "EUR"


class Line(BaseModel):
    """A line of an invoice."""

    description: str = Field(description="What was bought")
    quantity: int
    price: Decimal


class Party(BaseModel):
    name: str
    email: str | None = None
    parent: Party | None = None


class Invoice(BaseModel):
    id: UUID
    number: str
    issued: date
    received: datetime | None = None
    currency: Currency
    state: Literal["open", "paid"] = "open"
    total: Annotated[Decimal, Field(json_schema_extra={"x-fieldmark": {"tolerance": 0.01}})]
    vendor: Party
    lines: list[Line] = []
    rates: dict[str, float] = {}
    box: tuple[int, int, int, int] | None = None
    paid: bool = False
    notes: str = Field("", json_schema_extra={"x-fieldmark": "ignore"})


TEXT = """\
# warning: vendor.parent.parent: the schema repeats itself; deeper values are compared with the defaults
# Proposed from the class Invoice. The comment above each rule gives the reason.
# Review the rules before you use them.
scope: union
defaults: {match: exact}
fields:
  # identifiers, ignoring case and separators; all digits count
  - {path: id, match: identifier}
  # named like identifiers, ignoring case and separators; all digits count
  - {path: number, match: identifier}
  # ISO dates, compared by day
  - {path: issued, match: date}
  # ISO date-times, compared by day; times are ignored
  - {path: received, match: date}
  # one of: USD, EUR; compared exactly
  - {path: currency, match: exact}
  # one of: open, paid; compared exactly
  - {path: state, match: exact}
  # numbers, compared by value; text that cannot be read never matches; x-fieldmark: tolerance
  - {path: total, match: numeric_tolerance, tolerance: 0.01}
  # named like names, words in any order and spelling; numbers must be the same
  - {path: vendor.name, match: name, threshold: 0.85}
  # named like e-mail addresses, ignoring case; text that cannot be read never matches
  - {path: vendor.email, match: email}
  # named like names, words in any order and spelling; numbers must be the same
  - {path: vendor.parent.name, match: name, threshold: 0.85}
  # named like e-mail addresses, ignoring case; text that cannot be read never matches
  - {path: vendor.parent.email, match: email}
  # items aligned by similarity of description; order does not matter
  - {path: lines, align: greedy, match_fields: [description], threshold: 0.5}
  # What was bought: short text, with small spelling differences; numbers must be the same
  - {path: "lines[*].description", match: fuzzy, threshold: 0.85, numbers: exact}
  # integers, compared exactly
  - {path: "lines[*].quantity", match: numeric_tolerance, tolerance: 0}
  # numbers, compared by value; text that cannot be read never matches
  - {path: "lines[*].price", match: numeric_tolerance, tolerance: 0}
  # numbers, compared by value
  - {path: "rates.**", match: numeric_tolerance, tolerance: 0}
  # a fixed number of items; their order matters
  - {path: box, align: index}
  # integers, compared exactly
  - {path: "box[*]", match: numeric_tolerance, tolerance: 0}
  # booleans
  - {path: paid, match: boolean}
  # set by x-fieldmark
  - {path: notes, match: ignore}
"""

EXPECTED = {
    "id": "8f14e45f-ceea-467f-a0ba-0d2b9b3d3f10",
    "number": "INV-007",
    "issued": "2024-05-03",
    "currency": "USD",
    "total": "12.50",
    "vendor": {"name": "Acme Incorporated", "email": "jo@acme.org"},
    "lines": [{"description": "Blue pens", "quantity": 2, "price": "1.25"}],
    "rates": {"USD": 1, "EUR": 1.1},
    "box": [1, 2, 3, 4],
    "paid": True,
    "notes": "x",
}
CANDIDATE = {
    "id": "8F14E45FCEEA467FA0BA0D2B9B3D3F10",
    "number": "inv 007",
    "issued": "3 May 2024",
    "currency": "USD",
    "total": 12.509,
    "vendor": {"name": "ACME Inc.", "email": "Jo@Acme.org"},
    "lines": [{"description": "blue pen", "quantity": 2.0, "price": 1.25}],
    "rates": {"EUR": 1.1, "USD": 1},
    "box": [1, 2, 3, 4],
    "paid": "yes",
    "notes": "y",
}


def test_the_rules_of_a_model_are_a_rules_file(tmp_path):
    rules = fm.rules_from(Invoice)
    assert str(rules) == TEXT
    rules.save(tmp_path / "rules.yaml")
    loaded = load_rules(tmp_path / "rules.yaml")
    assert loaded.warnings == ()
    assert [rule.path for rule in loaded.rules.fields] == [
        field["path"] for field in rules["fields"]
    ]
    for source in (rules, tmp_path / "rules.yaml"):
        result = fm.compare(EXPECTED, CANDIDATE, rules=source)
        assert result.misses == ()
        assert result.counts.tp == 17


def test_a_proposal_is_a_mapping_that_can_be_stored(tmp_path):
    rules = fm.rules_from({"properties": {"total": {"type": "number"}}})
    field = {"path": "total", "match": "numeric_tolerance", "tolerance": 0}
    assert dict(rules) == {"scope": "union", "defaults": {"match": "exact"}, "fields": [field]}
    assert repr(rules) == "<ProposedRules from a JSON Schema: 1 rule>"
    for name in ("truth", "found"):
        (tmp_path / f"{name}.jsonl").write_text('{"total": 1}\n')
    files = (str(tmp_path / f"{name}.jsonl") for name in ("truth", "found"))
    fm.score(*files, rules=rules, out=tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["options"]["rules"] == dict(rules)


@dataclass
class Person:
    name: str
    born: date


class Event(TypedDict):
    title: str
    when: date


class Described:
    """Has the method of a pydantic model, without being one."""

    @classmethod
    def model_json_schema(cls):
        return {"properties": {"when": {"type": "string", "format": "date"}}}


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        pytest.param(Person, ["name", "born"], id="dataclass"),
        pytest.param(Event, ["title", "when"], id="typed-dict"),
        pytest.param(Described, ["when"], id="duck"),
        pytest.param({"properties": {"a": {"type": "string"}}}, ["a"], id="mapping"),
        pytest.param(Currency, ["$"], id="enumeration"),
    ],
)
def test_sources(source, paths):
    assert [field["path"] for field in fm.rules_from(source)["fields"]] == paths


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.yml"])
def test_files(tmp_path, name):
    file = tmp_path / name
    file.write_text('{"type": "object", "properties": {"a": {"type": "boolean"}}}')
    for source in (file, str(file)):
        rules = fm.rules_from(source)
        assert rules.source == f"the JSON Schema {name}"
        assert rules["fields"] == [{"path": "a", "match": "boolean"}]


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        pytest.param(3, TypeError, "source must be a pydantic model or another class", id="number"),
        pytest.param(None, TypeError, "source must be a pydantic model", id="none"),
        pytest.param(Person("a", date(2024, 1, 1)), TypeError, "got Person", id="object"),
        pytest.param("no such file.json", fm.ConfigError, "file not found", id="no-file"),
        pytest.param("", fm.DataError, "not a valid file name", id="no-name"),
    ],
)  # fmt: skip
def test_wrong_sources(source, error, message):
    with pytest.raises(error, match=message):
        fm.rules_from(source)


def test_a_class_without_a_schema_is_a_type_error():
    class Opaque:
        pass

    with pytest.raises(TypeError, match="Opaque has no JSON Schema"):
        fm.rules_from(Opaque)


def test_without_pydantic_other_classes_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(fm.MissingExtra, match=r'pip install "fieldmark\[server\]"'):
        fm.rules_from(Person)
    assert fm.rules_from(Described)


SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}}


class TestInfer:
    def test_a_schema_is_recognized(self, tmp_path):
        file = tmp_path / "invoice.schema.json"
        file.write_text(json.dumps(SCHEMA))
        assert fm.infer(file) == str(fm.rules_from(file))
        assert fm.infer(str(file)).startswith(
            "# Proposed from the JSON Schema invoice.schema.json."
        )

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            pytest.param("a.jsonl", json.dumps(SCHEMA), id="rows"),
            pytest.param("a.json", json.dumps([SCHEMA]), id="list"),
            pytest.param("a.json", json.dumps({"properties": "many"}), id="document"),
            pytest.param("a.json", f"{json.dumps(SCHEMA)}\n{json.dumps(SCHEMA)}\n", id="lines"),
        ],
    )
    def test_other_files_are_data(self, tmp_path, name, content):
        file = tmp_path / name
        file.write_text(content)
        assert fm.infer(file).startswith("# Proposed from ")
        assert "JSON Schema" not in fm.infer(file)

    def test_reading_options_or_predictions_mean_data(self, tmp_path):
        file = tmp_path / "a.json"
        file.write_text(json.dumps(SCHEMA))
        assert "from 1 case" in fm.infer(file, inputs={"rows": "document"})
        assert "from 1 case" in fm.infer(file, file)

    def test_a_broken_file_is_reported_as_data(self, tmp_path):
        file = tmp_path / "a.json"
        file.write_text('{"properties": ')
        with pytest.raises(fm.DataError):
            fm.infer(file)
        with pytest.raises(fm.DataError):
            fm.infer(Path(tmp_path / "missing.json"))

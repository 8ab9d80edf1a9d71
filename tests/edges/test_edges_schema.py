"""`fieldmark infer` with a JSON Schema, as users run it."""

from __future__ import annotations

import json

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "properties": {
        "total": {"type": "integer", "description": "All of it"},
        "vendor": {"type": "string"},
    },
}


def test_rules_are_proposed_and_used(command, folder):
    (folder / "invoice.schema.json").write_text(json.dumps(SCHEMA))
    done = command("infer", "invoice.schema.json", "--out", "rules.yaml")
    assert (done.code, done.out) == (0, "")
    assert "invoice.schema.json is read as a JSON Schema" in done.err
    assert "--rows document" in done.err
    assert "# All of it: integers, compared exactly" in (folder / "rules.yaml").read_text()
    scored = command(
        "score", "truth.jsonl", "candidate.jsonl", "--rules", "rules.yaml", "--no-save"
    )
    assert scored.code == 0, scored.err
    assert command("validate", "rules.yaml").code == 0


def test_the_same_file_can_be_data(command, folder):
    (folder / "invoice.schema.json").write_text(json.dumps(SCHEMA))
    done = command("infer", "invoice.schema.json", "--rows", "document")
    assert (done.code, done.err) == (0, "")
    assert "# Proposed from 1 case." in done.out


def test_data_is_not_called_a_schema(command):
    done = command("infer", "truth.jsonl")
    assert (done.code, done.err) == (0, "")


def test_problems_name_the_line(command, folder):
    text = json.dumps(SCHEMA, indent=1).replace('"All of it"', '"x", "x-fieldmark": {"mach": 1}')
    (folder / "invoice.schema.json").write_text(text)
    done = command("infer", "invoice.schema.json")
    assert done.code == 2
    assert "invoice.schema.json:6:" in done.err
    assert "unknown key 'mach'; did you mean 'match'?" in done.err
    assert not done.out

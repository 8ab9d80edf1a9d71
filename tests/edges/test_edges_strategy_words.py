"""Runs with the words of strategy files say what compared their texts, and show the words."""

from __future__ import annotations

import json

import pytest

from row_files import write_rows

EXPECTED = {
    "name": "John Smith",
    "email": "john@example.com",
    "bio": "Senior engineer with 10 years of experience...",
    "internal_id": None,
    "status": "active",
}
CANDIDATE = {
    "name": "John Smyth",
    "email": "john@example.com",
    "bio": "Experienced senior engineer, 10+ years...",
    "internal_id": "abc123",
    "extra_field": "surprise",
}
SCORES = [
    {"expected": EXPECTED[name], "candidate": CANDIDATE[name], "similarity": similarity}
    for name, similarity in {"name": 0.92, "bio": 0.88}.items()
]
NOTE = "compared by the built-in similarity, without a model; set a provider to ask one"
WORDS = {"name": "FUZZY", "bio": "SEMANTIC", "email": "EXACT"}


@pytest.fixture
def scored(folder, command):
    """Score the walk-through with rules, and return the output."""
    write_rows(folder / "rows.jsonl", [{"id": "a", "expected": EXPECTED, "candidate": CANDIDATE}])

    def score(fields, provider=None):
        rules = {"fields": fields, **({"provider": provider} if provider else {})}
        (folder / "rules.json").write_text(json.dumps(rules), "utf-8")
        options = "--rules", "rules.json", "--convention", "four_phase", "--out", "run"
        return command("score", "rows.jsonl", *options)

    return score


@pytest.mark.parametrize(
    ("fields", "provider", "note"),
    [
        pytest.param(WORDS, None, f"FUZZY and SEMANTIC {NOTE}", id="both-words"),
        pytest.param({"name": "FUZZY"}, None, f"FUZZY {NOTE}", id="one-word"),
        pytest.param({"name": "EXACT"}, None, None, id="no-word-that-asks"),
        pytest.param(WORDS, {"type": "recorded", "scores": SCORES}, None, id="provider"),
        pytest.param({"name": {"match": "fuzzy"}}, None, None, id="comparator"),
    ],
)
def test_run_without_a_model_says_so_before_its_metrics(scored, fields, provider, note):
    done = scored(fields, provider)
    if note is None:
        assert NOTE not in done.out
    else:
        assert done.out.index(note) < done.out.index("Attribute")


@pytest.mark.parametrize(
    ("provider", "named"),
    [
        pytest.param({"type": "recorded", "scores": SCORES}, "recorded", id="recorded"),
        pytest.param(None, "lexical", id="built-in"),
    ],
)
def test_exports_name_the_provider_and_the_words(scored, command, folder, provider, named):
    assert "RQS            0.7375 of 0.85" in scored(WORDS, provider).out
    for path, word in WORDS.items():
        assert f"comparator               {word}" in command("show", "run", "a", path).out
    command("report", "run", "--as", "markdown", "--out", "run.md")
    markdown = (folder / "run.md").read_text("utf-8")
    assert f"provider `{named}`" in markdown
    assert "| RQS | 0.7375 of 0.85 |" in markdown
    for name, option in (("run.json", ()), ("private.json", ("--no-values",))):
        command("report", "run", "--as", "json", "--out", name, *option)
        exported = json.loads((folder / name).read_text("utf-8"))
        assert [provider["name"] for provider in exported["manifest"]["providers"]] == [named]
        words = {field["path"]: field["comparator"] for field in exported["cases"][0]["outcomes"]}
        assert {path: words[path] for path in WORDS} == WORDS

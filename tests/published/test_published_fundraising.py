"""The committees of 1,000 e-mails, predicted by twenty language models.

The authors compare lower-case strings without stripping whitespace, like `exact_text`. A row without
a prediction is an omission.
"""

from __future__ import annotations

import json

import pytest

from published.command_line import DATA, scored, scored_here

EMAILS = DATA / "fundraising-committee"
PUBLISHED = json.loads((EMAILS / "published_results.json").read_text("utf-8"))


@pytest.mark.parametrize("model", sorted(PUBLISHED))
def test_counts_equal_the_published_counts(model):
    want = PUBLISHED[model]
    predictions = EMAILS / "predictions" / f"{model}.jsonl.gz"
    summary = scored_here(EMAILS / "gold.jsonl.gz", predictions, "--match", "exact_text")

    committee = summary["attributes"]["committee"]
    counts = {name: committee[name] for name in ("tp", "tn", "fp", "fn")}
    assert counts == want["over_all_1000_gold_rows"]
    assert committee["tp"] == want["matches_lowercase_no_strip"] == summary["cases"]["perfect"]
    assert summary["cases"]["missing"] == 1000 - want["rows_present"]
    assert summary["cases"]["total"] == 1000
    present = want["rows_present"]
    assert committee["tp"] / present == pytest.approx(want["published_accuracy"], abs=1e-12)


def test_data_contains_twenty_models():
    assert len(PUBLISHED) == 20


def test_objects_instead_of_a_name_are_format_errors():
    predictions = EMAILS / "predictions" / "phi3.jsonl.gz"
    summary = scored(EMAILS / "gold.jsonl.gz", predictions, "--match", "exact_text")
    assert summary["errors_by_type"]["format_error"] == 6


def test_ignoring_whitespace_gives_two_more_matches():
    predictions = EMAILS / "predictions" / "llama318b.jsonl.gz"
    summary = scored_here(EMAILS / "gold.jsonl.gz", predictions, "--match", "normalized_text")
    want = PUBLISHED["llama318b"]["matches_lowercase_stripped"]
    assert summary["attributes"]["committee"]["tp"] == want == 444

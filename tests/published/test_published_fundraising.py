"""The committees of 1,000 e-mails, predicted by twenty language models.

The authors compare lower-case strings without stripping whitespace, like `exact_text`. A row without
a prediction is an omission.
"""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from scipy.stats import binomtest

import fieldmark as fm
from fieldmark.metrics.difference import DiffVerdict
from published.command_line import DATA, scored, scored_here
from reference import rank_oracle

EMAILS = DATA / "fundraising-committee"
TOLD = (DiffVerdict.BETTER, DiffVerdict.WORSE)
PUBLISHED = json.loads((EMAILS / "published_results.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def emails(tmp_path_factory):
    """The runs of the twenty models, which lack some predictions."""
    files = sorted((EMAILS / "predictions").glob("*.jsonl.gz"))
    out = tmp_path_factory.mktemp("emails")
    return fm.score_many(
        EMAILS / "gold.jsonl.gz",
        files,
        match="exact_text",
        metric="mean_score",
        intervals=False,
        out=out,
    )


@pytest.mark.parametrize("model", sorted(PUBLISHED))
def test_counts_equal_the_published_counts(emails, model):
    want = PUBLISHED[model]
    summary = emails.runs[model].to_dict()

    committee = summary["attributes"]["committee"]
    counts = {name: committee[name] for name in ("tp", "tn", "fp", "fn")}
    assert counts == want["over_all_1000_gold_rows"]
    assert committee["tp"] == want["matches_lowercase_no_strip"] == summary["cases"]["perfect"]
    assert summary["cases"]["missing"] == 1000 - want["rows_present"]
    assert summary["cases"]["total"] == 1000
    present = want["rows_present"]
    assert committee["tp"] / present == pytest.approx(want["published_accuracy"], abs=1e-12)


def test_objects_instead_of_a_name_are_format_errors():
    predictions = EMAILS / "predictions" / "phi3.jsonl.gz"
    summary = scored(EMAILS / "gold.jsonl.gz", predictions, "--match", "exact_text")
    assert summary["errors_by_type"]["format_error"] == 6


def test_ignoring_whitespace_gives_two_more_matches():
    predictions = EMAILS / "predictions" / "llama318b.jsonl.gz"
    summary = scored_here(EMAILS / "gold.jsonl.gz", predictions, "--match", "normalized_text")
    want = PUBLISHED["llama318b"]["matches_lowercase_stripped"]
    assert summary["attributes"]["committee"]["tp"] == want == 444


def test_twenty_models_are_ranked_by_their_published_accuracy(emails):
    ranking = fm.rank(emails.runs, metric="predicted_mean_score")
    found = {run.name: run.value for run in ranking.runs}
    assert found == pytest.approx(
        {name: want["published_accuracy"] for name, want in PUBLISHED.items()}, abs=1e-12
    )
    accuracies = sorted((each["published_accuracy"] for each in PUBLISHED.values()), reverse=True)
    assert [run.rank for run in ranking.runs] == [1 + accuracies.index(each) for each in accuracies]
    assert [[run.name for run in group] for group in ranking.equal] == [
        ["gpt-4o-mini", "gpt-4o_prompt2"],
        ["exaone35_32b_prompt2", "granite3.3_prompt2"],
    ]
    missing = {run.name: run.missing for run in ranking.runs}
    assert missing == {name: 1000 - want["rows_present"] for name, want in PUBLISHED.items()}


def test_missing_predictions_count_as_mistakes_unless_they_are_left_out(emails):
    ranking = emails.ranking
    matches = {name: want["matches_lowercase_no_strip"] / 1000 for name, want in PUBLISHED.items()}
    assert {run.name: run.value for run in ranking.runs} == pytest.approx(matches, abs=1e-12)
    assert [run.perfect / 1000 for run in ranking.runs] == sorted(matches.values(), reverse=True)
    places = {run.name: place for place, run in enumerate(ranking.runs)}
    assert (places["claude35_haiku"], places["llama318b"]) == (10, 17)  # of which rows are missing
    assert [run.name for run in ranking.best] == [
        "gpt-4o-mini", "gpt-4o_prompt2", "gemini25_flash_preview_04_17_prompt2",
    ]  # fmt: skip
    # A case is right or wrong, so McNemar's exact test gives the same answer for every pair.
    told = [pair for pair, each in ranking.pairs.items() if each.word in TOLD]
    assert len(told) == 162
    right = [_right(emails.runs[run.name]) for run in ranking.runs]
    p_values = {
        (first, second): _mcnemar(right[first], right[second])
        for first, second in combinations(range(20), 2)
    }
    assert [pair for pair, p in rank_oracle.adjusted(p_values).items() if p <= 0.05] == told


def _mcnemar(first, second):
    """The exact p-value of the cases that only one of two models has right."""
    only = len(first - second), len(second - first)
    return binomtest(only[0], sum(only)).pvalue if any(only) else 1.0


def _right(run):
    rows = map(json.loads, (run.path / "results.jsonl").read_text("utf-8").splitlines())
    return {row["case_id"] for row in rows if row["score"] == 1}

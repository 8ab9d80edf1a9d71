"""Materials in abstracts: 310 lists of objects in five folds, from the raw output of a model.

The authors count a sample as an exact match if both lists contain the same objects in any order,
like a perfect case with `--align set`. Their parser uses the last of two equal keys, like
`--duplicates last`.
"""

from __future__ import annotations

import gzip
import json

import pytest

from published.command_line import DATA, fieldmark, scored

NERRE = DATA / "nerre"
PUBLISHED = json.loads((NERRE / "expected_scores.json").read_text("utf-8"))["general_llama2"]
OPTIONS = ("--align", "set", "--duplicates", "last")


@pytest.fixture(scope="module")
def folds():
    return [scored(NERRE / f"run_{fold}.jsonl.gz", *OPTIONS)["cases"] for fold in range(5)]


def test_all_samples_but_one_are_parsed(folds):
    assert sum(cases["total"] for cases in folds) == PUBLISHED["samples"] == 310
    assert sum(cases["unparseable"] for cases in folds) == PUBLISHED["unparseable_predictions"] == 1


def test_share_of_perfect_samples_is_the_published_accuracy(folds):
    shares = [cases["perfect"] / cases["total"] for cases in folds]
    want = PUBLISHED["exact_match_accuracy_mean_over_folds"]
    assert sum(shares) / len(shares) == pytest.approx(want, abs=1e-12)


def test_all_folds_together_give_the_published_counts():
    text = b"".join(gzip.decompress((NERRE / f"run_{f}.jsonl.gz").read_bytes()) for f in range(5))
    cases = scored("-", *OPTIONS, stdin=text)["cases"]
    assert (cases["perfect"], cases["total"]) == (88, 310)


def test_duplicate_keys_are_rejected_by_default(tmp_path):
    strict = fieldmark(
        "score", NERRE / "run_4.jsonl.gz", "--align", "set", "--out", tmp_path / "run", "--quiet"
    )
    assert strict.code == 0
    rows = (tmp_path / "run" / "results.jsonl").read_text("utf-8").splitlines()
    notes = [json.loads(row).get("note") for row in rows if '"parse_error"' in row]
    assert notes == ["duplicate key 'name'"]

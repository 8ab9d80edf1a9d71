"""Materials named in abstracts: 310 lists of objects in five folds, from the raw text of a model.

The authors call a sample an exact match when both lists hold the same objects, in any order; that
is a perfect case with `--align set`. Their reader takes the last of two equal keys, which is
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


def test_every_sample_is_read_but_one(folds):
    assert sum(cases["total"] for cases in folds) == PUBLISHED["samples"] == 310
    assert sum(cases["unparseable"] for cases in folds) == PUBLISHED["unparseable_predictions"] == 1


def test_the_share_of_perfect_samples_is_the_published_accuracy(folds):
    shares = [cases["perfect"] / cases["total"] for cases in folds]
    want = PUBLISHED["exact_match_accuracy_mean_over_folds"]
    assert sum(shares) / len(shares) == pytest.approx(want, abs=1e-12)


def test_all_folds_at_once_give_the_same_share():
    text = b"".join(gzip.decompress((NERRE / f"run_{f}.jsonl.gz").read_bytes()) for f in range(5))
    cases = scored("-", *OPTIONS, stdin=text)["cases"]
    assert (cases["perfect"], cases["total"]) == (88, 310)


def test_a_key_that_occurs_twice_is_refused_unless_asked_for(tmp_path):
    strict = fieldmark(
        "score", NERRE / "run_4.jsonl.gz", "--align", "set", "--out", tmp_path / "run", "--quiet"
    )
    assert strict.code == 0
    rows = (tmp_path / "run" / "results.jsonl").read_text("utf-8").splitlines()
    notes = [json.loads(row).get("note") for row in rows if '"parse_error"' in row]
    assert notes == ["the key 'name' occurs twice in one object"]

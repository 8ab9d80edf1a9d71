"""How list items were paired is told and stored."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.align.key import Key
from fieldmark.align.optimal import Optimal
from fieldmark.data.inputs import Limits
from fieldmark.run.list_alignment import list_notes

DOCUMENTS = [({"lines": [{"d": "a", "taxes": [1]}]}, {"lines": [{"d": "a", "taxes": [1]}]})]


@pytest.mark.parametrize(
    ("aligner", "words"),
    [
        pytest.param(Greedy(), "greedily by all their fields, from 0.5", id="greedy-by-all-leaves"),
        pytest.param(
            Greedy(match_fields=("sku",)), "greedily by sku, from 0.8", id="greedy-by-match-fields"
        ),
        pytest.param(
            Optimal(threshold=0.7), "optimally by all their fields, from 0.7", id="optimal"
        ),
        pytest.param(Key(key=("sku", "line")), "by the key sku and line", id="by-key"),
        pytest.param(Index(), "by place", id="by-index"),
    ],
)
def test_each_way_of_pairing_has_words(aligner, words):
    assert list_notes({"lines": aligner}) == [f"list items paired {words}: lines"]


def test_many_lists_are_counted():
    lists = dict.fromkeys("abcde", Greedy())
    assert list_notes(lists)[0].endswith(": a, b, c and 2 more")


def test_the_choice_for_each_list_is_told_and_stored(tmp_path):
    run = fm.score(DOCUMENTS, align="optimal", out=tmp_path / "run")
    assert run.notes[-1].endswith("optimally by all their fields, from 0.5: lines, lines[].taxes")
    stored = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))["lists"]
    assert {path: each["name"] for path, each in stored.items()} == {
        "lines": "optimal",
        "lines[].taxes": "optimal",
    }


def test_the_manifest_holds_the_limits_that_were_used(tmp_path):
    limits = Limits(line_bytes=4096)
    fm.score(DOCUMENTS, inputs=fm.Inputs(limits=limits), out=tmp_path / "run")
    stored = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert stored["limits"]["line_bytes"] == 4096
    assert stored["convention"]["name"] == "confusion"

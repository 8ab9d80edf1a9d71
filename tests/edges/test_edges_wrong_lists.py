"""Items that belong together are aligned in every result, although some of their values are lost or wrong."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.evaluators.line_items import LineItems
from fieldmark.model.counts import Counts
from pure_python import with_and_without_kernel
from row_files import lines

__all__ = ["with_and_without_kernel"]

METHODS = pytest.mark.parametrize("method", ["greedy", "optimal"])
LINES = [{"item": f"part {number}", "amount": number} for number in range(20)]
HTS = [{"description": f"steel part {number}", "hs_code": f"73{number:02}"} for number in range(5)]
MATCH_FIELDS = {"match_fields": ["description", "hs_code"]}


def pages(*firsts, **fields):
    """Return pages with 20 lines, the first of which has this amount."""
    return {
        "pages": [
            {
                "lines": [
                    {"item": f"part {page}.0", "amount": first},
                    *(line | {"item": f"{line['item']} on {page}"} for line in LINES[1:]),
                ]
            }
            | {key: values[page] for key, values in fields.items()}
            for page, first in enumerate(firsts)
        ]
    }


PAGES = {
    "one-wrong-value": (pages(0, 0), pages(-1, 0), Counts(tp=79, fp=1, fn=1)),
    "one-wrong-value-and-a-page-number": (
        pages(0, 0, page=[1, 2]),
        pages(-1, 0, page=[1, 2]),
        Counts(tp=81, fp=1, fn=1),
    ),
    "one-wrong-value-and-a-wrong-page-number": (
        pages(0, 0, page=[1, 2]),
        pages(-1, 0, page=[7, 2]),
        Counts(tp=80, fp=2, fn=2),
    ),
    "other-order-of-the-lines": (
        pages(0, 0),
        {"pages": [{"lines": page["lines"][::-1]} for page in pages(-1, -2)["pages"]]},
        Counts(tp=78, fp=2, fn=2),
    ),
    "lists-of-lists": (
        {"pages": [{"rows": [[1, 2], [3, 4]]}, {"rows": [[5, 6], [7, 8]]}]},
        {"pages": [{"rows": [[5, 6], [7, 9]]}, {"rows": [[1, 2], [3, 0]]}]},
        Counts(tp=6, fp=2, fn=2),
    ),
    "lists-of-strings": (
        {"pages": [{"tags": ["a", "b", "c"]}, {"tags": ["d", "e"]}]},
        {"pages": [{"tags": ["d", "x"]}, {"tags": ["a", "y", "c"]}]},
        Counts(tp=3, fp=2, fn=2),
    ),
    "three-levels": (
        {"pages": [{"blocks": [{"lines": [{"words": ["a", "b"]}, {"words": ["c", "d"]}]}]}]},
        {"pages": [{"blocks": [{"lines": [{"words": ["a", "b"]}, {"words": ["c", "x"]}]}]}]},
        Counts(tp=3, fp=1, fn=1),
    ),
}  # fmt: skip


@METHODS
@pytest.mark.parametrize(("expected", "candidate", "counts"), PAGES.values(), ids=PAGES)
def test_items_with_lists_are_aligned_by_their_equal_leaves(expected, candidate, counts, method):
    rules = {"fields": [{"path": "pages", "align": method}]}
    assert fm.compare(expected, candidate, rules=rules).counts == counts


@METHODS
def test_values_of_maps_with_lists_are_aligned_by_their_equal_leaves(method):
    maps = [
        dict(zip(names, document["pages"], strict=True))
        for names, document in (("ab", pages(0, 0)), ("cd", pages(-1, 0)))
    ]
    rules = {"fields": [{"path": "$", "align": "entries", "method": method}]}
    assert fm.compare(*maps, rules=rules).counts == Counts(tp=79, fp=1, fn=1)


def test_rules_for_fields_of_nested_lists_are_followed_where_they_ignore():
    expected, candidate = pages(0, 0), pages(-1, 0)
    for number, line in enumerate(candidate["pages"][0]["lines"]):
        line["amount"] = -number - 1
    rules = {"fields": [{"path": "pages[*].lines[*].amount", "match": "ignore"}]}
    assert fm.compare(expected, candidate, rules=rules).counts == Counts(tp=40)


LOST = pytest.mark.parametrize(
    ("lost", "score"),
    [
        pytest.param(1, (1 + 8 / 9) / 2, id="one-of-five"),
        pytest.param(4, (1 + 1 / 3) / 2, id="four-of-five"),
        pytest.param(5, 1 / 2, id="all"),
    ],
)


def without_codes(lost, empty=None):
    return [item | {"hs_code": empty} if number < lost else item for number, item in enumerate(HTS)]


@METHODS
@LOST
@pytest.mark.parametrize("empty", [None, "", " "])
def test_items_that_lost_a_match_field_are_aligned(lost, score, empty, method):
    rules = {"fields": [{"path": "lines", "align": method, **MATCH_FIELDS}]}
    for documents in ((HTS, without_codes(lost, empty)), (without_codes(lost, empty), HTS)):
        result = fm.compare(
            *({"lines": items[::step]} for items, step in zip(documents, (1, -1), strict=True)),
            rules=rules,
        )
        assert result.counts.tp == 10 - lost
        assert result.counts.fp + result.counts.fn == lost
        assert result.score == pytest.approx(score)


@LOST
def test_items_that_lost_a_match_field_are_aligned_in_a_run(command, folder, lost, score):
    for name, items in (("expected", HTS), ("candidate", without_codes(lost))):
        (folder / f"{name}.jsonl").write_text(lines([{"id": "a", name: {"lines": items}}]), "utf-8")
    fields = [{"path": "lines", "align": "greedy", **MATCH_FIELDS}]
    (folder / "rules.json").write_text(json.dumps({"fields": fields}), "utf-8")
    files = ("expected.jsonl", "candidate.jsonl", "--rules", "rules.json")
    done = command("score", *files, "--no-save", "--format", "json")
    assert done.summary["macro_f1_by_attribute"] == pytest.approx(score)


@LOST
def test_items_that_lost_a_match_field_are_aligned_by_the_evaluator(lost, score):
    evaluator = LineItems(path="lines", match_fields=("description", "hs_code"))
    result = evaluator.evaluate({"lines": HTS}, {"lines": without_codes(lost)})
    assert result.score == pytest.approx(score)
    assert not result.details["unmatched_expected"]

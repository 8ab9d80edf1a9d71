"""Alignment of items by their boxes or points."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.align import geometric_similarity, optimal
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.errors import ConfigError, OptionError
from fieldmark.model.outcome import Reason

LINES = [{"text": "total", "bbox": [0, 0, 10, 10]}, {"text": "tax", "bbox": [0, 20, 10, 30]}]
FOUND = [{"text": "tax", "bbox": [50, 50, 60, 60]}, {"text": "9.00", "bbox": [0, 21, 10, 30]}]


def pairs(aligner, expected, candidate):
    return [pair[:2] for pair in aligner.align(expected, candidate).pairs]


@pytest.mark.parametrize("method", [Greedy, Optimal])
@pytest.mark.parametrize(
    ("options", "expected", "candidate", "paired"),
    [
        pytest.param({"match_fields": ("bbox",), "similarity": "iou"}, LINES, FOUND, [(1, 1)], id="by-their-boxes"),
        pytest.param({"match_fields": ("text",)}, LINES, FOUND, [(1, 0)], id="by-text-by-default"),
        pytest.param({"match_fields": ("bbox",), "similarity": {"type": "iou", "format": "xywh"}}, LINES, FOUND, [(1, 1)], id="in-different-format"),
        pytest.param({"match_fields": ("bbox",), "similarity": "iou", "threshold": 0.95}, LINES, FOUND, [], id="threshold-of-aligner"),
        pytest.param({"match_fields": ("bbox",), "similarity": {"type": "iou", "threshold": 0.95}}, LINES, FOUND, [], id="threshold-of-measure"),
        pytest.param({"similarity": "iou"}, [[0, 0, 9, 9], [20, 0, 29, 9]], [[20, 0, 28, 9], [0, 0, 9, 8]], [(0, 1), (1, 0)], id="box-items"),
        pytest.param({"similarity": "iou"}, [{"format": "xywh", "coordinates": [0, 0, 9, 9]}], [[0, 0, 9, 8]], [(0, 0)], id="items-with-own-format"),
        pytest.param({"similarity": {"type": "distance", "threshold": 2}}, [[0, 0], [9, 9]], [[9, 8], [5, 5]], [(1, 0)], id="near-points"),
        pytest.param({"match_fields": ("text", "bbox"), "similarity": "iou"}, LINES, [{"text": "tax", "bbox": [0, 20, 10, 24]}], [(1, 0)], id="string-and-box-combined"),
        pytest.param({"similarity": "iou"}, [{"a": {"bbox": [0, 0, 9, 9]}, "n": 7}], [{"a": {"bbox": [0, 0, 9, 8]}, "n": 7}], [(0, 0)], id="all-leaves-without-match-fields"),
        pytest.param({"match_fields": ("bbox",), "similarity": "iou"}, [{"bbox": [5, 0, 1, 9]}], [{"bbox": [5, 0, 1, 8]}], [], id="invalid-boxes-not-aligned"),
        pytest.param({"match_fields": ("bbox",), "similarity": "iou"}, [{"bbox": None}, {}], [{"bbox": [0, 0, 1, 1]}], [], id="items-without-box"),
        pytest.param({"similarity": "iou"}, [[0, 0, 9, 9], "x", 3], ["xy", {"a": 1}, 4], [(1, 0)], id="scalars-as-always"),
    ],
)  # fmt: skip
def test_items_are_aligned_by_position(method, options, expected, candidate, paired):
    assert pairs(method(**options), expected, candidate) == paired


def test_similarity_is_reported():
    found = Greedy(similarity="iou").align([[0, 0, 10, 10]], [[0, 0, 10, 8]])
    assert found.pairs == [(0, 0, 0.8)]


@pytest.mark.parametrize("method", [Greedy, Optimal])
def test_many_items_are_aligned_like_few(method):
    boxes = [[20 * n, 0, 20 * n + 10, 10] for n in range(60)]
    moved = [[left + 1, 0, right + 1, 10] for left, _, right, _ in reversed(boxes)]
    aligner = method(similarity="iou", threshold=0)
    assert pairs(aligner, boxes, moved) == [(n, 59 - n) for n in range(60)]


@pytest.mark.parametrize("small", [0, 64], ids=["arrays", "loops"])
@pytest.mark.parametrize(
    ("items", "gap", "more_similar"),
    [
        pytest.param(1, 2e-6, True, id="higher-similarity-first"),
        pytest.param(3, 4.4e-8, True, id="higher-total-similarity-first"),
        pytest.param(1, 2e-9, False, id="equal-leaves-if-tied"),
    ],
)
def test_equal_leaves_decide_only_ties(items, gap, more_similar, small, monkeypatch):
    monkeypatch.setattr(optimal, "_SMALL_MATRIX", small)
    fields = dict.fromkeys("abcde", 1)
    expected = [{"box": [0, 0, 100, 100], **fields}] * items
    similar, equal = {"box": [0, 0, 100, 50 + gap]}, {"box": [0, 0, 100, 50], **fields}
    aligner = Optimal(similarity="iou", match_fields=("box",), threshold=0.3)
    found = pairs(aligner, expected, [similar] * items + [equal] * items)
    assert [other < items for _, other in found] == [more_similar] * items


def test_too_many_items_fail(monkeypatch):
    monkeypatch.setattr(geometric_similarity, "MAX_PAIRS", 3)
    found = Greedy(similarity="iou").align([[0, 0, 1, 1]] * 2, [[0, 0, 1, 2]] * 2)
    assert found.failed is Reason.TOO_MANY_ITEMS


@pytest.mark.parametrize("method", [Greedy, Optimal])
@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        pytest.param("boxes", "must be one of: text, equality, iou, distance", id="unknown-name"),
        pytest.param({"type": "iou", "fmt": "xywh"}, "unknown option of iou; must be one of: format,", id="unknown-option"),
        pytest.param({"type": "iou", "threshold": 2}, "threshold must be a number from 0 to 1", id="bad-option"),
        pytest.param({"type": "text", "threshold": 1}, "text has no options", id="options-of-text"),
        pytest.param({"format": "xywh"}, "must be one of: text, equality, iou, distance", id="options-without-name"),
    ],
)  # fmt: skip
def test_invalid_similarity_is_rejected(method, similarity, message):
    with pytest.raises(OptionError, match=message) as caught:
        method(similarity=similarity)
    assert caught.value.option == "similarity"


def test_rules_file_aligns_lines_by_their_boxes():
    rules = {
        "fields": [
            {"path": "lines", "align": "greedy", "match_fields": ["bbox"], "similarity": {"type": "iou", "format": "xyxy"}},
            {"path": "lines[*].bbox", "match": "iou"},
        ]
    }  # fmt: skip
    result = fm.compare({"lines": LINES}, {"lines": FOUND[1:]}, rules=rules)
    assert result.hits == ("lines[1→0].bbox",)
    assert "lines[1→0].text" in result.misses


def test_rules_file_with_unknown_similarity_suggests_another():
    rules = {"fields": [{"path": "lines", "align": "greedy", "similarity": "iuo"}]}
    with pytest.raises(ConfigError, match="did you mean 'iou'"):
        fm.compare({}, {}, rules=rules)

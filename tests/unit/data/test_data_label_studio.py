"""Regions and answers of Label Studio: what is compared how, and what is left out."""

from __future__ import annotations

import json
import math

import pytest

import fieldmark as fm
from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_truth
from fieldmark.errors import DataError, MissingExtra
from row_files import cases_of

PRESET = {"preset": "labelstudio"}


def region(kind, label="Car", *, name="r", size=(), **value):
    """Return a result of a region, with labels unless the label is empty."""
    labelled = {f"{kind}labels": [label]} if label else {}
    image = dict(zip(("original_width", "original_height"), size, strict=False))
    return {
        "id": name,
        "type": f"{kind}labels" if label else kind,
        "from_name": "label",
        "value": {**value, **labelled},
        **image,
    }


def rectangle(x, y, width, height, **options):
    return region("rectangle", x=x, y=y, width=width, height=height, **options)


def polygon(*points, **options):
    return region("polygon", points=[list(point) for point in points], **options)


def square(low, high, **options):
    return polygon((low, low), (high, low), (high, high), (low, high), **options)


def ellipse(x, y, across, down, **options):
    return region("ellipse", x=x, y=y, radiusX=across, radiusY=down, **options)


def keypoint(x, y, label="eye", name="k"):
    return region("keypoint", label, name=name, x=x, y=y, width=0.5)


def brush(label="Car", name="b"):
    return region("brush", label, name=name, format="rle", rle=[1, 2])


def span(text, label="", name="s", **value):
    return region("", label, name=name, start=0, end=len(text), text=text, **value)


def taxonomy(*paths, name="t", **value):
    answer = {"taxonomy": [list(path) for path in paths], **value}
    return {"id": name, "type": "taxonomy", "from_name": "kind", "value": answer}


def task(expected, candidate=None, **more):
    both = {"annotations": [{"result": expected}], **more}
    return both if candidate is None else {**both, "predictions": [{"result": candidate}]}


def export(expected, candidate=None, **more):
    return [{"id": 1, "data": {}, **task(expected, candidate, **more)}]


def read(*results):
    """Return the document of a task with these results, and what was left out."""
    stream = open_truth(export(list(results)), Inputs(**PRESET))
    [case] = cases_of(stream)
    [read_export] = stream.exports
    return case.expected, dict(read_export.left_out)


def rotated(points, degrees, origin):
    """Return points turned clockwise around an origin, in an image whose sides are equal."""
    angle = math.radians(degrees)
    return [
        (
            origin[0] + (x - origin[0]) * math.cos(angle) - (y - origin[1]) * math.sin(angle),
            origin[1] + (x - origin[0]) * math.sin(angle) + (y - origin[1]) * math.cos(angle),
        )
        for x, y in points
    ]


BOX = [(10, 20), (40, 20), (40, 60), (10, 60)]
WIDE = [(10, 20), (10 + 30 * math.cos(math.pi / 6), 20 + 60 * math.sin(math.pi / 6))]
"""Two corners of the box turned by 30° in an image that is twice as wide as high."""


@pytest.mark.parametrize(
    ("expected", "candidate", "micro_f1"),
    [
        pytest.param([square(1, 9)], [square(81, 99)], 0.0, id="polygons-apart"),
        pytest.param([square(1, 9)], [square(1, 8)], 1.0, id="polygons-overlap"),
        pytest.param(
            [rectangle(10, 20, 30, 40)], [rectangle(40, 30, 20, 10)], 0.0, id="numbers-permuted"
        ),
        pytest.param(
            [rectangle(10, 20, 30, 40)], [rectangle(10.1, 20.1, 30, 40)], 1.0, id="nearly-equal"
        ),
        pytest.param([rectangle(1, 1, 8, 8)], [square(1, 9)], 1.0, id="rectangle-as-polygon"),
        pytest.param(
            [rectangle(10, 20, 30, 40, rotation=30, size=(5, 5))],
            [polygon(*rotated(BOX, 30, (10, 20)))],
            1.0,
            id="rotated-rectangle",
        ),
        pytest.param(
            [rectangle(10, 20, 30, 40, rotation=90, size=(5, 5))],
            [rectangle(10, 20, 30, 40)],
            0.0,
            id="rotation-matters",
        ),
        pytest.param(
            [ellipse(50, 50, 10, 5)], [ellipse(52, 50, 10, 5)], 1.0, id="ellipses-overlap"
        ),
        pytest.param([ellipse(50, 50, 10, 5)], [ellipse(61, 50, 10, 5)], 0.0, id="ellipses-apart"),
        pytest.param(
            [ellipse(50, 50, 20, 2)],
            [ellipse(50, 50, 2, 20, rotation=90, size=(9, 9))],
            1.0,
            id="rotated-ellipse",
        ),
        pytest.param(
            [rectangle(10, 20, 30, 40)], [rectangle(10, 20, 30, 40, label="Bus")], 0.5, id="class"
        ),
        pytest.param([keypoint(10, 10)], [keypoint(14, 13)], 1.0, id="points-near"),
        pytest.param([keypoint(10, 10)], [keypoint(15, 11)], 0.5, id="points-apart"),
        pytest.param(
            [keypoint(10, 10, "left", "1"), keypoint(12, 10, "right", "2")],
            [keypoint(11.2, 10, "left", "1"), keypoint(10.8, 10, "right", "2")],
            1.0,
            id="points-by-label",
        ),
        pytest.param(
            [taxonomy(["Eukarya", "Human"], ["Archaea"])],
            [taxonomy(["Archaea"], ["Eukarya", "Human"])],
            1.0,
            id="order-of-paths",
        ),
        pytest.param([taxonomy(["A", "B"])], [taxonomy(["B", "A"])], 0.0, id="order-in-a-path"),
        pytest.param([taxonomy(["A / B"])], [taxonomy(["A", "B"])], 0.0, id="separator-in-a-name"),
    ],
)
def test_regions_are_compared_by_their_geometry(expected, candidate, micro_f1):
    assert fm.score(export(expected, candidate), inputs=PRESET).micro.f1 == micro_f1


@pytest.mark.parametrize(
    ("results", "document"),
    [
        pytest.param(
            [square(1, 9)],
            {
                "regions": [
                    {
                        "class": "Car",
                        "bbox": {
                            "format": "polygon",
                            "coordinates": [[1, 1], [9, 1], [9, 9], [1, 9]],
                        },
                    }
                ]
            },
            id="polygon",
        ),
        pytest.param(
            [keypoint(10, 20)], {"keypoints": [{"class": "eye", "point": [10, 20]}]}, id="keypoint"
        ),
        pytest.param(
            [rectangle(1, 2, 3, 4, label=""), taxonomy(["A", "B"], name="r", x=1)],
            {"regions": [{"bbox": [1, 2, 3, 4], "kind": ["A / B"]}]},
            id="box-with-a-taxonomy",
        ),
        pytest.param(
            [taxonomy(["Archaea"], start=0, end=3, text="abc")],
            {"regions": [{"text": "abc", "kind": ["Archaea"]}]},
            id="text-with-a-taxonomy",
        ),
        pytest.param([taxonomy(["Archaea"])], {"kind": ["Archaea"]}, id="taxonomy-of-the-task"),
        pytest.param(
            [
                rectangle(1, 2, 3, 4, label=""),
                {
                    "id": "r",
                    "type": "textarea",
                    "from_name": "ocr",
                    "value": {"x": 1, "text": ["a", "b"]},
                },
            ],
            {"regions": [{"bbox": [1, 2, 3, 4], "text": "a\nb"}]},
            id="text-without-a-label",
        ),
        pytest.param(
            [
                rectangle(1, 2, 3, 4),
                {"id": "r", "type": "choices", "from_name": "side", "value": {"choices": ["left"]}},
            ],
            {"regions": [{"class": "Car", "bbox": [1, 2, 3, 4], "side": "left"}]},
            id="answer-about-a-region",
        ),
        pytest.param(
            [rectangle(1, 2, 3, 4, rotation=360)],
            {"regions": [{"class": "Car", "bbox": [1, 2, 3, 4]}]},
            id="full-rotation",
        ),
    ],
)
def test_regions_and_answers(results, document):
    assert read(*results) == (document, {})


def test_a_rotation_is_in_the_image_and_not_in_percent():
    document, _ = read(rectangle(10, 20, 30, 40, rotation=30, size=(200, 100)))
    _, corner, *_ = document["regions"][0]["bbox"]["coordinates"]
    assert corner == [pytest.approx(number) for number in WIDE[1]]


@pytest.mark.parametrize(
    ("results", "left_out"),
    [
        pytest.param([brush()], {"brush mask": 1}, id="brush"),
        pytest.param([{**brush(label=""), "value": {}}], {"brush mask": 1}, id="empty-brush"),
        pytest.param(
            [rectangle(1, 2, 3, 4, rotation=30, name="x")],
            {"rotated rectangle": 1},
            id="rotation-without-a-size",
        ),
        pytest.param(
            [ellipse(1, 2, 3, 4, rotation=30, size=(0, 5))],
            {"rotated ellipse": 1},
            id="rotation-without-a-width",
        ),
        pytest.param([polygon((1, 1), (2, 2))], {"polygon": 1}, id="two-points"),
        pytest.param(
            [region("polygon", points=[[1, 1], [5, 1], [5, 5]], closed=False)],
            {"open polygon": 1},
            id="open-polygon",
        ),
        pytest.param([rectangle(1, None, 3, 4)], {"rectangle": 1}, id="box-without-a-number"),
        pytest.param([region("video", sequence=[{}])], {"video region": 1}, id="video"),
        pytest.param([region("timeseries", start=1, end=2)], {"segment": 1}, id="time-series"),
        pytest.param([region("vector", vertices=[])], {"vector": 1}, id="vector"),
        pytest.param([region("timeline", ranges=[])], {"time range": 1}, id="time-range"),
        pytest.param([region("new")], {"newlabels region": 1}, id="unknown-region"),
        pytest.param(
            [{"type": "pairwise", "value": {"selected": "left"}}],
            {"pairwise result": 1},
            id="unknown-answer",
        ),
        pytest.param([{"type": "relation", "from_id": "a"}], {"relation": 1}, id="relation"),
        pytest.param([None, 5], {"result": 2}, id="no-object"),
        pytest.param(
            [span("May", "Date", name="1"), span("May", "Date", name="2")],
            {"text position": 2, "repeated value": 1},
            id="texts",
        ),
        pytest.param(
            [span("May", "Date"), taxonomy(["A"], name="s")],
            {"text position": 1, "region answer": 1},
            id="answer-about-a-text",
        ),
        pytest.param(
            [
                rectangle(1, 2, 3, 4, name="q"),
                {"id": "q", "type": "number", "from_name": "bbox", "value": {"number": 5}},
            ],
            {"region answer": 1},
            id="answer-with-a-name-of-ours",
        ),
    ],
)
def test_what_is_not_read_is_counted(results, left_out):
    _, counts = read({"type": "number", "from_name": "n", "value": {"number": 5}}, *results)
    assert counts == left_out


def test_drafts_and_other_annotations_are_counted():
    annotation = {"result": [taxonomy(["A"])]}
    annotations = [{**annotation, "ground_truth": True}, annotation, {"was_cancelled": True}]
    tasks = [{"data": {}, "annotations": annotations, "drafts": [{}, {}]}]
    stream = open_truth(tasks, Inputs(**PRESET))
    assert cases_of(stream)[0].expected == {"kind": ["A"]}
    [read_export] = stream.exports
    assert read_export.left_out == {
        "cancelled annotation": 1,
        "draft": 2,
        "other annotation": 1,
    }


def test_an_export_of_masks_is_refused():
    with pytest.raises(DataError, match="nothing to compare, 2 brush masks not read"):
        fm.score(export([brush()], [brush()]), inputs=PRESET)


def test_nothing_on_a_page_is_no_unread_export():
    run = fm.score(export([], []), inputs=PRESET)
    assert run.summary.cases.scored == 1


def test_polygons_without_shapely_are_an_error(monkeypatch):
    monkeypatch.setattr("fieldmark.values.geometry.has_shapely", lambda: False)
    with pytest.raises(MissingExtra, match="geometry"):
        fm.score(export([square(1, 9)], [square(1, 9)]), inputs=PRESET)
    assert fm.score(export([rectangle(1, 1, 8, 8)], [rectangle(1, 1, 8, 8)]), inputs=PRESET).passed


def test_scores_of_predictions_are_no_fields():
    found = {**rectangle(1, 2, 3, 4), "score": 0.5}
    run = fm.score(export([rectangle(1, 2, 3, 4)], [found]), inputs=PRESET)
    assert (run.micro.tp, run.micro.fp, run.quality.hallucination) == (2, 0, 0.0)


def test_rules_of_the_user_come_after_those_of_the_reader():
    data = export([rectangle(0, 0, 10, 10)], [rectangle(0, 0, 10, 7)])
    rules = {
        "fields": [{"path": "regions[*].bbox", "match": "iou", "format": "xywh", "threshold": 0.8}]
    }
    assert fm.score(data, inputs=PRESET).micro.f1 == 1.0
    assert fm.score(data, inputs=PRESET, rules=rules).micro.f1 == 0.5


def test_only_configured_fields_are_compared_without_regions():
    number = {"type": "number", "from_name": "total", "value": {"number": 5}}
    data = export([number, rectangle(0, 0, 10, 10)], [number])
    rules = {"scope": "configured", "fields": [{"path": "total"}]}
    run = fm.score(data, inputs=PRESET, rules=rules)
    assert list(run.summary.attributes) == ["total"]
    rules["fields"].append({"path": "regions[*].class"})
    run = fm.score(data, inputs=PRESET, rules=rules)
    assert {"total", "regions[].class", "regions[].bbox"} <= run.summary.attributes.keys()


def test_rules_of_the_reader_that_nothing_needs_are_no_warnings():
    number = {"type": "number", "from_name": "total", "value": {"number": 5}}
    run = fm.score(export([number], [number]), inputs=PRESET)
    assert run.summary.warnings == ()


def test_infer_proposes_no_rules_for_regions():
    data = export([square(1, 9), taxonomy(["A"])], [square(1, 9), taxonomy(["A"])])
    proposed = fm.infer(data, inputs=PRESET)
    assert "regions[*].class" in proposed
    assert "bbox" not in proposed
    assert "path: regions," not in proposed


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Return the directory of a run with a polygon, which is wrong, and a mask."""
    monkeypatch.chdir(tmp_path)
    data = export([square(1, 9), brush()], [square(81, 99), rectangle(1, 1, 8, 8, name="x")])
    (tmp_path / "export.json").write_text(json.dumps(data))
    fm.score("export.json", inputs=PRESET, out="run")
    return tmp_path / "run"


def test_a_saved_run_names_what_was_left_out(saved):
    expected = [{"file": "export.json", "tool": "labelstudio", "left_out": {"brush mask": 1}}]
    assert json.loads((saved / "manifest.json").read_text())["exports"] == expected
    assert json.loads((saved / "summary.json").read_text())["exports"] == expected


def test_a_rescored_run_compares_regions_too(saved):
    rules = {"fields": [{"path": "regions[*].class", "match": "fuzzy"}]}
    again = fm.rescore(saved, rules=rules)
    assert again.attributes["regions[].bbox"].fp == 1
    assert "export.json: 1 brush mask not read" in again.notes


def test_scores_stay_ignored_under_another_convention(tmp_path):
    found = {**rectangle(1, 2, 3, 4), "score": 0.5}
    data = export([rectangle(1, 2, 3, 4)], [found])
    run = fm.score(data, inputs=PRESET, convention="taxonomy", out=tmp_path / "run")
    again = fm.rescore(run.path, convention="taxonomy_code")
    assert (run.quality.hallucination, again.quality.hallucination) == (0.0, 0.0)
    assert run.summary.exports == again.summary.exports


def test_a_field_is_explained_by_the_rule_of_the_reader(saved):
    rule = fm.explain(saved, "1", "regions[0].bbox").rule
    assert (rule.comparator, rule.options["format"]) == ("iou", "xywh")


def test_an_eval_file_compares_regions(saved):
    file = saved.parent / "e.eval.yaml"
    file.write_text(
        "cases: {path: export.json, from: labelstudio}\n"
        "evaluators: [{type: iou_score, path: 'regions[].bbox', format: xywh, matching: greedy}]\n"
    )
    run = fm.evaluate(file)
    assert run.attributes["regions[].bbox"].fp == 1
    assert f"{saved.parent / 'export.json'}: 1 brush mask not read" in run.notes


def test_a_reviewed_run_compares_regions_too(tmp_path):
    data = export([rectangle(0, 0, 10, 10)], [rectangle(0, 0, 10, 9, label="Bus")])
    run = fm.score(data, inputs=PRESET, out=tmp_path / "run")
    fm.add_review(run, "1", "regions[0].class", "accept_candidate")
    effect = fm.review(run).effect
    assert (effect.before.micro.f1, effect.after.micro.f1) == (0.5, 1.0)
    fm.add_review(run, "1", "regions[0].class", "ambiguous")
    assert fm.review(run).effect.after.attributes["regions[].bbox"].f1 == 1.0


def test_a_vote_compares_regions_by_their_overlap():
    votes = {
        name: export([], [rectangle(0, 0, 10, height)])
        for name, height in (("one", 10), ("two", 9.9), ("three", 9.8))
    }
    assert fm.consensus(votes, inputs=PRESET).disputed == ()

"""Proposed rules are tried on the sample: none makes its score worse."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.analyses.infer import propose_rules
from fieldmark.data.inputs import Inputs
from json_strategies import small_json

DATA = Path(__file__).parents[2] / "data"
SAMPLE = Path(fm.__file__).parent / "sample"


def _rules(pairs):
    truth, candidates = zip(*pairs, strict=True)
    return dict(propose_rules(list(truth), list(candidates), Inputs()))


def _settings(pairs):
    return {rule.pop("path"): rule for rule in _rules(pairs).get("fields", [])}


def _figures(pairs, rules):
    result = fm.score(pairs, rules=rules)
    counts = result.attributes.values()
    return sum(own.fp + own.fn for own in counts), result.macro_f1_by_attribute


def _assert_not_worse(pairs):
    rules = _rules(pairs)
    mistakes, score = _figures(pairs, {"defaults": {"match": "exact"}})
    mistakes_with_rules, score_with_rules = _figures(pairs, rules)
    assert mistakes_with_rules <= mistakes, rules
    assert (score_with_rules or 0) >= (score or 0) - 1e-9, rules


# --- the sample -----------------------------------------------------------------------------------


def _lines(path):
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


def _by_id(truth, candidates, key="predicted"):
    others = {row["id"]: row for row in candidates}
    return [(row["expected"], others.get(row["id"], {}).get(key, {})) for row in truth]


def _sample_data():
    truth = _lines(SAMPLE / "truth.jsonl")
    return _by_id(truth, _lines(SAMPLE / "candidate.jsonl"), "candidate")


def _docubench():
    truth = _lines(SAMPLE / "truth.jsonl")
    return _by_id(truth, _lines(DATA / "docubench" / "candidate-gemini.jsonl.gz"), "candidate")


def _committees():
    folder = DATA / "fundraising-committee"
    return _by_id(
        _lines(folder / "gold.jsonl.gz"),
        _lines(folder / "predictions" / "qwen3_8b_prompt2.jsonl.gz"),
    )


def _products():
    folder = DATA / "product-extraction"
    truth = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    others = json.loads((folder / "predictions" / "extruct.json").read_text("utf-8"))
    return [(expected, others.get(key, {})) for key, expected in truth.items()]


@pytest.mark.parametrize(
    "pairs", [_sample_data, _docubench, _committees, _products], ids=lambda make: make.__name__
)
def test_rules_from_real_data_do_not_make_the_score_worse(pairs):
    _assert_not_worse(pairs())


def test_currencies_of_products_are_compared_as_currencies():
    settings = _settings(_products())
    assert settings["currency"] == {"match": "currency", "any_of": True}


def test_names_whose_predictions_lack_spaces_are_compared_without_them():
    assert _settings(_committees())["committee"] == {"match": "name", "ignore": ["white_space"]}


TEXTS = st.sampled_from(
    [
        "2024-05-03", "03/05/2024", "4/22/2018", "31/12/2018", "May 2024", "2024-05", "2024", "14:30",
        "2:30 PM", "2024-05-03T14:30:00Z", "2024-05-03T16:30+02:00", "$5.00", "5", "5.0", "1.234,50 €",
        "1,234.50", "EUR", "€", "Euro", "USD", "$", "yes", "No", "A-1", "a 1", "Acme Corp", "ACME  corp",
        "AcmeCorp", "0 - 20", "0 – 20", "n/a", "None", "-", "a@b.org", "A@B.org", "https://a.org", "soon",
        "12 Main Street", "12 Main St.", "1 2", "12", "007", "7", "", " ",
    ]
)  # fmt: skip
SCALARS = st.one_of(
    TEXTS, TEXTS, st.none(), st.booleans(), st.integers(0, 12), st.sampled_from([1.5, 1234.5])
)
BOXES = st.lists(st.integers(0, 9), min_size=4, max_size=4)
NAMES = st.sampled_from(["date", "total", "name", "currency", "number", "bbox", "x"])
RECORDS = st.dictionaries(NAMES, st.one_of(SCALARS, SCALARS, BOXES), max_size=4)
MAPS = st.dictionaries(st.sampled_from(["p1", "p2", "q1", "q2"]), RECORDS, max_size=3)
DOCUMENTS = st.one_of(
    RECORDS,
    st.dictionaries(NAMES, st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.lists(RECORDS, max_size=3), MAPS), max_size=4),
    small_json.filter(lambda value: isinstance(value, dict | list)),
)  # fmt: skip


@st.composite
def _pairs(draw):
    documents = draw(st.lists(DOCUMENTS, min_size=1, max_size=6))
    return [(document, draw(st.one_of(st.just(document), DOCUMENTS))) for document in documents]


@given(_pairs())
def test_rules_from_any_data_do_not_make_the_score_worse(pairs):
    _assert_not_worse(pairs)


# --- boxes, maps and words for empty values -------------------------------------------------------


BOX = [10, 20, 30, 40]
SERIES = [[10, 20, 30, 40 + quarter] for quarter in range(10)]


@pytest.mark.parametrize(
    ("name", "lists", "rule"),
    [
        pytest.param("bbox", [BOX], {"match": "iou"}, id="box-by-its-name"),
        pytest.param("lineBox", [BOX, [0, 0, 5, 5]], {"match": "iou"}, id="box-by-a-part-of-its-name"),
        pytest.param("bbox", [[30, 40, 10, 10]], {"match": "iou", "format": "xywh"}, id="corner-and-size"),
        pytest.param("values", SERIES, {"match": "iou"}, id="many-boxes"),
        pytest.param("values", SERIES[:9], None, id="few-lists-that-could-be-boxes"),
        pytest.param("values", [*SERIES, [4, 3, 2, 1]], None, id="one-that-is-none"),
        pytest.param("bbox", [BOX, [1, 1, 1, 1]], {"match": "iou", "format": "xywh"}, id="corners-without-an-area"),
        pytest.param("bbox", [BOX, [1, 2, 3]], None, id="three-numbers"),
        pytest.param("bbox", [["1", "2", "3", "4"]], None, id="strings"),
    ],
)  # fmt: skip
def test_lists_that_form_boxes_are_compared_by_overlap(name, lists, rule):
    pairs = [({name: own}, {name: own}) for own in lists]
    settings = _settings(pairs)
    assert (settings[name] if rule else settings.get(name, {}).get("match")) == rule
    assert (f"{name}[*]" in settings) == (rule is None)


def test_a_rule_that_makes_the_sample_score_worse_is_left_out():
    pairs = [({"bbox": BOX, "n": "5"}, {"bbox": [10, 20, 30, 21], "n": 5})]
    assert set(_settings(pairs)) == {"n"}
    _assert_not_worse(pairs)


ANN, BOB = {"name": "Ann Lee", "age": 31}, {"name": "Bob Ray", "age": 40}


@pytest.mark.parametrize(
    ("expected", "candidate", "paths"),
    [
        pytest.param({"p1": ANN, "p2": BOB}, {"x": BOB, "y": ANN}, {"people", "people[*].name", "people[*].age"}, id="other-keys"),
        pytest.param({"p1": ANN, "p2": BOB}, {"p2": BOB, "p1": ANN}, {"people.p1.name", "people.p1.age", "people.p2.name", "people.p2.age"}, id="same-keys"),
        pytest.param({"p1": ANN}, {"x": "Ann"}, {"people.p1.name", "people.p1.age"}, id="no-objects"),
    ],
)  # fmt: skip
def test_objects_whose_keys_are_never_found_again_are_maps(expected, candidate, paths):
    settings = _settings([({"people": expected}, {"people": candidate})])
    assert set(settings) == paths
    if "people" in paths:
        assert settings["people"] == {"align": "entries"}


def test_maps_inside_of_list_items_are_found():
    team = {"name": "Blue Team", "city": "Rome", "founded": 1990, "coach": "Cid Fox"}
    expected = {"teams": [{**team, "members": {"a": ANN}}]}
    candidate = {"teams": [{**team, "members": {"x": ANN}}]}
    settings = _settings([(expected, candidate)])
    assert settings["teams[*].members"] == {"align": "entries"}
    assert settings["teams[*].members[*].name"] == {"match": "name"}


@pytest.mark.parametrize(
    ("pairs", "tokens"),
    [
        pytest.param([({"x": None}, {"x": "N/A"}), ({"x": "a"}, {"x": "a"})], ["n/a"], id="null"),
        pytest.param([({"x": ""}, {"x": " None "})], ["none"], id="blank"),
        pytest.param([({}, {"x": "-"})], ["-"], id="absent-key"),
        pytest.param([({"x": [{"n": 1, "y": None}]}, {"x": [{"n": 1, "y": "-"}]})], ["-"], id="in-a-list"),
        pytest.param([({"x": None}, {"x": "N/A"}), ({"x": "n/a"}, {"x": "n/a"})], None, id="word-that-is-a-value"),
        pytest.param([({"x": None}, {"x": "unknown vendor"})], None, id="other-text"),
        pytest.param([({"x": "a"}, {"x": "N/A"})], None, id="only-in-place-of-a-value"),
    ],
)  # fmt: skip
def test_words_for_empty_values_are_empty_tokens(pairs, tokens):
    rules = _rules(pairs)
    assert rules.get("empty_tokens") == tokens
    if tokens:
        assert _figures(pairs, rules)[0] == 0


def test_the_text_counts_words_for_empty_values():
    text = fm.infer([{"x": None}, {"x": ""}], [{"x": "N/A"}, {"x": "-"}])
    assert "# words in predictions where the ground truth has no value (n/a: 1, -: 1)" in text
    assert 'empty_tokens: ["n/a", "-"]' in text


@pytest.mark.parametrize(
    ("candidate", "rule", "f1"),
    [
        pytest.param("2024-05-{:02} 10:00", "timestamp", 1.0, id="the same time"),
        pytest.param("2024-05-{:02}T11:00:00", "timestamp", 0.0, id="another time"),
        pytest.param("2024-05-{:02}", "date", 1.0, id="no time"),
    ],
)
def test_wrong_times_are_no_other_format_of_dates(candidate, rule, f1, tmp_path):
    truth = [{"id": day, "sent": f"2024-05-{day:02}T10:00:00"} for day in range(1, 21)]
    found = [{"id": day, "sent": candidate.format(day)} for day in range(1, 21)]
    rules = fm.infer(truth, found)
    assert f"match: {rule}" in rules
    (tmp_path / "rules.yaml").write_text(rules)
    assert fm.score(truth, found, rules=tmp_path / "rules.yaml").micro.f1 == f1

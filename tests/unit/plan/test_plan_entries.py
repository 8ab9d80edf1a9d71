"""Objects that are used as maps: their values are aligned like list items."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console

import fieldmark as fm
from fieldmark.errors import ConfigError
from fieldmark.plan import compile_plan
from fieldmark.report.case_view import case_view
from fieldmark.report.html.tree import case_tree
from fieldmark.rules.rules_file import read_rules
from fieldmark.runs.stored_run import open_run

ENTRIES = {"align": "entries"}
ANN, BOB = {"name": "Ann", "age": 3}, {"name": "Bob", "age": 4}


def outcomes_of(expected, candidate, rules, **settings):
    result = fm.compare(expected, candidate, rules={"fields": rules, **settings})
    return [(each.path, each.candidate_path, each.outcome) for each in result.fields]


@pytest.mark.parametrize(
    ("expected", "candidate", "rules", "outcomes"),
    [
        pytest.param(
            {"p": {"1": ANN, "2": BOB}},
            {"p": {"x": BOB, "y": ANN}},
            {"p": ENTRIES},
            [
                ("p.1.name", "p.y.name", "match"),
                ("p.1.age", "p.y.age", "match"),
                ("p.2.name", "p.x.name", "match"),
                ("p.2.age", "p.x.age", "match"),
            ],
            id="keys-are-not-compared",
        ),
        pytest.param(
            {"p": {"1": ANN}},
            {"p": {"x": {"name": "Zoe", "age": 9}}},
            {"p": ENTRIES},
            [
                ("p.1.name", "p.1.name", "omission"),
                ("p.1.age", "p.1.age", "omission"),
                ("p.x.name", "p.x.name", "hallucination"),
                ("p.x.age", "p.x.age", "hallucination"),
            ],
            id="unmatched-entries-are-missing-and-extra",
        ),
        pytest.param(
            {"p": {"1": {"name": "Ann"}}},
            {"p": {"x": {"name": "Anne"}}},
            {"p": {"align": "entries", "match_fields": ["name"], "threshold": 0.7}},
            [("p.1.name", "p.x.name", "wrong_value")],
            id="match-fields-and-threshold",
        ),
        pytest.param(
            {"p": {"1": {"d": "2024-01-05"}}},
            {"p": {"x": {"d": "5 Jan 2024"}}},
            {"p": ENTRIES, "p[*].d": {"match": "date"}},
            [("p.1.d", "p.x.d", "match")],
            id="rules-for-fields-of-entries",
        ),
        pytest.param(
            {"p": {"1": {"q": {"a": {"v": 1, "w": 2}}}}},
            {"p": {"x": {"q": {"b": {"v": 1, "w": 3}}}}},
            {"p": {"align": "entries", "threshold": 0.1}, "p[*].q": ENTRIES},
            [
                ("p.1.q.a.v", "p.1.q.a.v", "omission"),
                ("p.1.q.a.w", "p.1.q.a.w", "omission"),
                ("p.x.q.b.v", "p.x.q.b.v", "hallucination"),
                ("p.x.q.b.w", "p.x.q.b.w", "hallucination"),
            ],
            id="nothing-in-common-is-not-aligned",
        ),
        pytest.param(
            {"p": {"1": {"n": 7, "q": {"a": {"v": 1, "w": 2}}}}},
            {"p": {"x": {"n": 7, "q": {"b": {"v": 1, "w": 3}}}}},
            {"p": ENTRIES, "p[*].q": ENTRIES},
            [
                ("p.1.n", "p.x.n", "match"),
                ("p.1.q.a.v", "p.x.q.b.v", "match"),
                ("p.1.q.a.w", "p.x.q.b.w", "wrong_value"),
            ],
            id="map-in-a-map",
        ),
        pytest.param(
            {"l": [{"n": 1, "m": {"a": {"v": 5}}}]},
            {"l": [{"n": 1, "m": {"b": {"v": 5}}}]},
            {"l[*].m": ENTRIES},
            [("l[0].n", "l[0].n", "match"), ("l[0].m.a.v", "l[0].m.b.v", "match")],
            id="map-in-a-list-item",
        ),
        pytest.param(
            {"p": {"a.b": 1, "": 2}},
            {"p": {"x y": 1, "": 2}},
            {"p": ENTRIES},
            [('p["a.b"]', "p.x y", "match"), ('p[""]', 'p[""]', "match")],
            id="scalars-and-keys-with-quotes",
        ),
        pytest.param(
            {"1": ANN},
            {"x": ANN},
            {"$": ENTRIES},
            [("1.name", "x.name", "match"), ("1.age", "x.age", "match")],
            id="whole-document",
        ),
        pytest.param(
            {"p": {"1": {"v": 1}}}, {"p": [{"v": 1}]}, {"p": ENTRIES},
            [("p.1.v", "p.1.v", "omission"), ("p[0].v", "p[0].v", "hallucination")],
            id="list-in-the-place-of-a-map",
        ),
        pytest.param(
            {"p": {"1": {"v": 1}}}, {"p": "none"}, {"p": ENTRIES},
            [("p.1.v", "p.1.v", "omission"), ("p", "p", "hallucination")],
            id="string-in-the-place-of-a-map",
        ),
        pytest.param({"p": {}}, {"p": {}}, {"p": ENTRIES}, [("p", "p", "match")], id="two-empty-maps"),
        pytest.param(
            {"p": {"1": {}}}, {"p": {}}, {"p": ENTRIES}, [("p.1", "p.1", "omission")],
            id="entry-without-values-counts-once",
        ),
    ],
)  # fmt: skip
def test_values_of_a_map_are_aligned_by_content(expected, candidate, rules, outcomes):
    assert outcomes_of(expected, candidate, rules) == outcomes


@pytest.mark.parametrize(
    ("expected", "candidate", "items"),
    [
        pytest.param({"p": {"1": ANN}}, {"p": 7}, [(0, "p[]", "1", None, None)], id="expected"),
        pytest.param({"q": 7}, {"p": {"1": ANN}}, [(1, "p[]", None, "1", None)], id="candidate"),
    ],
)
def test_entry_without_a_counterpart_has_a_key_on_its_own_side(expected, candidate, items):
    plan = compile_plan(read_rules({"p": ENTRIES}).rules)
    assert plan.compare(expected, candidate).items == items


@pytest.mark.parametrize(
    ("rules", "outcomes"),
    [
        pytest.param({"p": ENTRIES}, ["match", "wrong_value"], id="all-fields-of-a-configured-map"),
        pytest.param({"p": ENTRIES, "p[*].age": {"match": "exact"}}, ["wrong_value"], id="some-fields"),
    ],
)  # fmt: skip
def test_configured_scope_contains_the_entries(rules, outcomes):
    expected, candidate = {"p": {"1": ANN}, "o": 1}, {"p": {"x": {"name": "Ann", "age": 5}}}
    found = outcomes_of(expected, candidate, rules, scope="configured")
    assert [outcome for _, _, outcome in found] == outcomes


def test_another_type_in_the_place_of_a_configured_map_is_a_field():
    rules = {"p": ENTRIES, "p[*].age": {"match": "exact"}}
    found = outcomes_of({"p": {"1": ANN}}, {"p": "x"}, rules, scope="configured")
    assert found == [("p.1.age", "p.1.age", "omission"), ("p", "p", "hallucination")]


RULES = {"fields": {"p": {"align": "entries", "match_fields": ["name"]}}}


@pytest.fixture
def run(tmp_path):
    """Return a saved run whose entries are aligned, missing and extra."""
    cases = [
        (
            {"p": {"k1": ANN, "k2": BOB, "k.3": {"name": "Cleo", "age": 1}}},
            {"p": {"x": {"name": "Ann", "age": 4}, "k2": {"name": "Zed", "age": 0}, "y": BOB}},
        )
    ]
    fm.score(cases, rules=RULES, out=tmp_path / "run")
    return tmp_path / "run"


def test_stored_cases_have_the_keys_of_entries(run):
    (case,) = open_run(run).cases()
    assert [(each.path, each.candidate_path, each.outcome) for each in case.fields] == [
        ("p.k1.name", "p.x.name", "match"),
        ("p.k1.age", "p.x.age", "wrong_value"),
        ("p.k2.name", "p.y.name", "match"),
        ("p.k2.age", "p.y.age", "match"),
        ('p["k.3"].name', 'p["k.3"].name', "omission"),
        ('p["k.3"].age', 'p["k.3"].age', "omission"),
        ("p.k2.name", "p.k2.name", "hallucination"),
        ("p.k2.age", "p.k2.age", "hallucination"),
    ]
    assert (case.fields[1].expected, case.fields[1].candidate) == (3, 4)
    assert "p[k1→x].age" in case.misses


def test_rescored_and_compared_runs_keep_the_keys(run, tmp_path):
    fm.rescore(run, options={"wrong_value": "fp"}, out=tmp_path / "again")
    (case,) = open_run(tmp_path / "again").cases()
    assert case.fields[0].candidate_path == "p.x.name"
    documents = [
        (each.expected, {"p": {**each.candidate["p"], "x": ANN}}) for each in open_run(run).cases()
    ]
    fm.score(documents, rules=RULES, out=tmp_path / "better")
    changed = json.dumps(fm.diff(run, tmp_path / "better").to_dict())
    assert '"p.k1.age"' in changed
    assert '"p.k2.age"' not in changed


def test_case_view_shows_keys_and_nearest_counterparts(run):
    (case,) = open_run(run).cases()
    console = Console(width=140, record=True, color_system=None, file=StringIO())
    console.print(case_view(case))
    text = console.export_text()
    assert "k1 -> x" in text
    assert '["k.3"]' in text
    assert "missing item; nearest: predicted k2, all fields" in text
    assert 'extra item; nearest: expected ["k.3"], all fields' in text
    keys = [node.key for node in case_tree(case).nodes[0].members]
    assert [key[:2] for key in keys] == [
        ("k1", "x"), ("k2", "y"), ('["k.3"]', None), (None, "k2"),
    ]  # fmt: skip
    assert [key.nearest for key in keys] == [None, None, "k2", '["k.3"]']


def test_entries_are_rejected_as_a_default(tmp_path):
    with pytest.raises(ConfigError, match="align: entries is not supported in the defaults"):
        fm.compare({}, {}, rules={"defaults": {"align": "entries"}})
    with pytest.raises(ConfigError, match="align: entries is not supported for all fields"):
        fm.score([({}, {})], align="entries", out=tmp_path / "run")


@pytest.mark.parametrize(
    ("path", "warned"),
    [
        pytest.param("p[*].name", False, id="field-of-entries"),
        pytest.param("p[*]", False, id="entries-themselves"),
        pytest.param("p[*].nane", True, id="field-that-no-entry-has"),
    ],
)
def test_paths_of_entries_are_found_in_the_documents(tmp_path, path, warned):
    fields = {"p": ENTRIES, path: {"match": "exact"}}
    result = fm.score(
        [({"p": {"1": ANN}}, {"p": {"x": ANN}})], rules={"fields": fields}, out=tmp_path / "run"
    )
    assert any(path in warning for warning in result.summary.warnings) is warned

"""Changed cases of two runs, cases in which several runs differ, and one case in all of them."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.web import run_catalog as run_diffs
from unit.report.exported import rows_of
from unit.web.live_server import error_code, live

TRUTH = [{"id": f"c{n}", "kind": "ab"[n % 2], "x": n, "y": n} for n in range(12)]


def wrong(**cases):
    """Return predictions with a wrong value in the given cases of each key."""
    return [
        {**row, **{key: -1 for key, numbers in cases.items() if number in numbers}}
        for number, row in enumerate(TRUTH)
    ]


RUNS = {
    "first": wrong(x=[0, 1, 2], y=[3]),
    "second": wrong(x=[2, 3, 4], y=[1]),
    "third": wrong(x=[0, 1, 2, 5]),
    "few": wrong(x=[0])[:5],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("workspace")
    for name, rows in RUNS.items():
        truth = TRUTH[: len(rows)]
        fm.score(truth, rows, by=["kind"], out=workspace / "runs" / name)
    with live(workspace) as server:
        yield server


def test_tables_have_the_figures_of_the_comparison_in_the_order_in_which_they_are_shown(server):
    response = server.get("/api/diff", a="first", b="second")
    tables = server.get("/api/diff/tables", a="first", b="second")
    assert list(tables) == ["metrics", "evaluators", "attributes", "slices"]
    table = tables["attributes"]
    assert [column["key"] for column in table["columns"]][-3:] == ["improved", "worse", "word"]
    rows = {row["name"]["value"]: row for row in table["rows"]}
    assert set(rows) == set(response["attributes"])
    for name, change in response["attributes"].items():
        for key in ("before", "after", "delta", "p_adjusted", "improved", "worse", "word"):
            assert rows[name][key]["value"] == change[key], (name, key)
    ranked = [row["p_adjusted"]["value"] for row in table["rows"]]
    assert ranked == sorted(ranked)


def listed(server, **query):
    response = server.get("/api/diff/cases", a="first", b="second", **query)
    return [(case["case_id"], case["direction"]) for case in response["cases"]]


@pytest.mark.parametrize(
    ("query", "cases"),
    [
        pytest.param({}, [("c3", "mixed"), ("c4", "worse"), ("c0", "improved"), ("c1", "mixed")], id="all"),
        pytest.param({"direction": "worse"}, [("c4", "worse")], id="worse"),
        pytest.param({"direction": "mixed"}, [("c1", "mixed"), ("c3", "mixed")], id="neither"),
        pytest.param({"attribute": "x"}, [("c0", "improved"), ("c1", "improved"), ("c3", "worse"), ("c4", "worse")], id="attribute"),
        pytest.param({"attribute": "y"}, [("c1", "worse"), ("c3", "improved")], id="direction-of-the-attribute"),
        pytest.param({"attribute": "y", "direction": "worse"}, [("c1", "worse")], id="attribute-and-direction"),
        pytest.param({"attribute": "kind"}, [], id="attribute-without-changes"),
        pytest.param({"slice": "kind=a"}, [("c0", "improved"), ("c4", "worse")], id="slice"),
        pytest.param({"slice": "kind=z"}, [], id="unknown-slice"),
        pytest.param({"text": "C4"}, [("c4", "worse")], id="text"),
        pytest.param({"text": "-1", "attribute": "y"}, [("c1", "worse"), ("c3", "improved")], id="text-in-values"),
        pytest.param({"text": "kin", "direction": "worse"}, [("c4", "worse")], id="text-in-paths"),
        pytest.param({"text": "nowhere"}, [], id="text-not-found"),
        pytest.param({"text": "C4", "slice": "kind=b"}, [], id="all-filters-apply"),
    ],
)  # fmt: skip
def test_changed_cases_are_filtered(server, query, cases):
    assert sorted(listed(server, **query)) == sorted(cases)


def test_cases_that_got_worse_come_first_and_pages_continue_the_list(server):
    order = ["worse", "improved", "mixed", "mixed"]
    assert [way for _, way in listed(server)] == order
    assert listed(server, offset=1, limit=2) == listed(server)[1:3]
    assert [way for _, way in listed(server, attribute="x")][:2] == ["worse", "worse"]


def test_changed_cases_are_those_of_the_library(server):
    response = server.get("/api/diff", a="first", b="second")
    short = server.get("/api/diff", a="first", b="second", changes=False)
    library = fm.diff(*(server.options.runs / name for name in ("first", "second")))
    assert [case["case_id"] for case in response["mixed"]] == ["c1", "c3"]
    expected = json.loads(json.dumps(library.to_dict()))
    assert response["conclusion"].items() >= expected.pop("conclusion").items()
    for key in ("attributes", "metrics", "slices", "worse", "improved"):
        assert response[key] == expected[key], key
    changes = {name: response[name] for name in ("worse", "improved", "mixed")}
    assert {**short, **changes} == response
    assert "worse" not in short
    assert short["conclusion"]["verdict"] == "Too few cases to tell"
    assert short["conclusion"]["evidence"].startswith("macro F1 by attribute 0.889 → 0.889")


def test_changed_fields_have_their_values_unless_a_run_was_saved_without(server):
    [row] = server.get("/api/diff/cases", a="first", b="second", direction="worse")["cases"]
    assert row["fields"] == [
        {
            "path": "x",
            "before": "match",
            "after": "wrong_value",
            "values": {"expected": 4, "before": 4, "after": -1},
        }
    ]
    fm.score(TRUTH, RUNS["first"], values=False, out=server.options.runs / "bare")
    for row in server.get("/api/diff/cases", a="bare", b="second")["cases"]:
        assert all("values" not in field for field in row["fields"])


def test_the_headline_names_attributes_whose_changes_cancel_out(tmp_path):
    truth = [{"id": str(n), "p": f"{n + 1}.25", "q": f"{n % 11 + 1:02}/12/2024"} for n in range(60)]
    lost = [{**row, "p": row["p"].replace(".", "")} for row in truth]
    swapped = [{**row, "q": f"12/{row['q'][:2]}/2024"} for row in truth]
    for name, rows in (("before", swapped), ("after", lost)):
        fm.score(truth, rows, out=tmp_path / name)
    difference = fm.diff(tmp_path / "before", tmp_path / "after")
    view = difference.conclusion_to_json()
    assert view["verdict"] + "".join(part["text"] for part in view["changed"]) == (
        "Not proven overall, but p is worse (1.000 → 0.000) and q is better (0.000 → 1.000)"
    )
    named = [
        (part["attribute"], part["direction"]) for part in view["changed"] if part["attribute"]
    ]
    assert named == [("p", "worse"), ("q", "improved")]
    assert view["repeated"] == [
        "New: p: all 60 values × 100",
        "Fixed: q: day and month swapped in all 60 values",
    ]
    same = fm.diff(tmp_path / "after", tmp_path / "after")
    assert (same.new_errors, same.fixed_errors) == ((), ())


def test_a_headline_names_three_attributes_of_each_direction(tmp_path):
    truth = [{"id": str(n), **dict.fromkeys("pqrst", n)} for n in range(60)]
    wrong_rows = [{**row, **dict.fromkeys("pqrst", -1)} for row in truth]
    for name, rows in (("good", truth), ("bad", wrong_rows)):
        fm.score(truth, rows, out=tmp_path / name)
    text = repr(fm.diff(tmp_path / "good", tmp_path / "bad"))
    first = "(1.000 → 0.000)"
    assert text.startswith(f"Worse overall: p {first}, q {first}, r {first} and 2 more are worse; ")


def test_a_comparison_is_computed_once_until_a_run_changes(server, monkeypatch):
    computed = []
    real = run_diffs.diff

    def counted(*args, **options):
        computed.append(args)
        return real(*args, **options)

    monkeypatch.setattr(run_diffs, "diff", counted)
    for _ in range(2):
        server.get("/api/diff", a="third", b="first")
        server.get("/api/diff/cases", a="third", b="first")
    assert len(computed) == 1
    manifest = server.options.runs / "third" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    server.get("/api/diff", a="third", b="first")
    assert len(computed) == 2
    for other in ("second", "third", "first"):
        server.get("/api/diff/cases", a=other, b=other)
    server.get("/api/diff", a="third", b="first")
    assert len(computed) == 6


def test_cases_in_which_several_runs_differ(server):
    runs = {"a": "first", "b": ["second", "third"]}
    response = server.get("/api/diff/cases", **runs)
    ids = [case["case_id"] for case in response["cases"]]
    assert sorted(ids) == ["c0", "c1", "c3", "c4", "c5"]
    by_id = {case["case_id"]: case for case in response["cases"]}
    assert by_id["c5"] == {
        "case_id": "c5",
        "scores": [1.0, 1.0, pytest.approx(2 / 3)],
        "mistakes": [0, 0, 1],
    }
    of_y = server.get("/api/diff/cases", **runs, attribute="y")["cases"]
    assert {item["case_id"] for item in of_y} == {"c1", "c3"}
    assert server.get("/api/diff/cases", **runs, text="c5")["total"] == 1
    shared = server.get("/api/diff/cases", a="first", b=["second", "few"])["cases"]
    assert {item["case_id"] for item in shared} <= {"c0", "c1", "c2", "c3", "c4"}


@pytest.mark.parametrize(
    "option", [{"direction": "worse"}, {"slice": "kind=a"}, {"force": True}, {"rescore": True}]
)
def test_options_of_two_runs_are_refused_for_more(server, option):
    response = server.client.get(
        "/api/diff/cases", params={"a": "first", "b": ["second", "third"], **option}
    )
    assert response.status_code == 422
    assert "require exactly one run b" in response.json()["error"]["message"]


def test_one_case_in_all_runs(server):
    response = server.get("/api/diff/case", a="first", b=["second", "few"], case="c5")
    first, second, few = response["runs"]
    assert (first["run"], first["number"], first["score"]) == ("first", 6, 1.0)
    assert rows_of(second["documents"]["tree"])[1]["key"] == "x"
    assert few == {"run": "few", "title": "few", "number": None}
    two = server.get("/api/diff/case", a="first", b="second", case="c4", attribute="x")
    assert (two["position"], two["total"], two["previous"], two["next"]) == (1, 4, None, "c3")
    after = server.get("/api/diff/case", a="first", b="second", case="c3", attribute="x")
    assert (after["position"], after["previous"]) == (2, "c4")
    outside = server.get("/api/diff/case", a="first", b="second", case="c11")
    assert (outside["position"], outside["previous"], outside["next"]) == (None, None, None)


@pytest.mark.parametrize(
    ("path", "code", "status"),
    [
        pytest.param("/api/diff/case?a=first&b=second&case=none", "not_found", 404, id="unknown-case"),
        pytest.param("/api/diff/case?a=first&b=none&case=c1", "not_found", 404, id="unknown-run"),
        pytest.param("/api/diff/case?a=first&b=second", "invalid_request", 422, id="no-case"),
        pytest.param("/api/diff/cases?a=first", "invalid_request", 422, id="no-second-run"),
        pytest.param("/api/diff/cases?a=first&b=..%2Fsecond", "not_found", 404, id="path"),
        pytest.param("/api/diff/cases?a=first&b=second&direction=up", "invalid_request", 422, id="direction"),
        pytest.param("/api/diff/cases?a=first&b=second&odd=1", "invalid_request", 422, id="unknown-option"),
        pytest.param("/api/diff/cases?a=first&b=few", "invalid_rules", 422, id="other-cases"),
    ],
)  # fmt: skip
def test_invalid_requests_say_what_is_wrong(server, path, code, status):
    response = server.client.get(path)
    assert (response.status_code, error_code(response)) == (status, code)


def test_scores_of_a_run_are_counted_by_bin(server):
    response = server.get("/api/runs/first/scores")
    assert [bin_ for bin_ in response["bins"] if bin_["cases"]] == [
        {"low": 0.65, "high": 0.7, "cases": 4},
        {"low": 0.95, "high": 1.0, "cases": 8},
    ]
    assert response["unscored"] == 0
    assert server.get("/api/runs/none/scores", 404)

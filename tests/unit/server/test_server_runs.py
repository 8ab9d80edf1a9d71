"""Batches become jobs, jobs become runs, and runs can be looked at from every side."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from published.command_line import fieldmark
from unit.server.live_server import FOUND, TRUTH, code, lines, live, reading, writing  # noqa: F401


@pytest.fixture(scope="module")
def run(reading):  # noqa: F811
    return reading.run(title="eight invoices", tags=["small"])


def get(server, path, **query):
    answer = server.ask.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_library_command_line_and_api_give_the_same_numbers(reading, run, tmp_path):  # noqa: F811
    lines(tmp_path / "truth.jsonl", TRUTH)
    lines(tmp_path / "candidate.jsonl", FOUND)
    library = json.loads(json.dumps(fm.score(TRUTH, FOUND, out=tmp_path / "kept").to_dict()))
    command = fieldmark(
        "score", "truth.jsonl", "candidate.jsonl", "--no-save", "--format", "json", cwd=tmp_path
    )
    api = get(reading, f"/api/runs/{run}")["summary"]
    assert json.loads(command.out) == library == api


@pytest.mark.parametrize(
    ("truth", "candidate"),
    [
        pytest.param({"rows": TRUTH}, {"rows": FOUND}, id="rows"),
        pytest.param({"path": "data/truth.jsonl"}, {"path": "data/candidate.jsonl"}, id="paths-below-a-root"),
        pytest.param({"text": "".join(json.dumps(row) + "\n" for row in TRUTH), "name": "truth.jsonl"}, {"rows": FOUND}, id="the-text-of-a-file"),
        pytest.param({"rows": [{"id": t["id"], "expected": t, "candidate": f} for t, f in zip(TRUTH, FOUND, strict=True)]}, None, id="rows-that-hold-both-sides"),
    ],
)  # fmt: skip
def test_both_sides_may_come_from_anywhere(reading, truth, candidate):  # noqa: F811
    body = {"truth": truth} if candidate is None else {"truth": truth, "candidate": candidate}
    job = reading.finished(reading.ask.post("/api/batch", json=body).json()["id"])
    assert job["state"] == "done"
    assert job["result"]["summary"]["cases"]["total"] == 8
    assert job["result"]["summary"]["cases"]["perfect"] == 4


def test_a_folder_below_a_root_is_read_file_by_file(tmp_path):
    root = tmp_path / "root"
    for side, rows in (("truth", TRUTH), ("found", FOUND)):
        (root / side).mkdir(parents=True)
        for row in rows:
            document = {key: value for key, value in row.items() if key != "id"}
            (root / side / f"{row['id']}.json").write_text(json.dumps(document), "utf-8")
    with live(tmp_path, roots={"root": root}) as server:
        body = {"truth": {"path": "root/truth"}, "candidate": {"path": "root/found"}}
        job = server.finished(server.ask.post("/api/batch", json=body).json()["id"])
        assert job["result"]["summary"]["cases"]["perfect"] == 4


def test_gates_are_checked_and_told(reading):  # noqa: F811
    body = {
        "truth": {"rows": TRUTH},
        "candidate": {"rows": FOUND},
        "gates": {"min": {"micro_f1": 0.99}},
    }
    job = reading.finished(reading.ask.post("/api/batch", json=body).json()["id"])
    assert job["result"]["passed"] is False
    assert job["result"]["summary"]["gates"][0]["name"] == "micro_f1"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"truth": {"rows": [{"a": 1}], "path": "data/x"}}, "invalid_request", id="two-sources-for-a-side"),
        pytest.param({"truth": {}}, "invalid_request", id="no-source"),
        pytest.param({"truth": {"rows": []}, "surprise": 1}, "invalid_request", id="an-unknown-key"),
        pytest.param({"truth": {"rows": []}, "rules": [{"path": "a", "match": "fuzy"}]}, "invalid_rules", id="rules-are-checked-at-once"),
        pytest.param({"truth": {"path": "data/none.jsonl"}}, "outside_roots", id="a-file-that-is-not-there"),
        pytest.param({"truth": {"path": "elsewhere/truth.jsonl"}}, "outside_roots", id="an-unknown-root"),
    ],
)  # fmt: skip
def test_a_batch_that_cannot_be_is_refused_at_once(reading, body, expected):  # noqa: F811
    assert code(reading.ask.post("/api/batch", json=body)) == expected


def test_data_that_cannot_be_read_fails_the_job_without_naming_our_folders(reading):  # noqa: F811
    body = {"truth": {"text": "", "name": "truth.jsonl"}, "candidate": {"rows": FOUND}}
    job = reading.finished(reading.ask.post("/api/batch", json=body).json()["id"])
    assert job["state"] == "failed"
    assert job["error"]["code"] == "invalid_data"
    assert job["error"]["message"].startswith("truth.jsonl: the file is empty")


def test_a_reading_server_forgets_and_a_writing_one_keeps(reading, run, writing, tmp_path):  # noqa: F811
    assert get(reading, f"/api/runs/{run}")["kept"] is False
    assert not (reading.options.workspace / "runs").exists()
    kept = writing.run()
    assert get(writing, f"/api/runs/{kept}")["kept"] is True
    assert (tmp_path / "runs" / kept / "summary.json").is_file()
    assert fm.diff(tmp_path / "runs" / kept, tmp_path / "runs" / kept).word == "no difference"


def test_runs_are_listed_searched_and_filtered(reading, run):  # noqa: F811
    newest = get(reading, "/api/runs", text="EIGHT inv")["runs"][0]
    assert (newest["id"], newest["note"], newest["tags"]) == (run, "eight invoices", ["small"])
    assert get(reading, "/api/runs", tag="small", limit=1)["total"] >= 1
    assert get(reading, "/api/runs", text="nowhere") == {"total": 0, "offset": 0, "runs": []}
    assert get(reading, "/api/runs", status="failed")["runs"] == []
    assert get(reading, "/api/runs", convention="four_phase")["runs"] == []


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        pytest.param({"sort": "number", "limit": 2}, ["case-1", "case-2"], id="in-the-order-of-the-data"),
        pytest.param({"sort": "number", "offset": 6}, ["case-7", "case-8"], id="the-last-page"),
        pytest.param({"limit": 2}, ["case-2", "case-4"], id="the-worst-first"),
        pytest.param({"verdict": "pass", "limit": 1}, ["case-1"], id="by-verdict"),
        pytest.param({"verdict": "error"}, [], id="those-with-errors"),
        pytest.param({"error": "wrong_value"}, ["case-2", "case-4", "case-6", "case-8"], id="by-mistake"),
        pytest.param({"error": "omission"}, [], id="by-a-mistake-that-nobody-made"),
        pytest.param({"attribute": "total", "limit": 1}, ["case-2"], id="by-attribute"),
        pytest.param({"attribute": "vendor.name"}, [], id="by-an-attribute-that-is-right"),
        pytest.param({"text": "CASE-3"}, ["case-3"], id="by-part-of-the-id"),
        pytest.param({"sort": "id", "descending": True, "limit": 1}, ["case-8"], id="backwards"),
    ],
)  # fmt: skip
def test_cases_are_chosen_and_sorted(reading, run, query, ids):  # noqa: F811
    found = get(reading, f"/api/runs/{run}/cases", **query)
    assert [each["id"] for each in found["cases"]] == ids


def test_a_case_opens_with_its_neighbours(reading, run):  # noqa: F811
    found = get(reading, f"/api/runs/{run}/cases/4", error="wrong_value")
    assert (found["id"], found["place"], found["of"]) == ("case-4", 2, 4)
    assert (found["previous"], found["next"]) == (2, 6)
    tree = {node[0]: node for node in found["documents"]["tree"]}
    assert tree["total"][1:4] == [1, 4, 5]


def test_every_case_of_several_segments_opens_as_it_was_stored(reading):  # noqa: F811
    truth = [{"id": str(n), "n": n, f"own_{n // 400}": n} for n in range(1300)]
    run = reading.run(truth, truth)
    for number in (1, 2, 512, 513, 514, 1024, 1025, 1300):
        found = get(reading, f"/api/runs/{run}/cases/{number}")
        keys = [node[0] for node in found["documents"]["tree"]]
        assert (found["id"], keys) == (str(number - 1), ["n", f"own_{(number - 1) // 400}"])


def test_outcomes_come_in_pages_of_whole_cases(reading, run):  # noqa: F811
    rows, start = [], 1
    while start:
        page = get(reading, f"/api/runs/{run}/outcomes", from_case=start, limit=3)
        assert len(page["outcomes"]) <= 4
        rows += page["outcomes"]
        start = page["next"]
    assert [(row["case"], row["path"]) for row in rows] == [
        (number, path) for number in range(1, 9) for path in ("total", "vendor.name")
    ]


def test_outcomes_can_be_narrowed(reading, run):  # noqa: F811
    found = get(reading, f"/api/runs/{run}/outcomes", outcome="wrong_value", attribute="total")
    assert [(row["case_id"], row["expected"], row["candidate"]) for row in found["outcomes"]] == [
        (f"case-{n}", n, n + 1) for n in (2, 4, 6, 8)
    ]


def test_attributes_say_how_each_was_compared(reading, run):  # noqa: F811
    first, second = get(reading, f"/api/runs/{run}/attributes")["attributes"]
    assert (first["attribute"], first["f1"], first["comparator"]) == ("total", 0.5, "exact")
    assert (second["attribute"], second["f1"]) == ("vendor.name", 1.0)


def test_two_runs_are_compared_as_the_library_compares_them(writing, tmp_path):  # noqa: F811
    first, second = writing.run(), writing.run(candidate=TRUTH)
    found = get(writing, "/api/diff", a=first, b=second)
    library = fm.diff(tmp_path / "runs" / first, tmp_path / "runs" / second).to_dict()
    assert found["conclusion"] == library["conclusion"]
    assert found["attributes"] == json.loads(json.dumps(library["attributes"]))
    assert str(tmp_path) not in json.dumps(found)
    assert [each["case_id"] for each in found["fixed"]] == ["case-2", "case-4", "case-6", "case-8"]
    trend = get(writing, "/api/trend")
    assert [step["run"] for step in trend["steps"]] == [first, second]


def test_notes_change_and_runs_go(writing):  # noqa: F811
    run = writing.run()
    said = writing.ask.put(f"/api/runs/{run}/notes", json={"add": ["best"], "note": "keep"})
    assert said.json() == {"tags": ["best"], "note": "keep"}
    assert get(writing, "/api/runs", tag="best")["total"] == 1
    assert writing.ask.delete(f"/api/runs/{run}").json() == {"removed": run}
    assert writing.ask.get(f"/api/runs/{run}").status_code == 404
    assert get(writing, "/api/runs")["total"] == 0


def test_a_reading_server_changes_no_run_that_is_kept(tmp_path):
    fm.score(TRUTH, FOUND, out=tmp_path / "runs" / "mine")
    with live(tmp_path) as server:
        assert code(server.ask.delete("/api/runs/mine")) == "read_only"
        assert code(server.ask.put("/api/runs/mine/notes", json={"note": "x"})) == "read_only"
        assert get(server, "/api/runs/mine")["status"] == "complete"


def test_recommendations_and_the_report_of_a_run(reading, run):  # noqa: F811
    assert get(reading, f"/api/runs/{run}/improve")["attributes"][0]["attribute"] == "total"
    report = reading.ask.get(f"/api/runs/{run}/report.html")
    assert report.headers["content-disposition"] == f'attachment; filename="{run}.html"'
    assert report.text.startswith("<!doctype html>")


@pytest.mark.parametrize(
    "name",
    [
        "%2e", "%2e%2e", "..%2f..", "a%2fb", "a\\b", ".hidden", "a b", "a%00b", "x" * 200, "manifest.json",
        "%2e%2e%2fruns", "…", "lock", ".index.json", "C:", "~", "$HOME",
    ],
)  # fmt: skip
def test_only_ids_name_runs(reading, name):  # noqa: F811
    for tail in ("", "/cases", "/attributes", "/report.html"):
        assert reading.ask.get(f"/api/runs/{name}{tail}").status_code in {404, 405}


def test_a_run_that_is_a_link_is_no_run(tmp_path):
    fm.score(TRUTH, FOUND, out=tmp_path / "elsewhere")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere")
    with live(tmp_path) as server:
        assert server.ask.get("/api/runs/linked").status_code == 404


def test_a_corrupt_run_is_listed_and_hinders_no_other(tmp_path):
    for name in ("good", "broken"):
        fm.score(TRUTH, FOUND, out=tmp_path / "runs" / name)
    (tmp_path / "runs" / "broken" / "manifest.json").write_text("{", "utf-8")
    with live(tmp_path) as server:
        listed = {run["id"]: run["status"] for run in get(server, "/api/runs")["runs"]}
        assert listed == {"good": "complete", "broken": "corrupt"}
        assert code(server.ask.get("/api/runs/broken")) == "invalid_data"
        assert str(tmp_path) not in server.ask.get("/api/runs/broken").text


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs?limit=0", "/api/runs?limit=501", "/api/runs?offset=-1", "/api/runs?surprise=1", "/api/runs?status=odd", "/api/health?x=1",
        "/api/jobs?x", "/api/runs/{run}/cases?sort=odd", "/api/runs/{run}/cases?limit=x", "/api/runs/{run}/cases/0", "/api/runs/{run}/cases/x",
        "/api/runs/{run}/outcomes?outcome=odd", "/api/diff?a={run}", "/api/trend?figure=odd", "/api/files?path=data&x=1", "/api/strategies/export?form=odd",
    ],
)  # fmt: skip
def test_a_question_that_makes_no_sense_is_refused(reading, run, path):  # noqa: F811
    answer = reading.ask.get(path.format(run=run))
    assert (answer.status_code, code(answer)) == (422, "invalid_request")

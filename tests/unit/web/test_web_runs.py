"""Batches run as jobs and create runs, which can be listed, opened and compared."""

from __future__ import annotations

import json
import sys
from itertools import pairwise

import pytest

import fieldmark as fm
from fieldmark.analyses.report import KINDS, file_name
from fieldmark.web.responses import MEDIA_TYPES
from published.command_line import fieldmark
from row_files import lines
from unit.report.exported import rows_of
from unit.web.live_server import PREDICTIONS, TRUTH, error_code, live, write_jsonl


@pytest.fixture(scope="module")
def run(read_only_server):
    return read_only_server.run(title="eight invoices", tags=["small"])


def test_library_command_line_and_api_give_the_same_results(read_only_server, run, tmp_path):
    write_jsonl(tmp_path / "truth.jsonl", TRUTH)
    write_jsonl(tmp_path / "candidate.jsonl", PREDICTIONS)
    library = json.loads(json.dumps(fm.score(TRUTH, PREDICTIONS, out=tmp_path / "run").to_dict()))
    command = fieldmark(
        "score", "truth.jsonl", "candidate.jsonl", "--no-save", "--format", "json", cwd=tmp_path
    )
    api = read_only_server.get(f"/api/runs/{run}")["summary"]
    assert json.loads(command.out) == library == api


@pytest.mark.parametrize(
    ("truth", "candidate"),
    [
        pytest.param({"rows": TRUTH}, {"rows": PREDICTIONS}, id="rows"),
        pytest.param({"path": "data/truth.jsonl"}, {"path": "data/candidate.jsonl"}, id="paths"),
        pytest.param({"text": lines(TRUTH), "name": "truth.jsonl"}, {"rows": PREDICTIONS}, id="text"),
        pytest.param({"rows": [{"id": t["id"], "expected": t, "candidate": f} for t, f in zip(TRUTH, PREDICTIONS, strict=True)]}, None, id="rows-with-both-sides"),
    ],
)  # fmt: skip
def test_batch_accepts_rows_text_and_paths(read_only_server, truth, candidate):
    job = read_only_server.batch(truth, candidate)
    assert job["state"] == "done"
    assert job["result"]["summary"]["cases"]["total"] == 8
    assert job["result"]["summary"]["cases"]["perfect"] == 4


def test_directory_below_a_root_is_read_file_by_file(tmp_path):
    root = tmp_path / "root"
    for side, rows in (("truth", TRUTH), ("predictions", PREDICTIONS)):
        (root / side).mkdir(parents=True)
        for row in rows:
            document = {key: value for key, value in row.items() if key != "id"}
            (root / side / f"{row['id']}.json").write_text(json.dumps(document), "utf-8")
    with live(tmp_path, roots={"root": root}) as server:
        job = server.batch({"path": "root/truth"}, {"path": "root/predictions"})
        assert job["result"]["summary"]["cases"]["perfect"] == 4


def test_gates_are_checked(read_only_server):
    gates = {"min": {"micro_f1": 0.99}}
    job = read_only_server.batch({"rows": TRUTH}, {"rows": PREDICTIONS}, gates=gates)
    assert job["result"]["passed"] is False
    assert job["result"]["summary"]["gates"][0]["name"] == "micro_f1"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"truth": {"rows": [{"a": 1}], "path": "data/x"}}, "invalid_request", id="two-sources"),
        pytest.param({"truth": {}}, "invalid_request", id="no-source"),
        pytest.param({"truth": {"rows": []}, "surprise": 1}, "invalid_request", id="unknown-key"),
        pytest.param({"truth": {"rows": []}, "rules": [{"path": "a", "match": "fuzy"}]}, "invalid_rules", id="invalid-rules"),
        pytest.param({"truth": {"path": "data/none.jsonl"}}, "outside_roots", id="missing-file"),
        pytest.param({"truth": {"path": "elsewhere/truth.jsonl"}}, "outside_roots", id="unknown-root"),
    ],
)  # fmt: skip
def test_invalid_batch_is_rejected_immediately(read_only_server, body, expected):
    assert error_code(read_only_server.client.post("/api/batch", json=body)) == expected


def test_unreadable_data_fails_the_job_without_local_paths(read_only_server):
    empty = {"text": "", "name": "truth.jsonl"}
    job = read_only_server.batch(empty, {"rows": PREDICTIONS})
    assert job["state"] == "failed"
    assert job["error"]["code"] == "invalid_data"
    assert job["error"]["message"].startswith("truth.jsonl: the file is empty")


def test_only_a_writable_server_saves_runs(read_only_server, run, writable_server, tmp_path):
    assert read_only_server.get(f"/api/runs/{run}")["saved"] is False
    assert not (read_only_server.options.workspace / "runs").exists()
    saved = writable_server.run()
    assert writable_server.get(f"/api/runs/{saved}")["saved"] is True
    assert (tmp_path / "runs" / saved / "summary.json").is_file()
    assert (
        fm.diff(tmp_path / "runs" / saved, tmp_path / "runs" / saved).word
        == "too few cases to tell"
    )


def test_runs_are_listed_searched_and_filtered(read_only_server, run):
    newest = read_only_server.get("/api/runs", text="EIGHT inv")["runs"][0]
    assert (newest["saved"], newest["valid_id"]) == (False, True)
    assert "mean_score" in newest["metrics"]
    assert (newest["id"], newest["name"], newest["tags"]) == (run, "eight invoices", ["small"])
    assert read_only_server.get("/api/runs", tag="small", limit=1)["total"] >= 1
    nothing = read_only_server.get("/api/runs", text="nowhere")
    assert {**nothing, "groups": []} == {"groups": [], "total": 0, "offset": 0, "runs": []}
    assert read_only_server.get("/api/runs", status="failed")["runs"] == []
    assert read_only_server.get("/api/runs", convention="four_phase")["runs"] == []


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        pytest.param({"sort": "number", "limit": 2}, ["case-1", "case-2"], id="input-order"),
        pytest.param({"sort": "number", "offset": 6}, ["case-7", "case-8"], id="last-page"),
        pytest.param({"limit": 2}, ["case-2", "case-4"], id="worst-first"),
        pytest.param({"attribute": "total", "limit": 1}, ["case-2"], id="by-attribute"),
        pytest.param({"sort": "id", "descending": True, "limit": 1}, ["case-8"], id="descending"),
    ],
)  # fmt: skip
def test_cases_are_filtered_and_sorted(read_only_server, run, query, ids):
    response = read_only_server.get(f"/api/runs/{run}/cases", **query)
    assert [case["id"] for case in response["cases"]] == ids


def test_case_has_links_to_the_previous_and_next_case(read_only_server, run):
    response = read_only_server.get(f"/api/runs/{run}/cases/4", error="wrong_value")
    assert (response["id"], response["position"], response["total"]) == ("case-4", 2, 4)
    assert (response["previous"], response["next"]) == (2, 6)
    tree = {node["key"]: node for node in rows_of(response["documents"]["tree"])}
    assert [tree["total"][name] for name in ("mark", "expected", "candidate")] == [1, 4, 5]


def test_cases_of_all_segments_can_be_opened(read_only_server):
    truth = [{"id": str(n), "n": n, f"own_{n // 400}": n} for n in range(1300)]
    run = read_only_server.run(truth, truth)
    for number in (1, 2, 512, 513, 514, 1024, 1025, 1300):
        response = read_only_server.get(f"/api/runs/{run}/cases/{number}")
        keys = [node["key"] for node in rows_of(response["documents"]["tree"])]
        assert (response["id"], keys) == (str(number - 1), ["n", f"own_{(number - 1) // 400}"])


def test_pages_of_outcomes_contain_whole_cases(read_only_server, run):
    rows, start = [], 1
    while start:
        page = read_only_server.get(f"/api/runs/{run}/outcomes", from_case=start, limit=3)
        assert len(page["outcomes"]) <= 4
        rows += page["outcomes"]
        start = page["next"]
    assert [(row["case"], row["path"]) for row in rows] == [
        (number, path) for number in range(1, 9) for path in ("total", "vendor.name")
    ]


def test_outcomes_are_filtered(read_only_server, run):
    filters = {"outcome": "wrong_value", "attribute": "total"}
    rows = read_only_server.get(f"/api/runs/{run}/outcomes", **filters)["outcomes"]
    shown = [(row["case_id"], row["expected"], row["candidate"]) for row in rows]
    assert shown == [(f"case-{n}", n, n + 1) for n in (2, 4, 6, 8)]


def test_attributes_have_metrics_and_comparators(read_only_server, run):
    first, second = read_only_server.get(f"/api/runs/{run}/attributes")["attributes"]
    assert (first["attribute"], first["f1"], first["comparator"]) == ("total", 0.5, "exact")
    assert (second["attribute"], second["f1"]) == ("vendor.name", 1.0)


def test_runs_are_compared_in_the_order_of_the_request_or_of_time(writable_server, tmp_path):
    first, second = writable_server.run(), writable_server.run(candidate=TRUTH)
    for a, b in ((first, second), (second, first)):
        ordered = writable_server.get("/api/diff", a=a, b=b, order="time")
        assert (ordered["before"]["name"], ordered["after"]["name"]) == (first, second)
    assert str(tmp_path) not in json.dumps(ordered)
    result = writable_server.get("/api/diff", a=second, b=first)
    assert (result["before"]["name"], result["after"]["name"]) == (second, first)
    old, new = (f"8 rows · 8 rows ({run.split('-')[0]})" for run in (first, second))
    assert result["notes"] == [f"{new} is newer than {old}"]
    assert (result["before"]["title"], result["after"]["title"]) == (new, old)


def test_ranking_and_trend_follow_any_metric(writable_server, tmp_path):
    first, second = writable_server.run(), writable_server.run(candidate=TRUTH)
    ranked = writable_server.get("/api/rank", run=[first, second], metric="micro_f1")
    assert [(run["rank"], run["id"]) for run in ranked["runs"]] == [(1, second), (2, first)]
    assert (ranked["title"], str(tmp_path) in json.dumps(ranked)) == ("micro F1", False)
    runs = {run["name"]: tmp_path / "runs" / run["id"] for run in reversed(ranked["runs"])}
    assert ranked["pairs"] == fm.rank(runs, metric="micro_f1").to_dict()["pairs"]
    trend = writable_server.get("/api/trend", metric="micro_f1")
    assert [step["run"] for step in trend["steps"]] == [first, second]
    assert (trend["metric"], trend["best"], trend["excluded"]) == ("micro_f1", second, 0)
    assert (trend["conclusion"], trend["runs_without_gain"]) == ("target_reached", 0)
    fm.score(TRUTH, TRUTH, convention="taxonomy", out=tmp_path / "runs" / "stray")
    writable_server.client.put(f"/api/runs/{first}/notes", json={"note": "clears the cached list"})
    for metric, value in (("attributes.total.f1", 0.5), ("micro.precision", 0.75)):
        trend = writable_server.get("/api/trend", metric=metric, run=first)
        assert [step["run"] for step in trend["steps"]] == [first, second]
        assert trend["steps"][0]["value"] == pytest.approx(value)
        assert (trend["convention"], trend["excluded"]) == ("confusion", 1)
    unknown = writable_server.get("/api/trend", 422, metric="rqz")
    assert "did you mean 'rqs'?" in unknown["error"]["message"]
    writable_server.get("/api/trend", 404, run="none")


def test_notes_are_changed_and_runs_are_deleted(writable_server):
    run = writable_server.run()
    changes = {"add": ["best"], "note": "keep"}
    notes = writable_server.client.put(f"/api/runs/{run}/notes", json=changes).json()
    assert notes == {**notes, "tags": ["best"], "note": "keep", "name": "8 rows · 8 rows"}
    assert writable_server.get("/api/runs", tag="best")["total"] == 1
    assert writable_server.client.delete(f"/api/runs/{run}").json() == {"removed": run}
    writable_server.get(f"/api/runs/{run}", 404)
    assert writable_server.get("/api/runs")["total"] == 0


def test_read_only_server_does_not_change_saved_runs(tmp_path):
    fm.score(TRUTH, PREDICTIONS, out=tmp_path / "runs" / "saved")
    with live(tmp_path) as server:
        assert error_code(server.client.delete("/api/runs/saved")) == "read_only"
        refused = server.client.put("/api/runs/saved/notes", json={"note": "x"})
        assert error_code(refused) == "read_only"
        assert server.get("/api/runs/saved")["status"] == "complete"


def test_recommendations_and_the_report_of_a_run(read_only_server, run):
    advice = read_only_server.get(f"/api/runs/{run}/improve")
    assert advice["attributes"][0]["attribute"] == "total"
    for kind in ("improve", "slices"):
        body = {"kind": kind, "runs": [run]}
        job = read_only_server.client.post("/api/analyses", json=body)
        assert (job.status_code, job.json()["kind"]) == (202, "analysis")
        done = read_only_server.wait_for_job(job.json()["id"])
        assert (done["bytes_read"], done["bytes_total"]) == (0, len(TRUTH))
        assert done["result"] == read_only_server.get(f"/api/runs/{run}/{kind}")
    listed = [item["kind"] for item in read_only_server.get("/api/jobs")["jobs"]]
    assert set(listed) == {"batch"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_export_is_downloaded(read_only_server, run, kind):
    response = read_only_server.client.get(f"/api/runs/{run}/exports/{kind}")
    name = f"{run}.html" if kind == "html" else f"{run}.{file_name(kind)}"
    assert response.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert response.headers["content-type"].split(";")[0] == MEDIA_TYPES[kind]
    assert response.status_code == 200
    start = {"html": b"<!doctype html>", "xlsx": b"PK", "parquet": b"PAR1", "junit": b"<?xml"}
    assert response.content.startswith(start.get(kind, b""))
    hidden = read_only_server.client.get(f"/api/runs/{run}/exports/{kind}?values=false")
    assert b"Vendor 1" not in hidden.content


def test_export_of_an_unknown_kind_or_without_its_extra_says_so(read_only_server, run, monkeypatch):
    unknown = read_only_server.client.get(f"/api/runs/{run}/exports/docx")
    assert (unknown.status_code, error_code(unknown)) == (404, "not_found")
    assert "must be one of: html, markdown" in unknown.json()["error"]["message"]
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    missing = read_only_server.client.get(f"/api/runs/{run}/exports/xlsx")
    assert (missing.status_code, error_code(missing)) == (422, "missing_extra")
    assert 'pip install "fieldmark[tables]"' in missing.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"kind": "improve", "runs": ["a", "b"]}, 422),
        ({"kind": "rank", "runs": ["a"]}, 422),
        ({"kind": "improve", "runs": ["a"]}, 404),
        ({"kind": "guess", "runs": ["a"]}, 422),
    ],
)
def test_analysis_of_other_runs_is_rejected(read_only_server, body, status):
    assert read_only_server.client.post("/api/analyses", json=body).status_code == status


def test_groups_trends_and_the_list_omit_archived_runs(tmp_path):
    for name, candidate in (("a", PREDICTIONS), ("b", TRUTH), ("c", PREDICTIONS)):
        fm.score(TRUTH, candidate, out=tmp_path / "runs" / name, min={"micro_f1": 0.9})
    fm.score(TRUTH, TRUTH, out=tmp_path / "runs" / "other", convention="four_phase")
    with live(tmp_path, write=True) as server:
        response = server.get("/api/runs")
        assert [(run["id"], run["verdict"]) for run in response["runs"]] == [
            ("other", "none"), ("c", "fail"), ("b", "pass"), ("a", "fail"),
        ]  # fmt: skip
        assert [(item["newest"], item["runs"]) for item in response["groups"]] == [
            ("other", 1), ("c", 3),
        ]  # fmt: skip
        assert response["groups"][1]["newest_title"] == "c"
        group = response["groups"][1]["id"]
        archived = server.client.put(
            "/api/runs/c/notes", json={"archived": True, "name": " best so far "}
        )
        assert archived.json() == {
            "tags": [], "note": "", "name": "best so far", "archived": True,
        }  # fmt: skip
        own = server.get("/api/runs", group=group)
        assert [run["id"] for run in own["runs"]] == ["b", "a"]
        assert [item["newest"] for item in own["groups"]] == ["other", "b"]
        assert [run["id"] for run in server.get("/api/runs", verdict="fail")["runs"]] == ["a"]
        (hidden,) = server.get("/api/runs", archived=True)["runs"]
        assert (hidden["id"], hidden["title"], hidden["group"]) == ("c", "best so far", group)
        trend = server.get("/api/trend", run="b", metric="micro_f1")
        assert [step["run"] for step in trend["steps"]] == ["a", "b"]
        low, high = trend["steps"][0]["interval"]
        assert low < trend["steps"][0]["value"] < high
        assert trend["steps"][0]["started_at"]


@pytest.mark.parametrize(
    "name",
    [
        "%2e", "%2e%2e", "..%2f..", "a%2fb", "a\\b", ".hidden", "a b", "a%00b", "x" * 200, "manifest.json",
        "%2e%2e%2fruns", "…", "lock", ".index.json", "C:", "~", "$HOME",
    ],
)  # fmt: skip
def test_invalid_run_ids_are_not_found(read_only_server, name):
    for tail in ("", "/cases", "/attributes", "/exports/html"):
        status = read_only_server.client.get(f"/api/runs/{name}{tail}").status_code
        assert status in {404, 405}, tail


def test_symbolic_link_to_a_run_is_not_found(tmp_path):
    fm.score(TRUTH, PREDICTIONS, out=tmp_path / "elsewhere")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere")
    with live(tmp_path) as server:
        server.get("/api/runs/linked", 404)


def test_corrupt_run_is_listed_with_the_others(tmp_path):
    for name in ("good", "broken"):
        fm.score(TRUTH, PREDICTIONS, out=tmp_path / "runs" / name)
    (tmp_path / "runs" / "broken" / "manifest.json").write_text("{", "utf-8")
    with live(tmp_path) as server:
        listed = {run["id"]: run["status"] for run in server.get("/api/runs")["runs"]}
        assert listed == {"good": "complete", "broken": "corrupt"}
        assert error_code(server.client.get("/api/runs/broken")) == "invalid_data"
        assert str(tmp_path) not in server.client.get("/api/runs/broken").text


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs?limit=0", "/api/runs?limit=501", "/api/runs?offset=-1", "/api/runs?surprise=1", "/api/runs?status=odd", "/api/health?x=1",
        "/api/jobs?x", "/api/runs/{run}/cases?sort=odd", "/api/runs/{run}/cases?limit=x", "/api/runs/{run}/cases/0", "/api/runs/{run}/cases/x",
        "/api/runs/{run}/outcomes?outcome=odd", "/api/diff?a={run}", "/api/diff?a={run}&b={run}&order=odd", "/api/rank?run={run}", "/api/rank", "/api/rank?run=a&run=b&x=1", "/api/trend?odd=1", "/api/files?path=data&x=1", "/api/strategies?form=odd",
    ],
)  # fmt: skip
def test_invalid_query_is_rejected(read_only_server, run, path):
    response = read_only_server.client.get(path.format(run=run))
    assert (response.status_code, error_code(response)) == (422, "invalid_request")


def test_batch_has_slices_and_its_weak_ones_are_found(read_only_server):
    truth = [{"id": str(n), "vendor": "Acme" if n % 3 else "Bolt", "total": n} for n in range(90)]
    candidates = [{**row, "total": -1} if row["vendor"] == "Bolt" else row for row in truth]
    run, other = (read_only_server.run(truth, candidates, by=["vendor"]) for _ in range(2))
    summary = read_only_server.get(f"/api/runs/{run}")["summary"]
    assert summary["slices"]["vendor=Bolt"]["micro"]["f1"] == 0.5
    [weak] = read_only_server.get(f"/api/runs/{run}/slices")["slices"]
    assert weak["text"] == "vendor = Bolt: F1 0.50 against 1.00, 30 cases"
    difference = read_only_server.get("/api/diff", a=run, b=other)["slices"]
    assert difference["vendor=Bolt"]["word"] == "too few cases to tell"


@pytest.mark.parametrize("by", [["a..b"], ["tag", "tag"], ["x" * 5000]])
def test_batch_with_invalid_slices_is_rejected(read_only_server, by):
    body = {"truth": {"rows": [{"id": "1"}]}, "candidate": {"rows": [{"id": "1"}]}, "by": by}
    assert read_only_server.client.post("/api/batch", json=body).status_code == 422


def test_consistency_of_a_case_is_the_agreement_of_comparable_runs(tmp_path):
    truth = [{"id": "x", "a": 1, "b": 2}]
    for name, b in (("first", 2), ("second", 3), ("third", 3)):
        fm.score(truth, [{"id": "x", "a": 1, "b": b}], out=tmp_path / "runs" / name)
    fm.score(truth, truth, out=tmp_path / "runs" / "other", convention="four_phase")
    fm.score(truth, truth, out=tmp_path / "runs" / "hidden", values=False, convention="four_phase")
    with live(tmp_path) as server:
        assert server.get("/api/runs/first/cases/1/consistency") == {
            "runs": ["first", "third", "second"],
            "consistency": pytest.approx((1 + 1 / 3) / 2),
            "agreement": {"a": 1.0, "b": pytest.approx(1 / 3)},
        }
        alone = server.get("/api/runs/other/cases/1/consistency")
        assert alone == {"runs": ["other"], "consistency": None, "agreement": {}}
        refused = server.get("/api/runs/hidden/cases/1/consistency", 422)
        assert "without values" in refused["error"]["message"]
        server.get("/api/runs/first/cases/2/consistency", 404)


def test_mistakes_name_every_case_with_a_column_of_its_own(read_only_server):
    truth = [{"id": str(n), "n": n} for n in range(130)]
    run = read_only_server.run(truth, [{**row, "n": -1} for row in truth])
    response = read_only_server.get(f"/api/runs/{run}/mistakes")
    starts = [*response["heat"]["starts"], 130]
    alone = {start for start, end in pairwise(starts) if end - start == 1}
    assert alone
    assert alone <= {case["rank"] for case in response["cases"]}

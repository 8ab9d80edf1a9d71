"""The list of runs and every command on stored runs survive any content of a run directory."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
from functools import partial
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.analyses.runs import annotate
from fieldmark.cli import main
from fieldmark.runs import run_directory as writer_module
from fieldmark.runs import run_index as index_module
from fieldmark.runs.run_index import INDEX
from row_files import write_rows
from unit.web.live_server import live

FILES = ("manifest.json", "summary.json", "notes.json")
EVAL = """
cases: pages.jsonl
evaluators:
  - {name: fields, type: field_accuracy, fields: [{path: vendor}, {path: total, match: numeric_tolerance}]}
  - {name: boxes, type: detection_ap, class: "regions[].kind"}
  - {name: quality, type: response_quality}
gates: {min: {mean_score: 0.1}}
"""
DEEP = "\0deep {}\0"
"""Stands for nested lists, which the serializer of the standard library cannot write."""
VALUES = [
    None, True, -1, 3, 0.5, 1e300, 2**63, 10**30, 10**400, float("nan"), float("-inf"), "", "x", "\ud800", "x" * 300,
    "9999-99-99T99:99", [], {}, [None], [[]], {"": {}}, {"\udc80": "\udc80"}, ["\ud800"], [{"a": 1}], {"a": [1]},
    DEEP.format(150), DEEP.format(900), DEEP.format(100_000),
]  # fmt: skip
COMMANDS = [
    ("runs",),
    ("runs", "--format", "json"),
    ("runs", "--format", "csv"),
    ("runs", "--format", "markdown"),
    ("runs", "b"),
    ("runs", "b", "--format", "json"),
    ("runs", "--trend"),
    ("runs", "--trend", "--metric", "rqs"),
    ("diff", "a", "b", "--force"),
    ("diff", "b", "a"),
    ("diff", "latest~1", "latest"),
    ("rank", "a", "b", "c"),
    ("rank", "b", "a", "--force", "--format", "json"),
    ("rescore", "b", "--convention", "taxonomy_code"),
    ("improve", "b"),
    ("improve", "b", "--slices"),
    ("diff", "b", "--power", "--drop", "0.01"),
    ("show", "b"),
    ("show", "b", "2"),
    ("show", "b", "2", "total"),
    ("report", "b", "--out", "-"),
    ("report", "c", "--against", "b", "--out", "-"),
    *(
        ("report", "b", "--out", "-", "--as", kind)
        for kind in ("markdown", "junit", "csv", "json", "eval-results")
    ),
]
ADDRESSES = [
    "/api/runs/b",
    "/api/runs/b/attributes",
    "/api/runs/b/improve",
    "/api/runs/b/slices",
    "/api/runs/b/exports/html",
    "/api/runs/b/cases",
    "/api/runs/b/cases/1",
    "/api/runs/b/outcomes",
    "/api/diff?a=a&b=b&force=true",
    "/api/diff?a=b&b=c",
    "/api/rank?run=b&run=a&force=true",
    "/api/trend?run=b",
    "/api/trend?metric=rqs",
    "/runs/b",
    "/runs/b/cases/1",
]


def page(number, shift):
    box = {"bbox": [shift, 0, 10, 10], "kind": "dog", "score": 0.5}
    return {"vendor": f"v{number}", "total": number + shift, "regions": [box]}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A directory with three runs, `b` with detection and notes, and a server for it."""
    folder = tmp_path_factory.mktemp("damaged")
    rows = [{"id": str(n), "expected": page(n, 0), "candidate": page(n, n % 2)} for n in range(4)]
    write_rows(folder / "pages.jsonl", rows)
    (folder / "a.eval.yaml").write_text(EVAL, "utf-8")
    for name in "abc":
        fm.evaluate(folder / "a.eval.yaml", out=folder / "runs" / name)
    annotate("b", folder / "runs", add=["tag"], note="note")
    originals = {name: (folder / "runs/b" / name).read_bytes() for name in FILES}
    before = os.getcwd()  # noqa: PTH109 - only to return there
    os.chdir(folder)
    with live(folder) as server:
        yield folder, originals, server
    os.chdir(before)


def run_command(*words):
    """Run the command line in this process, and return its exit code and output."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    with (
        mock.patch.object(sys, "argv", ["fieldmark", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main.main()
    for each in (out, err):
        each.flush()
    shown = (each.buffer.getvalue().decode() for each in (out, err))
    return int(ended.value.code or 0), *shown


def places(value, path=()):
    """Yield the paths of all values in a JSON document."""
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        yield from places(item, (*path, key))


def changed(document, path, change):
    """Return a document with one value changed."""
    if not path:
        return change(document) if callable(change) else {}
    copy = document.copy()
    if len(path) == 1 and change is None:
        del copy[path[0]]
    elif len(path) == 1 and change == "rename":
        value = copy.pop(path[0])
        if isinstance(copy, dict):
            copy["\ud800"] = value
    else:
        copy[path[0]] = changed(document[path[0]], path[1:], change)
    return copy


def written(document):
    """Serialize a document, with nested lists for their placeholders."""
    text = json.dumps(document)
    for depth in (150, 900, 100_000):
        text = text.replace(json.dumps(DEEP.format(depth)), "[" * depth + "]" * depth)
    return text.encode()


def without_b(entries):
    return [each for each in entries if each["id"] != "b"]


def listed_runs():
    """Return all runs as the command lists them."""
    code, out, err = run_command("runs", "--format", "json")
    assert (code, err) == (0, "")
    return json.loads(out)["runs"]


def check_lists(server, others):
    """Check that all runs are listed, and the other runs as before; return the entry of `b`."""
    for words in (("runs",), ("runs", "--format", "csv"), ("runs", "--format", "markdown")):
        assert run_command(*words)[0] == 0
    listed = listed_runs()
    assert without_b(listed) == others
    response = server.client.get("/api/runs")
    assert response.status_code == 200, response.text
    return next(each for each in listed if each["id"] == "b")


def check_command(words):
    """Check that a command ends with a result or a message, never as if there were a bug."""
    code, _, err = run_command(*words)
    assert code in {0, 1, 2, 3, 10, 11}, (words, err)
    assert code != 2 or err.startswith("fieldmark: "), (words, err)


def check_address(server, address):
    """Check that a response is a result or an error with a code."""
    response = server.client.get(address)
    assert response.status_code < 500, (address, response.text)
    if response.status_code >= 400 and address.startswith("/api/"):
        assert response.json()["error"]["code"] in {"invalid_data", "invalid_rules", "not_found"}


CHANGES = [*(partial(lambda value, _: value, each) for each in VALUES), None, "rename"]


@given(data=st.data())
@settings(suppress_health_check=[*HealthCheck])
def test_any_changed_value_affects_only_its_run(workspace, data):
    folder, originals, server = workspace
    name = data.draw(st.sampled_from(FILES))
    document = json.loads(originals[name])
    path = data.draw(st.sampled_from(list(places(document))))
    change = data.draw(st.sampled_from(CHANGES))
    file = folder / "runs" / "b" / name
    others = without_b(listed_runs())
    file.write_bytes(written(changed(document, path, change)))
    try:
        check_lists(server, others)
        check_command(data.draw(st.sampled_from(COMMANDS)))
        check_address(server, data.draw(st.sampled_from(ADDRESSES)))
    finally:
        file.write_bytes(originals[name])


@pytest.mark.parametrize(
    ("name", "path", "value", "problem"),
    [
        pytest.param("manifest.json", ["status"], "lost", "status must be one of", id="status"),
        pytest.param("manifest.json", ["sequence"], 10**30, "sequence must be an integer", id="huge-sequence"),
        pytest.param("manifest.json", ["sequence"], 10**400, "at most 64 bits", id="longer-sequence"),
        pytest.param("manifest.json", ["headline", "mean_score"], 10**400, "must be a number", id="huge-metric"),
        pytest.param("manifest.json", ["headline", "mean_score"], float("nan"), "NaN", id="nan"),
        pytest.param("manifest.json", ["headline", "bytes"], [10**400, 1], "two integers", id="huge-size"),
        pytest.param("manifest.json", ["evaluators", "fields"], 3, "must be a string", id="evaluator"),
        pytest.param("manifest.json", ["convention", "options", "quality_depth"], "x", "one of", id="depth"),
        pytest.param("manifest.json", ["convention", "options", "quality_depth"], [], "one of", id="depth-is-a-list"),
        pytest.param("manifest.json", ["limits"], {"x": DEEP.format(150)}, "100 levels", id="nested"),
        pytest.param("manifest.json", ["limits"], {"x": DEEP.format(100_000)}, "deep", id="nested-deeply"),
        pytest.param("notes.json", ["tags"], [1], "tags must be an array of strings", id="tag"),
        pytest.param("notes.json", ["note"], None, "note must be a string", id="note"),
    ],
)  # fmt: skip
def test_run_with_a_wrong_value_is_corrupt(workspace, name, path, value, problem):
    folder, originals, server = workspace
    others = without_b(listed_runs())
    file = folder / "runs" / "b" / name
    file.write_bytes(written(changed(json.loads(originals[name]), path, lambda _: value)))
    try:
        entry = check_lists(server, others)
        assert entry["status"] == "corrupt"
        assert problem in entry["problem"]
        assert name in entry["problem"]
        code, _, err = run_command("runs", "b")
        assert (code, err.startswith("fieldmark: ")) == (2, True)
        response = server.client.get("/api/runs/b")
        assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_data")
    finally:
        file.write_bytes(originals[name])


def test_lone_surrogates_in_texts_are_shown_escaped(workspace, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # a long note is folded
    folder, originals, server = workspace
    others = without_b(listed_runs())
    file = folder / "runs" / "b" / "notes.json"
    file.write_bytes(b'{"tags": ["\\ud800"], "note": "\\udcff"}')
    try:
        for _ in range(2):
            entry = check_lists(server, others)
            assert (entry["status"], entry["tags"]) == ("complete", ["\ud800"])
        assert "\\ud800" in run_command("runs")[1]
    finally:
        file.write_bytes(originals["notes.json"])


@pytest.mark.parametrize("name", [b"\xff\xfe", b"caf\xe9", b"\x01", b"a\nb", b"=1+1"])
@pytest.mark.parametrize("damaged", [True, False])
def test_names_that_are_not_utf8_are_listed(workspace, name, damaged):
    folder, _, server = workspace
    others = without_b(listed_runs())
    path = os.path.join(os.fsencode(folder / "runs"), name)  # noqa: PTH118 - bytes
    shutil.copytree(os.fsencode(folder / "runs" / "a"), path)
    if damaged:
        os.truncate(os.path.join(path, b"manifest.json"), 20)  # noqa: PTH118
    try:
        for _ in range(2):  # then from the cache
            listed = listed_runs()
            assert [each for each in without_b(listed) if each["id"] != os.fsdecode(name)] == others
            [entry] = [each for each in listed if each["id"] == os.fsdecode(name)]
            assert entry["status"] == ("corrupt" if damaged else "complete")
            check_lists(server, without_b(listed))
        for command in ("runs", "diff", "rank", "rescore", "improve", "show", "report"):
            words = (command, os.fsdecode(name), *(["a"] if command in {"diff", "rank"} else []))
            if not damaged and command in {"rescore", "report"}:
                continue
            check_command(words)
    finally:
        shutil.rmtree(path)


def test_directory_that_vanishes_does_not_affect_others(workspace, monkeypatch):
    folder, _, _ = workspace
    others = without_b(listed_runs())
    state, moved = index_module._state, folder / "moved"

    def vanishing(path):
        found = state(path)
        if path.endswith("/b") and (folder / "runs" / "b").exists():
            (folder / "runs" / "b").rename(moved)
        return found

    (folder / "runs" / INDEX).unlink()
    monkeypatch.setattr(index_module, "_state", vanishing)
    try:
        entry = next(each for each in listed_runs() if each["id"] == "b")
        assert (entry["status"], entry["problem"]) == ("corrupt", "manifest.json is missing")
        assert listed_runs() == others
    finally:
        moved.rename(folder / "runs" / "b")


def test_cached_entry_with_the_id_of_another_run_is_read_again(workspace):
    folder, _, _ = workspace
    before = listed_runs()
    document = json.loads((folder / "runs" / INDEX).read_bytes())
    (folder / "runs" / INDEX).write_bytes(
        written(changed(document, ("runs", "a", 1, 0), lambda _: "b")),
    )
    try:
        assert listed_runs() == before
    finally:
        (folder / "runs" / INDEX).unlink()


@given(data=st.data())
@settings(suppress_health_check=[*HealthCheck])
def test_any_changed_value_of_the_cache_is_harmless(workspace, data):
    folder, _, server = workspace
    (folder / "runs" / INDEX).unlink(missing_ok=True)
    before = listed_runs()
    document = json.loads((folder / "runs" / INDEX).read_bytes())
    path = data.draw(st.sampled_from(list(places(document))))
    (folder / "runs" / INDEX).write_bytes(
        written(changed(document, path, data.draw(st.sampled_from(CHANGES))))
    )
    try:
        after = listed_runs()
        assert {each["id"] for each in after} == {each["id"] for each in before}
        check_command(("runs",))
        check_command(("runs", "--trend"))
        assert server.client.get("/api/runs").status_code == 200
    finally:
        (folder / "runs" / INDEX).unlink(missing_ok=True)


@pytest.mark.parametrize(
    "name",
    ["latest~²", "latest~" + "9" * 5000, "x" * 5000, "a/" * 3000, "\udcff", "~", "latest~1~1", "."],
)
def test_unusable_names_are_not_found(workspace, name):
    for command in ("runs", "improve", "show", "report", "rescore"):
        code, _, err = run_command(command, name)
        assert (code, err.startswith("fieldmark: ")) == (2, True), err


def test_clock_set_back_does_not_change_the_order(tmp_path, monkeypatch):
    """The better run is the later one, although its clock is a year behind."""
    monkeypatch.chdir(tmp_path)
    truth = [{"id": str(n), "total": n} for n in range(30)]
    for name, right, now in (("old", 5, "2025-06-01"), ("new", 30, "2024-06-01")):
        monkeypatch.setattr(writer_module, "_now", lambda now=now: f"{now}T00:00:00.000+00:00")
        found = [{**row, "total": row["total"] if n < right else -1} for n, row in enumerate(truth)]
        fm.score(truth, found, out=tmp_path / "runs" / name)
    code, out, _ = run_command("diff", "latest~1", "latest", "--format", "json")
    document = json.loads(out)
    assert (document["before"]["name"], document["after"]["name"]) == ("old", "new")
    assert document["conclusion"]["word"] == "better"
    assert code == 0


def test_ids_are_unique_within_a_frozen_second(monkeypatch):
    class Frozen(writer_module.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(9999, 12, 31, 23, 59, 59, tzinfo=tz)

    monkeypatch.setattr(writer_module, "datetime", Frozen)
    ids = {writer_module.new_run_id() for _ in range(10_000)}
    assert len(ids) == 10_000
    assert {len(each.partition("-")[2]) for each in ids} == {32}

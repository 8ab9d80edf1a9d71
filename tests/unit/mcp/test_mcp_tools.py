"""Tools for agents: the results of the commands, below the roots, without writing or running."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

import fieldmark as fm
from fieldmark.analyses.runs import annotate
from fieldmark.mcp import serving, tools
from fieldmark.mcp.tools import MAX_CHARACTERS, Toolbox
from fieldmark.report.exports.json import case_document
from fieldmark.values.json_text import read_json, strict_json
from row_files import lines

SECRET = "the secret value"
TRUTH = [
    {"id": "a", "total": 1, "vendor": "Acme"},
    {"id": "b", "total": 2, "vendor": "Bolt & Co", "lines": [{"n": 1}, {"n": 2}]},
]
PREDICTIONS = [
    {"id": "a", "total": 1, "vendor": "ACME"},
    {"id": "b", "total": 3, "lines": [{"n": 2}]},
]
FILES = {"truth": "truth.jsonl", "predictions": "predictions.jsonl"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a directory with a root, which has two runs, and a run and secrets elsewhere."""
    base = tmp_path_factory.mktemp("made")
    root = base / "root"
    root.mkdir()
    (root / "truth.jsonl").write_text(lines(TRUTH), "utf-8")
    (root / "predictions.jsonl").write_text(lines(PREDICTIONS), "utf-8")
    (root / "rules.yaml").write_text("fields:\n  - {path: vendor, match: fuzzy}\n", "utf-8")
    (base / "secret.jsonl").write_text(lines([{"id": "a", "total": SECRET}]), "utf-8")
    (base / "secret.yaml").write_text(f"fields: [{{path: '{SECRET}'}}]\n", "utf-8")
    truth, predictions = str(root / "truth.jsonl"), str(root / "predictions.jsonl")
    fm.score(truth, predictions, out=root / "runs" / "first")
    fm.score(truth, truth, out=root / "runs" / "second")
    secret = [({"total": SECRET}, {"total": SECRET})]
    fm.score(secret, out=base / "elsewhere" / "hidden")
    return base


@pytest.fixture
def base(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "base")
    monkeypatch.chdir(tmp_path / "base" / "root")
    return tmp_path / "base"


@pytest.fixture
def call(base):
    """Call a tool of a read-only server, and return its result."""

    def run(name, **arguments):
        return serving._call(Toolbox([base / "root"]), name, arguments)

    return run


def failure(result):
    """Return the message of a failed call, which is one line."""
    (content,) = result.content
    assert result.is_error
    assert result.structured_content is None
    assert content.text.isprintable()
    assert len(content.text) <= 2_001
    return content.text


def snapshot(directory):
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in directory.rglob("*")
    }


# --- results --------------------------------------------------------------------------------------


def as_json(value):
    return read_json(strict_json(value))


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("show", {"run": "first"}, lambda: tools.show_cases("runs/first", top=25).to_dict()),
        ("show", {"run": "first", "case": "b"}, lambda: case_document(fm.open_run("runs/first").cases["b"])),
        ("show", {"run": "first", "case": "b", "path": "total"}, lambda: fm.explain("runs/first", "b", "total").to_dict()),
        ("improve", {"run": "latest~1"}, lambda: {**fm.improve("runs/first").to_dict(), "weak_slices": fm.find_slices("runs/first").to_dict()}),
        ("diff", {"before": "runs/first", "after": "latest"}, lambda: fm.diff("runs/first", "runs/second").to_dict()),
    ],
    ids=["show", "show-case", "show-field", "improve", "diff"],
)  # fmt: skip
def test_result_is_that_of_the_command(call, tool, arguments, expected):
    result = call(tool, **arguments)
    assert result.structured_content == as_json(expected())
    assert json.loads(result.content[0].text) == result.structured_content


def test_score_has_the_metrics_of_the_command_and_the_worst_cases(call):
    result = call("score", **FILES, rules="rules.yaml", min={"micro_f1": 0.99}).structured_content
    run = fm.score(*FILES.values(), rules="rules.yaml", min={"micro_f1": 0.99})
    expected = as_json(run.to_dict())
    assert {key: result[key] for key in expected} == expected
    assert not result["passed"]
    assert set(result) - set(expected) == {"worst_cases", "notes"}
    assert [case["case_id"] for case in result["worst_cases"]] == ["b", "a"]
    f1 = [value["f1"] for value in result["attributes"].values()]
    assert f1 == sorted(f1)


def test_only_mistakes_of_a_case_are_shown(call):
    result = call("show", run="first", case="b", only_mistakes=True).structured_content
    assert {outcome["outcome"] for outcome in result["outcomes"]} == {"wrong_value", "omission"}


def test_rules_that_are_proposed_can_be_used(call):
    result = call("infer", **FILES).structured_content
    assert {"total", "vendor"} <= set(result["reasons"])
    assert not call("score", **FILES, rules=result["rules"]).is_error


def test_options_for_reading_rows_are_used(call, base):
    rows = [{"key": "a", "want": {"t": 1}, "got": {"t": 1}}]
    (base / "root" / "rows.jsonl").write_text(lines(rows), "utf-8")
    result = call("score", truth="rows.jsonl", id="key", expected="want", candidate="got")
    assert result.structured_content["micro"]["f1"] == 1


def test_long_results_are_shortened_and_say_how_much_there_was(call, base):
    wide = {f"field {number:03}": "x" * 5_000 for number in range(200)}
    (base / "root" / "wide.jsonl").write_text(lines([{"id": "a", **wide}]), "utf-8")
    (base / "root" / "other.jsonl").write_text(lines([{"id": "a", "\ud800": [10**40]}]), "utf-8")
    fm.score("wide.jsonl", "other.jsonl", out="runs/wide")
    result = call("show", run="wide", case="a", top=100)
    assert len(result.content[0].text.encode()) <= MAX_CHARACTERS
    shown = len(result.structured_content["outcomes"])
    assert result.structured_content["shortened"]["outcomes"] == f"{shown} of 201 items"
    scored = call("score", truth="wide.jsonl", predictions="other.jsonl").structured_content
    assert scored["shortened"]["attributes"] == "10 of 201 keys"
    assert len(scored["attributes"]) == 10


def test_text_that_is_not_unicode_and_long_integers_can_be_sent(call, base):
    row = {"id": "a", "\ud800": "\udfff", "number": 10**40, "infinite": 1e300}
    (base / "root" / "odd.jsonl").write_text(lines([row]), "utf-8")
    fm.score("odd.jsonl", "odd.jsonl", out="runs/odd")
    result = call("show", run="odd", case="a")
    assert result.model_dump_json()
    assert {"\\udfff", 10**40} <= {
        outcome["expected"] for outcome in result.structured_content["outcomes"]
    }


# --- paths ----------------------------------------------------------------------------------------

OUTSIDE = [
    "../secret.jsonl", "{base}/secret.jsonl", "runs/../../secret.jsonl", "{base}", "..", "/", "/etc/passwd", "/dev/stdin",
    "/proc/self/environ", "linked.jsonl", "folder/secret.jsonl", "folder", "chain.jsonl", "../missing.jsonl", "~root",
    "file:///etc/passwd", "https://127.0.0.1:1/x.jsonl", "s3://bucket/x.jsonl", "-", "", "\0", "truth.jsonl\0", "\ud800", "pipe",
    "loop", "x" * 5_000, "a/" * 3_000,
]  # fmt: skip
PLACES = [
    ("score", "truth", {}),
    ("score", "predictions", {"truth": "truth.jsonl"}),
    ("score", "rules", FILES),
    ("infer", "truth", {}),
    ("infer", "predictions", {"truth": "truth.jsonl"}),
    ("show", "run", {}),
    ("show", "run", {"case": "a", "path": "total"}),
    ("improve", "run", {}),
    ("diff", "before", {"after": "first"}),
    ("diff", "after", {"before": "first"}),
]


@pytest.mark.parametrize(("tool", "argument", "others"), PLACES, ids=lambda value: str(value)[:12])
def test_paths_out_of_the_roots_are_refused(base, call, tool, argument, others):
    root = base / "root"
    (root / "linked.jsonl").symlink_to(base / "secret.jsonl")
    (root / "chain.jsonl").symlink_to("linked.jsonl")
    (root / "folder").symlink_to(base)
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    before = snapshot(base / "elsewhere")
    for path in OUTSIDE:
        result = call(tool, **others, **{argument: path.format(base=base)})
        assert result.is_error, path
        message = failure(result)
        assert SECRET not in message, path
        assert "secret" not in message or "secret" in path
        assert str(base) not in message.replace(str(root), ""), path
    assert snapshot(base / "elsewhere") == before


def test_error_does_not_tell_whether_a_file_outside_exists(base, call):
    messages = {
        failure(call("score", truth=str(base / name))) for name in ("secret.jsonl", "missing.jsonl")
    }
    assert len(messages) == 1
    runs = {failure(call("show", run=str(base / name))) for name in ("elsewhere", "missing")}
    assert len(runs) == 1


def test_links_below_the_roots_are_followed(base, call):
    (base / "root" / "linked.jsonl").symlink_to("truth.jsonl")
    assert not call("score", truth="linked.jsonl", predictions="predictions.jsonl").is_error
    wider = Toolbox([base / "root", base])
    assert not serving._call(wider, "infer", {"truth": str(base / "secret.jsonl")}).is_error


def test_runs_outside_of_the_roots_are_not_read_or_named(base, call):
    (base / "root" / "runs" / "linked").symlink_to(base / "elsewhere" / "hidden")
    annotate(base / "elsewhere" / "hidden", add=["baseline"])
    assert "roots" in failure(call("show", run="linked"))
    assert "roots" in failure(call("show", run="runs/linked"))
    assert "not found" in failure(call("show", run="baseline"))
    assert "did you mean" not in failure(call("show", run="baselin"))
    assert "not found" in failure(call("show", run="link"))


def test_run_with_a_link_to_a_file_outside_is_refused(base, call):
    results = base / "root" / "runs" / "first" / "results.jsonl"
    results.unlink()
    results.symlink_to(base / "elsewhere" / "hidden" / "results.jsonl")
    for run in ("first", "runs/first"):
        assert "roots" in failure(call("show", run=run))


def test_linked_directory_of_runs_outside_is_refused(base, call):
    shutil.rmtree(base / "root" / "runs")
    (base / "root" / "runs").symlink_to(base / "elsewhere")
    assert "roots" in failure(call("show", run="hidden"))
    saved = serving._call(Toolbox([base / "root"], write=True), "score", {**FILES, "save": True})
    assert "roots" in failure(saved)
    assert [path.name for path in (base / "elsewhere").iterdir()] == ["hidden"]


def test_documents_of_a_directory_do_not_lead_out_of_it(base, call):
    folder = base / "root" / "documents"
    folder.mkdir()
    (folder / "a.json").write_text('{"total": 1}', "utf-8")
    (folder / "b.json").symlink_to(base / "secret.jsonl")
    result = call("score", truth="documents", predictions="documents")
    assert SECRET not in result.content[0].text


# --- writing --------------------------------------------------------------------------------------


def test_nothing_is_written_by_a_read_only_server(base, call):
    before = snapshot(base)
    assert "read-only" in failure(call("score", **FILES, save=True))
    for tool, arguments in [
        ("score", {**FILES, "by": ["vendor"], "rules": "rules.yaml"}),
        ("show", {"run": "latest"}),
        ("show", {"run": "none"}),
        ("show", {"run": "first", "case": "b", "path": "total"}),
        ("improve", {"run": "sec"}),
        ("diff", {"before": "first", "after": "latest"}),
        ("infer", FILES),
    ]:
        call(tool, **arguments)
    assert snapshot(base) == before


def test_score_saves_a_run_below_the_first_root_if_it_may(base):
    other = base / "other"
    other.mkdir()
    box = Toolbox([base / "root", other], write=True)
    assert "run" not in serving._call(box, "score", FILES).structured_content
    saved = serving._call(box, "score", {**FILES, "save": True}).structured_content
    assert (base / "root" / "runs" / saved["run"] / "summary.json").is_file()
    shown = serving._call(box, "show", {"run": saved["run"]}).structured_content
    assert shown["total"] == 2
    assert list(other.iterdir()) == []


# --- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_file", [False, True], ids=["object", "file"])
@pytest.mark.parametrize(
    "rules",
    [
        {"fields": [{"path": "total", "match": "hostile_module:run"}]},
        {"fields": [{"path": "total", "normalize": "hostile_module:run"}]},
        {"fields": [{"path": "total", "match": "./hostile_module.py:run"}]},
        {"defaults": {"match": "hostile_module:run"}},
        {"provider": {"type": "openai", "url": "http://127.0.0.1:1", "model": "m"}},
        {"fields": [{"path": "total", "match": {"type": "semantic", "provider": {"type": "model2vec", "model": "m"}}}]},
        {"provider": {"type": "recorded", "file": "{secret}"}},
        {"safety": {"type": "llm", "url": "http://127.0.0.1:1", "model": "m"}},
        {"fields": [{"path": "total", "match": "fuzzy", "threshold": "calibrated", "calibration": "{secret}"}]},
        {"defaults": {"match": {"type": "fuzzy", "threshold": "calibrated"}, "calibration": "{secret}"}},
    ],
    ids=str,
)  # fmt: skip
def test_rules_that_name_code_models_or_files_are_refused(base, call, monkeypatch, rules, as_file):
    monkeypatch.syspath_prepend(base / "root")
    (base / "root" / "hostile_module.py").write_text("open('ran', 'w').close()\n", "utf-8")
    text = json.dumps(rules).replace("{secret}", str(base / "secret.yaml"))
    (base / "root" / "hostile.json").write_text(text, "utf-8")
    message = failure(call("score", **FILES, rules="hostile.json" if as_file else json.loads(text)))
    assert SECRET not in message
    assert "secret.yaml" not in message
    assert not (base / "root" / "ran").exists()
    assert "hostile_module" not in sys.modules


def test_comparator_that_is_a_function_is_refused(base, call):
    assert "never over HTTP or MCP" in failure(call("score", **FILES, match="os:getcwd"))


def test_problem_of_a_rules_file_names_its_line(base, call):
    (base / "root" / "rules.yaml").write_text("fields:\n  - {path: a, match: fuzy}\n", "utf-8")
    message = failure(call("score", **FILES, rules="rules.yaml"))
    assert message.startswith("rules.yaml:2:")
    assert "did you mean 'fuzzy'?" in message


def test_several_problems_are_one_line(call):
    rules = [{"path": "total", "match": "fuzy"}, {"path": "vendor", "match": "exat"}]
    first, second = failure(call("score", **FILES, rules=rules)).split("?; ")
    assert ("fuzy" in first, "exat" in second) == (True, True)
    assert "\\n" not in first


# --- errors ---------------------------------------------------------------------------------------


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize(
    ("tool", "arguments", "part"),
    [
        ("scor", {}, "did you mean 'score'?"),
        ("\ud800\x1b[2J\n", {}, "unknown tool"),
        ("score", {}, "truth: "),
        ("score", {"truth": {"path": "x"}}, "truth: "),
        ("score", {**FILES, "out": "runs/x"}, "out: "),
        ("score", {**FILES, "top": 0}, "top: "),
        ("score", {**FILES, "top": 101}, "top: "),
        ("score", {**FILES, "min": {"micro_f1": "high"}}, "min.micro_f1: "),
        ("score", {**FILES, "save": "yes"}, "save: input should be a valid boolean"),
        ("score", {"truth": "https://127.0.0.1:1/x.jsonl"}, "URLs are not read"),
        pytest.param("score", {**FILES, "rules": nested(2_000)}, "", id="score-nested-rules"),
        ("score", {**FILES, "rules": [1, 2]}, "rules"),
        ("score", {**FILES, "convention": "x" * 10_000}, "convention"),
        ("score", {**FILES, "match": "\x1b[2J\n\n"}, "match"),
        ("score", {**FILES, "from": "nothing"}, "from: "),
        ("score", {"truth": "runs/first/manifest.json", "rows": "list"}, "manifest.json"),
        ("show", {"run": "frst"}, "did you mean 'first'?"),
        ("show", {"run": "./truth.jsonl"}, "not the directory of a run"),
        ("show", {"run": "runs"}, ""),
        ("show", {"run": "first", "case": "c"}, "case 'c' not found"),
        ("show", {"run": "first", "case": "a", "tag": "x"}, "tag cannot be used with case"),
        ("show", {"run": "first", "only_mistakes": True}, "only_mistakes requires case"),
        ("show", {"run": "first", "verdict": "ok"}, "must be one of: pass, partial, fail, error"),
        ("show", {"run": "first", "case": "a", "path": "totl"}, "did you mean 'total'?"),
        ("diff", {"before": "first", "after": "second", "max_drop": {"nothing": 1}}, ""),
    ],
    ids=lambda value: str(value)[:80],
)  # fmt: skip
def test_mistakes_of_a_client_are_one_line(call, tool, arguments, part):
    message = failure(call(tool, **arguments))
    assert part in message
    assert "internal error" not in message


def test_start_of_a_run_and_gate_on_an_absent_attribute_are_no_mistakes(call):
    assert not call("show", run="secon").is_error
    assert not call("score", **FILES, max={"attributes.nothing.f1": 1}).is_error


def test_bug_is_one_line_without_details(call, monkeypatch, capsys):
    def broken(*_, **_options):
        raise RuntimeError(f"/etc/passwd: {SECRET}")

    monkeypatch.setattr(tools, "show_cases", broken)
    message = failure(call("show", run="first"))
    assert message.startswith("internal error: RuntimeError; this is a bug in fieldmark")
    assert SECRET not in message
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FIELDMARK_DEBUG", "1")
    call("show", run="first")
    assert SECRET in capsys.readouterr().err

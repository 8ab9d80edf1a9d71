"""Invalid input and usage are reported in one line, never as a traceback."""

from __future__ import annotations

import json
import re

import pytest

from row_files import write_rows

KEY_REQUIRED = (
    "fieldmark: align: option 'key' is required for key; "
    "use a rules file with align: key and key: [...]\n"
)
GOOD = b'{"id": "a", "expected": {"total": 1, "vendor": "Acme"}}\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("t.json", b'{"a": ', "t.json: invalid JSON: .*unexpected end", id="truncated"),
        pytest.param(
            "t.jsonl", GOOD + GOOD, r"t.jsonl:2: duplicate id 'a'; first used at "
            r"t.jsonl:1", id="duplicate-id",
        ),
    ],
)  # fmt: skip
def test_unreadable_truth_file_is_reported_in_one_line(folder, score, name, content, message):
    (folder / name).write_bytes(content)
    done = score(truth=name)
    assert (done.code, done.out) == (2, "")
    assert re.search(message, done.err), done.err
    assert done.err.count("\n") == 1
    assert done.err.startswith("fieldmark: ")


@pytest.mark.parametrize("options", [["--format", "json"], ["--format", "csv"], ["--quiet"]])
def test_unreadable_truth_row_is_reported_with_its_line(folder, score, options):
    (folder / "truth.jsonl").write_bytes(GOOD + b"<html>\n")
    done = score(*options)
    assert done.code == 2
    first = done.err.splitlines()[0]
    assert first.startswith("fieldmark: cannot parse ground truth: truth.jsonl:2: invalid JSON")


def test_unreadable_prediction_affects_only_its_case(folder, score):
    good = b'{"id": "a", "candidate": {"total": 1, "vendor": "Acme"}}\n'
    (folder / "candidate.jsonl").write_bytes(good + b'{"id": "b", "candidate": {"x"\n')
    done = score("--format", "json")
    assert (done.code, done.err) == (0, "")
    summary = done.summary
    assert summary["cases"] == {
        **summary["cases"], "scored": 2, "perfect": 1, "unparseable": 1
    }  # fmt: skip
    assert summary["warnings"][0].startswith("cannot parse prediction: case 'b': ")
    assert "unexpected end of data" in summary["warnings"][0]


def test_only_the_first_warnings_are_listed(folder, score):
    (folder / "candidate.jsonl").write_text(
        "".join(f'{{"id": "{name}", "candidate": "?"}}\n' for name in "abcde")
        + '{"id": "f", "candidate": {"x": 1}}\n'
    )
    (folder / "truth.jsonl").write_text(
        "".join(f'{{"id": "{name}", "expected": {{"x": 1}}}}\n' for name in "abcdef")
    )
    warnings = score("--format", "json").summary["warnings"]
    assert warnings.pop(0) == "candidate.jsonl: cannot parse 5 of 6 predictions"
    assert len(warnings) == 4
    assert warnings[-1] == "cannot parse prediction: 2 more cases"


def test_nan_and_infinity_affect_only_their_field(folder, score):
    (folder / "candidate.jsonl").write_text(
        '{"id": "a", "candidate": {"total": NaN, "vendor": "Acme"}}\n'
        '{"id": "b", "candidate": {"total": 1e999, "vendor": "Bolt & Co"}}\n'
    )
    summary = score("--format", "json").summary
    assert summary["micro"] == {**summary["micro"], "tp": 2, "fp": 2, "fn": 2}
    assert summary["cases"]["unparseable"] == 0


def test_single_input_must_contain_both_sides(command):
    done = command("score", "truth.jsonl", "--no-save")
    assert done.code == 2
    assert "each row of a single input must contain both sides" in done.err


def test_aligner_with_required_option_needs_a_rules_file(command):
    done = command("score", "truth.jsonl", "candidate.jsonl", "--align", "key")
    assert (done.code, done.err) == (2, KEY_REQUIRED)


@pytest.mark.parametrize("words", [["score", "-", "-", "--no-save"], ["infer", "-", "-"]])
def test_standard_input_can_be_only_one_side(command, words):
    done = command(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err == "fieldmark: only one of TRUTH and PREDICTIONS can be '-' (standard input)\n"


@pytest.mark.parametrize("name", ["rules.yaml", "truth.jsonl"])
def test_infer_overwrites_a_file_only_with_force(folder, command, name):
    path = folder / name
    path.touch()
    before = path.read_bytes()
    done = command("infer", "truth.jsonl", "--out", name)
    assert (done.code, done.out) == (2, "")
    assert done.err == (f"fieldmark: {name} already exists; use --force to overwrite it\n")
    assert path.read_bytes() == before
    assert command("infer", "truth.jsonl", "--out", name, "--force").code == 0
    assert "fields:" in path.read_text("utf-8")


def test_infer_warns_on_standard_error_too_with_the_options_of_the_command_line(folder, command):
    (folder / "other.jsonl").write_text('{"id": "a", "data": {"total": 1, "vendor": "Acme"}}\n')
    done = command("infer", "truth.jsonl", "other.jsonl")
    warning = next(line for line in done.err.splitlines() if "appear to be in" in line)
    assert warning.startswith("fieldmark: warning: ")
    assert warning.endswith("in 'data'; use --candidate 'data' to read them")
    assert f"# {warning.removeprefix('fieldmark: ')}" in done.out.splitlines()


def test_quiet_score_says_that_the_rules_ignore_every_field(folder, command):
    (folder / "none.yaml").write_text("defaults: {match: ignore}")
    done = command(
        "score", "truth.jsonl", "candidate.jsonl", "--rules", "none.yaml", "--no-save", "-q"
    )
    assert done.err == "fieldmark: nothing was compared: the rules ignore every field\n"


def test_all_problems_of_a_rules_file_are_listed(folder, command):
    (folder / "rules.yaml").write_text(
        "scop: union\nfields:\n  - {path: a, match: fuzy}\n  - {path: b, match: fuzzy, threshold: 3}\n"
    )
    for words in (["validate", "rules.yaml"], ["score", "a", "b", "--rules", "rules.yaml"]):
        done = command(*words)
        assert (done.code, done.out) == (2, "")
        problems = [line.removeprefix("fieldmark: ") for line in done.err.splitlines()]
        assert [line.split(": ")[0] for line in problems] == [
            "rules.yaml:1:1", "rules.yaml:3:22", "rules.yaml:4:40",
        ]  # fmt: skip


def test_run_never_overwrites_another_run(folder, command):
    first = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run")
    assert first.code == 0
    before = {path: path.read_bytes() for path in (folder / "run").iterdir()}
    again = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run")
    assert again.code == 2
    assert again.err.startswith("fieldmark: run is not empty; use a new directory")
    assert {path: path.read_bytes() for path in (folder / "run").iterdir()} == before


def test_ambiguous_rows_are_rejected_with_the_extra_key(command, folder):
    row = {"id": 1, "expected": {"a": 1}, "candidate": {"a": 1}, "foo": 1}
    (folder / "both.jsonl").write_text(json.dumps(row) + "\n")
    done = command("score", "both.jsonl", "--no-save")
    assert done.code == 2
    assert done.err == (
        "fieldmark: both.jsonl: rows contain 'expected' and 'candidate' but also 'foo'; "
        "name their keys with --expected and --candidate\n"
    )
    named = command(
        "score", "both.jsonl", "--no-save", "--expected", "expected", "--candidate", "candidate"
    )
    assert named.code == 0


def test_note_on_rows_compared_as_whole_documents(command, folder):
    for name, key in (("truth", "expected"), ("candidate", "candidate")):
        row = {"id": 1, key: {"a": 1}, "foo": 1}
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    done = command("score", "truth.jsonl", "candidate.jsonl", "--no-save")
    assert (
        "truth.jsonl: rows contain 'expected' but also 'foo', so whole rows are compared"
        in done.out
    )
    assert "candidate.jsonl: rows contain 'candidate' but also 'foo', so whole rows are" in done.out


def test_structural_warning_comes_first_and_names_the_option(folder, score):
    wrapped = [{"id": name, "result": {"total": 1, "vendor": "x"}, "ms": 3} for name in "ab"]
    write_rows(folder / "candidate.jsonl", wrapped)
    appear = "candidate.jsonl: the predictions appear to be in 'result'; "
    done = score()
    assert done.out.startswith(f"warning: {appear}use --candidate 'result' to read them\n")
    assert done.out.count("appear to be in") == 1
    machine = score("--format", "json")
    assert machine.summary["structural_warnings"] == [
        f"{appear}set the candidate key to 'result' to read them"
    ]
    assert machine.err == f"fieldmark: {appear}use --candidate 'result' to read them\n"
    assert "appear" not in score("--candidate", "result").out


@pytest.mark.parametrize(
    ("gate", "hint"),
    [
        ("f1", "did you mean 'micro.f1' or 'macro.by_attribute.f1' or 'macro.by_case.f1'?"),
        ("total.f1", "did you mean 'attributes.total.f1'?"),
        ("attributes.totl.f1", "did you mean 'attributes.total.f1'?"),
    ],
)
def test_unknown_metric_of_a_gate_is_an_error_with_the_nearest_names(score, gate, hint):
    done = score("--min", f"{gate}=0.1")
    assert done.code == 2
    assert f"unknown metric '{gate}'; {hint}" in done.err

"""Bad input and bad words end in one clear line that says where and what, and never in a traceback."""

from __future__ import annotations

import gzip
import json
import re

import pytest

from published.command_line import fieldmark

_NEEDS_A_KEY = (
    "fieldmark: align: key needs the option key. "
    "Write align: key with key: [...] in a rules file.\n"
)
GOOD = b'{"id": "a", "expected": {"total": 1, "vendor": "Acme"}}\n'


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        pytest.param("t.jsonl", b"", "t.jsonl: the file is empty", id="an-empty-file"),
        pytest.param("t.json", b'{"a": ', "t.json: not JSON: .*ends too early", id="cut-off"),
        pytest.param("t.txt", b"hello", "t.txt: not JSON", id="no-json-at-all"),
        pytest.param(
            "t.jsonl", GOOD + GOOD, r"t.jsonl:2: the id 'a' occurs a second time; first at "
            r"t.jsonl:1", id="two-rows-with-one-id",
        ),
        pytest.param(
            "t.jsonl", GOOD.decode().encode("utf-16"), "looks like UTF-16; save it as UTF-8",
            id="another-encoding",
        ),
        pytest.param("t.jsonl.gz", b"plain", "t.jsonl.gz: cannot be read", id="not-compressed"),
        pytest.param(
            "t.jsonl.gz", gzip.compress(GOOD)[:20], "t.jsonl.gz: cannot be read", id="half-a-gzip"
        ),
    ],
)  # fmt: skip
def test_a_truth_that_cannot_be_used_is_one_line(folder, score, name, content, said):
    (folder / name).write_bytes(content)
    done = score(truth=name)
    assert (done.code, done.out) == (2, "")
    assert re.search(said, done.err), done.err
    assert done.err.count("\n") == 1
    assert done.err.startswith("fieldmark: ")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        pytest.param(b'{"id": "b", "expected": {"x"', "ends too early", id="cut-off"),
        pytest.param(
            b'{"id": "b", "expected": {"x": NaN}}', "not a finite number", id="not-a-number"
        ),
        pytest.param(
            b'{"id": "b", "expected": {"x": 1e999}}', "not a finite number", id="infinite"
        ),
        pytest.param(b'{"id": "b", "expected": {"x":1,"x":2}}', "occurs twice", id="one-key-twice"),
        pytest.param(
            b'{"id": "b", "expected": ' + b"[" * 10_000, "200 levels", id="nested-without-end"
        ),
        pytest.param(
            b'{"id": "b", "expected": ' + b"9" * 2000 + b"}", "1,000 digits", id="a-huge-integer"
        ),
        pytest.param(b'{"id": "b", "expected": "\xe9"}', "not UTF-8", id="latin-1"),
        pytest.param(b"<html>", "not JSON", id="another-format"),
    ],
)
@pytest.mark.parametrize("options", [["--format", "json"], ["--format", "csv"], ["--quiet"]])
def test_a_row_of_the_truth_that_cannot_be_read_is_told_with_its_line(
    folder, score, row, said, options
):
    (folder / "truth.jsonl").write_bytes(GOOD + row + b"\n")
    done = score(*options)
    assert done.code == 2
    first = done.err.splitlines()[0]
    assert first.startswith("fieldmark: truth that cannot be read: truth.jsonl:2: ")
    assert said in first


@pytest.mark.parametrize(
    ("row", "said"),
    [
        pytest.param(b'{"id": "b", "candidate": {"x"', "ends too early", id="cut-off"),
        pytest.param(b'{"id": "b", "candidate": {"x":1,"x":2}}', "occurs twice", id="a-key-twice"),
        pytest.param(
            b'{"id": "b", "candidate": ' + b"[" * 100_000, "200 levels", id="nested-without-end"
        ),
        pytest.param(b'{"id": "b", "candidate": "no JSON here"}', "no JSON object", id="only-text"),
    ],
)
def test_a_candidate_that_cannot_be_read_costs_its_case_alone(folder, score, row, said):
    good = b'{"id": "a", "candidate": {"total": 1, "vendor": "Acme"}}\n'
    (folder / "candidate.jsonl").write_bytes(good + row + b"\n")
    done = score("--format", "json")
    assert (done.code, done.err) == (0, "")
    summary = done.summary
    assert summary["cases"] == {
        **summary["cases"], "scored": 2, "perfect": 1, "unparseable": 1
    }  # fmt: skip
    assert said in summary["warnings"][0]
    assert summary["warnings"][0].startswith("candidate that cannot be read: case 'b': ")


def test_only_the_first_few_faults_are_named(folder, score):
    (folder / "candidate.jsonl").write_text(
        "".join(f'{{"id": "{name}", "candidate": "?"}}\n' for name in "abcde")
        + '{"id": "f", "candidate": {"x": 1}}\n'
    )
    (folder / "truth.jsonl").write_text(
        "".join(f'{{"id": "{name}", "expected": {{"x": 1}}}}\n' for name in "abcdef")
    )
    warnings = score("--format", "json").summary["warnings"]
    assert len(warnings) == 4
    assert warnings[-1] == "… and 2 more like it (candidate that cannot be read)"


def test_a_number_that_is_none_costs_its_field_alone(folder, score):
    (folder / "candidate.jsonl").write_text(
        '{"id": "a", "candidate": {"total": NaN, "vendor": "Acme"}}\n'
        '{"id": "b", "candidate": {"total": 1e999, "vendor": "Bolt & Co"}}\n'
    )
    summary = score("--format", "json").summary
    assert summary["micro"] == {**summary["micro"], "tp": 2, "fp": 2, "fn": 2}
    assert summary["cases"]["unparseable"] == 0


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        pytest.param("missing.jsonl", "missing.jsonl: no such file", id="a-missing-file"),
        pytest.param("texts", "texts: the folder holds no .json files", id="a-folder-without-json"),
        pytest.param("/dev/null", "not a regular file", id="a-device"),
    ],
)
def test_an_input_that_is_not_there(folder, score, truth, said):
    (folder / "texts").mkdir()
    (folder / "texts" / "readme.txt").write_text("nothing")
    done = score(truth=truth)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_one_input_must_hold_both_sides(command):
    done = command("score", "truth.jsonl", "--no-save")
    assert done.code == 2
    assert "must hold both sides" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["scor"], "Did you mean score?", id="a-command"),
        pytest.param(["score", "a", "b", "--ruls", "x"], "'--rules'", id="an-option"),
        pytest.param(["score", "a", "b", "--match", "fuzy"], "Did you mean fuzzy?", id="a-match"),
        pytest.param(
            ["score", "a", "b", "--align", "gredy"], "Did you mean greedy?", id="an-alignment"
        ),
        pytest.param(
            ["score", "a", "b", "--convention", "taxnomy"], "Did you mean taxonomy?",
            id="a-convention",
        ),
        pytest.param(
            ["score", "a", "b", "--set", "rqs_for=complement"], "Did you mean rqs_form?",
            id="an-option-of-a-convention",
        ),
        pytest.param(
            ["score", "truth.jsonl", "candidate.jsonl", "--no-save", "--min", "micro_f2=1"],
            "Did you mean micro_f1?", id="a-figure",
        ),
        pytest.param(
            ["score", "truth.jsonl", "candidate.jsonl", "--no-save", "--quiet", "--min",
             "attributes.vendr.f1=1"], "Did you mean attributes.vendor.f1?", id="an-attribute",
        ),
    ],
)  # fmt: skip
def test_a_misspelt_word_is_told_with_the_nearest(command, words, said):
    done = command(*words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_comparator_that_needs_more_than_its_name(command):
    done = command("score", "truth.jsonl", "candidate.jsonl", "--align", "key")
    assert (done.code, done.err) == (2, _NEEDS_A_KEY)


def test_a_key_for_all_lists_is_a_matter_of_rules(folder, score):
    (folder / "rules.yaml").write_text("defaults: {align: key, key: [item]}\n")
    (folder / "truth.jsonl").write_text('{"id": 1, "expected": {"lines": [{"item": "a"}]}}')
    (folder / "candidate.jsonl").write_text('{"id": 1, "candidate": {"lines": [{"item": "a"}]}}')
    assert "list items paired by the key item: lines" in score("--rules", "rules.yaml").out


@pytest.mark.parametrize("words", [["score", "-", "-", "--no-save"], ["infer", "-", "-"]])
def test_standard_input_holds_one_side(command, words):
    done = command(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err == "fieldmark: only one side can be -, standard input\n"


def test_a_run_is_kept_or_it_is_not(folder, command):
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--no-save")
    assert (done.code, done.out) == (2, "")
    assert "--out names a folder for the run, --no-save writes none: use one." in done.err
    assert not (folder / "run").exists()


@pytest.mark.parametrize("name", ["rules.yaml", "truth.jsonl"])
def test_proposed_rules_replace_a_file_only_on_request(folder, command, name):
    path = folder / name
    path.touch()
    before = path.read_bytes()
    done = command("infer", "truth.jsonl", "--out", name)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"fieldmark: {name} exists already. Name a new file, or write over it with --force.\n"
    )
    assert path.read_bytes() == before
    assert command("infer", "truth.jsonl", "--out", name, "--force").code == 0
    assert "fields:" in path.read_text("utf-8")


def test_every_problem_of_a_rules_file_is_told_at_once(folder, command):
    (folder / "rules.yaml").write_text(
        "scop: union\nfields:\n  - {path: a, match: fuzy}\n  - {path: b, match: fuzzy, threshold: 3}\n"
    )
    for words in (["validate", "rules.yaml"], ["score", "a", "b", "--rules", "rules.yaml"]):
        done = command(*words)
        assert (done.code, done.out) == (2, "")
        told = [line.removeprefix("fieldmark: ") for line in done.err.splitlines()]
        assert [line.split(": ")[0] for line in told] == [
            "rules.yaml:1:1", "rules.yaml:3:22", "rules.yaml:4:40",
        ]  # fmt: skip


def test_a_run_never_writes_over_another(folder, command):
    first = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run")
    assert first.code == 0
    before = {path: path.read_bytes() for path in (folder / "run").iterdir()}
    again = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run")
    assert again.code == 2
    assert again.err.startswith("fieldmark: run is not empty. Name a new folder")
    assert {path: path.read_bytes() for path in (folder / "run").iterdir()} == before


def test_a_byte_order_mark_and_windows_line_ends_are_fine(folder, score):
    text = (folder / "truth.jsonl").read_bytes().replace(b"\n", b"\r\n")
    (folder / "truth.jsonl").write_bytes(b"\xef\xbb\xbf" + text + b"\r\n")
    assert score("--format", "json").summary["cases"]["scored"] == 2


def test_a_long_integer_is_compared_exactly(folder, score):
    (folder / "truth.jsonl").write_text(
        '{"expected": {"x": 9007199254740993, "y": 1' + "0" * 400 + "}}"
    )
    (folder / "candidate.jsonl").write_text(
        '{"candidate": {"x": 9007199254740992, "y": 1' + "0" * 400 + "}}"
    )
    attributes = score("--format", "json").summary["attributes"]
    assert (attributes["x"]["tp"], attributes["y"]["tp"]) == (0, 1)


def test_the_installed_command_shows_no_traceback(folder):
    (folder / "truth.jsonl").write_text("")
    done = fieldmark("score", "truth.jsonl", "candidate.jsonl")
    assert done.err == "fieldmark: truth.jsonl: the file is empty; expected one row a case\n"
    assert (done.code, done.out) == (2, "")


def test_a_row_with_a_key_more_than_an_envelope_is_told_which(command, folder):
    row = {"id": 1, "expected": {"a": 1}, "candidate": {"a": 1}, "foo": 1}
    (folder / "both.jsonl").write_text(json.dumps(row) + "\n")
    done = command("score", "both.jsonl", "--no-save")
    assert done.code == 2
    assert done.err == (
        "fieldmark: both.jsonl: rows hold 'expected' and 'candidate', but also 'foo', so it is not "
        "sure that these are the two sides; name the keys that hold the truth and the candidate\n"
    )
    named = command(
        "score", "both.jsonl", "--no-save", "--expected", "expected", "--candidate", "candidate"
    )
    assert named.code == 0


def test_rows_that_are_compared_whole_although_they_name_a_side_are_told(command, folder):
    for name, key in (("truth", "expected"), ("candidate", "candidate")):
        row = {"id": 1, key: {"a": 1}, "foo": 1}
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    done = command("score", "truth.jsonl", "candidate.jsonl", "--no-save")
    assert "truth.jsonl: rows hold 'expected', but also 'foo', so each row is compared" in done.out
    assert "candidate.jsonl: rows hold 'candidate', but also 'foo', so each row is" in done.out

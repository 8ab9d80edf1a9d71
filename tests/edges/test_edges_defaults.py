"""Defaults of options from fieldmark.toml and pyproject.toml."""

from __future__ import annotations

import json

import pytest

from fieldmark.cli.defaults import CONFIGURABLE, Defaults
from fieldmark.cli.main import load_command


@pytest.fixture
def settings(folder):
    def write(text, name="fieldmark.toml"):
        (folder / name).write_text(text, "utf-8")

    return write


def test_options_have_the_defaults_of_the_file(settings, score, folder):
    settings('format = "json"\n[score]\nmin = ["micro.f1=0.99"]\nmatch = "fuzzy"\n')
    done = score()
    assert done.code == 1
    assert json.loads(done.out)["gates"][0]["limit"] == 0.99
    assert done.err.startswith(f"--match, --min, --format from {folder}/fieldmark.toml\n")
    assert score("--quiet", "--min", "micro.f1=0.1").err == ""  # options win


@pytest.mark.parametrize(
    ("files", "shows"),
    [
        pytest.param({"fieldmark.toml": 'format = "csv"'}, '"attribute"', id="own-file"),
        pytest.param(
            {"pyproject.toml": '[tool.fieldmark]\nformat = "csv"'}, '"attribute"', id="pyproject"
        ),
        pytest.param({"pyproject.toml": "[tool.other]\nname = 'fieldmark'"}, "·", id="other-tool"),
        pytest.param(
            {
                "fieldmark.toml": 'format = "csv"',
                "pyproject.toml": '[tool.fieldmark]\nformat = "json"',
            },
            '"attribute"',
            id="own-file-first",
        ),
        pytest.param({"fieldmark.toml": ""}, "·", id="empty"),
    ],
)
def test_nearest_file_upward_applies(settings, score, folder, monkeypatch, files, shows):
    for name, text in files.items():
        settings(text, name)
    (folder / "below" / "deep").mkdir(parents=True)
    monkeypatch.chdir(folder / "below" / "deep")
    assert score(truth="../../truth.jsonl", candidate="../../candidate.jsonl").out.startswith(shows)
    (folder / "below" / "fieldmark.toml").write_text('format = "markdown"', "utf-8")
    done = score(truth="../../truth.jsonl", candidate="../../candidate.jsonl")
    assert done.out.startswith("**")


def test_names_of_files_are_relative_to_the_settings(settings, score, folder, monkeypatch):
    settings('[score]\nrules = "rules.yaml"\nno-values = true\n')
    (folder / "rules.yaml").write_text("fields: [{path: total, match: ignore}]\n", "utf-8")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    done = score("--format", "json", truth="../truth.jsonl", candidate="../candidate.jsonl")
    assert json.loads(done.out)["attributes"]["total"]["tp"] == 0  # ignored


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "formt = 'json'", "unknown option 'formt'; did you mean 'format'?", id="option"
        ),
        pytest.param(
            "[scor]\nmatch = 'fuzzy'", "unknown table [scor]; did you mean 'score'?", id="table"
        ),
        pytest.param(
            "[score]\nmach = 'x'", "unknown option 'score.mach'; did you mean 'match'?", id="own"
        ),
        pytest.param(
            "[confidence]\nprecision = 0.9",
            "unknown option 'confidence.precision'; options are in the tables: "
            "confidence.thresholds, confidence.triage",
            id="option-of-a-group",
        ),
        pytest.param(
            "[parts.plam]\nmatch = 'x'",
            "unknown table [parts.plam]; did you mean 'parts.plan'?",
            id="table-of-a-group",
        ),
        pytest.param(
            "[serve]\nhost = '0.0.0.0'", "unknown table [serve]; tables are named", id="serve"
        ),
        pytest.param(
            "allow-code = true", "allow-code can only be given on the command line", id="code"
        ),
        pytest.param(
            "[score]\nallow_code = true", "allow_code can only be given on the ", id="code-own"
        ),
        pytest.param(
            "[score]\nforce = true", "force can only be given on the command line", id="force"
        ),
        pytest.param(
            "[score]\nout = '../x'", "out: '../x' is outside of the directory", id="outside"
        ),
        pytest.param(
            "[score]\nrules = '/etc/passwd'", "is outside of the directory of", id="absolute"
        ),
        pytest.param("[score]\nmatch = ['a', 'b']", "match accepts only one value", id="list"),
        pytest.param("[score]\nmatch = {a = 1}", "match must be a string or a number", id="object"),
        pytest.param("[score]\nquiet = 'yes'", "quiet must be true or false", id="flag"),
        pytest.param("[score]\nmatch = 'fuzy'", "did you mean 'fuzzy'?", id="value"),
        pytest.param("[score]\ndepth = 'deep'", "--depth: unknown value 'deep'", id="choice"),
        pytest.param("[score]\nmin = 'x'", "--min: ", id="gate"),
        pytest.param("[score", "invalid TOML: ", id="not-toml"),
        pytest.param("a = " + "[" * 5000, "invalid TOML: ", id="deep"),
        pytest.param("#" * (1 << 20) + "\n", "larger than 1,048,576 bytes", id="large"),
    ],
)
def test_invalid_settings_are_errors_that_name_the_file(
    settings, score, command, folder, text, message
):
    settings(text)
    done = score()
    assert done.code == 2
    assert f"{folder}/fieldmark.toml" in done.err
    assert message in done.err
    assert command("schema", "rules").code == 0  # no settings apply to other commands


def test_commands_of_a_group_have_tables(settings, score, command):
    settings("[calibrate.label]\nnumber = 1\n[calibrate.measure]\nnumber = 2\n")
    score()
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--quiet")
    assert done.code == 0
    done = command("calibrate", "label", "run")
    assert (done.code, "unknown option 'calibrate.measure.number'" in done.err) == (2, True)
    settings("seed = 3\n[calibrate.label]\nnumber = 1\n")
    done = command("calibrate", "label", "run")
    assert len(done.out.splitlines()) == 1
    assert done.err.startswith("--number, --seed from ")


def test_commands_that_can_have_defaults_exist():
    assert all(load_command(name) for name in CONFIGURABLE)


def test_settings_are_valid_for_every_command(settings):
    settings("top = 5\nquiet = true\n")
    Defaults(load_command).check()

"""Which files a case may name, and what is made of what they hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fieldmark.config.agentv import suite as own
from fieldmark.config.agentv.suite import Fixtures
from fieldmark.config.context import Context
from fieldmark.config.eval_file import load_eval
from fieldmark.config.files import MAX_BYTES
from fieldmark.config.located import Located
from fieldmark.errors import Location
from fieldmark.model.json import MISSING
from unit.config.agentv_files import project


def read(folder, name):
    """The document, and the problems with it."""
    context = Context(folder=folder)
    document = Fixtures(context).document(Located(value=name, location=Location("e.yaml", 3, 7)))
    problems = context.problems.error().problems
    assert all(problem.location == Location("e.yaml", 3, 7) for problem in problems)
    return document, " ".join(map(str, problems))


@pytest.fixture
def evals(tmp_path):
    """`work/evals` beside `work/fixtures`, and a secret outside of `work`."""
    (tmp_path / "secret.json").write_text('"secret"', "utf-8")
    for name in ("evals", "fixtures"):
        folder = tmp_path / "work" / name
        folder.mkdir(parents=True)
        (folder / "a.json").write_text('{"total": 1}', "utf-8")
    return tmp_path / "work" / "evals"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a.json", id="beside-the-eval-file"),
        pytest.param("../fixtures/a.json", id="in-a-folder-beside-its-folder"),
        pytest.param("./../evals/../fixtures/a.json", id="however-it-is-spelled"),
    ],
)
def test_files_of_the_project_are_read(evals, name):
    assert read(evals, name) == ({"total": 1}, "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("../../secret.json", "A file elsewhere", id="above-the-project"),
        pytest.param("{root}/secret.json", "A file elsewhere", id="an-absolute-name"),
        pytest.param("{root}/work/evals/a.json", "A file elsewhere", id="absolute-though-inside"),
        pytest.param("C:\\secret.json", "A file elsewhere", id="a-drive"),
        pytest.param("\\\\host\\secret.json", "A file elsewhere", id="another-machine"),
        pytest.param("link.json", "A file elsewhere", id="a-link-that-leads-out"),
        pytest.param("../linked/secret.json", "A file elsewhere", id="a-linked-folder"),
        pytest.param("none.json", "No such file: none.json", id="a-file-that-is-not-there"),
        pytest.param("folder.json", "No such file", id="a-folder"),
        pytest.param("pipe.json", "No such file", id="a-pipe-that-would-never-end"),
        pytest.param("a.json\0", "Not the name of a file", id="a-name-that-no-file-has"),
        pytest.param("", "Not the name of a file", id="no-name"),
        pytest.param("large.json", "Larger than 1,000,000 bytes", id="a-file-too-large"),
        pytest.param("latin.json", "Not UTF-8 text", id="another-encoding"),
    ],
)
def test_other_files_are_not_read(evals, tmp_path, name, said):
    (evals / "link.json").symlink_to(tmp_path / "secret.json")
    (evals.parent / "linked").symlink_to(tmp_path)
    (evals / "folder.json").mkdir()
    os.mkfifo(evals / "pipe.json")
    (evals / "large.json").write_text(f'"{"x" * MAX_BYTES}"', "utf-8")
    (evals / "latin.json").write_bytes(b'"\xe9"')
    document, problems = read(evals, name.replace("{root}", str(tmp_path)))
    assert document is MISSING
    assert said in problems
    assert "secret" not in problems.replace("secret.json", "")


def test_below_the_root_of_the_file_system_only_the_own_folder_is_read(tmp_path):
    top = Path(tmp_path.anchor) / tmp_path.parts[1]
    document, problems = read(top, "../etc/secret.json")
    assert document is MISSING
    assert "A file elsewhere" in problems


def test_all_files_together_have_a_limit(evals, monkeypatch):
    monkeypatch.setattr(own, "MAX_ALL_BYTES", 20)
    context = Context(folder=evals)
    fixtures = Fixtures(context)
    names = ["a.json", "a.json", "../fixtures/a.json"]
    found = [fixtures.document(Located(value=name)) for name in names]
    assert found == [{"total": 1}, {"total": 1}, MISSING]
    assert "more than 20 bytes together" in str(context.problems.error())


@pytest.mark.parametrize(
    ("content", "candidate"),
    [
        pytest.param('{"total": 1}', {"total": 1}, id="json"),
        pytest.param("[1, 2]", [1, 2], id="a-list"),
        pytest.param('```json\n{"total": 1}\n```', '```json\n{"total": 1}\n```', id="model-text"),
        pytest.param('{"total": NaN}', '{"total": NaN}', id="a-number-that-json-lacks"),
        pytest.param('{"a": 1, "a": 2}', '{"a": 1, "a": 2}', id="a-key-twice"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_what_is_no_json_is_left_to_the_reader_of_answers(tmp_path, content, candidate):
    path = project(tmp_path, fixtures={"a.json": content})
    assert load_eval(path).cases[0].candidate == candidate

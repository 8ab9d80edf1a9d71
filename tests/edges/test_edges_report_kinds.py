"""`fieldmark report RUN --as KIND`: all kinds of files, with and without values."""

from __future__ import annotations

import pytest

from exported_text import exported_text
from fieldmark.analyses.report import KINDS, file_name
from fieldmark.errors import StorageError

EXPORTS = [kind for kind in KINDS if kind != "html"]
STARTS = {
    "markdown": b"### ",
    "markdown-short": b"### ",
    "junit": b"<?xml",
    "csv": b'"attribute"',
    "csv-cases": b'"case_id"',
    "csv-outcomes": b'"case_id"',
    "xlsx": b"PK",
    "parquet": b"PAR1",
    "sqlite": b"SQLite format 3",
    "eval-results": b'{"format":1',
    "json": b'{"format":1',
}


@pytest.fixture
def run(command):
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "runs/one").code == 0
    return "runs/one"


def test_every_kind_is_tested():
    assert set(STARTS) == set(EXPORTS)


@pytest.mark.parametrize("kind", EXPORTS)
def test_every_kind_is_written_to_the_run_directory(run, command, folder, kind):
    done = command("report", run, "--as", kind)
    path = folder / run / file_name(kind)
    assert (done.code, done.out) == (0, "")
    assert str(file_name(kind)) in done.err
    assert path.read_bytes().startswith(STARTS[kind])


@pytest.mark.parametrize("kind", EXPORTS)
def test_without_values_no_kind_quotes_a_document(run, command, folder, kind):
    out = folder / file_name(kind)
    assert command("report", run, "--as", kind, "--out", out, "--no-values").code == 0
    assert "Bolt" not in exported_text(out)
    # A table of cases names no fields.
    assert ("quality_rqs" if kind == "csv-cases" else "vendor") in exported_text(out)


@pytest.mark.parametrize("kind", EXPORTS)
def test_an_unwritable_path_is_a_one_line_error(run, command, folder, kind):
    done = command("report", run, "--as", kind, "--out", folder / "missing" / "file")
    assert done.code == 74
    assert done.err.startswith("fieldmark: cannot write")
    assert done.err.count("\n") == 1


def test_a_dash_prints_to_standard_output(run, command):
    done = command("report", run, "--as", "markdown-short", "--out", "-")
    assert done.out.startswith("### `one`: no gates")


def test_a_failed_write_is_a_storage_error_and_leaves_no_file(folder):
    from fieldmark.report.exports.common import atomic_path

    with pytest.raises(StorageError), atomic_path(folder / "x"):
        raise OSError(28, "No space left on device")
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]

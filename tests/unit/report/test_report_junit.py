"""JUnit XML: wrong is a failure, could not run is an error, everything is escaped."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, parse

import pytest

from fieldmark.errors import StorageError
from fieldmark.model.case import Verdict
from fieldmark.report.exports.junit import JunitFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "junit.xml"


def _written(path: Path) -> Element:
    return parse(path).getroot()  # noqa: S314 - our own file


def test_totals_and_kinds(path: Path) -> None:
    with JunitFile(path, "invoices") as junit:
        junit.add("a", Verdict.PASS, "2/2 fields matched", [])
        junit.add("b", Verdict.PARTIAL, "1/2 fields matched", ["total (value mismatch)"])
        junit.add("c", Verdict.FAIL, "0/2 fields matched", ["total", "date"])
        junit.add("d", None, "judge: timed out", [])
        junit.add_gate("mean_score 0.5, at least 0.9", passed=False)
    suite = _written(path)
    assert dict(suite.attrib) == {"name": "invoices", "tests": "5", "failures": "3", "errors": "1"}
    kinds = {case.get("name"): [child.tag for child in case] for case in suite}
    assert kinds == {
        "a": [],
        "b": ["failure"],
        "c": ["failure"],
        "d": ["error"],
        "gate mean_score 0.5, at least 0.9": ["failure"],
    }
    failure = suite.find("testcase[@name='b']/failure")
    assert failure is not None
    assert failure.get("message") == "partial: 1/2 fields matched"
    assert failure.text == "total (value mismatch)"


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param('"><x y="', id="quotes-and-tags"),
        pytest.param("]]> &amp; <!--", id="markup"),
        pytest.param("bell \x07 and \x1b[31m", id="control-characters"),
        pytest.param("lone \ud800 surrogate", id="half-a-pair"),
        pytest.param("\ufffe\uffff", id="no-characters"),
    ],
)
def test_hostile_text_stays_text(path: Path, hostile: str) -> None:
    with JunitFile(path, hostile) as junit:
        junit.add(hostile, Verdict.FAIL, hostile, [hostile])
    [case] = _written(path)
    assert [child.tag for child in case] == ["failure"]


def test_misses_are_bounded_and_counted(path: Path) -> None:
    with JunitFile(path, "many") as junit:
        junit.add("a", Verdict.FAIL, "", [f"field {number}" for number in range(60)])
    text = _written(path)[0][0].text or ""
    assert text.endswith("field 49\n… and 10 more")


def test_a_run_that_broke_off_leaves_no_file(path: Path) -> None:
    def broken_off() -> None:
        with JunitFile(path, "cut") as junit:
            junit.add("a", Verdict.PASS, "", [])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert list(path.parent.iterdir()) == []


def test_a_place_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot write"), JunitFile(tmp_path / "no" / "x", "a"):
        pass

"""JUnit XML: schema, counts and valid text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from fieldmark.errors import StorageError
from fieldmark.evaluators.base import Score
from fieldmark.model.case import Verdict
from fieldmark.report.exports.junit import Junit, JunitFile
from unit.report.exported import ordinary_run

SCHEMA = {
    "testsuite": ({"name", "tests", "failures", "errors"}, set(), {"testcase", "properties"}),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": ({"classname", "name"}, {"time"}, {"failure", "error", "skipped"}),
    "failure": ({"message"}, {"type"}, set()),
    "error": ({"message"}, {"type"}, set()),
}
"""Elements with their required attributes, optional attributes and children."""


def check(element):
    required, optional, inside = SCHEMA[element.tag]
    assert required <= set(element.attrib) <= required | optional
    assert len(element) <= 1 or element.tag == "testsuite"
    for child in element:
        assert child.tag in inside
        check(child)


def parsed(run, tmp_path):
    Junit().write(run, tmp_path / "junit.xml")
    root = ET.fromstring((tmp_path / "junit.xml").read_bytes())  # noqa: S314 - our own file
    check(root)
    [convention] = root.find("properties")
    assert (convention.get("name"), convention.get("value")) == ("convention", "confusion")
    root.remove(root.find("properties"))
    cases = list(root)
    assert int(root.get("tests")) == len(cases)
    for kind in ("failure", "error"):
        number = len([case for case in cases if case.find(kind) is not None])
        assert int(root.get(f"{kind}s")) == number
    return root


@pytest.fixture
def run(tmp_path):
    return ordinary_run(tmp_path / "run", min={"micro.f1": 0.9})


def test_a_case_with_mistakes_is_a_failure(run, tmp_path):
    root = parsed(run, tmp_path)
    messages = {case.get("name"): [child.get("message") for child in case] for case in root}
    assert messages == {
        "a": ["partial: 3 mistakes"],
        "b": [],
        "c": ["fail: no prediction"],
        "gate micro.f1 is 0.4706, must be at least 0.9": [
            "fail: micro.f1 is 0.4706, must be at least 0.9"
        ],
    }
    assert root[0][0].text.splitlines() == [
        'vendor: wrong value (different): expected "Acme GmbH", predicted "Acme Gmbh"',
        'total: wrong type (type mismatch): expected 12.5, predicted "twelve"',
        'items[0].d: wrong value (different): expected "x", predicted "y"',
    ]


def test_a_case_that_could_not_be_evaluated_is_an_error(run, tmp_path):
    first = next(iter(run.cases()))
    stats = first.stats._replace(score=None, verdict=None, errors_count=1)
    broken = replace(first, stats=stats, overall=Score.error("no response"))
    unscored = replace(first, stats=first.stats._replace(score=None))
    root = parsed(replace(run, cases=lambda: [broken, unscored]), tmp_path)
    messages = [case.find("error").get("message") for case in root[:2]]
    assert messages == ["no response", "3 mistakes"]


def test_without_values_paths_and_reasons_are_written(run, tmp_path):
    root = parsed(run.without_values(), tmp_path)
    assert root[0][0].text.splitlines()[0] == "vendor: wrong value (different)"


def test_a_hostile_run_is_valid_xml(hostile, tmp_path):
    assert len(parsed(hostile, tmp_path)) == len(list(hostile.cases()))


def test_misses_beyond_the_limit_are_counted(tmp_path):
    with JunitFile(tmp_path / "junit.xml", "many") as junit:
        junit.add("a", Verdict.FAIL, "", [f"field {number}" for number in range(60)])
    text = ET.parse(tmp_path / "junit.xml").getroot()[0][0].text  # noqa: S314 - our own file
    assert text.endswith("field 49\n… and 10 more")


def test_line_ends_are_the_same_on_all_systems(tmp_path, monkeypatch):
    """Windows would translate them in a file that is opened without `newline`."""
    opened, used = Path.open, []

    def record(path, mode="r", **options):
        used.append((mode, options.get("newline")))
        return opened(path, mode, **options)

    monkeypatch.setattr(Path, "open", record)
    with JunitFile(tmp_path / "junit.xml", "suite") as file:
        file.add("case", Verdict.PASS, "", ())
    assert used == [("w", "\n")]


def test_path_that_cannot_be_written_is_an_error_before_the_first_case(tmp_path):
    with pytest.raises(StorageError, match="cannot write"), JunitFile(tmp_path / "no" / "x", "a"):
        pytest.fail("cases were evaluated")

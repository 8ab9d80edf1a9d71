"""JUnit XML of a stored run: schema, counts, and text that any XML reader takes."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from fieldmark.evaluators.base import Score
from fieldmark.report.exports.junit import write_junit
from unit.report.exported import hostile_run, ordinary_run

SCHEMA = {
    "testsuite": ({"name", "tests", "failures", "errors"}, set(), {"testcase"}),
    "testcase": ({"classname", "name"}, {"time"}, {"failure", "error", "skipped"}),
    "failure": ({"message"}, {"type"}, set()),
    "error": ({"message"}, {"type"}, set()),
}
"""Element: attributes that it must have, that it may have, and what may be inside of it."""


def check(element):
    required, optional, inside = SCHEMA[element.tag]
    assert required <= set(element.attrib) <= required | optional
    assert len(element) <= 1 or element.tag == "testsuite"
    for child in element:
        assert child.tag in inside
        check(child)


def parsed(run, tmp_path):
    write_junit(run, tmp_path / "junit.xml")
    root = ET.fromstring((tmp_path / "junit.xml").read_bytes())  # noqa: S314 - our own file
    check(root)
    cases = list(root)
    assert int(root.get("tests")) == len(cases)
    for kind in ("failure", "error"):
        number = len([case for case in cases if case.find(kind) is not None])
        assert int(root.get(f"{kind}s")) == number
    return root


@pytest.fixture
def run(tmp_path):
    return ordinary_run(tmp_path / "run", at_least={"micro.f1": 0.9})


def test_wrong_is_a_failure_and_right_is_nothing(run, tmp_path):
    root = parsed(run, tmp_path)
    told = {case.get("name"): [child.get("message") for child in case] for case in root}
    assert told == {
        "a": ["partial: 3 mistakes"],
        "b": [],
        "c": ["fail: the candidate is missing"],
        "gate micro.f1 = 0.4706, wanted ≥ 0.9": ["fail: micro.f1 = 0.4706, wanted ≥ 0.9"],
    }
    assert root[0][0].text.splitlines() == [
        'vendor: wrong value (different): expected "Acme GmbH", found "Acme Gmbh"',
        'total: format error (type mismatch): expected 12.5, found "twelve"',
        'items[0].d: wrong value (different): expected "x", found "y"',
    ]


def test_what_could_not_run_is_an_error(run, tmp_path):
    first = next(iter(run.cases()))
    stats = first.stats._replace(score=None, verdict=None, errors_count=1)
    broken = replace(first, stats=stats, overall=Score.error("no answer"))
    unscored = replace(first, stats=first.stats._replace(score=None))
    root = parsed(replace(run, cases=lambda: [broken, unscored]), tmp_path)
    told = [case.find("error").get("message") for case in root[:2]]
    assert told == ["no answer", "3 mistakes"]


def test_without_values_only_paths_and_reasons_are_left(run, tmp_path):
    root = parsed(run.without_values(), tmp_path)
    assert root[0][0].text.splitlines()[0] == "vendor: wrong value (different)"


def test_hostile_text_parses_and_stays_text(tmp_path):
    run = hostile_run(tmp_path / "run")
    root = parsed(run, tmp_path)
    assert len(root) == len(list(run.cases()))

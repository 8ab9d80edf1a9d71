"""docs/threats.md names the threats to each guarantee of SECURITY.md, and existing tests for each threat."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUARANTEES = re.findall(
    r"^(\d+)\. \*\*(.+?)\.\*\*", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE
)
SECTIONS = {
    (number, name): re.findall(r"^\| (?!threat |-)(.+?) \| (.*) \|$", rows, re.MULTILINE)
    for number, name, rows in re.findall(
        r"^## (\d+)\. (.+)\n((?:(?!^#).*\n)*)",
        (ROOT / "docs" / "threats.md").read_text("utf-8"),
        re.MULTILINE,
    )
}
THREATS = [row for rows in SECTIONS.values() for row in rows]


def functions(name):
    """Return the test functions in the file with this name."""
    (file,) = (ROOT / "tests").rglob(f"{name}.py")
    tree = ast.parse(file.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_guarantee_has_a_section_with_threats():
    assert list(SECTIONS) == GUARANTEES
    assert len(GUARANTEES) >= 8
    assert all(SECTIONS.values())


@pytest.mark.parametrize(("threat", "tests"), THREATS, ids=[threat for threat, _ in THREATS])
def test_every_threat_has_tests_that_exist(threat, tests):
    names = re.findall(r"`([^`]+)`", tests)
    assert names, f"no test for {threat}"
    for name in names:
        file, _, function = name.partition("::")
        assert function.startswith("test_")
        assert function in functions(file), name


def test_no_threat_is_listed_twice():
    assert len({threat for threat, _ in THREATS}) == len(THREATS)

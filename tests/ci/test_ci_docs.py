"""The examples of the page on continuous integration fit the action, the template and the hooks."""

from __future__ import annotations

import re

import pytest
from ruamel.yaml import YAML

from ci.composite_action import ROOT, load
from docs.pages import blocks
from fieldmark.version import VERSION

PAGE = (ROOT / "docs/ci.md").read_text("utf-8")
WORKFLOW, INCLUDE, HOOKS = (
    YAML(typ="safe").load(block.body) for block in blocks(PAGE) if block.language == "yaml"
)


def template_inputs():
    text = (ROOT / "ci-templates/gitlab.yml").read_text("utf-8")
    return next(YAML(typ="safe").load_all(text))["spec"]["inputs"]


def test_inputs_of_the_examples_exist():
    [action] = [each for each in WORKFLOW["jobs"]["score"]["steps"] if "with" in each]
    assert action["with"].keys() <= load("action.yml")["inputs"].keys()
    assert INCLUDE["include"][0]["inputs"].keys() <= template_inputs().keys()
    ids = [hook["id"] for hook in load(".pre-commit-hooks.yaml")]
    assert [hook["id"] for hook in HOOKS["repos"][0]["hooks"]] == ids


def test_all_inputs_are_documented():
    named = set(re.findall(r"`([\w-]+)`", PAGE))
    assert load("action.yml")["inputs"].keys() <= named
    assert load("action.yml")["outputs"].keys() <= named
    assert template_inputs().keys() <= named


@pytest.mark.parametrize("name", ["action.yml", *map(str, (ROOT / ".github/workflows").iterdir())])
def test_only_known_actions_are_used_and_no_script_contains_an_expression(name):
    text = (ROOT / name).read_text("utf-8")
    used = set(re.findall(r"uses: (\S+)", text))
    assert {each for each in used if not re.fullmatch(r"actions/[\w/-]+@v[0-9]+|\./", each)} <= (
        {"pypa/gh-action-pypi-publish@release/v1"} if "release" in name else set()
    )
    scripts = []

    def visit(value):
        if isinstance(value, dict):
            scripts.extend(
                each for name, each in value.items() if (name, type(each)) == ("run", str)
            )
            value = list(value.values())
        for each in value if isinstance(value, list) else ():
            visit(each)

    visit(YAML(typ="safe").load(text))
    assert scripts
    assert not [script for script in scripts if "${{" in script]


def test_citation_has_the_version():
    assert load("CITATION.cff")["version"] == VERSION

"""Parsing of option values."""

from __future__ import annotations

import pytest

from fieldmark.cli.options import parse_limits, parse_settings
from fieldmark.errors import ConfigError
from fieldmark.metrics.gates import GateKind


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param("zero=undefined", {"zero": "undefined"}, id="string"),
        pytest.param("graded=false", {"graded": False}, id="boolean"),
        pytest.param("pass_threshold=0.8", {"pass_threshold": 0.8}, id="number"),
        pytest.param('rqs_weights={"safety": 0}', {"rqs_weights": {"safety": 0}}, id="object"),
        pytest.param("a=b=c", {"a": "b=c"}, id="split-at-first-equals-sign"),
    ],
)
def test_set_parses_json_or_a_string(text, options):
    assert parse_settings([text]) == options


def test_set_requires_a_value():
    with pytest.raises(ConfigError, match=r"^--set: expected NAME=VALUE, got 'graded'$"):
        parse_settings(["graded"])


def test_limits_are_parsed_by_metric():
    assert parse_limits(["micro.f1=0.9", "a=b.f1=1"], GateKind.MIN) == {
        "micro.f1": 0.9,
        "a=b.f1": 1,
    }


@pytest.mark.parametrize("kind", list(GateKind))
def test_duplicate_limits_are_rejected(kind):
    with pytest.raises(ConfigError, match=f"^--{kind}: duplicate limit for micro.f1$"):
        parse_limits(["micro.f1=0.9", "rqs=0.5", " micro.f1 =0.1"], kind)


@pytest.mark.parametrize("text", ["micro.f1", "micro.f1=high", "=0.5", "micro.f1=inf"])
def test_invalid_limits_are_rejected(text):
    with pytest.raises(ConfigError, match="--max: "):
        parse_limits([text], GateKind.MAX)

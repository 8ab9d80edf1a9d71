"""How the texts of options are read."""

from __future__ import annotations

import pytest

from fieldmark.cli.options import parse_limits, parse_settings
from fieldmark.errors import ConfigError
from fieldmark.metrics.gates import GateKind


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param("zero=undefined", {"zero": "undefined"}, id="a-word"),
        pytest.param("graded=false", {"graded": False}, id="a-truth-value"),
        pytest.param("pass_threshold=0.8", {"pass_threshold": 0.8}, id="a-number"),
        pytest.param('rqs_weights={"safety": 0}', {"rqs_weights": {"safety": 0}}, id="an-object"),
        pytest.param("a=b=c", {"a": "b=c"}, id="the-first-equals-sign-divides"),
    ],
)
def test_an_option_of_a_convention(text, options):
    assert parse_settings([text]) == options


def test_an_option_without_a_value_is_refused():
    with pytest.raises(ConfigError, match="not of the form name=value"):
        parse_settings(["graded"])


def test_limits_are_read_by_name():
    assert parse_limits(["micro.f1=0.9", "a=b.f1=1"], GateKind.MIN) == {
        "micro.f1": 0.9,
        "a=b.f1": 1,
    }


@pytest.mark.parametrize("kind", list(GateKind))
def test_a_figure_has_one_limit_in_one_direction(kind):
    with pytest.raises(ConfigError, match=f"^--{kind}: micro.f1 has a limit already; give it one$"):
        parse_limits(["micro.f1=0.9", "rqs=0.5", " micro.f1 =0.1"], kind)


@pytest.mark.parametrize("text", ["micro.f1", "micro.f1=high", "=0.5", "micro.f1=inf"])
def test_a_limit_that_cannot_be_read_is_refused(text):
    with pytest.raises(ConfigError, match="--max: "):
        parse_limits([text], GateKind.MAX)

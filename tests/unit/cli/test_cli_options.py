"""How the texts of options are read."""

from __future__ import annotations

import sys

import pytest

from fieldmark.cli import progress as progress_module
from fieldmark.cli.options import counting_options, limits_of
from fieldmark.cli.progress import progress_for
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
    assert counting_options([text]) == options


def test_an_option_without_a_value_is_refused():
    with pytest.raises(ConfigError, match="not of the form name=value"):
        counting_options(["graded"])


def test_limits_are_read_by_name():
    assert limits_of(["micro.f1=0.9", "a=b.f1=1"], GateKind.MIN) == {"micro.f1": 0.9, "a=b.f1": 1}


@pytest.mark.parametrize("kind", list(GateKind))
def test_a_figure_has_one_limit_in_one_direction(kind):
    with pytest.raises(ConfigError, match=f"^--{kind}: micro.f1 has a limit already; give it one$"):
        limits_of(["micro.f1=0.9", "rqs=0.5", " micro.f1 =0.1"], kind)


@pytest.mark.parametrize("text", ["micro.f1", "micro.f1=high", "=0.5", "micro.f1=inf"])
def test_a_limit_that_cannot_be_read_is_refused(text):
    with pytest.raises(ConfigError, match="--max: "):
        limits_of([text], GateKind.MAX)


def test_there_is_no_progress_when_quiet():
    with progress_for(quiet=True, color=True) as tell:
        assert tell is None


def test_without_a_terminal_progress_is_a_line_now_and_then(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    with progress_for(quiet=False, color=True) as tell:
        tell(10, 50, 100)
        now[0] = 11.0
        tell(20, 50, 100)
        tell(30, 60, 100)
        now[0] = 22.0
        tell(40, 70, None)
    assert capsys.readouterr().err == "20 cases, 50% read\n40 cases\n"


@pytest.mark.parametrize("color", [True, False])
def test_a_terminal_that_wants_no_colour_gets_plain_lines(monkeypatch, capsys, color):
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    if color:
        monkeypatch.setenv("NO_COLOR", "1")
    with progress_for(quiet=False, color=color) as tell:
        now[0] = 11.0
        tell(20, 50, 100)
    assert capsys.readouterr().err == "20 cases, 50% read\n"


def test_on_a_terminal_progress_is_a_bar_that_waits_and_goes(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    with progress_for(quiet=False, color=True) as tell:
        tell(10, 50, 100)
        assert capsys.readouterr().err == ""
        now[0] = 2.0
        tell(20, 50, 100)

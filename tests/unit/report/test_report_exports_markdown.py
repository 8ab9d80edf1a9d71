"""Markdown for pull requests: contents, size and escaping."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fieldmark.metrics.summary import RunIntervals
from fieldmark.report.exports.markdown import (
    Markdown,
    MarkdownShort,
    in_code,
    markdown,
    short_markdown,
)
from unit.report.exported import HOSTILE, ordinary_run

COMMENT: int = 65_536
"""The maximum length of a comment on a pull request."""


@pytest.fixture
def run(tmp_path):
    return ordinary_run(tmp_path / "run", min={"micro.f1": 0.9}, max={"rqs": 1})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("vendor.name", "`vendor.name`", id="plain"),
        pytest.param("@everyone #tag", "`@everyone #tag`", id="no-mention"),
        pytest.param("a|b", "<code>a&#124;b</code>", id="no-new-cell"),
        pytest.param("a\\|b", "<code>a&#92;&#124;b</code>", id="no-new-cell-by-escape"),
        pytest.param("a`b", "<code>a&#96;b</code>", id="code-does-not-end"),
        pytest.param("</code>`", "<code>&#60;&#47;code&#62;&#96;</code>", id="no-tag"),
        pytest.param(" a", "<code> a</code>", id="spaces-stay"),
        pytest.param("  ", "<code>&nbsp;&nbsp;</code>", id="only-spaces"),
        pytest.param("", "", id="empty"),
        pytest.param("a\nb", "<code>a&#92;nb</code>", id="one-line"),
        pytest.param("\x1b[2J", "<code>&#92;x1b&#91;2J</code>", id="no-control-characters"),
    ],
)
def test_text_is_written_as_code(text, shown):
    assert in_code(text) == shown


def test_no_text_ends_its_cell():
    for text in HOSTILE:
        shown = in_code(text, 10_000)
        assert re.fullmatch(r"`[^`|\n\\]+`|<code>(?:[0-9A-Za-z ]|&#\d+;|&nbsp;)+</code>|", shown)


def test_the_report_has_gates_metrics_worst_attributes_and_worst_cases(run):
    text = markdown(run)
    head, *others = text.splitlines()
    assert head == "### `run`: **failed**"
    assert others[1].startswith("- gate **failed**: `micro.f1 is 0.4706, must be at least 0.9`")
    assert others[2].startswith("- gate passed: `rqs is ")
    [pooled] = [line for line in others if line.startswith("| Micro F1 | 0.471 | ")]
    assert pooled.endswith(" | all fields pooled |")
    assert "| `total` | 1 | 0 | 1 | 2 | 0.500 | 0.333 | 0.400 | 1 missing, 1 wrong type |" in others
    assert '| `c` | 0.000 | `vendor` | missing | `"Gone"` |  |' in others
    assert '|  |  | `total` | wrong type | `12.5` | `"twelve"` |' in others


def test_the_short_form_has_one_line_of_metrics_and_the_worst_attributes(run):
    text = short_markdown(run)
    assert re.search(
        r"\n\*\*macro F1 by attribute 0\.\d{3}\*\*, mean score .*; 3 of 3 cases scored, 1 perfect; "
        "convention `confusion`\n",
        text,
    )
    assert len(text) < len(markdown(run)) / 2
    assert "`items[].q`" not in text  # it has no mistakes


def test_without_values_the_worst_cases_have_no_columns_for_them(run):
    text = markdown(run.without_values())
    assert "Expected" not in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {5, 10}


def test_intervals_have_a_column_if_available(run):
    intervals = RunIntervals(metrics={"macro_f1_by_attribute": (0.25, 0.75)})
    text = markdown(replace(run, summary=replace(run.summary, intervals=intervals)))
    assert "| 0.250 to 0.750 |" in text
    assert "| Metric | Value | 95% CI | |" in text


def test_the_report_of_a_large_run_fits_into_a_comment(hostile):
    text = markdown(hostile)
    assert len(text) < COMMENT
    assert "… and " in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {5, 10, 7}


def test_a_run_without_mistakes_has_no_worst_cases(tmp_path):
    import fieldmark as fm
    from unit.report.exported import TRUTH, shown

    same = [{"id": row["id"], "candidate": row["expected"]} for row in TRUTH]
    fm.score(TRUTH, same, out=tmp_path / "run")
    text = markdown(shown(tmp_path / "run"))
    assert "Worst cases" not in text
    assert text.splitlines()[0] == "### `run`: no gates"
    assert "| Attribute |" not in short_markdown(shown(tmp_path / "run"))


def test_both_forms_are_written_as_utf_8(run, tmp_path):
    Markdown().write(run, tmp_path / "a.md")
    MarkdownShort().write(run, tmp_path / "b.md")
    assert (tmp_path / "a.md").read_text("utf-8") == markdown(run)
    assert (tmp_path / "b.md").read_text("utf-8") == short_markdown(run)

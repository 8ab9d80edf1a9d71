"""Escaping of text for terminals, CSV, Markdown and HTML."""

from __future__ import annotations

import pytest

from fieldmark.values.escape import for_csv, for_html, for_markdown, html_table, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain", "plain", id="plain-text-stays"),
        pytest.param("Größe 尺寸", "Größe 尺寸", id="letters-of-any-script-stay"),
        pytest.param("a\x1b[31mb", r"a\x1b[31mb", id="escape-sequence"),
        pytest.param("a\nb\tc", r"a\nb\tc", id="line-breaks-and-tabs"),
        pytest.param("a\u2028b", r"a\u2028b", id="line-separator"),
        pytest.param("\u202eabc", r"\u202eabc", id="change-of-direction"),
        pytest.param("a\u200bb", r"a\u200bb", id="zero-width-space"),
        pytest.param("\ud800", r"\ud800", id="half-a-character"),
        pytest.param("\x7f\x9b", r"\x7f\x9b", id="delete-and-the-eight-bit-escape"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        pytest.param("=1+1", "'=1+1", id="formula"),
        pytest.param("+A1", "'+A1", id="plus"),
        pytest.param("@SUM(A1)", "'@SUM(A1)", id="at-sign"),
        pytest.param("-A1", "'-A1", id="minus"),
        pytest.param("\t=1", "'\t=1", id="tab-before-it"),
        pytest.param("-2.5", "-2.5", id="negative-number-stays"),
        pytest.param("+1e9", "+1e9", id="number-with-a-sign-stays"),
        pytest.param("-2+3", "'-2+3", id="sum-is-no-number"),
        pytest.param("1=1", "1=1", id="only-the-beginning-matters"),
        pytest.param("a\n=1", "a\n'=1", id="formula-in-the-second-line"),
        pytest.param("a\r\n+A1\n@x", "a\r\n'+A1\n'@x", id="formula-in-every-line"),
        pytest.param("a\r-A1", "a\r'-A1", id="formula-after-a-carriage-return"),
        pytest.param("a\n\t=1", "a\n'\t=1", id="tab-in-the-second-line"),
        pytest.param("=1\n=1", "'=1\n'=1", id="formula-in-both-lines"),
        pytest.param("-2.5\n", "'-2.5\n", id="number-with-a-line-feed-is-text"),
        pytest.param("a\n1=1", "a\n1=1", id="only-the-beginning-of-a-line-matters"),
        pytest.param("\ud800", r"\ud800", id="half-a-character"),
    ],
)
def test_cell_is_not_a_formula(text, cell):
    assert for_csv(text) == cell


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        pytest.param("a|b", r"a\|b", id="bar"),
        pytest.param("<b>", r"\<b>", id="tag"),
        pytest.param("p <0.001", "p <0.001", id="number-that-is-no-tag"),
        pytest.param("- a - b", r"\- a - b", id="list"),
        pytest.param("mean_score", "mean_score", id="underscore-within-a-word"),
        pytest.param("__a__b_", r"\_\_a\_\_b\_", id="underscores-at-the-ends-of-words"),
        pytest.param("---", r"\---", id="line"),
        pytest.param("+0.5", "+0.5", id="number-that-is-no-list"),
        pytest.param("> a > b", r"\> a > b", id="quote"),
        pytest.param("[x](y)", r"\[x\](y)", id="link"),
        pytest.param("`a`*b*_c_", r"\`a\`\*b\*\_c\_", id="marks"),
        pytest.param("a\nb", r"a\\nb", id="line-break"),
        pytest.param("&lt;", r"\&lt;", id="entity"),
    ],
)
def test_cell_stays_in_its_table(text, cell):
    assert for_markdown(text) == cell


def test_html_is_escaped():
    assert for_html("<img src=x onerror='a&b'>\x00") == (
        r"&lt;img src=x onerror=&#x27;a&amp;b&#x27;&gt;\x00"
    )


@pytest.mark.parametrize(
    ("rows", "html"),
    [
        pytest.param([], "<p>No rows.</p>", id="no-rows"),
        pytest.param(
            [{"a<": 0.12345, "b": None}, {"a<": "x>", "b": 7}],
            "<table><thead><tr><th>a&lt;</th><th>b</th></tr></thead><tbody>"
            "<tr><td>0.123</td><td>\N{EN DASH}</td></tr><tr><td>x&gt;</td><td>7</td></tr>"
            "</tbody></table>",
            id="numbers-texts-and-undefined",
        ),
    ],
)
def test_html_table(rows, html):
    assert html_table(rows) == html

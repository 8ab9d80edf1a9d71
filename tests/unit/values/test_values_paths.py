from __future__ import annotations

import pytest

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING
from fieldmark.values.paths import (
    ANY_DEPTH,
    ANY_ITEM,
    PathError,
    append_path,
    attribute_of,
    covers,
    is_path,
    join,
    leaves,
    parse_path,
    path_key,
    resolve,
)

INVOICE = {
    "invoice": {
        "total": 100,
        "vendor": {"address": {"city": "Seattle"}},
        "line_items": [{"amount": 50.00}, {"amount": 75.00}],
        "notes": None,
    }
}


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        pytest.param("a", ("a",), id="one-key"),
        pytest.param("a.b", ("a", "b"), id="dots"),
        pytest.param("a[0].b", ("a", 0, "b"), id="an-index"),
        pytest.param("a.0.b", ("a", 0, "b"), id="an-index-between-dots"),
        pytest.param("a.007", ("a", "007"), id="leading-zeros-make-a-key"),
        pytest.param('["a.b"].c', ("a.b", "c"), id="a-quoted-key"),
        pytest.param('a["0"]', ("a", "0"), id="a-quoted-number-is-a-key"),
        pytest.param(r'a["\"]\u00e9"]', ("a", '"]é'), id="escapes-inside-quotes"),
        pytest.param('a[""]', ("a", ""), id="an-empty-key"),
        pytest.param("a[0][1]", ("a", 0, 1), id="a-list-of-lists"),
        pytest.param("[0].x", (0, "x"), id="a-document-that-is-a-list"),
        pytest.param("a[*].b", ("a", ANY_ITEM, "b"), id="any-item"),
        pytest.param("a[].b", ("a", ANY_ITEM, "b"), id="any-item-as-in-attributes"),
        pytest.param("**.b", (ANY_DEPTH, "b"), id="any-depth"),
        pytest.param("a.**", ("a", ANY_DEPTH), id="any-depth-below"),
        pytest.param("first name.x", ("first name", "x"), id="blanks-belong-to-a-key"),
        pytest.param("$", ("$",), id="the-document-itself"),
        pytest.param("a[" + "9" * 18 + "]", ("a", int("9" * 18)), id="a-long-index"),
        pytest.param("9" * 5000, ("9" * 5000,), id="digits-too-many-for-an-index-are-a-key"),
    ],
)
def test_the_steps_of_a_path(text, segments):
    assert parse_path(text).segments == segments


MALFORMED = [
    pytest.param("", id="nothing"),
    pytest.param("invoice..total", id="two-dots"),
    pytest.param(".a", id="a-leading-dot"),
    pytest.param("a.", id="a-trailing-dot"),
    pytest.param("a[-1]", id="a-negative-index"),
    pytest.param("a[0", id="an-unclosed-bracket"),
    pytest.param("a[", id="a-bracket-opened-last"),
    pytest.param("a]", id="a-bracket-never-opened"),
    pytest.param("a[x]", id="a-bare-word-in-brackets"),
    pytest.param("a[01]", id="an-index-with-leading-zeros"),
    pytest.param('a["b]', id="an-unclosed-quote"),
    pytest.param(r'a["\x"]', id="an-unknown-escape"),
    pytest.param("a.[0]", id="a-dot-before-a-bracket"),
    pytest.param("a[0]b", id="a-key-right-after-a-bracket"),
    pytest.param("a.*", id="a-single-star"),
    pytest.param("a**", id="stars-within-a-key"),
    pytest.param("***", id="three-stars"),
]


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_path_is_refused_by_the_parser(text):
    with pytest.raises(PathError) as caught:
        parse_path(text)
    assert isinstance(caught.value, OptionError)
    assert caught.value.option == "path"
    assert repr(text) in caught.value.message


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_path_is_no_path_and_its_own_key(text):
    assert not is_path(text)
    assert path_key(text) == text


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("a[*].b", "a[].b", True, id="both-wildcards-of-items"),
        pytest.param("a.b", '["a"]["b"]', True, id="quoted-keys"),
        pytest.param("a[0]", "a.0", True, id="an-index-with-a-dot"),
        pytest.param("a[0]", "a[1]", False, id="another-index"),
        pytest.param("a.b", '["a.b"]', False, id="a-key-with-a-dot"),
    ],
)
def test_spellings_of_one_path_have_one_key(one, other, same):
    assert is_path(one)
    assert (path_key(one) == path_key(other)) is same


@pytest.mark.parametrize(
    ("parent", "path", "whole"),
    [
        pytest.param("rows[*]", "a.b", "rows[*].a.b", id="a-key"),
        pytest.param("rows", "[0].b", "rows[0].b", id="an-index"),
        pytest.param("", "a", "a", id="no-parent"),
        pytest.param("", "[0]", "[0]", id="an-index-without-a-parent"),
    ],
)
def test_a_path_is_appended_to_its_parent(parent, path, whole):
    assert append_path(parent, path) == whole


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_path_resolves_to_nothing(text):
    assert resolve({"invoice": {"total": 1}, "a": [1]}, text) is MISSING


@pytest.mark.parametrize(
    ("document", "path", "value"),
    [
        pytest.param(INVOICE, "invoice.vendor.address.city", "Seattle", id="nested-objects"),
        pytest.param(INVOICE, "invoice.line_items[0].amount", 50.00, id="an-item-of-a-list"),
        pytest.param(INVOICE, "invoice.line_items.1.amount", 75.00, id="an-item-between-dots"),
        pytest.param(INVOICE, "invoice.line_items[2].amount", MISSING, id="no-such-item"),
        pytest.param(INVOICE, "invoice.vendor.name", MISSING, id="no-such-key"),
        pytest.param(INVOICE, "invoice.notes", None, id="null-is-there"),
        pytest.param(INVOICE, "invoice.notes.x", MISSING, id="nothing-below-null"),
        pytest.param(INVOICE, "invoice.total.real", MISSING, id="no-attributes-of-numbers"),
        pytest.param(INVOICE, "invoice.keys", MISSING, id="no-inherited-attributes"),
        pytest.param(INVOICE, "invoice.line_items.length", MISSING, id="no-attributes-of-lists"),
        pytest.param(INVOICE, "invoice.line_items[*].amount", MISSING, id="a-pattern-is-no-field"),
        pytest.param({"a": {"**": {"x": 2}}}, "a.**.x", MISSING, id="a-wildcard-is-no-key"),
        pytest.param({"a": {"**": 2}}, "a.**", 2, id="a-literal-key-wins-over-a-wildcard"),
        pytest.param({"a.b": 1, "a": {"b": 2}}, "a.b", 1, id="a-literal-key-wins"),
        pytest.param({"x": {"a.b": 1, "a": {"b": 2}}}, "x.a.b", 1, id="a-literal-key-wins-below"),
        pytest.param({"a..b": 1}, "a..b", 1, id="a-literal-key-need-not-be-a-path"),
        pytest.param({"a": {"b": 2}}, "a.b", 2, id="the-dotted-reading-else"),
        pytest.param({"x": {"a.b": {"c": 1}}}, 'x["a.b"].c', 1, id="a-quoted-key"),
        pytest.param({"a": {"0": "zero"}}, "a.0", "zero", id="a-number-is-a-key-of-an-object"),
        pytest.param({"a": {"0": "zero"}}, "a[0]", "zero", id="also-in-brackets"),
        pytest.param({"a": ["zero"]}, 'a["0"]', MISSING, id="a-quoted-number-is-no-index"),
        pytest.param([{"x": 1}], "[0].x", 1, id="a-document-that-is-a-list"),
        pytest.param("text", "$", "text", id="a-document-that-is-a-scalar"),
        pytest.param({"a": 1}, "$", MISSING, id="an-object-is-addressed-by-its-keys"),
        pytest.param({"$": 1}, "$", 1, id="a-key-named-like-the-root"),
        pytest.param("text", "[0]", MISSING, id="text-has-no-items"),
    ],
)
def test_the_value_at_a_path(document, path, value):
    assert resolve(document, path) == value
    assert resolve(document, path) is value or value is not MISSING
    if path != "a..b":
        assert resolve(document, parse_path(path)) == value


@pytest.mark.parametrize(
    ("parent", "key", "path"),
    [
        pytest.param("", "a", "a", id="at-the-root"),
        pytest.param("a", "b", "a.b", id="below-a-key"),
        pytest.param("a[]", "b", "a[].b", id="below-an-item"),
        pytest.param("", "a.b", '["a.b"]', id="a-dot-needs-quotes"),
        pytest.param("x", "a[0]", 'x["a[0]"]', id="brackets-need-quotes"),
        pytest.param("x", 'say "hi"', r'x["say \"hi\""]', id="quotes-need-quotes"),
        pytest.param("x", "*", 'x["*"]', id="a-star-needs-quotes"),
        pytest.param("x", "", 'x[""]', id="an-empty-key-needs-quotes"),
        pytest.param("x", " ", 'x[" "]', id="a-blank-key-needs-quotes"),
        pytest.param("x", "a b", "x.a b", id="a-blank-inside-does-not"),
        pytest.param("x", "é", "x.é", id="letters-of-any-script"),
    ],
)
def test_a_key_is_joined_to_its_parent(parent, key, path):
    assert join(parent, key) == path


@pytest.mark.parametrize(
    ("path", "attribute"),
    [
        pytest.param("line_items[3].amount", "line_items[].amount", id="an-index"),
        pytest.param("a[*].b", "a[].b", id="any-item"),
        pytest.param("[0][1]", "[][]", id="lists-of-lists"),
        pytest.param('a["b.c"]', 'a["b.c"]', id="quotes-stay"),
        pytest.param("a.**.b", "a.**.b", id="any-depth"),
        pytest.param("**", "**", id="any-depth-alone"),
        pytest.param("a.b", "a.b", id="nothing-to-replace"),
    ],
)
def test_an_attribute_is_a_path_without_indexes(path, attribute):
    assert attribute_of(parse_path(path)) == attribute


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        pytest.param("a.b", "a.b", True, id="itself"),
        pytest.param("a.b", "a.c", False, id="another-key"),
        pytest.param("a", "a.b", False, id="what-is-below-is-another-path"),
        pytest.param("a[*].b", "a[3].b", True, id="any-item-stands-for-an-index"),
        pytest.param("a[*].b", "a[].b", True, id="any-item-stands-for-an-attribute"),
        pytest.param("a[*].b", "a.x.b", False, id="any-item-is-no-key"),
        pytest.param("a[0].b", "a[1].b", False, id="another-index"),
        pytest.param("a[0].b", "a[].b", False, id="an-index-is-not-every-item"),
        pytest.param("**.b", "b", True, id="any-depth-may-be-none"),
        pytest.param("**.b", "a[].x.b", True, id="any-depth"),
        pytest.param("**.b", "a.b.c", False, id="any-depth-ends-where-the-pattern-does"),
        pytest.param("a.**", "a.b[].c", True, id="everything-below"),
        pytest.param("a.**.c", "a.c.c", True, id="any-depth-in-between"),
        pytest.param("**", "a[0]", True, id="everything"),
        pytest.param("**.**.a", "a", True, id="any-depth-twice"),
    ],
)
def test_what_a_pattern_covers(pattern, path, covered):
    assert covers(parse_path(pattern), parse_path(path)) is covered


def test_a_pattern_of_many_depths_is_matched_in_no_time():
    pattern = parse_path(".".join(["**", "a"] * 50))
    assert not covers(pattern, parse_path(".".join(["a"] * 100 + ["b"])))


@pytest.mark.parametrize(("path", "pattern"), [("a[0].b", False), ("a[*].b", True), ("**.b", True)])
def test_a_pattern_knows_that_it_is_one(path, pattern):
    assert parse_path(path).is_pattern is pattern


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({"a": 1, "b": {"c": "x"}}, [("a", 1), ("b.c", "x")], id="objects-are-walked"),
        pytest.param({"a": [1, {"b": 2}]}, [("a[0]", 1), ("a[1].b", 2)], id="lists-are-walked"),
        pytest.param({"a": {}, "b": []}, [("a", {}), ("b", [])], id="empty-containers-are-leaves"),
        pytest.param({"a": None}, [("a", None)], id="null-is-a-leaf"),
        pytest.param({"a.b": 1}, [('["a.b"]', 1)], id="keys-are-quoted-where-needed"),
        pytest.param([{"x": 1}], [("[0].x", 1)], id="a-document-that-is-a-list"),
        pytest.param(5, [("$", 5)], id="a-document-that-is-a-scalar"),
        pytest.param({}, [("$", {})], id="an-empty-document"),
    ],
)
def test_leaves_with_their_paths(document, expected):
    assert list(leaves(document)) == expected


def test_a_prefix_stands_in_front():
    assert list(leaves({"b": [1]}, "a")) == [("a.b[0]", 1)]


def test_no_depth_is_too_deep():
    document = 1
    for _ in range(5_000):
        document = [document]
    assert list(leaves(document)) == [("[0]" * 5_000, 1)]

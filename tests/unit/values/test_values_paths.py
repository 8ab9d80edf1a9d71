from __future__ import annotations

import re

import pytest

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Presence
from fieldmark.values.paths import (
    ANY_DEPTH,
    ANY_ITEM,
    PathError,
    append_path,
    attribute_of,
    changed_at,
    covers,
    field_value,
    has_path,
    is_path,
    join,
    leaves,
    parse_path,
    path_key,
    resolve,
    without,
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
        pytest.param("a[0].b", ("a", 0, "b"), id="index"),
        pytest.param("a.0.b", ("a", 0, "b"), id="index-between-dots"),
        pytest.param("a.007", ("a", "007"), id="leading-zeros-make-a-key"),
        pytest.param('["a.b"].c', ("a.b", "c"), id="quoted-key"),
        pytest.param("x['a.b'][0]", ("x", "a.b", 0), id="single-quotes"),
        pytest.param(r"""['it\'s "it"']""", ('it\'s "it"',), id="quotes-inside-single-quotes"),
        pytest.param('a["0"]', ("a", "0"), id="quoted-number-is-a-key"),
        pytest.param(r'a["\"]\u00e9"]', ("a", '"]é'), id="escapes-inside-quotes"),
        pytest.param('a[""]', ("a", ""), id="empty-key"),
        pytest.param("a[0][1]", ("a", 0, 1), id="list-of-lists"),
        pytest.param("[0].x", (0, "x"), id="document-that-is-a-list"),
        pytest.param("a[*].b", ("a", ANY_ITEM, "b"), id="any-item"),
        pytest.param("a[].b", ("a", ANY_ITEM, "b"), id="any-item-as-in-attributes"),
        pytest.param("**.b", (ANY_DEPTH, "b"), id="any-depth"),
        pytest.param("a.**", ("a", ANY_DEPTH), id="any-depth-below"),
        pytest.param("first name.x", ("first name", "x"), id="whitespace-belong-to-a-key"),
        pytest.param("$", ("$",), id="document-itself"),
        pytest.param("a[" + "9" * 18 + "]", ("a", int("9" * 18)), id="long-index"),
        pytest.param("9" * 5000, ("9" * 5000,), id="digits-too-many-for-an-index-are-a-key"),
    ],
)
def test_steps_of_a_path(text, segments):
    assert parse_path(text).segments == segments


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "must not be empty", id="nothing"),
        pytest.param("invoice..total", "two dots in a row", id="two-dots"),
        pytest.param(".a", "starts with a dot", id="leading-dot"),
        pytest.param("a.", "ends with a dot", id="trailing-dot"),
        pytest.param("a[-1]", "'[-1]' is not an index, a quoted key or [*]", id="negative-index"),
        pytest.param("a[0", "'[0' is not an index, a quoted key or [*]", id="unclosed-bracket"),
        pytest.param("a[", "'[' is not an index, a quoted key or [*]", id="bracket-opened-last"),
        pytest.param("a]", "missing dot or bracket before ']'", id="bracket-never-opened"),
        pytest.param("]", "unexpected ']'; put keys with these characters in [\"quotes\"]", id="only-a-bracket"),
        pytest.param("a[x]", "'[x]' is not an index, a quoted key or [*]", id="bare-word-in-brackets"),
        pytest.param("a[01]", "'[01]' is not an index, a quoted key or [*]", id="index-with-leading-zeros"),
        pytest.param('a["b]', '\'["b]\' is not an index, a quoted key or [*]', id="unclosed-quote"),
        pytest.param("a['b]", '"[\'b]" is not an index, a quoted key or [*]', id="unclosed-single-quote"),
        pytest.param("a['b\"]", '\'[\\\'b"]\' is not an index, a quoted key or [*]', id="mixed-quotes"),
        pytest.param(r'a["\x"]', '"\\x" is not a JSON string', id="unknown-escape"),
        pytest.param("a.[0]", "dot before a bracket", id="dot-before-a-bracket"),
        pytest.param("a[0]b", "missing dot or bracket before 'b'", id="key-after-a-bracket"),
        pytest.param("a.*", 'unexpected \'*\'; put keys with these characters in ["quotes"]', id="single-star"),
        pytest.param("a**", "missing dot or bracket before '**'", id="stars-within-a-key"),
        pytest.param("***", "missing dot or bracket before '*'", id="three-stars"),
    ],
)  # fmt: skip
def test_malformed_path_is_an_error_and_its_own_key(text, problem):
    with pytest.raises(PathError, match=re.escape(problem)) as caught:
        parse_path(text)
    assert isinstance(caught.value, OptionError)
    assert caught.value.option == "path"
    assert repr(text) in caught.value.message
    assert not is_path(text)
    assert path_key(text) == text
    assert resolve({"invoice": {"total": 1}, "a": [1]}, text) is MISSING


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("a[*].b", "a[].b", True, id="both-wildcards-of-items"),
        pytest.param("a.b", '["a"]["b"]', True, id="quoted-keys"),
        pytest.param("a[0]", "a.0", True, id="index-with-a-dot"),
        pytest.param("a[0]", "a[1]", False, id="another-index"),
        pytest.param("a.b", '["a.b"]', False, id="key-with-a-dot"),
    ],
)
def test_spellings_of_one_path_have_one_key(one, other, same):
    assert is_path(one)
    assert (path_key(one) == path_key(other)) is same


@pytest.mark.parametrize(
    ("parent", "path", "whole"),
    [
        pytest.param("rows[*]", "a.b", "rows[*].a.b", id="key"),
        pytest.param("rows", "[0].b", "rows[0].b", id="index"),
        pytest.param("", "a", "a", id="no-parent"),
        pytest.param("", "[0]", "[0]", id="index-without-a-parent"),
    ],
)
def test_path_is_appended_to_its_parent(parent, path, whole):
    assert append_path(parent, path) == whole


@pytest.mark.parametrize(
    ("document", "path", "value"),
    [
        pytest.param(INVOICE, "invoice.vendor.address.city", "Seattle", id="nested-objects"),
        pytest.param(INVOICE, "invoice.line_items[0].amount", 50.00, id="item-of-a-list"),
        pytest.param(INVOICE, "invoice.line_items.1.amount", 75.00, id="item-between-dots"),
        pytest.param(INVOICE, "invoice.line_items[2].amount", MISSING, id="unknown-item"),
        pytest.param(INVOICE, "invoice.vendor.name", MISSING, id="unknown-key"),
        pytest.param(INVOICE, "invoice.notes", None, id="null-is-there"),
        pytest.param(INVOICE, "invoice.notes.x", MISSING, id="nothing-below-null"),
        pytest.param(INVOICE, "invoice.total.real", MISSING, id="no-attributes-of-numbers"),
        pytest.param(INVOICE, "invoice.keys", MISSING, id="no-inherited-attributes"),
        pytest.param(INVOICE, "invoice.line_items.length", MISSING, id="no-attributes-of-lists"),
        pytest.param(INVOICE, "invoice.line_items[*].amount", MISSING, id="pattern-is-no-field"),
        pytest.param({"a": {"**": {"x": 2}}}, "a.**.x", MISSING, id="wildcard-is-no-key"),
        pytest.param({"a": {"**": 2}}, "a.**", 2, id="literal-key-wins-over-a-wildcard"),
        pytest.param({"a.b": 1, "a": {"b": 2}}, "a.b", 1, id="literal-key-wins"),
        pytest.param({"x": {"a.b": 1, "a": {"b": 2}}}, "x.a.b", 1, id="literal-key-wins-below"),
        pytest.param({"a..b": 1}, "a..b", 1, id="literal-key-need-not-be-a-path"),
        pytest.param({"a": {"b": 2}}, "a.b", 2, id="dotted-reading-else"),
        pytest.param({"x": {"a.b": {"c": 1}}}, 'x["a.b"].c', 1, id="quoted-key"),
        pytest.param({"a": {"0": "zero"}}, "a.0", "zero", id="number-is-a-key-of-an-object"),
        pytest.param({"a": {"0": "zero"}}, "a[0]", "zero", id="also-in-brackets"),
        pytest.param({"a": ["zero"]}, 'a["0"]', MISSING, id="quoted-number-is-no-index"),
        pytest.param([{"x": 1}], "[0].x", 1, id="document-that-is-a-list"),
        pytest.param("text", "$", "text", id="document-that-is-a-scalar"),
        pytest.param({"a": 1}, "$", MISSING, id="object-is-addressed-by-its-keys"),
        pytest.param({"$": 1}, "$", 1, id="key-named-like-the-root"),
        pytest.param("text", "[0]", MISSING, id="text-has-no-items"),
    ],
)
def test_value_at_a_path(document, path, value):
    assert resolve(document, path) == value
    assert resolve(document, path) is value or value is not MISSING
    if is_path(path):
        assert resolve(document, parse_path(path)) == value
        if not parse_path(path).is_pattern:
            assert has_path(document, parse_path(path)) is (value is not MISSING)


@pytest.mark.parametrize(
    ("document", "presence", "value"),
    [
        pytest.param({"$": 1}, Presence.VALUE, 1, id="key-named-like-the-root"),
        pytest.param({"a": 1}, Presence.VALUE, {"a": 1}, id="object-instead-of-another-value"),
        pytest.param(7, Presence.VALUE, 7, id="document-that-is-a-number"),
        pytest.param(None, Presence.NULL, None, id="null"),
        pytest.param({"a": 1}, Presence.ABSENT, MISSING, id="absent-value"),
        pytest.param(MISSING, Presence.VALUE, MISSING, id="document-that-was-not-saved"),
    ],
)
def test_value_of_a_field_at_the_root(document, presence, value):
    assert field_value(document, "$", presence) == value


@pytest.mark.parametrize(
    ("parent", "key", "path"),
    [
        pytest.param("", "a", "a", id="at-the-root"),
        pytest.param("a", "b", "a.b", id="below-a-key"),
        pytest.param("a[]", "b", "a[].b", id="below-an-item"),
        pytest.param("", "a.b", '["a.b"]', id="dot-needs-quotes"),
        pytest.param("x", "a[0]", 'x["a[0]"]', id="brackets-need-quotes"),
        pytest.param("x", 'say "hi"', r'x["say \"hi\""]', id="quotes-need-quotes"),
        pytest.param("x", "*", 'x["*"]', id="star-needs-quotes"),
        pytest.param("x", "", 'x[""]', id="empty-key-needs-quotes"),
        pytest.param("x", " ", 'x[" "]', id="blank-key-needs-quotes"),
        pytest.param("x", "a b", "x.a b", id="space-inside-needs-no-quotes"),
        pytest.param("x", "é", "x.é", id="letters-of-any-script"),
        pytest.param("x", "é.", 'x["é."]', id="letters-of-any-script-in-quotes"),
    ],
)
def test_key_is_joined_to_its_parent(parent, key, path):
    assert join(parent, key) == path


@pytest.mark.parametrize(
    ("path", "attribute"),
    [
        pytest.param("line_items[3].amount", "line_items[].amount", id="index"),
        pytest.param("a[*].b", "a[].b", id="any-item"),
        pytest.param("[0][1]", "[][]", id="lists-of-lists"),
        pytest.param('a["b.c"]', 'a["b.c"]', id="quotes-stay"),
        pytest.param("a.**.b", "a.**.b", id="any-depth"),
        pytest.param("**", "**", id="any-depth-alone"),
        pytest.param("a.b", "a.b", id="nothing-to-replace"),
    ],
)
def test_attribute_is_a_path_without_indexes(path, attribute):
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
        pytest.param("a[0].b", "a[].b", False, id="index-is-not-every-item"),
        pytest.param("**.b", "b", True, id="any-depth-may-be-none"),
        pytest.param("**.b", "a[].x.b", True, id="any-depth"),
        pytest.param("**.b", "a.b.c", False, id="any-depth-ends-where-the-pattern-does"),
        pytest.param("a.**", "a.b[].c", True, id="everything-below"),
        pytest.param("a.**.c", "a.c.c", True, id="any-depth-in-between"),
        pytest.param("**", "a[0]", True, id="everything"),
        pytest.param("**.**.a", "a", True, id="any-depth-twice"),
    ],
)
def test_covered_paths(pattern, path, covered):
    assert covers(parse_path(pattern), parse_path(path)) is covered


def test_pattern_with_many_wildcards_is_matched_quickly():
    pattern = parse_path(".".join(["**", "a"] * 50))
    assert not covers(pattern, parse_path(".".join(["a"] * 100 + ["b"])))


@pytest.mark.parametrize(("path", "pattern"), [("a[0].b", False), ("a[*].b", True), ("**.b", True)])
def test_pattern_is_recognized(path, pattern):
    assert parse_path(path).is_pattern is pattern


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({"a": 1, "b": {"c": "x"}}, [("a", 1), ("b.c", "x")], id="objects-are-walked"),
        pytest.param({"a": [1, {"b": 2}]}, [("a[0]", 1), ("a[1].b", 2)], id="lists-are-walked"),
        pytest.param({"a": {}, "b": []}, [("a", {}), ("b", [])], id="empty-containers-are-leaves"),
        pytest.param({"a": None}, [("a", None)], id="null-is-a-leaf"),
        pytest.param({"a.b": 1}, [('["a.b"]', 1)], id="keys-are-quoted-where-needed"),
        pytest.param([{"x": 1}], [("[0].x", 1)], id="document-that-is-a-list"),
        pytest.param(5, [("$", 5)], id="document-that-is-a-scalar"),
        pytest.param({}, [("$", {})], id="empty-document"),
    ],
)
def test_leaves_with_their_paths(document, expected):
    assert list(leaves(document)) == expected


def test_leaves_with_a_prefix():
    assert list(leaves({"b": [1]}, "a")) == [("a.b[0]", 1)]


def test_any_depth_is_supported():
    document = 1
    for _ in range(5_000):
        document = [document]
    assert list(leaves(document)) == [("[0]" * 5_000, 1)]


@pytest.mark.parametrize(
    ("document", "pattern", "named"),
    [
        pytest.param({"a": [1, {"x": 2}]}, "a[*].x", True, id="one-of-the-items"),
        pytest.param({"a": [1, {"y": 2}]}, "a[*].x", False, id="none-of-the-items"),
        pytest.param({"a": []}, "a[*]", False, id="no-items"),
        pytest.param({"a": [[{"x": 2}]]}, "a[*][*].x", True, id="items-of-items"),
        pytest.param({"a": 1}, "**.a", True, id="at-no-depth"),
        pytest.param({"b": 1}, "**.a", False, id="at-no-depth-at-all"),
        pytest.param({"b": {"c": [{"a": 1}]}}, "**.a", True, id="at-any-depth"),
        pytest.param({"b": {"c": [{"a": 1}]}}, "b.**.a", True, id="below-a-key"),
        pytest.param({"b": {"c": [{"a": 1}]}}, "c.**.a", False, id="not-below-another-key"),
        pytest.param([{"x": 1}], "[*].x", True, id="root-list"),
    ],
)  # fmt: skip
def test_pattern_names_something_in_a_document(document, pattern, named):
    assert has_path(document, parse_path(pattern)) is named


@pytest.mark.parametrize(
    ("document", "path", "left"),
    [
        pytest.param({"a": 1, "b": 2}, "a", {"b": 2}, id="key"),
        pytest.param({"a": 1}, "a", MISSING, id="only-key"),
        pytest.param({"a": 1}, "b", {"a": 1}, id="no-such-key"),
        pytest.param({"a": {"b": 1}, "c": 2}, "a.b", {"c": 2}, id="object-that-becomes-empty"),
        pytest.param({"a": {"b": 1, "c": 2}}, "a.b", {"a": {"c": 2}}, id="inner-key"),
        pytest.param({"a.b": 1, "c": 2}, "a.b", {"c": 2}, id="key-with-a-dot"),
        pytest.param({"x": {"a.b": 1, "c": 2}}, "x.a.b", {"x": {"c": 2}}, id="inner-key-with-a-dot"),
        pytest.param({"a": [1, 2]}, "a[0]", {"a": [MISSING, 2]}, id="item"),
        pytest.param({"a": [1]}, "a[0]", MISSING, id="only-item"),
        pytest.param({"a": [1]}, "a[1]", {"a": [1]}, id="no-such-item"),
        pytest.param({"a": [{"x": 1}, {"x": 2}]}, "a[1].x", {"a": [{"x": 1}, MISSING]}, id="value-of-an-item"),
        pytest.param({"a": [MISSING, {"x": 2}]}, "a[0].x", {"a": [MISSING, {"x": 2}]}, id="item-that-is-left-out"),
        pytest.param({"a": [MISSING, {"x": 2}]}, "a[1].x", MISSING, id="last-item-that-is-not-left-out"),
        pytest.param({"a": {"1": 2, "b": 3}}, "a[1]", {"a": {"b": 3}}, id="index-as-key"),
        pytest.param({"a": 1}, "a.b", {"a": 1}, id="step-into-a-scalar"),
        pytest.param({"a": None, "b": 1}, "a", {"b": 1}, id="null"),
        pytest.param(MISSING, "a", MISSING, id="no-document"),
    ],
)  # fmt: skip
def test_document_without_the_value_at_a_path(document, path, left):
    assert without(document, parse_path(path)) == left


@pytest.mark.parametrize(
    ("document", "path", "changed"),
    [
        pytest.param({"a": 1, "b": 2}, "a", {"a": [1], "b": 2}, id="key"),
        pytest.param({"a": 1}, "b", {"a": 1}, id="no-such-key"),
        pytest.param({"a": {"b": 1, "c": 2}}, "a.b", {"a": {"b": [1], "c": 2}}, id="inner-key"),
        pytest.param({"a.b": 1, "a": {"b": 2}}, "a.b", {"a.b": [1], "a": {"b": 2}}, id="key-with-a-dot"),
        pytest.param({"x": {"a.b": 1}}, "x.a.b", {"x": {"a.b": [1]}}, id="inner-key-with-a-dot"),
        pytest.param({"a": [1, 2, 3]}, "a[1]", {"a": [1, [2], 3]}, id="item"),
        pytest.param({"a": [1]}, "a[1]", {"a": [1]}, id="no-such-item"),
        pytest.param({"a": [{"x": 1}]}, "a[0].x", {"a": [{"x": [1]}]}, id="value-of-an-item"),
        pytest.param({"a": {"0": 1}}, "a[0]", {"a": {"0": [1]}}, id="index-as-key"),
        pytest.param({"a": 1}, "a.b", {"a": 1}, id="step-into-a-scalar"),
        pytest.param({"a": None}, "a", {"a": [None]}, id="null"),
        pytest.param(5, "$", [5], id="root-scalar"),
        pytest.param({"$": 5}, "$", {"$": [5]}, id="dollar-as-key"),
        pytest.param([1, 2], "[0]", [[1], 2], id="root-list"),
    ],
)  # fmt: skip
def test_document_with_a_changed_value_at_a_path(document, path, changed):
    assert changed_at(document, parse_path(path), lambda value: [value]) == changed

"""Words of texts are counted as a multiset."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.compare.exact import Exact, NormalizedText
from fieldmark.compare.wrappers import Tokens
from fieldmark.errors import ConfigError
from fieldmark.model.outcome import Outcome
from fieldmark.report.html.tree import case_tree
from json_strategies import any_json

RULES = {"fields": [{"path": "text", "count": "tokens"}]}
COUNTS = ("tp", "tn", "fp", "fn")


def counts(expected, candidate, rules=None, **options):
    run = fm.score([({"text": expected}, {"text": candidate})], rules=rules or RULES, **options)
    found = run.summary.attributes["text"]
    return tuple(getattr(found, name) for name in COUNTS)


@pytest.mark.parametrize(
    ("expected", "candidate", "found"),
    [
        pytest.param("a b c", "a b c", (3, 0, 0, 0), id="equal-texts-have-one-match-per-word"),
        pytest.param("a b c", "c  a\tb", (3, 0, 0, 0), id="order-and-white-space-do-not-matter"),
        pytest.param("a b c", "a x", (1, 0, 1, 2), id="common-extra-and-missing"),
        pytest.param("a a b", "a b b", (2, 0, 1, 1), id="repeated-words-count-repeatedly"),
        pytest.param("a b", None, (0, 0, 0, 2), id="no-text-misses-every-word"),
        pytest.param(None, "a b c", (0, 0, 3, 0), id="unexpected-text"),
        pytest.param(None, "", (0, 1, 0, 0), id="both-empty"),
        pytest.param("A", "a", (0, 0, 1, 1), id="exact-words-differ-in-case"),
        pytest.param("12 pieces", 12, (1, 0, 0, 1), id="numbers-are-words"),
        pytest.param("a b", ["a"], (0, 0, 1, 1), id="a-list-is-one-wrong-value"),
    ],
)
def test_words_are_counted(expected, candidate, found):
    assert counts(expected, candidate) == found


@pytest.mark.parametrize(
    ("options", "found"),
    [
        pytest.param({"match": "exact"}, (1, 0, 2, 2), id="exact"),
        pytest.param({"match": "normalized_text"}, (2, 0, 1, 1), id="case"),
        pytest.param(
            {"match": "normalized_text", "ignore": ["punctuation"]}, (3, 0, 0, 0), id="punctuation"
        ),
    ],
)
def test_match_decides_which_words_are_equal(options, found):
    rules = {"fields": [{"path": "text", "count": "tokens", **options}]}
    assert counts("Big red, box", "big red box", rules) == found


def test_missing_and_extra_words_are_named():
    result = fm.compare({"text": "blue box"}, {"text": "blue bag"}, rules=RULES)
    notes = [(each.outcome, each.note) for each in result.fields]
    assert notes == [("match", ""), ("omission", "word 'box'"), ("hallucination", "word 'bag'")]


def test_other_fields_count_as_before():
    pairs = [({"text": "a b", "total": 1}, {"text": "a", "total": 2})]
    micro = fm.score(pairs, rules=RULES).summary.micro
    assert (micro.tp, micro.fp, micro.fn) == (1, 1, 2)


def test_words_in_list_items_are_counted():
    truth = {"lines": [{"text": "one two", "n": 1}, {"text": "three", "n": 2}]}
    found = {"lines": [{"text": "three four", "n": 2}, {"text": "one two", "n": 1}]}
    rules = {"fields": [{"path": "lines[*].text", "count": "tokens"}]}
    lines = fm.score([(truth, found)], rules=rules).summary.attributes["lines[].text"]
    assert (lines.tp, lines.fp, lines.fn) == (3, 1, 0)


@pytest.mark.parametrize(
    "fields", [{"text": {"count": "tokens"}}, [{"path": "text", "count": "tokens"}]]
)
def test_count_is_a_setting_in_every_form_of_rules(fields):
    assert counts("a b", "a", {"fields": fields}) == (1, 0, 0, 1)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        pytest.param(
            {"match": "fuzzy"}, "count: tokens cannot be combined with match: fuzzy", id="fuzzy"
        ),
        pytest.param({"any_of": True}, "count: tokens cannot be combined with any_of", id="any-of"),
        pytest.param({"align": "index"}, "count and align cannot be combined", id="align"),
        pytest.param({"count": "letters"}, "must be one of: fields, tokens", id="unknown"),
    ],
)
def test_invalid_combinations_are_rejected(field, message):
    rules = {"fields": [{"path": "text", "count": "tokens", **field}]}
    with pytest.raises(ConfigError) as error:
        fm.score([({"text": "a"}, {"text": "a"})], rules=rules)
    assert message in str(error.value)


def test_saved_run_is_recounted_and_compared_with_its_words(tmp_path):
    pairs = [({"text": "a b c"}, {"text": "a x"}), ({"text": "d"}, {"text": "d"})]
    run = fm.score(pairs, rules=RULES, out=tmp_path / "run")
    again = fm.rescore(run).summary
    assert again.micro == run.summary.micro
    assert fm.diff(run, run).word == "too few cases to tell"
    hidden = fm.score(pairs, rules=RULES, values=False, out=tmp_path / "hidden")
    assert hidden.summary.micro == run.summary.micro
    assert "word" not in (tmp_path / "hidden" / "results.jsonl").read_text("utf-8")


words = st.lists(st.sampled_from(["a", "b", "B", "c,", "ä", "1"]), max_size=8).map(" ".join)
texts = words | any_json


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_files_are_counted_like_objects(tmp_path_factory, pairs):
    """Unparsed documents are compared by the kernel, which calls back for words."""
    directory = tmp_path_factory.mktemp("files")
    rows = [({"text": one, "n": 1}, {"text": two, "n": 1}) for one, two in pairs]
    for name, side in (("truth", 0), ("candidate", 1)):
        lines = [json.dumps({"id": str(n), "d": row[side]}) for n, row in enumerate(rows)]
        (directory / f"{name}.jsonl").write_text("\n".join(lines), "utf-8", "surrogatepass")
    options = {"expected_key": "d", "candidate_key": "d"}
    files = directory / "truth.jsonl", directory / "candidate.jsonl"
    read = fm.score(*files, rules=RULES, inputs=options).summary
    assert read.attributes == fm.score(rows, rules=RULES).summary.attributes


@given(words, words)
def test_counts_are_those_of_multisets(expected, candidate):
    ours, theirs = Counter(expected.split()), Counter(candidate.split())
    tp = (ours & theirs).total()
    tn = 0 if ours or theirs else 1
    want = (tp, tn, theirs.total() - tp, ours.total() - tp)
    assert counts(expected, candidate) == want


@given(any_json, any_json)
def test_comparison_is_total_symmetric_and_matches_itself(one, two):
    for inner in (Exact(), NormalizedText()):
        tokens = Tokens(inner=inner)
        assert tokens.compare(one, two).matched == tokens.compare(two, one).matched
        assert tokens.compare(one, one).matched or isinstance(one, dict | list | float)


@pytest.mark.parametrize(
    ("candidate", "outcome", "note"),
    [
        pytest.param("blue box", "match", "", id="all-words-match"),
        pytest.param(
            "blue bag",
            "wrong_value",
            "words: 1 match, 1 missing ('box'), 1 extra ('bag')",
            id="some",
        ),
        pytest.param("blue", "wrong_value", "words: 1 match, 1 missing ('box')", id="one-missing"),
        pytest.param(None, "omission", "", id="none"),
    ],
)
def test_case_view_sums_up_the_words_of_a_text(candidate, outcome, note):
    result = fm.compare({"text": "blue box"}, {"text": candidate}, rules=RULES)
    [node] = case_tree(result).nodes
    assert Outcome(node.mark).label == outcome
    assert (node.comparison.note if node.comparison else "") == note

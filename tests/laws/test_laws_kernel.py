"""The kernel and the Python functions give the same results, byte for byte."""

from __future__ import annotations

import json
import shutil
from functools import partial
from itertools import product
from pathlib import Path
from random import Random

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.align.exact_methods import Index
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Ignore, NormalizedText
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.data import file_blocks
from fieldmark.data.json_parser import JsonDialect, parse_bytes
from fieldmark.data.row_layout import _hash_ids
from fieldmark.errors import DataError
from fieldmark.metrics.case_score import CaseCounter, count_cells
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.model.case import Case
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING
from fieldmark.model.kernel import kernel, parsed
from fieldmark.model.kernel._kernel import Document
from fieldmark.model.outcome import CELL_BITS, Reason
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.plan import compile_plan
from fieldmark.plan.kernel_walk import KernelWalk
from fieldmark.plan.walk import Walk
from fieldmark.runs.attribute_table import RowNumbers
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.case_rows import CaseEncoder, divide_row
from fieldmark.values.json_text import Limits
from item_lists import flat_items, item_lists, nested_items
from json_strategies import document_pairs
from line_files import encoded, mutated, two_sides
from proving import PROVING
from pure_python import both_ways, pure_python

DATA = Path(__file__).parents[1] / "data"
SAMPLE = Path(fm.__file__).parent / "sample"


def rules(*fields, **settings):
    return {"rules": {**settings, "fields": [dict(field) for field in fields]}}


def field(path, match, **settings):
    return {"path": path, "match": match, **settings}


RULES = {
    "no options": {},
    "only fields of the truth count": {"scope": "truth"},
    "objects are compared as values": {"depth": "top"},
    "strings are fuzzy": {"match": "fuzzy"},
    "strings are normalized": {"match": "normalized_text"},
    "strings are patterns, some invalid": {"match": "regex"},
    "strings may contain each other": {"match": "contains"},
    "everything is a date": {"match": "date"},
    "numbers may be close": {"match": "numeric_tolerance"},
    "a provider is called": {"match": "semantic"},
    "fields are ignored": rules(field("a", "ignore"), field("n.x", "ignore")),
    "fields are ignored, and only fields of the truth count": rules(
        field("a", "ignore"), field("n.x", "ignore"), field("only", "ignore"), scope="truth"
    ),
    "fields are ignored at any depth": rules(field("**.x", "ignore"), field("**.z", "ignore")),
    "everything is ignored": rules(field("**", "ignore")),
    "an object is ignored": rules(field("n", "ignore")),
    "an object is compared as a value": rules(field("n", "exact")),
    "a nested object is compared as a value": rules(field("n.m", "exact")),
    "some fields are dates": rules(field("date", "date"), field("n.y", "date")),
    "one rule for all, another for one": rules(field("**", "fuzzy"), field("n.x", "date")),
    "some strings are empty tokens": {"rules": {"empty_tokens": ["n/a", "-", "blue"]}},
    "blank strings are values": {"rules": {"empty_blanks": False}},
    "empty containers are empty": {"rules": {"empty_containers": True}},
    "only some fields count": rules(field("a", "exact"), field("n.x", "fuzzy"), scope="configured"),
    "all fields are configured": rules(field("**", "exact"), scope="configured"),
    "fields with one name are configured": rules(field("**.x", "exact"), scope="configured"),
    "fields of items are configured": rules(field("rows[*].name", "exact"), scope="configured"),
    "a path is invalid": rules(field("a[", "exact")),
    "fields have weights": rules(
        field("a", "numeric_tolerance", weight=3), field("b", "fuzzy", required=False)
    ),
    "one of several values is enough": rules({"path": "a", "any_of": True}),
    "the whole document has a rule": rules(field("$", "exact")),
    "items are aligned for the highest total": rules({"path": "rows", "align": "optimal"}),
    "items have match fields": rules(
        {"path": "rows", "align": "greedy", "match_fields": ["name", "qty"]}
    ),
    "items with match fields are aligned for the highest total": rules(
        {"path": "rows", "align": "optimal", "match_fields": ["name"], "threshold": 0.4}
    ),
    "any items are aligned": rules({"path": "rows", "align": "greedy", "threshold": 0}),
    "items are aligned by position": rules({"path": "rows", "align": "index"}),
    "items are aligned as a set": rules({"path": "rows", "align": "set"}),
    "lists are values": rules({"path": "rows", "align": "whole"}),
    "fields of items have rules": rules(
        field("rows[*].name", "fuzzy"), field("rows[*].price", "numeric_tolerance", tolerance=0.5)
    ),
    "fields of items are ignored": rules(field("rows[*].name", "ignore")),
    "fields of items are dates": rules(field("rows[*].note", "date")),
    "items are values": rules(field("rows[*]", "exact")),
    "one item has a rule": rules(field("rows[0].name", "fuzzy")),
    "scores are graded": {"convention": "field_accuracy", "match": "fuzzy"},
    "convention is taxonomy": {"convention": "taxonomy"},
    "convention is four_phase": {"convention": "four_phase"},
    "duplicate keys are allowed": {"inputs": {"duplicates": "last"}},
    "cases are paired by position": {"inputs": {"pair": "position"}},
    "depth is limited": {"inputs": fm.Inputs(limits=Limits(depth=2))},
    "number of values is limited": {"inputs": fm.Inputs(limits=Limits(nodes=150))},
    "paths are limited": {"inputs": fm.Inputs(limits=Limits(key_characters=4, path_characters=0))},
}


@pytest.fixture(scope="module")
def _short_blocks():
    """The first block is always parsed, so blocks must be short enough for more lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_blocks, "_LINE_BLOCK_BYTES", 500)
        yield


@pytest.fixture(scope="module")
def kernel_pairs():
    """The number of pairs that the kernel compared."""
    pairs = [0]
    compare = KernelWalk.compare

    def counted(self, given, otherwise):
        def not_compared(pair):
            pairs[0] -= 1
            return otherwise(pair)

        pairs[0] += len(given)
        return compare(self, given, not_compared)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KernelWalk, "compare", counted)
        yield pairs


def scored(files, options, directory):
    """Return the summary and the rows of a run."""
    shutil.rmtree(directory, ignore_errors=True)
    try:
        summary = fm.score(*files, out=directory, **options).to_dict()
    except fm.FieldmarkError as error:
        return repr(error)
    return json.dumps(summary), (directory / "results.jsonl").read_bytes()


def written(directory, seed, **size):
    files = directory / "truth.jsonl", directory / "candidate.jsonl"
    for file, content in zip(files, two_sides(seed, **size), strict=True):
        file.write_bytes(content)
    return files


@pytest.mark.usefixtures("_short_blocks")
@pytest.mark.parametrize("options", RULES.values(), ids=RULES)
def test_files_are_scored_as_without_the_kernel_if(tmp_path, options):
    for seed in range(4):
        files = written(tmp_path, seed, lists=seed % 2 == 1)
        compiled, pure = both_ways(partial(scored, files, options, tmp_path / "run"))
        assert compiled == pure


@pytest.mark.usefixtures("_short_blocks")
def test_any_files_are_scored_as_without_the_kernel(tmp_path_factory, kernel_pairs):
    directory = tmp_path_factory.mktemp("files")

    @given(st.integers(0, 2**64), st.sampled_from(list(RULES)), st.booleans())
    def law(seed, name, lists):
        files = written(directory, seed, lists=lists)
        compiled, pure = both_ways(partial(scored, files, RULES[name], directory / "run"))
        assert compiled == pure

    before = kernel_pairs[0]
    law()
    assert kernel_pairs[0] > before + 10 * settings().max_examples


# --- parsed documents -----------------------------------------------------------------------------

ALIGNERS = [
    Greedy(),
    Greedy(threshold=0.2),
    Greedy(match_fields=("a", "é")),
    Greedy(match_fields=("a", "b", "c"), threshold=0.4),
    Greedy(similarity="equality"),
    Optimal(),
    Optimal(match_fields=("a", "b.c"), threshold=0.3),
    Optimal(match_fields=("a", "b", "c", "é")),
    Index(),
]
ITEM_RULES = [
    (),
    (Rule(path="**.items[*].a", comparator=Fuzzy()),),
    (Rule(path="**.items[*].a", comparator=NormalizedText()),),
    (Rule(path="**.items[*].b", comparator=NumericTolerance(tolerance=1)),),
    (Rule(path="**.items[*].a", comparator=DateMatch()),),
    (Rule(path="**.items[*].a[*].b", comparator=Ignore()),),
    (
        Rule(path="**.items[*].a", comparator=Fuzzy()),
        Rule(path="**.items[*].b", comparator=NumericTolerance(tolerance=0.5, relative=True)),
        Rule(path="**.items[*].c", comparator=NumericTolerance(tolerance=1)),
    ),
]


def compare(plan, pair):
    block = plan.compare(*pair)
    return block.cells, block.items, block.comparisons, list(block.records(plan.table))


@settings(max_examples=max(100, settings().max_examples))
@given(
    pair=document_pairs(),
    lists=item_lists() | item_lists(flat_items) | item_lists(nested_items),
    aligner=st.sampled_from(ALIGNERS),
    of_items=st.sampled_from(ITEM_RULES),
)
def test_documents_are_compared_as_without_the_kernel(pair, lists, aligner, of_items):
    documents = [
        pair,
        tuple({"items": side} for side in lists),
        tuple({"n": {"items": lists[0]}} for _ in "ab"),
        (pair[0], MISSING),
        ({"items": lists[0]}, MISSING),
        ({"n": {"items": lists[0]}, "p": pair[0], "a": 1}, {"a": 1}),
        ({"a": 1}, {"n": {"items": lists[1]}, "p": pair[1], "a": 1}),
    ]
    fields = (Rule(path="**.items", aligner=aligner), *of_items)

    def outcomes():
        plan = compile_plan(Rules(fields=fields))
        return [compare(plan, each) for _ in range(2) for each in documents]

    compiled, pure = both_ways(outcomes)
    assert repr(compiled) == repr(pure)


@pytest.mark.parametrize("scope", [Scope.UNION, Scope.TRUTH])
def test_values_without_counterpart_are_compared_by_the_kernel(kernel_pairs, scope, monkeypatch):
    full = kernel.document(b'{"a":1,"n":{"x":"y","z":null},"rows":[{"b":2,"m":{"c":3}},{"b":4}]}')
    plan = compile_plan(Rules(scope=scope))
    first = [plan.compare_all([pair])[0].cells for pair in ((full, full), (full, MISSING))]
    assert len(first[1]) == 6
    before = kernel_pairs[0]
    monkeypatch.setattr(Walk, "_compare_leaf", None)  # every attribute is known now
    again = plan.compare_all([(full, full), (full, MISSING)])
    assert [each.cells for each in again] == first
    assert kernel_pairs[0] == before + 2


LETTERS = "aAé É\u0301ÀàßÞþ×÷ÿŸµ \xa0ﬁ"
texts = st.text(LETTERS, max_size=9) | st.builds(
    lambda letter, times, rest: letter * times + rest,
    st.sampled_from("aÉ"),
    st.sampled_from([63, 64, 65, 254, 255, 256, 300]),
    st.text("abé", max_size=3),
)
"""Texts that are folded in different ways, and texts with many letters of one class."""


def same_items(lists, *fields):
    """Compare two lists of items with the kernel and without it; return the marks of the items."""
    documents = tuple({"items": side} for side in lists)
    compiled, pure = both_ways(lambda: compare(compile_plan(Rules(fields=fields)), documents))
    assert repr(compiled) == repr(pure)
    return compiled[1]


@given(
    lists=item_lists(st.fixed_dictionaries({}, optional={"a": texts, "b": texts})),
    aligner=st.sampled_from([Greedy(threshold=0.1), Greedy(), Optimal(match_fields=("a",))]),
    of_items=st.sampled_from(ITEM_RULES[:3]),
)
def test_texts_of_items_are_compared_as_without_the_kernel(lists, aligner, of_items):
    same_items(lists, Rule(path="items", aligner=aligner), *of_items)


LOOK_ALIKES = "-\N{HYPHEN}\N{EN DASH}\N{MINUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}2²２½㎡"
"""Characters that some comparators merge."""


@pytest.mark.parametrize("of_items", ITEM_RULES[:3], ids=["no-rule", "fuzzy", "normalized-text"])
def test_look_alike_texts_are_compared_as_without_the_kernel(of_items):
    aligner = Rule(path="items", aligner=Greedy())
    for pair in product(LOOK_ALIKES, repeat=2):
        expected, candidate = ([{"a": f"0 {letter} 20", "b": 1}] for letter in pair)
        same_items((expected, candidate), aligner, *of_items)


class WithoutLetters:
    """A comparator for which all texts are the same."""

    name = "without_letters"
    reflexive = True

    def compare(self, *_):
        return Comparison(matched=True, score=1.0)

    def item_leaves(self, leaves):
        return [""] * len(leaves)


@pytest.mark.parametrize("comparator", [None, Fuzzy()], ids=["no-rule", "fuzzy"])
@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param("ÀÉ Þ", "àé þ ", id="latin-letters-are-folded"),
        pytest.param("a×", "a÷", id="multiplication-is-not-division"),
        pytest.param("aß", "aÿ", id="sharp-s-is-not-y"),
        pytest.param("aß", "ASS", id="sharp-s-is-two-letters"),
        pytest.param("aÄ", "aĄ", id="letter-beyond-latin"),
        pytest.param("aé", "ae\u0301", id="accent-as-a-character"),
        pytest.param("a½", "a1⁄2", id="compatible-characters"),
        pytest.param("aﬁ", "afi", id="ligature"),
        pytest.param("a" * 300 + "b", "a" * 300 + "c", id="both-with-more-letters-than-counted"),
        pytest.param("a" * 300, "a" * 290, id="longer-expected-text"),
        pytest.param("a" * 250, "a" * 260, id="longer-candidate-text"),
        pytest.param("a" * 255 + "b", "b" + "a" * 255, id="one-letter-too-many"),
    ],
)
def test_similarity_of_two_texts_is_that_without_the_kernel(expected, candidate, comparator):
    rule = () if comparator is None else (Rule(path="items[*].a", comparator=comparator),)
    lists = [{"a": expected}], [{"a": candidate}]
    for threshold in (0.9, 0.2):
        aligner = Rule(path="items", aligner=Greedy(threshold=threshold))
        marks = same_items(lists, aligner, *rule)
    assert len(marks) == 1


def test_texts_without_letters_are_equal_as_without_the_kernel():
    rule = Rule(path="items[*].a", comparator=WithoutLetters())
    aligner = Rule(path="items", aligner=Greedy())
    (mark,) = same_items(([{"a": "one"}], [{"a": "two"}]), aligner, rule)
    assert mark[-1] == 1.0


@pytest.mark.parametrize("colors", [3, 40], ids=["repeated", "different"])
def test_items_with_similar_texts_are_aligned_as_without_the_kernel(colors):
    chance = Random(colors)
    lists = [
        [
            {"a": f"{'dark ' * chance.randrange(2)}color {chance.randrange(colors)}", "b": place}
            for place in chance.sample(range(60), 40)
        ]
        for _ in range(2)
    ]
    for aligner in (Greedy(), Greedy(match_fields=("a",), threshold=0.8)):
        assert same_items(lists, Rule(path="items", aligner=aligner))


MATCH_FIELDS = {
    "a": ["dark color", "dark colour", "light color", "red"],
    "b": [1, 2, 2.5],
    "c": ["x", "y"],
}


@pytest.mark.parametrize("method", [Greedy, Optimal])
@pytest.mark.parametrize("seed", range(10))
def test_items_without_some_match_fields_are_aligned_as_without_the_kernel(method, seed):
    chance = Random(seed)
    present = chance.choice([0.5, 0.8, 0.95])

    def item():
        given = {
            key: chance.choice(MATCH_FIELDS[key])
            for key in MATCH_FIELDS
            if chance.random() < present
        }
        return given | {"n": chance.randrange(100)}

    lists = [[item() for _ in range(chance.choice([3, 12, 40]))] for _ in range(2)]
    for threshold in (0, 0.5, 0.8, 1):
        for rules in ITEM_RULES[:4]:
            aligner = method(match_fields=tuple(MATCH_FIELDS), threshold=threshold)
            same_items(lists, Rule(path="items", aligner=aligner), *rules)


@given(st.lists(st.text(max_size=3)), st.text(max_size=2), st.booleans(), st.booleans())
def test_ids_are_hashed_as_without_the_kernel(ids, greatest, in_order, unnamed):
    given = (sorted(set(ids)) if in_order else ids) + [None] * unnamed
    assert kernel.hash_ids(given, greatest) == _hash_ids(given, greatest)


@given(st.lists(st.integers(0, 40) | st.integers(0, 2**62), max_size=200))
def test_cells_are_counted_as_without_the_kernel(cells):
    compiled, pure = both_ways(lambda: [*count_cells(cells).items()])
    assert compiled == pure


@given(
    cells=st.lists(st.integers(0, 40) | st.integers(0, 20 << CELL_BITS), max_size=200),
    plain=st.integers(0, 150),
    paths=st.integers(1, 21),
    convention=st.sampled_from([*CONVENTIONS.values()]),
)
def test_cases_are_scored_as_without_the_kernel(cells, plain, paths, convention):
    table = AttributeTable()
    for number in range(21):
        weight = 1.0 if number < paths else 2.0
        path = f"a{number % paths}"
        table.add(Attribute(path=path, comparator=f"c{number}", weight=weight, required=weight > 1))
    matches = [each << CELL_BITS | 15 for each in range(plain % 21)] * (1 + plain // 21)
    block = [*matches, *cells]

    def stats():
        counter = CaseCounter(convention, table)
        return [counter.stats(Outcomes(block[:end])) for end in (0, 1, 30, 64, 65, 400)]

    compiled, pure = both_ways(stats)
    assert repr(compiled) == repr(pure)


# --- rows -----------------------------------------------------------------------------------------

shares = (
    st.sampled_from([0.0, -0.0, 1.0, 0.999999999999, 0.001, 0.0009999])
    | st.integers(0, 10**12).map(lambda units: units / 1e12)
    | st.floats()
)
comparisons = st.builds(
    Comparison,
    matched=st.booleans(),
    score=shares,
    similarity=st.none() | shares,
    reason=st.none() | st.sampled_from(Reason),
    coerced=st.booleans(),
    ambiguous=st.booleans(),
    approximate=st.booleans(),
    note=st.just("") | st.text(max_size=5),
)
places = st.none() | st.integers(0, 2**70) | st.text(max_size=5)
marks = st.tuples(
    st.integers(0, 99), st.sampled_from(["a[]", "b[]"]), places, places, st.none() | shares
)


@given(
    case_id=st.text(st.characters(), max_size=8),
    found=st.dictionaries(st.integers(0, 99), comparisons, max_size=3),
    items=st.lists(marks, max_size=3),
    number=st.floats(allow_nan=False, allow_infinity=False),
)
def test_rows_are_written_as_without_the_kernel(case_id, found, items, number):
    documents = [kernel.document(f'{{"a":{each}}}'.encode()) for each in (number, repr(number))]
    case = Case(case_id, None, unparsed=(documents[0], documents[1]))
    table = AttributeTable()
    table.add(Attribute(path="a", comparator="exact"))
    outcomes = Outcomes([15] * 3, found, items)
    convention = CONVENTIONS["confusion"]
    stats = CaseCounter(convention, table).stats(outcomes)
    result = CaseResult(case, outcomes, stats, table, convention)

    def rows():
        encoder = CaseEncoder(RowNumbers(table))
        return [encoder.encode(0, [result]) for _ in range(2)]

    compiled, pure = both_ways(rows)
    assert compiled[0] == compiled[1] == pure[0]


def test_rows_of_common_cases_are_written_by_the_kernel():
    document = kernel.document(b'{"a":0.30000000000000004,"b":"x"}')
    mistake = Comparison(matched=False, similarity=0.25, reason=Reason.DIFFERENT, coerced=True)
    items = [(0, "b[]", 0, None, None), (1, "b[]", 1, 0, 0.1 + 0.2)]
    line = kernel.row('"1"é', b',"cells":[]', {3: mistake}, items, {"b[]": 9}, document, document)
    assert json.loads(line) == {
        "case_id": '"1"é',
        "cells": [],
        "comparisons": [[3, 0.25, 0.0, "different", ["coerced"]]],
        "items": [[0, 9, 0, None, None], [1, 9, 1, 0, 0.1 + 0.2]],
        "expected": {"a": 0.1 + 0.2, "b": "x"},
        "candidate": {"a": 0.1 + 0.2, "b": "x"},
    }
    assert line.endswith(b"}\n")


@pytest.mark.parametrize(
    ("items", "numbers", "candidate"),
    [
        pytest.param([(0, "b[]", 0, 0, 1.0)], {}, b'{"a":1}', id="list-without-number"),
        pytest.param([], {}, b'{"a": 1}', id="other-white-space"),
        pytest.param([], {}, b'{"a":0.300000000000000041}', id="more-digits-than-needed"),
    ],
)
def test_other_rows_are_left_to_python(items, numbers, candidate):
    documents = kernel.document(b'{"a":1}'), kernel.document(candidate)
    assert kernel.row("1", b"", {}, items, numbers, *documents) is None
    assert kernel.row("1", b"", {}, items, numbers, documents[0], {"a": 1}) is None


ROW = b'{"case_id":"1","score":1.0,"cells":[15],"expected":{"a":{"candidate":1}},"candidate":{"x":2}}\n'


def same_division(line):
    """Check that a row is divided as by Python, or left to it; return whether it was divided."""
    divided = kernel.divide_row(line, MISSING)
    if divided is None:
        return False
    case_id, record, documents = divided
    *parts, end = divide_row(line)
    assert parts == [case_id, None, record]
    rest = parse_bytes(b"{" + line[end + 1 : -1], JsonDialect())
    found = {
        key: each.value()
        for key, each in zip(("expected", "candidate"), documents, strict=True)
        if each is not MISSING
    }
    assert exact(found) == exact(rest)
    return True


@given(st.integers(0, 2**64))
def test_rows_are_divided_as_without_the_kernel(seed):
    chance = Random(seed)
    assert same_division(ROW)
    for _ in range(40):
        same_division(mutated(chance, ROW))
        same_division(ROW[: chance.randrange(len(ROW))])


@pytest.mark.parametrize(
    ("line", "candidate"),
    [
        pytest.param(ROW, {"x": 2}, id="both-documents"),
        pytest.param(ROW.replace(b',"candidate":{"x":2}', b""), MISSING, id="no-candidate"),
        pytest.param(ROW.replace(b'"1"', b'""'), {"x": 2}, id="empty-id"),
    ],
)
def test_rows_of_common_cases_are_divided_by_the_kernel(line, candidate):
    assert same_division(line)
    _, _, (expected, found) = kernel.divide_row(line, MISSING)
    assert expected.value() == {"a": {"candidate": 1}}
    assert parsed(found) == candidate


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(ROW.replace(b',"score"', b',"segment":[0,1],"score"'), id="segment"),
        pytest.param(ROW.replace(b'"1"', '"é"'.encode()), id="id-beyond-ascii"),
        pytest.param(ROW.replace(b'"1"', b'"\\n"'), id="id-with-an-escape"),
        pytest.param(ROW.partition(b',"expected"')[0] + b"}\n", id="no-documents"),
        pytest.param(ROW.replace(b'{"x":2}', b"[1]"), id="list"),
        pytest.param(ROW.replace(b'{"x":2}', b'{"x":2,"x":3}'), id="duplicate-key"),
        pytest.param(ROW.replace(b'{"x":2}', b'{"x":2},"tags":[]'), id="further-key"),
        pytest.param(ROW + b" ", id="further-text"),
        pytest.param(ROW[:-1], id="no-line-feed"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_other_rows_are_not_divided_by_the_kernel(line):
    assert kernel.divide_row(line, MISSING) is None


# --- strict JSON ----------------------------------------------------------------------------------

LIMITS = (200, 4000, 250_000, 1_000_000)


def exact(value):
    """Return a representation that distinguishes equal values of different types."""
    return repr(value)


def has_key(document, key):
    return kernel.find_document([document], 0, (key.encode(),)) == 0


def same_documents(block):
    """Check that lines are refused or read as by the strict parser; return the number of others."""
    _, documents, numbers = kernel.read(block, None, None, *LIMITS)
    filled = [bool(line.strip(b" \t\r")) for line in block.removesuffix(b"\n").split(b"\n")]
    lines = [line for line in block.split(b"\n") if line.strip(b" \t\r")]
    assert len(documents) == len(lines)
    assert numbers == (
        None if all(filled) or not block else [place for place, has in enumerate(filled) if has]
    )
    for document, line in zip(documents, lines, strict=True):
        if isinstance(document, Document):
            value = parse_bytes(line, JsonDialect())
            assert exact(document.value()) == exact(value)
            assert all(has_key(document, key) for key in value)
            assert document.canonical in (None, orjson.dumps(value))
        else:
            assert document == line
    return sum(isinstance(document, Document) for document in documents)


TAUGHT = {"a": 1, "b": "x", "é": None, "n": {"x": "y", "m": {"z": True}}, "l": [1.5, {"k": []}]}


@given(st.integers(0, 2**64))
def test_mutated_lines_are_refused_or_read_as_by_the_strict_parser(seed):
    chance = Random(seed)
    rows = [{**TAUGHT, "b": chance.choice(("x", "é\n", "日本", 2.5))} for _ in range(4)]
    block = "".join(f"{encoded(chance, row)}\n" for row in rows).encode()
    assert same_documents(block) == 4
    for _ in range(40):
        same_documents(mutated(chance, block))


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20))
def test_numbers_are_read_as_by_the_strict_parser(number):
    for text in (repr(number), f"{number:.2f}", f"{number:.0f}.0", f"{number:e}"):
        same_documents(f'{{"a":{text}}}'.encode())


@given(st.integers(0, 10**16), st.integers(0, 18))
def test_short_decimals_are_canonical(digits, decimals):
    text = f"{digits / 10**decimals:.{decimals}f}"
    read = same_documents(f'{{"a":{text}}}'.encode())
    assert read == (len(text.split(".", maxsplit=1)[0]) <= 18)


@given(st.text())
def test_strings_are_canonical_as_orjson_writes_them(text):
    try:
        raw = orjson.dumps({"a": text})
    except TypeError:  # a surrogate
        return
    document = kernel.document(raw)
    by_number = any(letter < " " and letter not in "\b\f\n\r\t" for letter in text)
    assert document.canonical == (None if by_number else raw)


SUITE = json.loads((DATA / "bad-input" / "json_test_suite.json").read_text())
NAUGHTY = json.loads((DATA / "naughty" / "strings.json").read_text())
STRINGS = [text for texts in NAUGHTY.values() for text in texts if isinstance(text, str)]


@pytest.mark.parametrize("name", SUITE)
def test_bad_json_is_refused_or_read_as_by_the_strict_parser(name):
    raw = SUITE[name].encode("latin-1")
    inner = raw.strip()[1:-1]
    for row in (raw, b'{"a": ' + raw + b"}", b'{"a": ' + inner + b"}", b'{"a": 1, ' + inner + b"}"):
        for block in (row, row + b"\n", b'{"a": 1}\n' + row):
            same_documents(block)
        if kernel.is_strict(row, *LIMITS[:3]):
            assert exact(parse_bytes(row, JsonDialect())) == exact(orjson.loads(row))


def test_hostile_strings_are_refused_or_read_as_by_the_strict_parser():
    assert len(STRINGS) > 400
    read = 0
    for text in STRINGS:
        for ascii_only in (False, True):
            row = json.dumps({"id": "1", "a": text, "b": 1}, ensure_ascii=ascii_only)
            read += same_documents(row.encode("utf-8", "surrogatepass"))
    assert read > 500


@given(st.integers(0, 2**64), st.integers(1, 9), st.integers(0, 9), st.integers(0, 99))
def test_limits_are_those_of_the_strict_parser(seed, depth, key_characters, path_characters):
    chance = Random(seed)
    raw = encoded(chance, {"key": TAUGHT, "long key": [[1], {"x": {"y": 1}}]}).encode()
    limits = Limits(depth=depth, key_characters=key_characters, path_characters=path_characters)
    if kernel.is_strict(raw, depth, key_characters, path_characters):
        parse_bytes(raw, JsonDialect(limits=limits))
    elif key_characters > 8 and path_characters > 0:
        with pytest.raises(DataError, match="nesting exceeds"), pure_python():
            parse_bytes(raw, JsonDialect(limits=limits))


# --- published data -------------------------------------------------------------------------------

FLAT = {
    "the sample": list(SAMPLE.glob("*.jsonl")),
    "committees": sorted((DATA / "fundraising-committee").rglob("*.jsonl.gz"))[
        :: 1 if PROVING else 6
    ],
    "invoices": list((DATA / "agentv-document-extraction").glob("*.jsonl")),
}


@pytest.mark.parametrize("among", FLAT.values(), ids=FLAT)
def test_published_data_is_scored_as_without_the_kernel(among, monkeypatch, tmp_path):
    monkeypatch.setattr(file_blocks, "_LINE_BLOCK_BYTES", 2000)
    paths = sorted(among)
    assert len(paths) > 1
    for pair in product(paths[:1], paths[1:]):
        for files in (pair, pair[::-1]):
            compiled, pure = both_ways(partial(scored, files, {"match": "fuzzy"}, tmp_path / "run"))
            assert compiled == pure


def test_published_data_is_compared_by_the_kernel(monkeypatch, kernel_pairs):
    monkeypatch.setattr(file_blocks, "_LINE_BLOCK_BYTES", 2000)
    directory = DATA / "fundraising-committee"
    before = kernel_pairs[0]
    fm.score(directory / "gold.jsonl.gz", directory / "predictions" / "gpt-4o-mini.jsonl.gz")
    assert kernel_pairs[0] > before + 50

"""Unparsed lines give the same results as the parsed documents."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.data import line_offsets
from fieldmark.data.inputs import Limits
from fieldmark.data.json_parser import JsonDialect, parse_bytes
from fieldmark.data.pairing import PairStream
from fieldmark.model.lines import learn_form
from fieldmark.plan.line_pairs import LinePairs
from line_files import encoded, mutated, two_sides

DATA = Path(__file__).parents[1] / "data"
PROVE = os.environ.get("FIELDMARK_PROVE") == "1"
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
    "some strings are empty tokens": {"rules": {"empty_tokens": ["n/a", "-"]}},
    "blank strings are values": {"rules": {"empty_blanks": False}},
    "empty containers are empty": {"rules": {"empty_containers": True}},
    "only some fields count": rules(field("a", "exact"), field("n.x", "fuzzy"), scope="configured"),
    "all fields are configured": rules(field("**", "exact"), scope="configured"),
    "fields with one name are configured": rules(field("**.x", "exact"), scope="configured"),
    "a path is invalid": rules(field("a[", "exact")),
    "fields have weights": rules(
        field("a", "numeric_tolerance", weight=3), field("b", "fuzzy", required=False)
    ),
    "one of several values is enough": rules({"path": "a", "any_of": True}),
    "the whole document has a rule": rules(field("$", "exact")),
    "scores are graded": {"convention": "field_accuracy", "match": "fuzzy"},
    "convention is taxonomy": {"convention": "taxonomy"},
    "convention is four_phase": {"convention": "four_phase"},
    "duplicate keys are allowed": {"inputs": {"duplicates": "last"}},
    "cases are paired by position": {"inputs": {"id_key": ""}},
    "depth is limited": {"inputs": fm.Inputs(limits=Limits(depth=2))},
    "number of values is limited": {"inputs": fm.Inputs(limits=Limits(nodes=150))},
}


@pytest.fixture(scope="module")
def _short_blocks():
    """The form is learned from the start of a file, so blocks must be short enough for more lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_offsets, "_BLOCK_BYTES", 500)
        yield


@pytest.fixture(scope="module")
def line_pairs():
    """The number of pairs that were compared as lines."""
    pairs = [0]
    compare = LinePairs._compare_lines

    def counted(self, fields, expected, *rest):
        pairs[0] += len(expected)
        return compare(self, fields, expected, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LinePairs, "_compare_lines", counted)
        yield pairs


def scored(files, options):
    try:
        return json.dumps(fm.score(*files, **options).to_dict())
    except fm.FieldmarkError as error:
        return repr(error)


def both_ways(files, options):
    """Score two files with unparsed lines allowed, and with all documents parsed."""
    as_lines = scored(files, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PairStream, "keep_lines", lambda _: None)
        return as_lines, scored(files, options)


def written(directory, seed, **size):
    files = directory / "truth.jsonl", directory / "candidate.jsonl"
    for file, content in zip(files, two_sides(seed, **size), strict=True):
        file.write_bytes(content)
    return files


@pytest.mark.usefixtures("_short_blocks")
@pytest.mark.parametrize("options", RULES.values(), ids=RULES)
def test_lines_are_scored_like_parsed_documents_if(tmp_path, options):
    for seed in range(4):
        as_lines, as_values = both_ways(written(tmp_path, seed), options)
        assert as_lines == as_values


@pytest.mark.usefixtures("_short_blocks")
def test_any_lines_are_scored_like_parsed_documents(tmp_path_factory, line_pairs):
    directory = tmp_path_factory.mktemp("lines")

    @given(st.integers(0, 2**64), st.sampled_from(list(RULES)))
    def law(seed, name):
        as_lines, as_values = both_ways(written(directory, seed), RULES[name])
        assert as_lines == as_values

    law()
    assert line_pairs[0] > 100


def same_documents(kind, block):
    """Check that a block is rejected or read as by the strict parser; return the number of lines."""
    lines = kind.read(block)
    if not lines:
        assert lines is None or block == b""
        return 0
    rows = block.removesuffix(b"\n").split(b"\n")
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        value = parse_bytes(row, JsonDialect())
        value.pop("id", None)
        assert repr(kind.document(line)) == repr(value)
        for place, keys in enumerate(kind.form.leaves):
            held = value
            for key in keys:
                held = held.get(key, {})
            token = line.bytes(place)
            assert token is None if held == {} else repr(json.loads(token)) == repr(held)
    return len(lines)


TAUGHT = {"a": 1, "b": "x", "é": None, "n": {"x": "y", "m": {"z": True}}}
KIND = learn_form([TAUGHT]).kind(id_key="id", value_key=None)


@given(st.integers(0, 2**64))
def test_mutated_lines_are_rejected_or_read_as_by_the_strict_parser(seed):
    chance = Random(seed)
    rows = [
        {"id": f"{n}", **TAUGHT, "b": chance.choice(("x", "é\n", "日本", 2.5))} for n in range(4)
    ]
    block = "".join(f"{encoded(chance, row)}\n" for row in rows).encode()
    assert same_documents(KIND, block) == 4
    for _ in range(40):
        same_documents(KIND, mutated(chance, block))


SUITE = json.loads((DATA / "bad-input" / "json_test_suite.json").read_text())
NAUGHTY = json.loads((DATA / "naughty" / "strings.json").read_text())
STRINGS = [text for texts in NAUGHTY.values() for text in texts if isinstance(text, str)]


@pytest.mark.parametrize("name", SUITE)
def test_bad_json_is_rejected_or_read_as_by_the_strict_parser(name):
    raw = SUITE[name].encode("latin-1")
    inner = raw.strip()[1:-1]
    for row in (raw, b'{"a": ' + raw + b"}", b'{"a": ' + inner + b"}", b'{"a": 1, ' + inner + b"}"):
        for block in (row, row + b"\n", b'{"a": 1}\n' + row):
            same_documents(KIND, block)


def test_hostile_strings_are_rejected_or_read_as_by_the_strict_parser():
    assert len(STRINGS) > 400
    read = 0
    for text in STRINGS:
        for ascii_only in (False, True):
            row = json.dumps({"id": "1", "a": text, "b": 1}, ensure_ascii=ascii_only)
            read += same_documents(KIND, row.encode("utf-8", "surrogatepass"))
    assert read > 500


FLAT = {
    "the sample": list(SAMPLE.glob("*.jsonl")),
    "committees": sorted((DATA / "fundraising-committee").rglob("*.jsonl.gz"))[
        :: 1 if PROVE else 6
    ],
    "invoices": list((DATA / "agentv-document-extraction").glob("*.jsonl")),
}


@pytest.mark.parametrize("among", FLAT.values(), ids=FLAT)
def test_published_data_is_scored_equally_both_ways(among, monkeypatch, line_pairs):
    monkeypatch.setattr(line_offsets, "_BLOCK_BYTES", 2000)
    paths = sorted(among)
    assert len(paths) > 1
    for pair in product(paths[:1], paths[1:]):
        for files in (pair, pair[::-1]):
            as_lines, as_values = both_ways(files, {"match": "fuzzy"})
            assert as_lines == as_values


def test_published_data_is_compared_as_lines(monkeypatch, line_pairs):
    monkeypatch.setattr(line_offsets, "_BLOCK_BYTES", 2000)
    directory = DATA / "fundraising-committee"
    before = line_pairs[0]
    fm.score(directory / "gold.jsonl.gz", directory / "predictions" / "gpt-4o-mini.jsonl.gz")
    assert line_pairs[0] > before + 50

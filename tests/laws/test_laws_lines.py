"""Documents that stay lines give the results that the same documents give as values."""

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
from line_files import mutated, spelt, two_sides

DATA = Path(__file__).parents[1] / "data"
PROVE = os.environ.get("FIELDMARK_PROVE") == "1"
SAMPLE = Path(fm.__file__).parent / "sample"


def rules(*fields, **settings):
    return {"rules": {**settings, "fields": [dict(field) for field in fields]}}


def field(path, match, **settings):
    return {"path": path, "match": match, **settings}


RULES = {
    "nothing is said": {},
    "only what the truth has counts": {"scope": "truth"},
    "objects are compared whole": {"depth": "top"},
    "texts may resemble one another": {"match": "fuzzy"},
    "texts are patterns, of which some are broken": {"match": "regex"},
    "texts may be part of one another": {"match": "contains"},
    "everything is a date": {"match": "date"},
    "numbers may be close": {"match": "numeric_tolerance"},
    "a provider is asked": {"match": "semantic"},
    "fields are ignored": rules(field("a", "ignore"), field("n.x", "ignore")),
    "fields are ignored, and only what the truth has counts": rules(
        field("a", "ignore"), field("n.x", "ignore"), field("only", "ignore"), scope="truth"
    ),
    "fields are ignored at any depth": rules(field("**.x", "ignore"), field("**.z", "ignore")),
    "everything is ignored": rules(field("**", "ignore")),
    "an object is ignored whole": rules(field("n", "ignore")),
    "an object is compared whole": rules(field("n", "exact")),
    "an object within is compared whole": rules(field("n.m", "exact")),
    "some fields are dates": rules(field("date", "date"), field("n.y", "date")),
    "one rule for all, another for one": rules(field("**", "fuzzy"), field("n.x", "date")),
    "some texts are blank": {"rules": {"empty_tokens": ["n/a", "-"]}},
    "blanks are values": {"rules": {"empty_blanks": False}},
    "empty containers are blank": {"rules": {"empty_containers": True}},
    "some fields alone count": rules(
        field("a", "exact"), field("n.x", "fuzzy"), scope="configured"
    ),
    "all fields are configured": rules(field("**", "exact"), scope="configured"),
    "fields of one name are configured": rules(field("**.x", "exact"), scope="configured"),
    "a path cannot be read": rules(field("a[", "exact")),
    "fields have weights": rules(
        field("a", "numeric_tolerance", weight=3), field("b", "fuzzy", required=False)
    ),
    "one of several answers is enough": rules({"path": "a", "any_of": True}),
    "the whole document has a rule": rules(field("$", "exact")),
    "degrees are counted": {"convention": "field_accuracy", "match": "fuzzy"},
    "mistakes have classes": {"convention": "taxonomy"},
    "phases are counted": {"convention": "four_phase"},
    "keys that occur twice are taken": {"inputs": {"duplicates": "last"}},
    "cases are paired by position": {"inputs": {"id_key": ""}},
    "few levels are allowed": {"inputs": fm.Inputs(limits=Limits(depth=2))},
    "few values are allowed": {"inputs": fm.Inputs(limits=Limits(nodes=150))},
}


@pytest.fixture(scope="module")
def _short_blocks():
    """What a file begins with teaches the form, so blocks are short enough for something to come."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_offsets, "_BLOCK_BYTES", 500)
        yield


@pytest.fixture(scope="module")
def met():
    """How many pairs stayed lines to the end."""
    pairs = [0]
    compare = LinePairs._compare_lines

    def counted(self, ways, expected, *rest):
        pairs[0] += len(expected)
        return compare(self, ways, expected, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LinePairs, "_compare_lines", counted)
        yield pairs


def told(files, options):
    try:
        return json.dumps(fm.score(*files, **options).to_dict())
    except fm.FieldmarkError as error:
        return repr(error)


def both_ways(files, options):
    """What is told of two files whose documents may stay lines, and of the same as values."""
    as_lines = told(files, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PairStream, "keep_lines", lambda _: None)
        return as_lines, told(files, options)


def written(folder, seed, **size):
    files = folder / "truth.jsonl", folder / "candidate.jsonl"
    for file, content in zip(files, two_sides(seed, **size), strict=True):
        file.write_bytes(content)
    return files


@pytest.mark.usefixtures("_short_blocks")
@pytest.mark.parametrize("options", RULES.values(), ids=RULES)
def test_lines_are_counted_like_values_where(tmp_path, options):
    for seed in range(4):
        as_lines, as_values = both_ways(written(tmp_path, seed), options)
        assert as_lines == as_values


@pytest.mark.usefixtures("_short_blocks")
def test_lines_are_counted_like_values_whatever_they_hold(tmp_path_factory, met):
    folder = tmp_path_factory.mktemp("lines")

    @given(st.integers(0, 2**64), st.sampled_from(list(RULES)))
    def law(seed, name):
        as_lines, as_values = both_ways(written(folder, seed), RULES[name])
        assert as_lines == as_values

    law()
    assert met[0] > 100


def same_documents(kind, block):
    """Whether a block is refused, or read as the strict parser reads its lines; how many it has."""
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
def test_broken_lines_are_refused_or_read_as_the_strict_parser_reads_them(seed):
    chance = Random(seed)
    rows = [
        {"id": f"{n}", **TAUGHT, "b": chance.choice(("x", "é\n", "日本", 2.5))} for n in range(4)
    ]
    block = "".join(f"{spelt(chance, row)}\n" for row in rows).encode()
    assert same_documents(KIND, block) == 4
    for _ in range(40):
        same_documents(KIND, mutated(chance, block))


SUITE = json.loads((DATA / "bad-input" / "json_test_suite.json").read_text())
NAUGHTY = json.loads((DATA / "naughty" / "strings.json").read_text())
STRINGS = [text for texts in NAUGHTY.values() for text in texts if isinstance(text, str)]


@pytest.mark.parametrize("name", SUITE)
def test_bad_json_is_refused_or_read_as_the_strict_parser_reads_it(name):
    raw = SUITE[name].encode("latin-1")
    inner = raw.strip()[1:-1]
    for row in (raw, b'{"a": ' + raw + b"}", b'{"a": ' + inner + b"}", b'{"a": 1, ' + inner + b"}"):
        for block in (row, row + b"\n", b'{"a": 1}\n' + row):
            same_documents(KIND, block)


def test_hostile_texts_are_refused_or_read_as_the_strict_parser_reads_them():
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
def test_published_data_is_counted_alike_both_ways(among, monkeypatch, met):
    monkeypatch.setattr(line_offsets, "_BLOCK_BYTES", 2000)
    paths = sorted(among)
    assert len(paths) > 1
    for pair in product(paths[:1], paths[1:]):
        for files in (pair, pair[::-1]):
            as_lines, as_values = both_ways(files, {"match": "fuzzy"})
            assert as_lines == as_values


def test_the_published_data_is_read_as_lines(monkeypatch, met):
    monkeypatch.setattr(line_offsets, "_BLOCK_BYTES", 2000)
    folder = DATA / "fundraising-committee"
    before = met[0]
    fm.score(folder / "gold.jsonl.gz", folder / "predictions" / "gpt-4o-mini.jsonl.gz")
    assert met[0] > before + 50

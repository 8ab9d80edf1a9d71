"""Analyses of saved runs give the same figures however their rows are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.metrics.patterns import _TextForms
from fieldmark.runs.case_rows import CaseDecoder
from fieldmark.runs.stored_run import open_run
from fieldmark.values.dates import read_day
from fieldmark.values.numbers import NumberFormat, as_number
from fieldmark.web import case_index
from fieldmark.web.case_index import CaseIndex

RULES = """
fields:
  - {path: total, match: numeric_tolerance, tolerance: 0.01}
  - {path: vendor, match: fuzzy, threshold: 0.8}
  - {path: rows, align: greedy}
"""


def candidates(shift):
    """Return documents with many equal mistakes, and some of every other kind."""
    for number in range(60):
        kind = (number + shift) % 12
        document = {"total": number + (kind == 1), "vendor": "Acme" + "x" * (kind == 2)}
        document["date"] = "2024-02-03" if kind in (3, 4) else "2024-03-02"
        document["rows"] = [{"a": 1, "b": number}, {"a": 2, "b": 7 + (kind == 5)}][
            : 2 - (kind == 6)
        ]
        if kind == 7:
            document["vendor"], document["note"] = None, "expected"
        if kind == 8:
            document["candidate"] = {"score": 1, "candidate": 2}
        if kind != 9:
            yield {"id": f"case {number} é" if kind == 10 else f"case {number}", **document}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    (folder / "rules.yaml").write_text(RULES)
    truth = [
        {**candidate, "id": f"case {number}", "group": number % 2}
        for number, candidate in enumerate(candidates(-100 * 12))
    ]
    return [
        fm.score(truth, list(candidates(shift)), rules=folder / "rules.yaml",
                 out=folder / name, by=["group"]).path
        for shift, name in ((0, "first"), (3, "second"))
    ]  # fmt: skip


def analyses(runs):
    return (
        [fm.improve(run).to_dict() for run in runs],
        fm.diff(*runs).to_dict(),
        fm.rank(runs).to_dict(),
    )


def test_analyses_are_the_same_if_rows_are_parsed_as_a_whole(runs, monkeypatch):
    decode, divided = CaseDecoder.decode, []

    def counted(self, line):
        decoded = decode(self, line)
        divided.append(decoded is not None)
        return decoded

    monkeypatch.setattr(CaseDecoder, "decode", counted)
    fast = analyses(runs)
    assert sum(divided) > 0.8 * len(divided) > 0
    monkeypatch.setattr(CaseDecoder, "decode", lambda *_: None)
    assert analyses(runs) == fast


@given(st.text(st.characters(max_codepoint=127), max_size=40))
def test_ascii_text_without_digits_is_no_date_and_no_number(text):
    """The patterns of mistakes do not try to read such a text."""
    wordy = not any(char.isdigit() for char in text)
    assert _TextForms(text).is_wordy is wordy
    if wordy:
        assert read_day(text) is None
        assert as_number(text, NumberFormat.AUTO) is None


def test_index_of_cases_is_the_same_if_rows_are_parsed_as_a_whole(runs, monkeypatch):
    def heads():
        index = CaseIndex(open_run(runs[0]))
        index.read()
        return index.heads

    fast = heads()
    assert [head.number for head in fast] == list(range(1, len(fast) + 1))
    monkeypatch.setattr(case_index, "divide_row", lambda _: None)
    assert heads() == fast

"""Tables of expected and found values, for attributes with few different values."""

from __future__ import annotations

import fieldmark as fm
from fieldmark.report.html.mistakes import ValueTables
from fieldmark.runs.stored_run import open_run


def tables(tmp_path, pairs, *attributes):
    fm.score(pairs, out=tmp_path / "run", align="index")
    result = ValueTables(attributes)
    for rank, case in enumerate(open_run(tmp_path / "run").cases()):
        result.add(case, rank)
    return result.view()


def test_pairs_of_values_are_counted_with_the_cases_of_their_mistakes(tmp_path):
    values = [("a", "a"), ("b", "a"), ("a", None), ("b", "a"), ("b", "b"), ("a", "a")]
    pairs = [
        ({"x": expected}, {} if candidate is None else {"x": candidate})
        for expected, candidate in values
    ]
    [table] = tables(tmp_path, pairs, "x")
    assert table == {"attribute": "x", "cells": [
        {"expected": '"a"', "found": "", "fields": 1, "mistakes": 1, "ranks": [2]},
        {"expected": '"a"', "found": '"a"', "fields": 2, "mistakes": 0, "ranks": []},
        {"expected": '"b"', "found": '"a"', "fields": 2, "mistakes": 2, "ranks": [1, 3]},
        {"expected": '"b"', "found": '"b"', "fields": 1, "mistakes": 0, "ranks": []},
    ]}  # fmt: skip


def test_items_are_counted_with_the_item_that_they_are_aligned_with(tmp_path):
    pairs = [({"r": [{"x": True}, {"x": False}]}, {"r": [{"x": True}, {"x": True}]})] * 3
    [table] = tables(tmp_path, pairs, "r[].x")
    assert table["attribute"] == "r[].x"
    assert [list(cell.values())[:4] for cell in table["cells"]] == [
        ["false", "true", 3, 3],
        ["true", "true", 3, 0],
    ]


def test_attributes_with_many_long_or_nested_values_have_no_table(tmp_path):
    pairs = [
        ({"many": n, "long": "x" * 100 + str(n % 2), "tags": [n % 2], "one": 1},
         {"many": -n, "long": "y", "tags": [n % 2], "one": 2})
        for n in range(20)
    ]  # fmt: skip
    assert tables(tmp_path, pairs, "many", "long", "tags", "one") == []

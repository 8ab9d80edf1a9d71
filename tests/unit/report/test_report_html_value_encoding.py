"""The encoding of document values for the page."""

from __future__ import annotations

import json
import subprocess
from importlib.resources import files

import pytest

from fieldmark.model.json import MISSING
from fieldmark.report.html.value_encoding import (
    MEMBERS,
    columnar,
    encode_pair,
    encode_value,
    nested,
)
from unit.report.exported import rows_of


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        pytest.param("text", "text", id="string"),
        pytest.param("", "", id="empty-string"),
        pytest.param(True, True, id="boolean"),
        pytest.param(None, None, id="null"),
        pytest.param(12.5, 12.5, id="fraction"),
        pytest.param(3.0, {"d": "3.0"}, id="integral-float"),
        pytest.param(1e300, {"d": "1e+300"}, id="large-float"),
        pytest.param(2**53, {"d": "9007199254740992"}, id="integer-that-javascript-would-round"),
        pytest.param(2**53 - 1, 2**53 - 1, id="largest-exact-integer"),
        pytest.param(MISSING, {"m": 1}, id="absent"),
        pytest.param([1], {"j": "[1]"}, id="short-list"),
        pytest.param("x" * 4_001, {"t": "x" * 4_000, "n": 4_001}, id="long-string-is-truncated"),
    ],
)
def test_values_are_encoded_exactly(value, encoded):
    assert encode_value(value) == encoded


@pytest.mark.parametrize(
    ("expected", "candidate", "same"),
    [
        pytest.param("a", "a", True, id="equal-strings"),
        pytest.param(1, True, False, id="one-and-true"),
        pytest.param(1, 1.0, False, id="one-and-one-point-zero"),
        pytest.param([1], [1], True, id="equal-lists"),
        pytest.param(MISSING, MISSING, False, id="absent-on-both-sides"),
    ],
)
def test_an_equal_candidate_is_not_repeated(expected, candidate, same):
    assert (encode_pair(expected, candidate)[1] == {}) is same


def test_a_very_long_integer_is_encoded():
    assert encode_value(10**5_000)["d"].startswith("0x")


# --- tables whose column names are written once ---------------------------------------------------

SCRIPT = files("fieldmark.report.html") / "assets" / "value_encoding.js"


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        pytest.param(["a", "b"], [(1, None), (2, "x")], [{"a": 1, "b": None}, {"a": 2, "b": "x"}], id="values-by-name"),
        pytest.param(["a", "b"], [(1,)], [{"a": 1}], id="missing-at-the-end"),
        pytest.param([nested("k", ("x", "y")), "v"], [([1, 2], 3)], [{"k": {"x": 1, "y": 2}, "v": 3}], id="list-with-columns-of-its-own"),
        pytest.param([nested("k", ("x",))], [("key",)], [{"k": "key"}], id="plain-value-there"),
        pytest.param(["a", MEMBERS], [(1, [[2, [[3]]]])], [{"a": 1, "members": [{"a": 2, "members": [{"a": 3}]}]}], id="members"),
        pytest.param(["a"], [], [], id="no-rows"),
    ],
)  # fmt: skip
def test_pages_read_the_rows_of_a_table(columns, rows, expected):
    table = columnar(columns, rows)
    assert rows_of(table) == expected
    code = f"{SCRIPT.read_text('utf-8')}; console.log(JSON.stringify(rowsOf({json.dumps(table)})))"
    command = ["node", "--input-type=module", "-e", code]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == expected

"""Tables whose column names are written once, and the script that reads them."""

from __future__ import annotations

import json
import subprocess
from importlib.resources import files

import pytest

from fieldmark.report.html.value_encoding import MEMBERS, columnar, nested
from unit.report.exported import rows_of

SCRIPT = files("fieldmark.report.html") / "assets" / "value_encoding.js"


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        pytest.param(["a", "b"], [(1, None), (2, "x")], [{"a": 1, "b": None}, {"a": 2, "b": "x"}],
                     id="values-by-name"),
        pytest.param(["a", "b"], [(1,)], [{"a": 1}], id="missing-at-the-end"),
        pytest.param([nested("k", ("x", "y")), "v"], [([1, 2], 3)],
                     [{"k": {"x": 1, "y": 2}, "v": 3}], id="list-with-columns-of-its-own"),
        pytest.param([nested("k", ("x",))], [("key",)], [{"k": "key"}], id="plain-value-there"),
        pytest.param(["a", MEMBERS], [(1, [[2, [[3]]]])],
                     [{"a": 1, "members": [{"a": 2, "members": [{"a": 3}]}]}], id="members"),
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

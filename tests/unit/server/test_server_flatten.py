"""Documents become rows of paths and values, and rows become documents."""

from __future__ import annotations

import pytest

from fieldmark.errors import DataError
from fieldmark.server.flatten import flatten_document, nest_document
from unit.server.live_server import code, reading  # noqa: F401


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        pytest.param({"a": {"b": 1}, "c": [{"d": 2}, 3]}, [("a.b", 1), ("c[0].d", 2), ("c[1]", 3)], id="objects-and-lists"),
        pytest.param({"a.b": {"[c]": None}}, [('["a.b"]["[c]"]', None)], id="keys-that-need-quotes"),
        pytest.param({"a": {}, "b": []}, [("a", {}), ("b", [])], id="empty-containers-are-values"),
        pytest.param([1, [2]], [("[0]", 1), ("[1][0]", 2)], id="a-list-at-the-top"),
        pytest.param(7, [("$", 7)], id="a-scalar"),
        pytest.param({"": {" ": 1}}, [('[""][" "]', 1)], id="blank-keys"),
    ],
)  # fmt: skip
def test_flattening_goes_both_ways(document, rows):
    assert flatten_document(document) == rows
    assert nest_document(rows) == document


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([("a", 1), ("a.b", 2)], id="a-value-and-something-inside-it"),
        pytest.param([("a.b", 2), ("a", 1)], id="the-other-way-round"),
        pytest.param([("a", 1), ("a", 2)], id="twice"),
        pytest.param([("a[1]", 1)], id="a-list-with-a-hole"),
        pytest.param([("a[0]", 1), ("a.b", 1)], id="a-list-that-is-an-object-too"),
        pytest.param([("a[*]", 1)], id="a-pattern"),
        pytest.param([("a..b", 1)], id="no-path"),
    ],
)
def test_rows_that_contradict_each_other_are_refused(rows):
    with pytest.raises(DataError):
        nest_document(rows)


def test_flatten_over_http(reading):  # noqa: F811
    document = {"vendor": {"name": "Acme"}, "lines": [{"amount": 1}]}
    rows = reading.ask.post("/api/flatten", json={"document": document}).json()["rows"]
    assert rows == [
        {"path": "vendor.name", "value": "Acme"},
        {"path": "lines[0].amount", "value": 1},
    ]
    assert reading.ask.post("/api/flatten", json={"rows": rows}).json() == {"document": document}
    assert (
        code(reading.ask.post("/api/flatten", json={"rows": [{"path": "a[7]"}]})) == "invalid_data"
    )
    assert code(reading.ask.post("/api/flatten", json={})) == "invalid_request"

"""Documents are converted to rows of paths and values, and back."""

from __future__ import annotations

import pytest

from fieldmark.errors import DataError
from fieldmark.values.paths import leaves
from fieldmark.web.routes.strategies import nest_document
from unit.web.live_server import error_code


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        pytest.param({"a": {"b": 1}, "c": [{"d": 2}, 3]}, [("a.b", 1), ("c[0].d", 2), ("c[1]", 3)], id="objects-and-lists"),
        pytest.param({"a.b": {"[c]": None}}, [('["a.b"]["[c]"]', None)], id="keys-that-need-quotes"),
        pytest.param({"a": {}, "b": []}, [("a", {}), ("b", [])], id="empty-containers-are-values"),
        pytest.param([1, [2]], [("[0]", 1), ("[1][0]", 2)], id="top-level-list"),
        pytest.param(7, [("$", 7)], id="scalar"),
        pytest.param({"": {" ": 1}}, [('[""][" "]', 1)], id="empty-and-blank-keys"),
    ],
)  # fmt: skip
def test_flat_rows_and_nested_document_round_trip(document, rows):
    assert list(leaves(document)) == rows
    assert nest_document(rows) == document


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([("a", 1), ("a.b", 2)], id="value-then-nested-value"),
        pytest.param([("a.b", 2), ("a", 1)], id="nested-value-then-value"),
        pytest.param([("a", 1), ("a", 2)], id="duplicate-path"),
        pytest.param([("a[1]", 1)], id="missing-index"),
        pytest.param([("a[0]", 1), ("a.b", 1)], id="list-and-object"),
        pytest.param([("a[*]", 1)], id="wildcard"),
        pytest.param([("a..b", 1)], id="invalid-path"),
    ],
)
def test_contradictory_rows_are_rejected(rows):
    with pytest.raises(DataError):
        nest_document(rows)


def test_flatten_over_http(read_only_server):
    def flatten(**body):
        return read_only_server.client.post("/api/flatten", json=body)

    document = {"vendor": {"name": "Acme"}, "lines": [{"amount": 1}]}
    rows = flatten(document=document).json()["rows"]
    assert rows == [
        {"path": "vendor.name", "value": "Acme"},
        {"path": "lines[0].amount", "value": 1},
    ]
    assert flatten(rows=rows).json() == {"document": document}
    assert error_code(flatten(rows=[{"path": "a[7]"}])) == "invalid_data"
    assert error_code(flatten()) == "invalid_request"

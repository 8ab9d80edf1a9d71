"""The values that a path with `[]` selects."""

from __future__ import annotations

import pytest

from fieldmark.evaluators.path_values import ValuePath, find_values, is_pattern, values_at
from fieldmark.model.json import MISSING
from fieldmark.values.value_types import InvalidValueError, read_value

PAGES = {"pages": [{"rows": [{"box": 1}, {"box": 2}]}, {"rows": []}, {}, {"rows": [{"box": 3}]}]}


@pytest.mark.parametrize(
    ("document", "path", "found"),
    [
        pytest.param({"rows": [{"box": 1}, {}]}, "rows[].box", {"rows[0].box": 1, "rows[1].box": MISSING}, id="field-of-each-item"),
        pytest.param({"rows": [7, 8]}, "rows[*]", {"rows[0]": 7, "rows[1]": 8}, id="items-themselves"),
        pytest.param([{"a": 1}], "[].a", {"[0].a": 1}, id="list-document"),
        pytest.param(PAGES, "pages[].rows[].box", {"pages[0].rows[0].box": 1, "pages[0].rows[1].box": 2, "pages[3].rows[0].box": 3}, id="lists-inside-lists"),
        pytest.param({"rows": [{"a.b": 1}]}, "rows[].a.b", {"rows[0].a.b": 1}, id="key-with-dot"),
        pytest.param({"rows": [[5, 6]]}, "rows[][1]", {"rows[0][1]": 6}, id="index-below"),
        pytest.param({"rows": {"a": 1}}, "rows[].a", {}, id="not-a-list"),
        pytest.param(MISSING, "rows[].a", {}, id="no-document"),
        pytest.param({"box": 4}, "box", {"box": 4}, id="no-wildcard"),
    ],
)  # fmt: skip
def test_every_value_has_its_path(document, path, found):
    assert dict(find_values(document, path)) == found
    assert values_at(document, path) == list(found.values())


@pytest.mark.parametrize("path", ["a..b", "**.box", "rows[-1]", ""])
def test_path_that_cannot_select_values_is_rejected(path):
    with pytest.raises(InvalidValueError):
        read_value(ValuePath, path)


def test_path_with_brackets_is_a_pattern():
    assert is_pattern("rows[].box")
    assert not is_pattern("rows[0].box")

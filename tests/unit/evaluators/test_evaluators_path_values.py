"""The values that a path with `[]` stands for."""

from __future__ import annotations

import pytest

from fieldmark.errors import OptionError
from fieldmark.evaluators.path_values import check_value_path, find_values, is_pattern, values_at
from fieldmark.model.json import MISSING

PAGES = {"pages": [{"rows": [{"box": 1}, {"box": 2}]}, {"rows": []}, {}, {"rows": [{"box": 3}]}]}


@pytest.mark.parametrize(
    ("document", "path", "found"),
    [
        pytest.param({"rows": [{"box": 1}, {}]}, "rows[].box", {"rows[0].box": 1, "rows[1].box": MISSING}, id="a-field-of-each-item"),
        pytest.param({"rows": [7, 8]}, "rows[*]", {"rows[0]": 7, "rows[1]": 8}, id="the-items-themselves"),
        pytest.param([{"a": 1}], "[].a", {"[0].a": 1}, id="a-document-that-is-a-list"),
        pytest.param(PAGES, "pages[].rows[].box", {"pages[0].rows[0].box": 1, "pages[0].rows[1].box": 2, "pages[3].rows[0].box": 3}, id="lists-inside-lists"),
        pytest.param({"rows": [{"a.b": 1}]}, "rows[].a.b", {"rows[0].a.b": 1}, id="a-key-with-a-dot"),
        pytest.param({"rows": [[5, 6]]}, "rows[][1]", {"rows[0][1]": 6}, id="an-index-below"),
        pytest.param({"rows": {"a": 1}}, "rows[].a", {}, id="no-list"),
        pytest.param(MISSING, "rows[].a", {}, id="no-document"),
        pytest.param({"box": 4}, "box", {"box": 4}, id="no-wildcard"),
    ],
)  # fmt: skip
def test_every_place_has_its_path(document, path, found):
    assert dict(find_values(document, path)) == found
    assert values_at(document, path) == list(found.values())


@pytest.mark.parametrize("path", ["a..b", "**.box", "rows[-1]", ""])
def test_a_path_that_no_list_can_be_found_by_is_refused(path):
    with pytest.raises(OptionError) as caught:
        check_value_path("boxes", path)
    assert caught.value.option == "boxes"


def test_a_pattern_is_known_by_its_brackets():
    assert is_pattern("rows[].box")
    assert not is_pattern("rows[0].box")

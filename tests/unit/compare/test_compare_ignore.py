from __future__ import annotations

from fieldmark.compare.ignore import Ignore
from fieldmark.model.comparison import MATCHED


def test_ignored_field_always_matches():
    assert Ignore().compare("a", "b") is MATCHED

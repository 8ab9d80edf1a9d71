from __future__ import annotations

import math
from fractions import Fraction

import pytest

from fieldmark.compare.options import (
    check_flag,
    check_scale,
    check_share,
    checked_amount,
    checked_choice,
)
from fieldmark.errors import OptionError
from fieldmark.values.numbers import NumberFormat


@pytest.mark.parametrize(
    ("check", "value"),
    [
        pytest.param(check_share, 1.1, id="share-above-one"),
        pytest.param(check_share, -0.1, id="negative-share"),
        pytest.param(check_share, math.nan, id="nan-for-share"),
        pytest.param(check_share, "0.8", id="string-for-share"),
        pytest.param(check_share, True, id="boolean-for-share"),
        pytest.param(check_flag, 1, id="number-for-flag"),
        pytest.param(check_flag, "yes", id="word-for-flag"),
        pytest.param(checked_amount, "not a number", id="string-for-amount"),
        pytest.param(checked_amount, -0.1, id="negative-amount"),
        pytest.param(checked_amount, math.nan, id="nan-for-amount"),
        pytest.param(checked_amount, math.inf, id="infinity-for-amount"),
        pytest.param(checked_amount, True, id="boolean-for-amount"),
        pytest.param(checked_amount, None, id="null-for-amount"),
        pytest.param(check_scale, [], id="scale-without-numbers"),
        pytest.param(check_scale, [1, 0], id="zero-scale"),
        pytest.param(check_scale, "100", id="string-scale"),
        pytest.param(check_scale, [True, 1], id="boolean-scale"),
    ],
)
def test_invalid_values_are_rejected_by_option_name(check, value):
    with pytest.raises(OptionError) as caught:
        check("option", value)
    assert caught.value.option == "option"


def test_valid_values_are_accepted():
    check_share("option", 1)
    check_flag("option", False)  # noqa: FBT003 - the value of an option
    assert checked_amount("option", 0.1) == Fraction(1, 10)
    assert checked_choice("option", "auto", NumberFormat) is NumberFormat.AUTO
    assert check_scale("option", [1, 2]) == (1.0, 2.0)
    assert check_scale("option", None) is None


def test_similar_choice_is_suggested():
    with pytest.raises(OptionError, match="did you mean 'auto'"):
        checked_choice("option", "auot", NumberFormat)

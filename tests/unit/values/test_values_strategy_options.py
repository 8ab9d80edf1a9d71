"""The options of a strategy are checked by their annotations, and converted to their types."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass, replace

import pytest

from fieldmark import registry
from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING
from fieldmark.registry import Plugin
from fieldmark.values.annotations import Share
from fieldmark.values.strategy_options import check_options, create, options
from fieldmark.values.text import Ignored
from fieldmark.values.value_types import InvalidValueError, read_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    words: tuple[str, ...]
    threshold: Share = 0.5
    ignore: tuple[Ignored, ...] = ()
    class_: str = ""

    def __post_init__(self):
        check_options(self)


def test_options_are_converted_to_their_types():
    example = Example(words=["a"], ignore=["white_space", "accents"])
    assert example.words == ("a",)
    assert example.ignore == (Ignored.ACCENTS, Ignored.WHITE_SPACE)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"words": 1}, "words: expected a list, got 1", id="wrong-type"),
        pytest.param(
            {"words": (), "threshold": 2},
            "threshold: must be a number from 0 to 1, got 2",
            id="out-of-range",
        ),
        pytest.param(
            {"words": (), "class_": 1}, "class: expected a string, got 1", id="keyword-as-name"
        ),
    ],
)
def test_an_option_that_does_not_fit_is_an_error_with_its_name(given, message):
    with pytest.raises(OptionError) as caught:
        Example(**given)
    assert str(caught.value) == message


def test_checked_strategies_can_be_copied_and_sent_to_workers():
    example = Example(words=["a"], ignore="accents")
    assert pickle.loads(pickle.dumps(example)) == example  # noqa: S301
    assert replace(example, threshold=0.7).ignore == example.ignore


ALL = [(kind, name) for kind in Plugin for name in registry.built_in(kind)]


@pytest.mark.parametrize(("kind", "name"), ALL, ids=[f"{kind}-{name}" for kind, name in ALL])
def test_every_default_is_valid_and_needs_no_conversion(kind, name):
    for option in options(registry.load(kind, name)).values():
        if option.default is not MISSING:
            assert read_value(option.type, option.default) == option.default
            assert type(read_value(option.type, option.default)) is type(option.default)


ODD = (None, True, -1, 0, 2, 0.5, math.nan, "odd", "", (), ("a", "a"), ("",), {}, 10**400)
REQUIRED = {"key": {"key": ("a",)}}
CORE = [
    pytest.param(strategy, option, REQUIRED.get(name, {}), id=f"{name}-{option.name}")
    for kind in (Plugin.COMPARATORS, Plugin.ALIGNERS)
    for name in registry.built_in(kind)
    for strategy in [registry.load(kind, name)]
    for option in options(strategy).values()
]


def is_refused(option, value):
    try:
        read_value(option.type, value)
    except InvalidValueError:
        return True
    return False


@pytest.mark.parametrize(("strategy", "option", "required"), CORE)
def test_value_that_the_annotation_of_an_option_refuses_is_an_error(strategy, option, required):
    refused = [value for value in ODD if is_refused(option, value)]
    assert refused or option.name == "provider"
    for value in refused:
        with pytest.raises(OptionError) as caught:
            create(strategy, {**required, option.name: value})
        assert caught.value.option == option.name, value

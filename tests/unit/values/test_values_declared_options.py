"""Options that are declared once, in the annotations of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypedDict

import pytest

from fieldmark.values.annotations import Choices, Range
from fieldmark.values.declared_options import Opt, declared_options


class Options(TypedDict, total=False):
    number: Annotated[int | None, Opt("Allow N.", default=0, alias="n"), Range(ge=0)]
    words: Annotated[Sequence[str], Opt("Words.", default=())]
    tags: Annotated[Mapping[str, str], Opt("Tags.", default={})]
    color: Annotated[str, Opt("Set: {names}.", default="red"), Choices(("red", "blue"))]
    shade: Annotated[
        str, Opt("Set: {names}.", default_note="as usual"), Choices(lambda: ["a", "b"])
    ]
    shape: Annotated[str, Opt("Draw a {names}.", names=lambda: ["box", "ring", "dot"])]
    undeclared: int


OPTIONS = declared_options(Options)


def test_only_annotations_with_a_declaration_are_options():
    assert list(OPTIONS) == ["number", "words", "tags", "color", "shade", "shape"]
    assert (OPTIONS["number"].alias, OPTIONS["words"].alias) == ("n", "words")
    assert OPTIONS["number"].types == (int,)


@pytest.mark.parametrize(
    ("name", "is_list", "is_mapping"),
    [("number", False, False), ("words", True, False), ("tags", False, True)],
)
def test_lists_and_mappings_are_recognized(name, is_list, is_mapping):
    assert (OPTIONS[name].is_list, OPTIONS[name].is_mapping) == (is_list, is_mapping)


@pytest.mark.parametrize(
    ("name", "sentence", "meaning", "default"),
    [
        pytest.param("number", "Allow N.", "Allow N.", "0", id="without-names"),
        pytest.param("words", "Words.", "Words.", "", id="empty-default"),
        pytest.param("color", "Set: red or blue.", "Set: red or blue.", "red", id="choices"),
        pytest.param("shade", "Set: a or b.", "Set.", "as usual", id="choices-that-may-grow"),
        pytest.param("shape", "Draw a box, ring or dot.", "Draw a {names}.", "", id="names"),
    ],
)
def test_sentences_of_an_option(name, sentence, meaning, default):
    option = OPTIONS[name]
    assert (option.help, option.meaning, option.shown_default) == (sentence, meaning, default)


def test_problem_is_the_first_constraint_that_a_value_violates():
    assert OPTIONS["number"].problem(-1) == "must be a number of at least 0, got -1"
    assert OPTIONS["number"].problem(0) == ""


@dataclass
class Data:
    number: Annotated[int, Opt("Allow N.", default=1)] = 5


class Row(NamedTuple):
    number: Annotated[int, Opt("Allow N.", default=1)] = 6


@pytest.mark.parametrize(("kind", "default"), [(Options, 0), (Data, 5), (Row, 6)])
def test_default_of_a_field_comes_before_that_of_its_declaration(kind, default):
    assert declared_options(kind)["number"].default == default

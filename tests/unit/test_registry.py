"""The registry of built-in strategies and plug-ins."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest

from fieldmark import registry
from fieldmark.errors import ConfigError
from fieldmark.model.json import MISSING
from fieldmark.registry import Plugin
from fieldmark.rules.config_values import Context
from fieldmark.rules.rules_file import loaded_rules
from fieldmark.rules.yaml_parser import parse_yaml
from fieldmark.values.annotations import PositiveInt, Share


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points as if they came from installed packages."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda group: [point for point in points if point.group == group],
    )
    registry._table.cache_clear()
    yield points
    registry._table.cache_clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shouting:
    """A comparator of another package."""

    name: ClassVar[str] = "shouting"
    reflexive: ClassVar[bool] = True
    loudness: PositiveInt
    echo: bool = False


NOT_A_STRATEGY = "nothing"


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in Plugin for name in registry.names(kind)]
)
def test_every_name_loads_a_class_with_that_name(kind, name):
    strategy = registry.load(kind, name)
    assert strategy.name == name
    assert all(option.type is not None for option in registry.options(strategy).values())


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        pytest.param("numeric_tolerance", "numeric_tolerance", id="as-registered"),
        pytest.param("numeric-tolerance", "numeric_tolerance", id="kebab-case"),
        pytest.param("Numeric_Tolerance", None, id="different-case"),
        pytest.param("fuzy", None, id="misspelled"),
        pytest.param("", None, id="empty"),
    ],
)
def test_spelling_of_names(name, spelled):
    assert registry.canonical(Plugin.COMPARATORS, name) == spelled


def test_typed_functions_return_the_same_classes():
    assert registry.comparator("exact") is registry.load(Plugin.COMPARATORS, "exact")
    assert registry.aligner("greedy") is registry.load(Plugin.ALIGNERS, "greedy")
    assert registry.provider("lexical") is registry.load(Plugin.PROVIDERS, "lexical")


def test_unknown_name_is_rejected_with_valid_names():
    with pytest.raises(ConfigError, match="Invalid match type: fuzy; valid types: exact, "):
        registry.comparator("fuzy")


def test_options_are_the_fields_of_the_dataclass():
    options = registry.options(registry.comparator("fuzzy"))
    assert list(options) == ["algorithm", "threshold", "case_sensitive", "ignore", "numbers"]
    assert (options["threshold"].type, options["threshold"].default) == (Share, 0.85)
    assert registry.options(registry.aligner("key"))["key"].default is MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Keywords:
    """Options with names that are Python keywords."""

    name: ClassVar[str] = "keywords"
    class_: str = "a"
    id_: str = "b"


def test_keyword_option_has_no_trailing_underscore():
    assert list(registry.options(Keywords)) == ["class", "id_"]
    made = registry.create(Keywords, {"class": "x", "id_": "y"})
    assert made == Keywords(class_="x", id_="y")
    assert "class" in registry.options(registry.load(Plugin.EVALUATORS, "detection_ap"))


def test_plug_in_is_registered_after_the_built_ins(installed):
    installed.append(EntryPoint("shouting-loud", f"{__name__}:Shouting", "fieldmark.comparators"))
    assert registry.names(Plugin.COMPARATORS)[-1] == "shouting_loud"
    assert "exact" in registry.names(Plugin.COMPARATORS)
    assert registry.comparator("shouting-loud") is Shouting
    assert list(registry.options(Shouting)) == ["loudness", "echo"]


def test_files_check_the_constraints_of_a_plug_in_that_does_not_check_them(installed):
    installed.append(EntryPoint("shouting", f"{__name__}:Shouting", "fieldmark.comparators"))
    assert Shouting(loudness=0).loudness == 0
    text = "fields: [{path: a, match: shouting, loudness: 0}]"
    with pytest.raises(ConfigError) as caught:
        loaded_rules(parse_yaml(text, file="r.yaml"), Context())
    assert str(caught.value) == "r.yaml:1:47: loudness: must be a number of at least 1, got 0"


def test_plug_in_cannot_replace_a_built_in(installed):
    installed.append(EntryPoint("exact", f"{__name__}:Shouting", "fieldmark.comparators"))
    assert registry.comparator("exact") is not Shouting
    assert registry.names(Plugin.COMPARATORS).count("exact") == 1


def test_name_of_two_plug_ins_is_an_error_only_if_it_is_used(installed):
    for name in ("Shouting", "Keywords"):
        installed.append(EntryPoint("loud", f"{__name__}:{name}", "fieldmark.comparators"))
    assert registry.comparator("exact").name == "exact"
    with pytest.raises(ConfigError, match=r"plug-in 'loud': .* has the same name; uninstall one"):
        registry.comparator("loud")


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        pytest.param(
            "other", "no_such_module:X", "cannot load plug-in 'other'", id="missing-module"
        ),
        pytest.param(
            "other", f"{__name__}:Absent", "cannot load plug-in 'other'", id="missing-class"
        ),
        pytest.param("other", f"{__name__}:NOT_A_STRATEGY", "not a dataclass", id="not-a-class"),
    ],
)
def test_broken_plug_in_is_reported_by_name(installed, name, target, message):
    installed.append(EntryPoint(name, target, "fieldmark.comparators"))
    with pytest.raises(ConfigError, match=message):
        registry.comparator(name)

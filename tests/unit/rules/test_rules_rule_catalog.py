"""The catalog lists every comparator once, with what a form needs to set its options."""

from __future__ import annotations

from fieldmark import registry
from fieldmark.registry import Plugin
from fieldmark.rules.option_types import summary_of
from fieldmark.rules.rule_catalog import comparator_catalog
from fieldmark.rules.strategy_builder import STRATEGIES

LISTED = [each for group in comparator_catalog() for each in group["comparators"]]
BY_NAME = {each["name"]: each for each in LISTED}


def test_every_comparator_and_every_word_is_listed_once():
    names = [each["name"] for each in LISTED]
    assert sorted(names) == sorted([*registry.names(Plugin.COMPARATORS), *STRATEGIES])


def test_descriptions_are_those_of_the_docstrings():
    for name in registry.names(Plugin.COMPARATORS):
        assert BY_NAME[name]["summary"] == summary_of(registry.load(Plugin.COMPARATORS, name))


def test_words_of_strategy_files_name_what_they_mean():
    means = {word: BY_NAME[word]["means"] for word in STRATEGIES}
    assert means == {
        "EXACT": "exact_text",
        "FUZZY": "fuzzy",
        "SEMANTIC": "semantic",
        "IGNORE": "ignore",
    }
    assert not any("means" in each for each in LISTED if each["name"] not in STRATEGIES)


def test_only_comparators_with_a_threshold_have_one():
    own = {
        name for name in BY_NAME if any(o["name"] == "threshold" for o in BY_NAME[name]["options"])
    }
    assert own == {
        "fuzzy",
        "semantic",
        "auto",
        "iou",
        "distance",
        "FUZZY",
        "SEMANTIC",
    }


def test_options_have_a_kind_that_a_form_can_show():
    kinds = {
        (name, option["name"]): (option["kind"], option.get("default"))
        for name in ("fuzzy", "numeric_tolerance", "date", "regex", "exact_text")
        for option in BY_NAME[name]["options"]
    }
    assert kinds["fuzzy", "algorithm"] == ("choice", "levenshtein")
    assert kinds["fuzzy", "case_sensitive"] == ("boolean", False)
    assert kinds["numeric_tolerance", "tolerance"] == ("number", 0)
    assert kinds["date", "locales"] == ("list", [])
    assert kinds["regex", "pattern"] == ("text", None)
    assert kinds["exact_text", "ignore"] == ("list", [])
    assert kinds["date", "formats"][0] == "json"
    # Providers are configured elsewhere.
    assert all(option["name"] != "provider" for each in LISTED for option in each["options"])

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from fieldmark.compare.provider_lookup import (
    find_providers_and_judges,
    is_repeatable,
    with_memos,
    with_provider_options,
    with_sources,
)
from fieldmark.compare.semantic import Semantic
from fieldmark.judges.similarity_providers import PythonProvider
from fieldmark.model.comparison import MATCHED
from fieldmark.model.rule import Rule, Rules
from fieldmark.rules.rules_file import read_rules


def test_providers_of_rules_can_be_found_and_changed():
    fields = {
        "name": "FUZZY",
        "bio": {"match": "semantic", "any_of": True},
        "x": {"match": "semantic", "provider": "lexical"},
    }
    rules = read_rules({"provider": {"type": "openai", "model": "m"}, "fields": fields}).rules
    # FUZZY uses the same model to compare form instead of meaning, and each knows its field.
    providers = [
        (provider.name, getattr(provider, "aspect", ""), getattr(provider, "field", ""))
        for provider in find_providers_and_judges(rules)
    ]
    assert sorted(providers) == [
        ("lexical", "", ""),
        ("openai", "form", "name"),
        ("openai", "meaning", ""),
        ("openai", "meaning", "bio"),
    ]
    changed = with_provider_options(rules, {"model": "other"})
    changed_providers = find_providers_and_judges(changed)
    assert {getattr(provider, "model", "-") for provider in changed_providers} == {"other", "-"}
    assert len(changed_providers) == 4


@dataclass(frozen=True)
class Memo:
    provider: object

    def similarities(self, pairs):
        return self.provider.similarities(pairs)


def test_comparators_with_equal_providers_share_a_memo():
    first, same, other = (PythonProvider(function=name) for name in ("m:f", "m:f", "m:g"))
    providers = [first, same, other, first, other]
    fields = tuple(
        Rule(path=f"f{number}", comparator=Semantic(provider=provider))
        for number, provider in enumerate(providers)
    )
    made = []

    def make_memo(provider):
        made.append(Memo(provider))
        return made[-1]

    shared = with_memos(Rules(default=Semantic(), fields=fields), make_memo)
    assert [memo.provider for memo in made] == [first, other]
    assert shared.default == Semantic()


def test_only_comparators_that_ask_a_provider_get_another_source():
    remote = Semantic(provider=PythonProvider(function="m:f"))
    fields = tuple(
        Rule(path=name, comparator=comparator)
        for name, comparator in (("a", remote), ("b", Semantic()), ("c", PlugIn()))
    )
    changed = with_sources(Rules(fields=fields), Memo)
    first, second, third = (rule.comparator for rule in changed.fields)
    assert first.source == Memo(remote.provider)
    assert (second, third) == (Semantic(), PlugIn())


@dataclass(frozen=True)
class PlugIn:
    name: ClassVar[str] = "plug_in"

    def compare(self, *_):
        return MATCHED


@pytest.mark.parametrize(
    ("rules", "repeatable"),
    [
        pytest.param(Rules(), True, id="no-rules"),
        pytest.param(read_rules({"a": "FUZZY", "b": "IGNORE"}).rules, True, id="built-in"),
        pytest.param(Rules(default=Semantic()), True, id="local-provider"),
        pytest.param(
            read_rules(
                {"provider": {"type": "openai", "model": "m"}, "fields": {"a": "FUZZY"}}
            ).rules,
            False,
            id="model",
        ),
        pytest.param(
            Rules(default=Semantic(provider=PythonProvider(function=len))), False, id="function"
        ),
        pytest.param(
            Rules(default=Semantic(provider=PythonProvider(function="os:system"))),
            False,
            id="named-function",
        ),
        pytest.param(Rules(fields=(Rule(path="a", comparator=PlugIn()),)), False, id="plug-in"),
    ],
)
def test_only_built_in_rules_are_applied_again(rules, repeatable):
    assert is_repeatable(rules) is repeatable

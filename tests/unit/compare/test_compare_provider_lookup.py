from __future__ import annotations

from fieldmark.compare.provider_lookup import find_providers, with_provider_options
from fieldmark.config.rules_file import read_rules


def test_providers_of_rules_can_be_found_and_changed():
    fields = {
        "name": "FUZZY",
        "bio": {"match": "semantic", "any_of": True},
        "x": {"match": "semantic", "provider": "lexical"},
    }
    rules = read_rules({"provider": {"type": "openai", "model": "m"}, "fields": fields}).rules
    # FUZZY uses the same model to compare form instead of meaning.
    found = [(each.name, getattr(each, "aspect", "")) for each in find_providers(rules)]
    assert sorted(found) == [("lexical", ""), ("openai", "form"), ("openai", "meaning")]
    changed = with_provider_options(rules, {"model": "other"})
    models = {getattr(provider, "model", "-") for provider in find_providers(changed)}
    assert models == {"other", "-"}
    assert len(find_providers(changed)) == 3

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files

import pytest

from fieldmark.compare.lexical import vocabulary

TABLES = json.loads(
    files("fieldmark.compare.lexical").joinpath("vocabulary.json").read_text("utf-8")
)


def strings(value):
    if isinstance(value, dict):
        return [text for item in (*value, *value.values()) for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    "file",
    [
        "fieldmark.compare.lexical/vocabulary.json",
        "fieldmark.compare/vat_formats.json",
        "fieldmark.compare/word_forms.json",
        "fieldmark.values/currencies.json",
    ],
)
def test_data_file_names_its_source_and_license(file):
    package, name = file.split("/")
    table = json.loads(files(package).joinpath(name).read_text("utf-8"))
    assert all(table[key] for key in ("about", "source", "license"))


@pytest.mark.parametrize(
    "table", [name for name in TABLES if name not in {"about", "source", "license"}]
)
def test_every_table_is_used(table):
    assert getattr(vocabulary, table.upper())


@pytest.mark.parametrize(
    "table",
    [
        "function_words",
        "generic_words",
        "synonyms",
        "ambiguous",
        "opposites",
        "negated",
        "cardinals",
        "months",
    ],
)
def test_words_are_in_lower_case_and_without_accents(table):
    words = strings(
        list(TABLES[table].values()) if table in {"function_words", "synonyms"} else TABLES[table]
    )
    assert [word for word in words if word != word.lower() or not word.isascii()] == []


@pytest.mark.parametrize("table", ["abbreviations", "codes"])
def test_an_abbreviation_is_in_one_group_only(table):
    abbreviations = [short for group in TABLES[table].values() for short in group]
    assert len(abbreviations) == len(set(abbreviations))


def test_comparing_two_documents_reads_no_tables():
    code = (
        "import sys, fieldmark; fieldmark.compare({'a': 'x', 'n': 1}, {'a': 'y', 'n': 2});"
        "from fieldmark.values.currencies import currencies;"
        "print([m for m in sys.modules if 'lexical' in m], currencies.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 0"

"""The documentation site: its generated reference, and what its hooks do with pages."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace

import docs_hooks
import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.utils import yaml_load
from reference_pages import GENERATED

import fieldmark
from docs.pages import ROOT
from fieldmark import registry
from fieldmark.cli.exit_codes import MEANINGS
from fieldmark.cli.main import GROUPS, load_command
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.registry import Plugin
from fieldmark.runs.schemas import schema_of
from fieldmark.web.api_errors import ErrorCode

REFERENCE = {page: page.read_text("utf-8") for page in (ROOT / "docs/reference").glob("*.md")}
KINDS = (
    Plugin.COMPARATORS,
    Plugin.ALIGNERS,
    Plugin.PROVIDERS,
    Plugin.EVALUATORS,
    Plugin.TARGETS,
    Plugin.SAFETY,
)


def navigation() -> list[str]:
    """Return the paths of all pages of the navigation."""
    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        text = re.sub(r"!!python/\S+ ", "", file.read())
    found, waiting = [], [yaml_load(text)["nav"]]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        else:
            waiting += item.values() if isinstance(item, dict) else item
    return found


@pytest.mark.parametrize(
    ("link", "fails"),
    [("page.md#title", False), ("missing.md", True), ("page.md#nowhere", True)],
)
def test_build_fails_for_a_broken_link(link, fails, tmp_path):
    dry_run = subprocess.run(
        ["make", "--dry-run", "docs"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    arguments = re.search(r"/mkdocs (build.*)", dry_run.stdout)[1]
    whole = (ROOT / "mkdocs.yml").read_text("utf-8")
    validation = re.search(r"^validation:\n(?:  .*\n)+", whole, re.MULTILINE)[0]
    settings = "site_name: x\nplugins: []\ntheme: {name: null, custom_dir: theme}\n"
    (tmp_path / "mkdocs.yml").write_text(settings + validation, "utf-8")
    (tmp_path / "theme").mkdir()
    (tmp_path / "theme" / "main.html").write_text("{{ page.content }}", "utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(f"# Title\n\n[link]({link})\n", "utf-8")
    command = [sys.executable, "-m", "mkdocs", *arguments.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == fails, done.stderr


def test_every_generated_part_is_on_one_page():
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")]
    markers = re.findall(r"<!-- generated: (\w+) -->", "\n".join(pages))
    assert sorted(markers) == sorted(GENERATED)


def test_every_page_is_in_the_navigation():
    pages = {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")}
    named = navigation()
    assert len(named) == len(set(named))
    assert pages <= set(named)


def test_readme_links_to_every_written_page_of_the_navigation():
    readme = (ROOT / "README.md").read_text("utf-8")
    written = [name for name in navigation() if not name.startswith("docs/reference/")]
    assert not [name for name in written if name != "README.md" and f"({name})" not in readme]


@pytest.mark.parametrize("kind", KINDS)
def test_reference_lists_every_strategy_with_its_options(kind):
    text = GENERATED[kind.value]()
    sections = dict(re.findall(r"^##+ (\S+)\n((?:(?!^##).*\n?)*)", text, re.MULTILINE))
    assert list(sections) == list(registry.built_in(kind))
    for name, section in sections.items():
        for option in registry.options(registry.load(kind, name)):
            assert f"| `{option}` |" in section, (name, option)


def test_reference_lists_every_command_with_its_options():
    text = GENERATED["commands"]()
    sections = dict(re.findall(r"^### fieldmark (.+)\n((?:(?!^##).*\n?)*)", text, re.MULTILINE))
    names = [name for group in GROUPS.values() for name in group]
    assert [name for name in sections if " " not in name] == names
    for name in names:
        subcommands = getattr(load_command(name), "commands", ())
        assert {f"{name} {subcommand}" for subcommand in subcommands} <= set(sections)
    for name, section in sections.items():
        for param in load_command(name).params:
            shown = getattr(param, "hidden", False) or param.opts[0] in section
            assert shown or not param.opts[0].startswith("-"), (name, param.opts)


@pytest.mark.parametrize(
    ("part", "schema"), [("eval", "eval"), ("result", "result"), ("case", "eval")]
)
def test_reference_lists_every_key_of_a_file(part, schema):
    whole = schema_of(schema)
    keys = whole["$defs"]["case"]["properties"] if part == "case" else whole["properties"]
    text = GENERATED[part]()
    assert not [key for key in keys if f"| `{key}` |" not in text]


def test_reference_lists_conventions_codes_and_public_names():
    conventions, codes = GENERATED["conventions"](), GENERATED["exit_codes"]()
    assert not [name for name in CONVENTIONS if f"## {name}\n" not in conventions]
    assert not [code for code in MEANINGS if f"| {code:d} |" not in codes]
    http = GENERATED["http_errors"]()
    assert not [code for code in ErrorCode if f"`{code.value}`" not in http]
    names = GENERATED["functions"]() + GENERATED["classes"]() + GENERATED["exceptions"]()
    absent = [name for name in fieldmark.__all__ if name not in names]
    assert absent == ["MISSING", "__version__"]


def test_reference_lists_every_endpoint_with_its_parameters():
    text = GENERATED["http"]()
    assert "## POST /api/evaluate\n" in text
    assert "| `candidate` |" in text
    assert text.count("\n## ") > 40


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("```yaml file=rules.yaml\n", '```yaml title="rules.yaml"\n'),
        ("```console exit=1\n", "```console\n"),
        ("```console skip\n", "```console\n"),
        ("  ```python\n", "  ```python\n"),
    ],
)
def test_first_line_of_a_block_has_only_words_that_markdown_knows(written, shown):
    page = SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))
    found = docs_hooks.on_page_markdown(f"{written}x\n```\n", page, MkDocsConfig(), None)
    assert found == f"{shown}x\n```\n"


def test_escaped_bar_in_the_code_of_a_table_is_shown_as_a_bar():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))
    table = "| a \\| b | `c \\| d` |\n"
    found = docs_hooks.on_page_markdown(table, page, MkDocsConfig(), None)
    assert found == "| a \\| b | `c | d` |\n"


@pytest.mark.parametrize(
    "loaded",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="https://example.org/a.css">',
        "<img alt=x src=//example.org/a.png>",
    ],
)
def test_page_that_loads_from_another_site_is_refused(loaded):
    page = SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))
    docs_hooks.on_post_page('<a href="https://example.org">link</a>', page, MkDocsConfig())
    with pytest.raises(PluginError, match=r"page\.md loads a file of another site"):
        docs_hooks.on_post_page(loaded, page, MkDocsConfig())


def test_summary_is_the_first_sentence_without_marks():
    text = "# Title\n\n```console\n$ x\n```\n\nThe [first](x.md) `one`, *here*. The second.\n"
    assert docs_hooks.summary(text) == "The first one, here."


def test_linked_files_and_directories_outside_of_docs_are_part_of_the_site():
    found = {path.relative_to(ROOT).as_posix() for path in docs_hooks._linked_paths()}
    assert {"SECURITY.md", "examples/invoices.yaml", "examples/judges", "LICENSE"} <= found
    assert "examples/judges/header_confusion.py" in found

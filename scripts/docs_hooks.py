"""MkDocs hooks: the site has the layout of the repository, so that links work in both.

Pages are all of `docs/`, and every file or directory outside of it that a page links to. Lines with
`<!-- generated: NAME -->` are replaced by the reference that is generated from the code. `llms.txt`
lists the pages of the navigation, and the Markdown of every page is next to its HTML.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from griffe import Extension, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from reference_pages import GENERATED

ROOT: Final = Path(__file__).resolve().parents[1]
_FENCE: Final = re.compile(r"^(?P<start> *`{3,}\w+)(?P<words>[^`\n]*)$", re.MULTILINE)
_CODE: Final = re.compile(r"^( *)(`{3,})[^`\n]*\n.*?^\1\2 *$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_DOCTEST: Final = re.compile(r"^(>>> .*(?:\n.+)*)", re.MULTILINE)
_LINK: Final = re.compile(r"\]\(<?([^)\s>#]+)")
_MARKER: Final = re.compile(r"^.*<!-- generated: (\w+) -->$", re.MULTILINE)
"""Before the comment is what readers of the repository see."""
_PIPED: Final = re.compile(r"`[^`\n]*\\\|[^`\n]*`(?=.*\|$)", re.MULTILINE)
"""Code in a table that contains escaped bars, which Python-Markdown takes literally."""
_LOADED: Final = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//")

_markdown: dict[str, str] = {}
"""The Markdown of each page, with its generated parts."""
_navigation: list[Navigation] = []


class SourceFile(File):
    """A page that shows a text file of the repository, or lists the files of a directory."""

    def is_documentation_page(self) -> bool:
        """Return true, although the file is not Markdown."""
        return True


class DoctestBlocks(Extension):
    """Griffe's docstring parser takes examples for prose unless they are fenced."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Fence the examples of a docstring."""
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(r"```pycon\n\1\n```", obj.docstring.value)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files of `docs/` by pages with the paths that they have in the repository."""
    theme = [file for file in files if file.src_dir != config.docs_dir]
    return Files([*theme, *(_file(path, config) for path in _linked_paths())])


def _linked_paths() -> Iterator[Path]:
    """Yield all pages, and what they link to, directly or by other pages."""
    waiting = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "docs/site.css"]
    found = set(waiting)
    while waiting:
        path = waiting.pop()
        yield path
        if path.is_dir():
            targets = [each for each in path.iterdir() if each.is_file()]
        elif path.suffix == ".md":
            text = _CODE.sub("", path.read_text("utf-8"))
            named = [target for target in _LINK.findall(text) if ":" not in target]
            targets = [(path.parent / target).resolve() for target in named]
        else:
            targets = []
        new = {each for each in targets if each.exists()} - found
        found |= new
        waiting += sorted(new)


def _file(path: Path, config: MkDocsConfig) -> File:
    name = path.relative_to(ROOT).as_posix()
    if path.suffix in (".css", ".md", ".png"):
        return File(name, str(ROOT), config.site_dir, config.use_directory_urls)
    # Search finds the pages that explain a file rather than the file.
    content = f"---\nsearch: {{exclude: true}}\n---\n\n# {name}\n\n{_listing(path)}\n"
    file = SourceFile.generated(config, name, content=content)
    file.dest_uri = f"{name}.html"
    return file


def _listing(path: Path) -> str:
    if path.is_dir():
        names = sorted(each.name for each in path.iterdir() if each.is_file())
        return "\n".join(f"- [{name}]({path.name}/{name})" for name in names)
    language = {".py": "python", ".js": "javascript"}.get(path.suffix, path.suffix[1:] or "text")
    return f"````{language}\n{path.read_text('utf-8').strip()}\n````"


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:  # noqa: ARG001 - the signature of MkDocs
    """Keep the navigation for `llms.txt`."""
    _navigation[:] = [nav]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - the signature of MkDocs
    """Insert the generated reference, and write what Python-Markdown reads differently."""
    whole = _MARKER.sub(lambda marker: GENERATED[marker[1]](), markdown)
    _markdown[page.file.src_uri] = whole
    return _PIPED.sub(lambda code: code[0].replace("\\|", "|"), _FENCE.sub(_titled, whole))


def _titled(fence: re.Match[str]) -> str:
    """Return the first line of a block without the words that only the tests of examples use."""
    names = [word for word in fence["words"].split() if word.startswith("file=")]
    return fence["start"] + "".join(f' title="{name.removeprefix("file=")}"' for name in names)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> None:  # noqa: ARG001 - the signature of MkDocs
    """Refuse pages that load anything from elsewhere."""
    if found := _LOADED.search(output):
        raise PluginError(f"{page.file.src_uri} loads a file of another site: {found[0]}")


def on_post_build(config: MkDocsConfig) -> None:
    """Write `llms.txt`, the Markdown of the pages, and the files that pages show."""
    site = Path(config.site_dir)
    for name, text in _markdown.items():
        if name.endswith(".md") and not _is_rendered(text):
            (site / name).write_text(text, "utf-8")
        elif (ROOT / name).is_file():
            shutil.copy(ROOT / name, site / name)
    (site / "llms.txt").write_text(llms_txt(_navigation[0], config), "utf-8")


def llms_txt(nav: Navigation, config: MkDocsConfig) -> str:
    """Return the list of pages: title, summary, and the sections of the navigation."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}"]
    for item in nav.items:
        if isinstance(item, Section):
            lines += ["", f"## {item.title}", "", *map(_entry, _pages(item))]
        elif isinstance(item, Page):
            lines += ["", _entry(item)]
    return "\n".join(lines) + "\n"


def _pages(section: Section) -> Iterator[Page]:
    for child in section.children:
        if isinstance(child, Page):
            yield child
        elif isinstance(child, Section):
            yield from _pages(child)


def _entry(page: Page) -> str:
    text = _markdown[page.file.src_uri]
    target = page.file.dest_uri if _is_rendered(text) else page.file.src_uri
    return f"- [{page.title}]({target}): {summary(text)}"


def _is_rendered(text: str) -> bool:
    """Whether the content of a page is only in its HTML, because mkdocstrings inserts it."""
    return re.search(r"^::: ", text, re.MULTILINE) is not None


def summary(text: str) -> str:
    """Return the first sentence of a page, without links and marks."""
    paragraphs = [part for part in _CODE.sub(_inline, text).split("\n\n") if part[:1].isalnum()]
    prose = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraphs[0].split()))
    return re.split(r"(?<=\.) ", prose.replace("*", ""))[0].rstrip(":")


def _inline(code: re.Match[str]) -> str:
    return "" if "\n" in code[0] else code[0].strip("`")

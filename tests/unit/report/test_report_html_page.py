"""The report page: one self-contained file with a strict content security policy."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
import subprocess
from pathlib import Path

import pytest

import fieldmark as fm
from fieldmark.analyses.report import html_report
from fieldmark.report.html.page import (
    LABELS,
    LEADERBOARD,
    REPORT,
    STYLES,
    module_order,
    script,
    style,
)
from fieldmark.report.html.value_encoding import embedded
from unit.report.exported import rows_of

ASSETS = Path(fm.__file__).parent / "report" / "html" / "assets"
ENTRIES = (REPORT, LABELS, LEADERBOARD)
NAUGHTY = json.loads(
    (Path(__file__).parents[2] / "data" / "naughty" / "strings.json").read_text("utf-8")
)


class Parts(html.parser.HTMLParser):
    """All elements with their attributes, and the text of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self._inside = [], {}, ("", None)
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag, dict(attrs).get("id")

    def handle_endtag(self, _tag):
        self._inside = "", None

    def handle_data(self, data):
        self.texts.setdefault(self._inside, []).append(data)

    def text_of(self, tag, name=None):
        return "".join(self.texts[tag, name])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    run = tmp_path_factory.mktemp("page") / "run"
    pairs = [({text: text}, {text: f"{text}!"}) for texts in NAUGHTY.values() for text in texts]
    fm.score(pairs, out=run)
    return html_report(run).decode("utf-8")


def test_no_text_from_data_is_markup(page):
    parts = Parts(page)
    assert {tag for tag, _ in parts.tags} == {
        "html", "head", "meta", "title", "link", "style", "body", "div", "noscript", "p", "script",
    }  # fmt: skip
    assert [tag for tag, _ in parts.tags].count("script") == 3
    run = json.loads(parts.text_of("script", "run"))
    opened = json.loads(parts.text_of("script", "opened"))
    keys = {node["key"] for case in opened.values() for node in rows_of(case["tree"])}
    assert keys == {text for texts in NAUGHTY.values() for text in texts}
    assert run["cases"]["opened"] == len(opened)


def test_the_policy_allows_only_the_script_and_style_of_the_page(page):
    parts = Parts(page)
    policy = next(
        attributes["content"]
        for tag, attributes in parts.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    directives = dict(directive.split(" ", 1) for directive in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == f"'{hashed(parts.text_of('script'))}'"
    assert directives["style-src"] == f"'{hashed(parts.text_of('style'))}'"
    assert {directives["base-uri"], directives["form-action"]} == {"'none'"}
    assert directives["img-src"] == "data:"


def hashed(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def test_the_page_makes_no_requests(page):
    links = [
        value for _, a in Parts(page).tags for name, value in a.items() if name in {"src", "href"}
    ]
    assert links == ["data:,"]
    assert b"url(" not in style()
    assert b"@import" not in style()


@pytest.mark.parametrize(
    "word",
    ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
     "DOMParser", "createContextualFragment", "fetch(", "XMLHttpRequest", "import(", "WebSocket"],
)  # fmt: skip
def test_the_script_never_parses_markup_or_sends_requests(word):
    assert [entry for entry in ENTRIES if word.encode() in script(entry)] == []


def test_the_script_cannot_end_its_own_element():
    for entry in ENTRIES:
        assert not re.search(rb"</script|<!--|\]\]>", script(entry), re.IGNORECASE), entry
    assert not re.search(rb"</style", style(), re.IGNORECASE)


def read_asset(name):
    return (ASSETS / name).read_bytes()


def test_every_asset_is_used():
    modules = {name for entry in ENTRIES for name in module_order(entry, read_asset)}
    assert {*STYLES, *modules} == {asset.name for asset in ASSETS.iterdir()}


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_script_of_a_page_is_one_module_that_imports_nothing(entry):
    assert not re.search(rb"^(import|export)\b", script(entry), re.MULTILINE)
    command = ["node", "--check", "--input-type=module", "-"]
    done = subprocess.run(command, input=script(entry), capture_output=True, check=False)
    assert done.stderr.decode() == ""


@pytest.mark.parametrize(
    ("modules", "order"),
    [
        pytest.param({"a": ["b", "c"], "b": ["c"], "c": []}, "cba", id="imports-first"),
        pytest.param({"a": ["b"], "b": ["a"]}, "ba", id="cycle"),
        pytest.param({"a": [], "b": []}, "a", id="only-what-is-imported"),
    ],
)
def test_each_module_follows_its_imports(modules, order):
    def read(name):
        return "".join(
            f'import {{ x }} from "./{imported}.js";\n' for imported in modules[name[0]]
        ).encode()

    assert module_order("a.js", read) == [f"{name}.js" for name in order]


def test_comments_of_scripts_are_not_in_the_page():
    for entry in ENTRIES:
        assert not re.search(rb"^\s*(//|/\*\*(?!.*\*/.))", script(entry), re.MULTILINE), entry


def test_imports_of_reports_do_not_rename():
    for path in ASSETS.glob("*.js"):
        assert not re.search(r"^import [^\n]*(\bas\b|\*)", path.read_text("utf-8"), re.MULTILINE), (
            path
        )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("</script>", b'"\\u003c/script\\u003e"', id="end-of-script"),
        pytest.param("a&b", b'"a\\u0026b"', id="ampersand"),
        pytest.param("\u2028\u2029", b'"\\u2028\\u2029"', id="line-separators"),
        pytest.param("a\ud800b", '"a\ufffdb"'.encode(), id="lone-surrogate"),
        pytest.param({"\ud800": ["\udc00"]}, '{"\ufffd":["\ufffd"]}'.encode(), id="nested-surrogates"),
        pytest.param(2**70, b'"1180591620717411303424"', id="large-integer"),
        pytest.param("\\u003c", b'"\\\\u003c"', id="existing-escape"),
    ],
)  # fmt: skip
def test_embedded_json_is_escaped(value, text):
    assert embedded(value) == text


def test_embedded_json_round_trips():
    assert json.loads(embedded(NAUGHTY)) == NAUGHTY

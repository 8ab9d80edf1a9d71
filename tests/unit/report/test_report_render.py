"""Documents as text, with styles, as Markdown, CSV and JSON."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from fieldmark.model.json import MISSING
from fieldmark.report.document import (
    Align,
    Cell,
    Column,
    Data,
    Document,
    Format,
    Heading,
    Items,
    Line,
    SideBySide,
    Table,
    Tone,
    document_to_json,
    facts,
    note,
    warning,
)
from fieldmark.report.render import RichDocument, document_csv, document_markdown, document_text

NAME = Column("Name", "name")
SCORE = Column("Score", "score", Format.NUMBER)
COUNT = Column("Count", "count", Format.COUNT)


def table(*rows, **options):
    return Table(columns=(NAME, SCORE), rows=rows, **options)


ROWS = ({"name": "a", "score": 0.5}, {"name": "bc", "score": None})


def test_text_has_every_block_with_tables_apart():
    document = Document(
        warning("careful"),
        note("a remark"),
        Line("conclusion", Tone.GOOD),
        table(*ROWS),
        Line("below"),
        Heading("More"),
        Items(lines=[Line("one"), Line("two")], more=3, noun="case"),
    )
    assert document_text(document).splitlines() == [
        "warning: careful",
        "· a remark",
        "conclusion",
        "",
        "Name  Score",
        "a     0.500",
        "bc        –",
        "",
        "below",
        "",
        "More",
        "  one",
        "  two",
        "  … and 3 more cases; --top 0 shows all",
    ]


def test_document_starts_and_ends_without_an_empty_line():
    assert document_text(Document(table(*ROWS))) == "Name  Score\na     0.500\nbc        –\n"
    assert document_text(Document(Heading("Title"), table())) == "Title\n"


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (Column("", "x"), "text", "text"),
        (Column("", "x"), None, ""),
        (Column("", "x"), MISSING, ""),
        (Column("", "x"), ["a", "b"], "a; b"),
        (Column("", "x"), {"a": 1}, '{"a":1}'),
        (Column("", "x"), 5, "5"),
        (Column("", "x", Format.COUNT), 12_345, "12,345"),
        (Column("", "x", Format.COUNT), None, "–"),
        (Column("", "x", Format.NUMBER), 0.12345, "0.123"),
        (Column("", "x", Format.COST), 0.12345, "0.1235"),
        (Column("", "x", Format.SECONDS), 0.12345, "0.12"),
        (Column("", "x", Format.NUMBER), Cell(0.5, "half"), "half"),
        (Column("", "x", Format.NUMBER), Cell(0.5), "0.500"),
    ],
)
def test_format_of_values(column, value, text):
    assert column.cell({"x": value})[0] == text


def test_rows_beyond_the_top_are_counted_and_stay_in_the_data():
    cut = table(*ROWS, top=1, noun="attribute")
    assert document_text(Document(cut)).splitlines()[-1] == (
        "… and 1 more attribute; --top 0 shows all"
    )
    assert document_markdown(Document(cut)).splitlines()[-1] == "… and 1 more attribute"
    assert len(document_to_json(Document(cut))[0]["rows"]) == 2


def test_tables_of_detail_are_not_shown_in_a_terminal():
    document = Document(Line("text"), table(*ROWS, detail=True))
    assert document_text(document) == "text\n"
    assert "| bc |" in document_markdown(document)


def test_number_of_rows_that_the_table_does_not_have():
    assert table(*ROWS, total=12).more == 10


def test_columns_of_text_are_folded_to_the_width():
    columns = (Column("Name", "name"), Column("Text", "text", folds=True), SCORE)
    row = {"name": "a" * 12, "text": "some words that are too long", "score": 1.0}
    shown = document_text(Document(Table(columns=columns, rows=[row])), width=32)
    assert shown.splitlines() == [
        "Name          Text         Score",
        "aaaaaaaaaaaa  some words   1.000",
        "              that are",
        "              too long",
    ]


def test_wide_characters_are_aligned_and_folded_by_their_width():
    rows = [{"name": "東京都新宿区", "score": 1.0}, {"name": "ab", "score": 0.5}]
    assert document_text(Document(table(*rows)), width=15).splitlines() == [
        "Name      Score",
        "東京都新  1.000",
        "宿区",
        "ab        0.500",
    ]


def test_numbers_are_never_folded():
    assert document_text(Document(table(*ROWS)), width=5).splitlines()[1] == "a     0.500"


def test_values_below_their_row():
    columns = (NAME, Column("Examples", "examples", below=True))
    shown = Table(columns=columns, rows=[{"name": "a", "examples": ["x\x1b", "y"]}])
    assert document_text(Document(shown)) == "Name\na\n  x\\x1b\n  y\n"
    assert document_markdown(Document(shown)).splitlines()[-1] == r"| a | x\\x1b; y |"


HOSTILE = "a\x1b[31m|*b*\n=1"


def test_control_characters_are_visible_in_text():
    document = Document(
        Line(HOSTILE),
        Items(lines=[Line(HOSTILE)]),
        table({"name": HOSTILE}),
        facts([(HOSTILE, "")]),
    )
    assert "\x1b" not in document_text(document)
    assert document_text(document).count(r"a\x1b[31m|*b*\n=1") == 4


def test_markdown_is_escaped_once():
    document = Document(Line(HOSTILE), Heading(HOSTILE), table({"name": HOSTILE}))
    lines = document_markdown(document).splitlines()
    escaped = r"a\\x1b\[31m\|\*b\*\\n=1"
    assert lines[0] == escaped
    assert lines[2] == f"**{escaped}**"
    assert lines[-1] == f"| {escaped} | – |"


def test_markdown_of_every_block():
    document = Document(
        warning("careful"),
        Line("conclusion", Tone.STRONG),
        table({"name": "a", "score": Cell(0.5, tone=Tone.BAD)}),
        Items(lines=[Line("one")], more=1, noun="case"),
        facts([("case", "7"), ("path", "total")]),
        table(),
        note("a remark"),
    )
    assert document_markdown(document) == (
        "> warning: careful\n\nconclusion\n\n| Name | Score |\n|---|--:|\n| a | **0.500** |\n\n"
        "- one\n- … and 1 more case\n\n- case: 7\n- path: total\n\n> a remark\n"
    )


def test_private_text_is_not_in_markdown():
    lines = [Line("total: 5 → 6", public="total"), Line("values: 5", public="")]
    document = Document(*lines, Items(lines=lines))
    assert document_markdown(document) == "total\n\n- total\n"
    assert "values: 5" in document_text(document)


def test_csv_has_full_precision_and_no_formulas():
    rows = [{"name": "=1+1", "score": Cell(0.123456, "0.1")}, {"name": "b"}]
    document = Document(data=Data(("name", "score"), rows))
    assert document_csv(document) == '"name","score"\n"\'=1+1","0.123456"\n"b",""\n'


def test_json_for_a_page():
    column = Column("Score", "score", Format.NUMBER, Align.LEFT)
    shown = Table(
        name="scores", columns=[column], rows=[{"score": Cell(0.5, tone=Tone.GOOD)}], noun="run"
    )
    document = Document(Heading("Title"), Line("x"), Items(lines=[Line("y")]), shown)
    heading, line, items, drawn = document_to_json(document)
    assert heading == {"block": "heading", "text": "Title"}
    assert line == {"block": "line", "kind": "text", "text": "x", "tone": ""}
    assert items["lines"] == [{"kind": "text", "text": "y", "tone": ""}]
    assert drawn == {
        "block": "table",
        "name": "scores",
        "columns": [{"key": "score", "title": "Score", "format": "number", "align": "left"}],
        "rows": [{"score": {"value": 0.5, "text": "0.500", "tone": "good"}}],
        "top": None,
        "total": 1,
        "noun": "run",
    }


def test_styles_in_a_terminal(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=40)
    rows = [{"name": Cell(tone, tone=tone)} for tone in (Tone.GOOD, Tone.WARNING)]
    console.print(RichDocument(Document(Line("bad", Tone.BAD), table(*rows))))
    shown = console.file.getvalue()
    for styled in ("1;31mbad\x1b[0m", "1mName", "32mgood", "33mwarning"):
        assert f"\x1b[{styled}" in shown


SMALL = Table(columns=[Column("A", "a"), Column("", "b", Format.COUNT)], rows=[{"a": "x", "b": 5}])
LONGER = Table(columns=[Column("B", "b")], rows=[{"b": "one"}, {"b": "two"}])


def test_small_tables_are_side_by_side_if_they_fit():
    document = Document(Line("above"), SideBySide([SMALL, LONGER]), Line("below"))
    assert document_text(document).splitlines() == [
        "above",
        "",
        "A       B",
        "x  5    one",
        "        two",
        "",
        "below",
    ]
    assert document_text(document, width=8).splitlines() == [
        "above", "", "A", "x  5", "", "B", "one", "two", "", "below",
    ]  # fmt: skip
    assert document_markdown(document).count("|---|") == 2
    assert [item["name"] for item in document_to_json(document)[1]["tables"]] == ["", ""]


def test_columns_can_be_cut_or_not_shown_in_narrow_terminals():
    columns = (NAME, Column("Text", "text", cuts=True), Column("Wide", "wide", min_terminal=60))
    row = {"name": "a", "text": "some words that are too long", "wide": "w"}
    document = Document(Table(columns=columns, rows=[row]))
    assert document_text(document, width=20) == "Name  Text\na     some words th…\n"
    assert "Wide" in document_text(document, width=60)
    assert "too long | w |" in document_markdown(document)


def test_notes_are_directly_above_their_table():
    assert document_text(Document(note("why"), table(*ROWS))).splitlines()[:2] == [
        "· why",
        "Name  Score",
    ]


def test_the_last_column_of_text_is_folded_first():
    columns = (Column("Run", "name", folds=True), COUNT, Column("Note", "note", folds=True))
    row = {"name": "r" * 20, "count": 1, "note": "n" * 20}
    document = Document(Table(columns=columns, rows=[row], gap=1))
    assert document_text(document, width=37).splitlines()[1:] == [
        f"{'r' * 20}     1 {'n' * 10}",
        f"{'':20}       {'n' * 10}",
    ]
    narrow = document_text(document, width=25).splitlines()[1:]
    assert max(map(len, narrow)) <= 25
    assert "".join(line.split()[0] for line in narrow if line.startswith("r")) == "r" * 20


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["a", "–", "ab–"], id="dashes-are-one-cell-wide"),
        pytest.param(["請", "abc"], id="wide-character"),
        pytest.param(["請a", "e\u0301", "ab"], id="wide-and-combining-characters"),
        pytest.param(["e\u0301e\u0301", "ab"], id="combining-characters"),
    ],
)
def test_columns_are_aligned(names):
    rows = [{"name": name, "score": 0.5} for name in names]
    lines = document_text(Document(table(*rows))).splitlines()[1:]
    assert {cell_len(line) for line in lines} == {len("Name  0.500")}

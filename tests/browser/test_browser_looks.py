"""The appearance of the report: color schemes, narrow screens, print and contrast."""

from __future__ import annotations

import pytest

OVERFLOWS = "document.documentElement.scrollWidth > innerWidth"


def brightness(page, selector="body"):
    color = page.run(f"getComputedStyle({page.element(selector)}).backgroundColor")
    red, green, blue = (int(each) for each in color.strip("rgb()").split(",")[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_color_scheme_follows_the_system_until_a_theme_is_selected(open_page, invoices):
    page = open_page(invoices)
    assert brightness(page) > 200
    page.media(scheme="dark")
    assert brightness(page) < 60
    page.click("#theme")
    assert page.text("#theme").endswith("Light")
    assert brightness(page) > 200
    page.click("#theme")
    assert page.text("#theme").endswith("Dark")
    page.media(scheme="light")
    assert brightness(page) < 60
    page.click("#theme")
    assert page.text("#theme").endswith("Auto")
    assert brightness(page) > 200


@pytest.mark.parametrize("fragment", ["", "case-1"], ids=["report", "case"])
@pytest.mark.parametrize("report", ["sample", "compared", "invoices", "valueless"])
def test_narrow_screen_does_not_scroll_horizontally(open_page, request, report, fragment):
    page = open_page(request.getfixturevalue(report), width=360, height=740, mobile=True)
    page.run(f"void (location.hash = '{fragment}')")
    page.settle()
    assert page.run("innerWidth") == 360
    assert not page.run(OVERFLOWS)


def test_long_values_are_below_the_other_cells_on_a_narrow_screen(open_page, sample):
    page = open_page(sample, width=390, height=800, mobile=True)
    left, right, screen = page.run(
        "(() => { const b = document.querySelector('td.long-value').getBoundingClientRect();"
        " return [b.left, b.right, innerWidth]; })()"
    )
    assert left < screen / 5 < screen / 2 < right <= screen


def test_report_without_gates_begins_with_its_result(open_page, sample, invoices):
    page = open_page(sample)
    assert page.text(".verdict-panel").startswith("7 of 23 cases perfect")
    assert page.text(".verdict-panel").endswith("No gates are set for this run.")
    page = open_page(invoices)
    assert page.text(".verdict-panel strong") == "Failed"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_sufficient_contrast(open_page, invoices, scheme):
    """All text has a contrast ratio of at least 4.5, as WCAG AA requires."""
    page = open_page(invoices)
    page.media(scheme=scheme)
    for fragment in ("", "case-1"):
        page.run(f"void (location.hash = '{fragment}')")
        page.settle()
        assert page.run(CONTRAST) == []


def test_every_outcome_has_a_glyph_in_addition_to_its_color(open_page, invoices):
    page = open_page(invoices)
    glyphs = page.run(
        "[...document.querySelectorAll('#attributes .legend .mark')].map((m) => m.querySelector('.glyph').innerText)"
    )
    assert len(glyphs) == len(set(glyphs)) == 4
    shapes = page.run(
        "[...document.querySelectorAll('.heat .legend path')].map((p) => p.getAttribute('d'))"
    )
    assert len(shapes) == len(set(shapes)) == 6


def test_print_shows_all_sections_without_controls(open_page, sample):
    page = open_page(sample)
    page.media(medium="print", scheme="dark")
    assert brightness(page) == 255
    for control in ("nav.sections", ".controls", "#theme", ".more", ".pages button", "button"):
        assert page.count(control) == 0
    # Buttons are not printed in the heads that a table has on its later pages.
    assert page.run("getComputedStyle(document.querySelector('thead .sort')).display") == "contents"
    for part in ("#overview", "#attributes", "#cases", "#method", ".tile"):
        assert page.count(part) > 0
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("size", "media"),
    [
        pytest.param({}, {"scheme": "light"}, id="light"),
        pytest.param({}, {"scheme": "dark"}, id="dark"),
        pytest.param(
            {"width": 390, "height": 800, "mobile": True}, {"scheme": "light"}, id="narrow"
        ),
        pytest.param({}, {"medium": "print"}, id="print"),
    ],
)
def test_screenshot_is_not_blank(open_page, sample, tmp_path, size, media):
    page = open_page(sample, **size)
    page.media(**media)
    assert len(page.screenshot(tmp_path / "picture.png")) > 20_000


CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const channels = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const ground = (node) => {
    let layers = [];
    for (let each = node; each; each = each.parentElement) layers.push(channels(getComputedStyle(each).backgroundColor));
    let color = [255, 255, 255];
    for (const [r, g, b, a] of layers.reverse()) color = color.map((c, i) => [r, g, b][i] * a + c * (1 - a));
    return color;
  };
  const light = (color) => {
    const [r, g, b] = color.map((c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const weak = new Set();
  for (const node of document.querySelectorAll("#app *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.getClientRects().length || node.closest("svg, .spoken, .skip, button:disabled, [aria-hidden]")) continue;
    const [one, two] = [light(channels(getComputedStyle(node).color).slice(0, 3)), light(ground(node))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < 4.5) weak.add(`${node.tagName}.${node.className} ${node.textContent.slice(0, 20)} ${ratio.toFixed(2)}`);
  }
  return [...weak];
})()
"""

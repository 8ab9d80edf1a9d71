"""The appearance of the report: color schemes, narrow screens, print and contrast."""

from __future__ import annotations

import pytest

from browser.chromium import COLOR_RULES


def brightness(page, selector="body"):
    color = page.run(f"getComputedStyle({page.element(selector)}).backgroundColor")
    red, green, blue = (int(part) for part in color.strip("rgb()").split(",")[:3])
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
    assert not page.is_wider_than_the_screen()


def test_long_values_are_below_the_other_cells_on_a_narrow_screen(open_page, sample):
    page = open_page(sample, width=390, height=800, mobile=True)
    left, right, screen = page.run(
        "(() => { const b = document.querySelector('td.long-value').getBoundingClientRect();"
        " return [b.left, b.right, innerWidth]; })()"
    )
    assert left < screen / 5 < screen / 2 < right <= screen


@pytest.mark.parametrize("fragment", ["", "case-1"], ids=["report", "case"])
def test_report_is_accessible_in_both_color_schemes(open_page, invoices, fragment):
    page = open_page(invoices)
    page.run(f"void (location.hash = '{fragment}')")
    page.settle()
    assert page.violations() == []
    page.media(scheme="dark")
    assert page.violations(COLOR_RULES) == []


def test_every_outcome_has_a_glyph_in_addition_to_its_color(open_page, invoices):
    page = open_page(invoices)
    glyphs = page.texts("#attributes .legend .mark .glyph")
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

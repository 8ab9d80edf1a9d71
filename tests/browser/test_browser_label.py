"""The page for labeling in Chromium: by keyboard, with a file that `calibrate` reads."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from browser.test_browser_hostile import STRINGS
from waiting import eventually

PAIRS = [
    ("Acme Corporation", "Acme Corporation Ltd"),
    (9007199254740993, 9007199254740992),
    ({"street": "Main", "no": 1.0}, {"street": "Main", "no": 2}),
]
PRESSED = "document.querySelector('.label-decisions [aria-pressed=true]').dataset.value"


def write_page(directory, pairs, name="labels.html"):
    rows = [
        {"id": str(number), "expected": {"v": ours}, "candidate": {"v": theirs}}
        for number, (ours, theirs) in enumerate(pairs)
    ]
    rules = {"v": {"match": "exact"}}
    sheet = fm.label(fm.score(rows, rules=rules, out=directory / "run"), number=1000)
    sheet.write(directory / name)
    return directory / name, sheet


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("labels"), PAIRS)


def test_labels_are_decided_and_downloaded_by_keyboard(open_page, labels, tmp_path):
    file, sheet = labels
    page = open_page(file)
    assert page.text("[role=status]") == "0 of 3 labeled"
    assert "similarity" not in page.text("#app")
    page.press("y")
    page.press("n")
    assert page.text("[role=status]") == "2 of 3 labeled"
    assert page.text("#labeling .quiet").startswith("Pair 3 of 3")
    page.press("k")
    assert page.run(PRESSED) == "false"
    page.press("u")
    assert page.text("[role=status]") == "1 of 3 labeled"
    page.press("ArrowRight", 39)
    page.press("N")
    page.run("document.querySelector('.label-decisions button').focus()")
    page.press("Enter", 13)
    assert page.run(PRESSED) == "true"
    page.press("N")
    page.download_to(tmp_path)
    page.press("d")
    assert eventually(lambda: page.completed_downloads == 1)
    lines = [
        json.loads(line) for line in (tmp_path / "labels.jsonl").read_text("utf-8").splitlines()
    ]
    assert [line.pop("verdict") for line in lines] == [True, None, False]
    assert [{**line, "verdict": None} for line in lines] == [each.to_dict() for each in sheet]
    result = fm.calibrate(tmp_path / "labels.jsonl", match="exact")
    assert (len(result.judged), result.unlabeled) == (2, 1)

    def is_kept_after_reloading():
        # A page that is reloaded at once may be read before the browser has stored everything.
        page.run("document.body.dataset.old = ''; location.reload()")
        page.wait("document.querySelector('[role=status]') && !('old' in document.body.dataset)")
        return page.text("[role=status]") == "2 of 3 labeled"

    assert eventually(is_kept_after_reloading)
    assert page.text("#labeling .quiet").startswith("Pair 2 of 3")
    page.run("localStorage.clear()")


def test_values_are_shown_as_text_with_their_differences(open_page, tmp_path):
    pairs = [(text, f"{text}!") for text in STRINGS]
    file, sheet = write_page(tmp_path, pairs)
    page = open_page(file)
    shown = page.run(
        f"""(() => {{
          const found = [];
          for (let place = 0; place < {len(sheet)}; place += 1) {{
            found.push([...document.querySelectorAll('.literal')].map((each) => each.textContent));
            document.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'j' }}));
          }}
          return found;
        }})()"""
    )
    plain = [each.expected[:4000].encode("utf-8", "replace").decode() for each in sheet]
    assert [texts[0].replace("\ufffd", "?") for texts in shown] == plain


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_is_accessible_and_fits_a_narrow_screen(open_page, labels, scheme):
    page = open_page(labels[0], width=390, height=844, mobile=True)
    page.media(scheme=scheme)
    assert not page.is_wider_than_the_screen()
    assert page.violations() == []

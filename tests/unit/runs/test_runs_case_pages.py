"""Which page files belong to a case."""

from __future__ import annotations

import pytest

from fieldmark.errors import ConfigError
from fieldmark.judges.images import ImageError
from fieldmark.judges.managed_process import ProcessGroup
from fieldmark.runs.case_pages import MAX_PAGES, LocalPages, page_names
from page_files import pdf, png


@pytest.fixture
def folder(tmp_path):
    files = ("a.png", "a.pdf", "b.pdf", "c/1.png", "c/2.jpg", "c/4.png", "scan 7.jpg", "sub/x.png")
    for name in files:
        (tmp_path / "pages" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pages" / name).write_bytes(pdf(3) if name.endswith("pdf") else png())
    (tmp_path / "outside.png").write_bytes(png())
    (tmp_path / "pages" / "link.png").symlink_to(tmp_path / "outside.png")
    with ProcessGroup() as group:
        yield LocalPages(tmp_path / "pages", group)


@pytest.mark.parametrize(
    ("case_id", "metadata", "names"),
    [
        pytest.param("a", None, ["a.png"], id="image-before-pdf"),
        pytest.param("b", {}, ["b.pdf"], id="pdf"),
        pytest.param("c", None, ["c/1.png", "c/2.jpg"], id="numbered-until-the-first-gap"),
        pytest.param("d", None, [], id="none"),
        pytest.param("a", {"pages": "scan 7.jpg"}, ["scan 7.jpg"], id="named"),
        pytest.param("a", {"pages": ["sub/x.png", "b.pdf"]}, ["sub/x.png", "b.pdf"], id="several"),
        pytest.param("a", {"pages": []}, [], id="named-none"),
        pytest.param("../outside", None, [], id="id-that-leads-outside"),
        pytest.param("link", None, [], id="link-to-the-outside"),
        pytest.param("a\0b", None, [], id="invalid-character"),
        pytest.param("x" * 5_000, None, [], id="long-id"),
    ],
)
def test_pages_are_named_in_the_metadata_or_after_the_id(folder, case_id, metadata, names):
    assert page_names(case_id, metadata, folder) == names


@pytest.mark.parametrize("pages", [5, ["a.png", 5], {"a": 1}])
def test_invalid_names_are_an_error(folder, pages):
    with pytest.raises(ImageError, match="must be a file name or a list of file names"):
        page_names("a", {"pages": pages}, folder)


def test_number_of_named_pages_is_limited(folder):
    named = page_names("a", {"pages": ["a.png"] * 500}, folder)
    assert len(named) == MAX_PAGES


def test_pages_of_pdf_files_count_one_by_one(folder):
    images, total = folder.images("a", {"pages": ["a.png", "b.pdf", "scan 7.jpg"]}, 3)
    pages = [(page.file, page.number, page.size, file.media_type) for page, file in images]
    assert pages == [
        ("a.png", 1, None, "image/png"),
        ("b.pdf", 1, (200.0, 100.0), "image/jpeg"),
        ("b.pdf", 2, (200.0, 100.0), "image/jpeg"),
    ]
    assert total == 5


def test_missing_directory_is_an_error(tmp_path):
    with ProcessGroup() as group, pytest.raises(ConfigError, match=r"directory .* not found"):
        LocalPages(tmp_path / "none", group)

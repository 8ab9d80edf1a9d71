"""Installing compiles the parts in C where that can be done, and says why where it cannot."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


@pytest.fixture
def build():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def sources(build, tmp_path):
    """The sources in a folder of their own, as they are in the project."""
    copies = [tmp_path / source for source in build.SOURCES]
    for copy, source in zip(copies, build.SOURCES, strict=True):
        copy.parent.mkdir(parents=True)
        copy.write_bytes((ROOT / source).read_bytes())
    return copies


def beside(sources):
    """All files in the folders of the sources."""
    return [file for source in sources for file in source.parent.iterdir()]


def hook(build, root, target="wheel"):
    said = []
    app = SimpleNamespace(display_warning=said.append)
    return build.CompiledParts(str(root), {}, None, None, str(root), target, app), said


def test_every_source_in_the_package_is_compiled(build):
    there = {path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.c")}
    assert set(build.SOURCES) == there


def test_modules_are_put_beside_their_sources_and_into_the_wheel(build, sources, tmp_path):
    made, said = hook(build, tmp_path)
    data = {"artifacts": []}
    made.initialize("standard", data)
    compiled = [source.with_suffix(SUFFIX) for source in sources]
    assert min(each.stat().st_size for each in compiled) > 10_000
    assert data == {
        "artifacts": [str(each.relative_to(tmp_path)) for each in compiled],
        "pure_python": False,
        "infer_tag": True,
    }
    assert not said


def test_a_source_distribution_has_nothing_compiled(build, sources, tmp_path):
    data = {"artifacts": []}
    hook(build, tmp_path, "sdist")[0].initialize("standard", data)
    assert data == {"artifacts": []}
    assert beside(sources) == sources


@pytest.mark.parametrize("compiler", ["false", "/no/such/compiler"])
def test_without_a_compiler_the_package_is_pure_python(
    build, sources, tmp_path, monkeypatch, compiler
):
    sources[0].with_suffix(SUFFIX).write_bytes(b"of an older source")
    monkeypatch.setenv("CC", compiler)
    made, said = hook(build, tmp_path)
    data = {"artifacts": []}
    made.initialize("standard", data)
    assert data == {"artifacts": []}
    assert beside(sources) == sources
    assert [each.split(": ")[0] for each in said] == [
        f"{source.name} not compiled, so slower" for source in sources
    ]


def test_a_part_that_does_not_compile_leaves_the_others(build, sources, tmp_path):
    sources[0].write_text("int broken(")
    made, said = hook(build, tmp_path)
    data = {"artifacts": []}
    made.initialize("standard", data)
    assert len(said) == 1
    assert len(data["artifacts"]) == len(sources) - 1
    assert not sources[0].with_suffix(SUFFIX).exists()


def test_a_source_that_does_not_compile_is_told(build, sources):
    sources[0].write_text("int broken(")
    assert build.compile_module(sources[0], sources[0].with_suffix(SUFFIX))
    assert beside(sources) == sources


def test_the_compiler_has_nothing_to_complain_of(build, sources):
    for source in sources:
        assert build.compile_module(source, source.with_suffix(SUFFIX), "-Werror", "-Wconversion",
                                    "-Wno-sign-conversion", "-Wshadow", "-O1") == ""  # fmt: skip

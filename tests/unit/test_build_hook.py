"""Installing compiles the part in C where that can be done, and says why where it cannot."""

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
def source(build, tmp_path):
    """The source in a folder of its own, as it is in the project."""
    copy = tmp_path / build.SOURCE
    copy.parent.mkdir(parents=True)
    copy.write_bytes((ROOT / build.SOURCE).read_bytes())
    return copy


def hook(build, root, target="wheel"):
    said = []
    app = SimpleNamespace(display_warning=said.append)
    return build.CompiledLines(str(root), {}, None, None, str(root), target, app), said


def test_a_module_is_put_beside_its_source_and_into_the_wheel(build, source, tmp_path):
    made, said = hook(build, tmp_path)
    data = {"artifacts": []}
    made.initialize("standard", data)
    compiled = source.with_suffix(SUFFIX)
    assert compiled.stat().st_size > 10_000
    assert data == {
        "artifacts": [str(compiled.relative_to(tmp_path))],
        "pure_python": False,
        "infer_tag": True,
    }
    assert not said


def test_a_source_distribution_has_nothing_compiled(build, source, tmp_path):
    data = {"artifacts": []}
    hook(build, tmp_path, "sdist")[0].initialize("standard", data)
    assert data == {"artifacts": []}
    assert list(source.parent.iterdir()) == [source]


@pytest.mark.parametrize("compiler", ["false", "/no/such/compiler"])
def test_without_a_compiler_the_package_is_pure_python(
    build, source, tmp_path, monkeypatch, compiler
):
    source.with_suffix(SUFFIX).write_bytes(b"of an older source")
    monkeypatch.setenv("CC", compiler)
    made, said = hook(build, tmp_path)
    data = {"artifacts": []}
    made.initialize("standard", data)
    assert data == {"artifacts": []}
    assert list(source.parent.iterdir()) == [source]
    assert said[0].startswith("not compiled, so slower: ")


def test_a_source_that_does_not_compile_is_told(build, source):
    source.write_text("int broken(")
    assert build.compile_module(source, source.with_suffix(SUFFIX))
    assert list(source.parent.iterdir()) == [source]


def test_the_compiler_has_nothing_to_complain_of(build, source):
    assert build.compile_module(source, source.with_suffix(SUFFIX), "-Werror", "-Wconversion",
                                "-Wno-sign-conversion", "-Wshadow", "-O1") == ""  # fmt: skip

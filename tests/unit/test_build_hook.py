"""Building compiles the C extensions if possible, and warns if not."""

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
    """Copies of the C sources in a temporary project."""
    copies = [tmp_path / source for source in build.SOURCES]
    for copy, source in zip(copies, build.SOURCES, strict=True):
        copy.parent.mkdir(parents=True)
        copy.write_bytes((ROOT / source).read_bytes())
    return copies


def siblings(sources):
    """Return all files in the directories of the sources."""
    return [file for source in sources for file in source.parent.iterdir()]


def hook(build, root, target="wheel"):
    warnings = []
    app = SimpleNamespace(display_warning=warnings.append)
    return build.ExtensionBuilder(str(root), {}, None, None, str(root), target, app), warnings


def test_all_c_sources_are_compiled(build):
    present = {path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.c")}
    assert set(build.SOURCES) == present


def test_extensions_are_placed_next_to_their_sources_and_in_the_wheel(build, sources, tmp_path):
    builder, warnings = hook(build, tmp_path)
    data = {"artifacts": []}
    builder.initialize("standard", data)
    compiled = [source.with_suffix(SUFFIX) for source in sources]
    assert min(each.stat().st_size for each in compiled) > 10_000
    assert data == {
        "artifacts": [str(each.relative_to(tmp_path)) for each in compiled],
        "pure_python": False,
        "infer_tag": True,
    }
    assert not warnings


def test_source_distribution_contains_no_extensions(build, sources, tmp_path):
    data = {"artifacts": []}
    hook(build, tmp_path, "sdist")[0].initialize("standard", data)
    assert data == {"artifacts": []}
    assert siblings(sources) == sources


@pytest.mark.parametrize("compiler", ["false", "/no/such/compiler"])
def test_without_a_compiler_the_package_is_pure_python(
    build, sources, tmp_path, monkeypatch, compiler
):
    sources[0].with_suffix(SUFFIX).write_bytes(b"built from older source")
    monkeypatch.setenv("CC", compiler)
    builder, warnings = hook(build, tmp_path)
    data = {"artifacts": []}
    builder.initialize("standard", data)
    assert data == {"artifacts": []}
    assert siblings(sources) == sources
    assert [each.split(": ")[0] for each in warnings] == [
        f"cannot compile {source.name}; the package will be slower" for source in sources
    ]


def test_other_extensions_are_built_if_one_does_not_compile(build, sources, tmp_path):
    sources[0].write_text("int broken(")
    builder, warnings = hook(build, tmp_path)
    data = {"artifacts": []}
    builder.initialize("standard", data)
    assert len(warnings) == 1
    assert len(data["artifacts"]) == len(sources) - 1
    assert not sources[0].with_suffix(SUFFIX).exists()


def test_compile_module_returns_the_reason_of_a_failure(build, sources):
    sources[0].write_text("int broken(")
    assert build.compile_module(sources[0], sources[0].with_suffix(SUFFIX))
    assert siblings(sources) == sources


def test_c_sources_compile_without_warnings(build, sources):
    for source in sources:
        assert build.compile_module(source, source.with_suffix(SUFFIX), "-Werror", "-Wconversion",
                                    "-Wno-sign-conversion", "-Wshadow", "-O1") == ""  # fmt: skip

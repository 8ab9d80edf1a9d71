"""Building compiles the kernel if possible, and warns if not."""

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
    """A copy of the C source in a temporary project."""
    copy = tmp_path / build.SOURCE
    copy.parent.mkdir(parents=True)
    copy.write_bytes((ROOT / build.SOURCE).read_bytes())
    return copy


def hook(build, root, target="wheel"):
    warnings = []
    app = SimpleNamespace(display_warning=warnings.append)
    return build.KernelBuilder(str(root), {}, None, None, str(root), target, app), warnings


def test_all_c_sources_are_compiled(build):
    assert [path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.c")] == [build.SOURCE]


def test_kernel_is_placed_next_to_its_source_and_in_the_wheel(build, source, tmp_path):
    builder, warnings = hook(build, tmp_path)
    data = {"artifacts": []}
    builder.initialize("standard", data)
    compiled = source.with_suffix(SUFFIX)
    assert compiled.stat().st_size > 10_000
    assert data == {
        "artifacts": [str(compiled.relative_to(tmp_path))],
        "pure_python": False,
        "infer_tag": True,
    }
    assert not warnings


def test_source_distribution_contains_no_kernel(build, source, tmp_path):
    data = {"artifacts": []}
    hook(build, tmp_path, "sdist")[0].initialize("standard", data)
    assert data == {"artifacts": []}
    assert [*source.parent.iterdir()] == [source]


@pytest.mark.parametrize("compiler", ["false", "/no/such/compiler"])
def test_without_a_compiler_the_package_is_pure_python(
    build, source, tmp_path, monkeypatch, compiler
):
    source.with_suffix(SUFFIX).write_bytes(b"built from older source")
    monkeypatch.setenv("CC", compiler)
    builder, warnings = hook(build, tmp_path)
    data = {"artifacts": []}
    builder.initialize("standard", data)
    assert data == {"artifacts": []}
    assert [*source.parent.iterdir()] == [source]
    (warning,) = warnings
    assert warning.startswith("cannot compile _kernel.c; the package will be slower: ")


def test_compile_module_returns_the_reason_of_a_failure(build, source):
    source.write_text("int broken(")
    assert build.compile_module(source, source.with_suffix(SUFFIX))
    assert [*source.parent.iterdir()] == [source]


def test_c_source_compiles_without_warnings(build, source):
    strict = ("-Werror", "-Wconversion", "-Wno-sign-conversion", "-Wshadow", "-O1")
    assert build.compile_module(source, source.with_suffix(SUFFIX), *strict) == ""

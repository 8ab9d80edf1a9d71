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
def sources(build, tmp_path):
    """A copy of the C files in a temporary project."""
    copy = tmp_path / build.SOURCES
    copy.mkdir(parents=True)
    for path in (ROOT / build.SOURCES).glob("*.[ch]"):
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


def hook(build, root, target="wheel"):
    warnings = []
    app = SimpleNamespace(display_warning=warnings.append)
    return build.KernelBuilder(str(root), {}, None, None, str(root), target, app), warnings


def test_all_c_sources_are_compiled(build):
    assert {path.parent.relative_to(ROOT) for path in (ROOT / "src").rglob("*.c")} == {
        build.SOURCES
    }


def test_kernel_is_placed_next_to_its_source_and_in_the_wheel(build, sources, tmp_path):
    builder, warnings = hook(build, tmp_path)
    data = {"artifacts": []}
    builder.initialize("standard", data)
    compiled = sources / f"{build.MODULE}{SUFFIX}"
    assert compiled.stat().st_size > 10_000
    assert data == {
        "artifacts": [str(compiled.relative_to(tmp_path))],
        "pure_python": False,
        "infer_tag": True,
    }
    assert not warnings


def test_source_distribution_contains_no_kernel(build, sources, tmp_path):
    data = {"artifacts": []}
    hook(build, tmp_path, "sdist")[0].initialize("standard", data)
    assert data == {"artifacts": []}
    assert {path.suffix for path in sources.iterdir()} == {".c", ".h"}


@pytest.mark.parametrize("compiler", ["false", "/no/such/compiler"])
def test_without_a_compiler_the_package_is_pure_python(
    build, sources, tmp_path, monkeypatch, compiler
):
    (sources / f"{build.MODULE}{SUFFIX}").write_bytes(b"built from older source")
    monkeypatch.setenv("CC", compiler)
    builder, warnings = hook(build, tmp_path)
    data = {"artifacts": []}
    builder.initialize("standard", data)
    assert data == {"artifacts": []}
    assert {path.suffix for path in sources.iterdir()} == {".c", ".h"}
    (warning,) = warnings
    assert warning.startswith("cannot compile the kernel; the package will be slower: ")


def test_compile_module_returns_the_reason_of_a_failure(build, sources):
    (sources / "rows.c").write_text("int broken(")
    assert build.compile_module(sources, sources / f"{build.MODULE}{SUFFIX}")
    assert {path.suffix for path in sources.iterdir()} == {".c", ".h"}


def test_c_source_compiles_without_warnings(build, sources):
    strict = ("-Werror", "-Wconversion", "-Wno-sign-conversion", "-Wshadow", "-O1")
    assert build.compile_module(sources, sources / f"{build.MODULE}{SUFFIX}", *strict) == ""


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


CL = """#!/bin/sh
printf '%s\\n' "$@" > "$RECORDED"
for word; do case "$word" in /Fe*) touch "${word#/Fe}";; esac; done
"""


@pytest.fixture
def recorded(build, monkeypatch, tmp_path):
    """The arguments of a compiler of Visual Studio that is on no path, on a system with no other."""
    monkeypatch.setattr(build, "SYSTEM", "win32")
    monkeypatch.setattr(build.sysconfig, "get_config_var", lambda _: None)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("RECORDED", str(tmp_path / "recorded"))
    return tmp_path / "recorded"


def test_windows_uses_the_options_of_its_own_compiler(
    build, sources, recorded, tmp_path, monkeypatch
):
    monkeypatch.setenv("CC", str(executable(tmp_path / "bin" / "cl", CL)))
    compiled = sources / "_kernel.pyd"
    assert build.compile_module(sources, compiled, "/WX") == ""
    assert compiled.exists()
    words = recorded.read_text("utf-8").splitlines()
    assert not [word for word in words if word.startswith("-")]
    assert words[: len(build.MSVC_FLAGS) + 1] == [*build.MSVC_FLAGS, "/WX"]
    assert str(sources / "rows.c") in words
    assert words[-2] == "/link"


def test_compiler_of_visual_studio_is_found_without_a_developer_prompt(
    build, sources, recorded, tmp_path, monkeypatch
):
    installed = tmp_path / "VS"
    monkeypatch.setenv("PROGRAMFILES(X86)", str(tmp_path))
    vswhere = tmp_path / "Microsoft Visual Studio" / "Installer" / "vswhere.exe"
    executable(vswhere, f"#!/bin/sh\necho {installed}\n")
    executable(installed / "bin" / "cl", CL)
    # Windows writes the name of a variable as it was set.
    environment = f"Path={installed / 'bin'}:/usr/bin:/bin\nRECORDED={recorded}\n"
    (tmp_path / "printed").write_text(environment, "utf-16-le")
    ask = f'#!/bin/sh\n[ "$1 $2" = "/u /c" ] && cat "$3" >{tmp_path}/asked && cat {tmp_path}/printed\n'
    executable(tmp_path / "bin" / "cmd", ask)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert build.compile_module(sources, sources / "_kernel.pyd") == ""
    assert "/LD" in recorded.read_text("utf-8").splitlines()
    script = installed / "VC" / "Auxiliary" / "Build" / "vcvarsall.bat"
    asked = (tmp_path / "asked").read_text("utf-8")
    assert asked == f'@call "{script}" amd64 >nul && set\n'


@pytest.mark.usefixtures("recorded")
def test_windows_without_visual_studio_has_no_compiler(build, sources, monkeypatch, tmp_path):
    monkeypatch.setenv("PROGRAMFILES(X86)", str(tmp_path))
    assert "vswhere.exe" in build.compile_module(sources, sources / "_kernel.pyd")
    executable(tmp_path / "Microsoft Visual Studio" / "Installer" / "vswhere.exe", "#!/bin/sh\n")
    reason = build.compile_module(sources, sources / "_kernel.pyd")
    assert reason == "no C compiler found; install the Visual Studio Build Tools"
    assert {path.suffix for path in sources.iterdir()} == {".c", ".h"}


def test_macos_leaves_symbols_of_python_undefined_and_builds_for_the_wanted_machines(
    build, sources, tmp_path, monkeypatch
):
    monkeypatch.setattr(build, "SYSTEM", "darwin")
    monkeypatch.setenv("CC", "clang -pthread")
    monkeypatch.setenv("ARCHFLAGS", "-arch x86_64 -arch arm64")
    command, environment = build._command(sources, tmp_path / "kernel.so", ())
    assert command[:2] == ["clang", "-pthread"]
    link = command[command.index("-undefined") :]
    assert link[:6] == ["-undefined", "dynamic_lookup", "-arch", "x86_64", "-arch", "arm64"]
    assert environment is None

"""The source distribution and wheels: contents, tags, size, and what they do when installed."""

from __future__ import annotations

import json
import os
import re
import tarfile
import zipfile

import pytest

from distributions.environments import ROOT, run

SIZE = re.compile(r"^\| `fieldmark` \| [0-9]+ \| ([0-9]+) MB \|$", re.MULTILINE)
TOLERANCE = 1.05
"""Other versions of Python and other systems have slightly larger files."""


def test_metadata_is_valid(dist, tools):
    assert run(tools / "twine", "check", "--strict", *dist.iterdir()).count("PASSED") == 2


def test_source_distribution_has_all_that_tests_need_and_no_build_files(dist, source):
    [path] = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    committed = set(run("git", "ls-files", cwd=source).splitlines())
    left_out = {".ci/run", ".clang-format", ".editorconfig"}
    assert names - committed == {"PKG-INFO"}
    assert committed - names == left_out


def test_wheel_has_the_kernel_and_types(wheel):
    assert re.search(r"-cp3[0-9]+-cp3[0-9]+-(linux|macosx)_\w+\.whl$", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert any(re.fullmatch(r"fieldmark/model/kernel/_kernel\..*\.so", name) for name in names)
    assert "fieldmark/py.typed" in names
    assert not [name for name in names if name.endswith(".c")]


def test_wheel_without_a_compiler_is_pure_and_has_the_same_results(
    dist, core, tools, tmp_path_factory
):
    assert "compiled kernel" in run(core / "fieldmark", "--version")
    [archive] = dist.glob("*.tar.gz")
    out = tmp_path_factory.mktemp("pure")
    build = [core / "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, archive]
    run(*build, env={**os.environ, "CC": "false"})
    [pure] = out.iterdir()
    assert pure.name.endswith("-py3-none-any.whl")
    run(core / "pip", "install", "--quiet", "--no-deps", "--target", out / "package", pure)
    demo = [core / "python", "-m", "fieldmark", "demo", "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(out / "package")}
    version = run(core / "python", "-m", "fieldmark", "--version", env=environment)
    assert "pure Python" in version
    compiled = json.loads(run(*demo))
    assert compiled["cases"]["total"] == 23
    assert json.loads(run(*demo, env=environment)) == compiled


def test_core_install_is_not_larger_than_documented(core):
    documented = int(SIZE.search((ROOT / "docs/setup.md").read_text("utf-8"))[1])
    measured = int(run(core / "python", ROOT / "scripts/measure_install.py", "--core"))
    assert documented / TOLERANCE <= measured <= documented * TOLERANCE


@pytest.mark.parametrize(
    ("system", "architecture", "kinds"),
    [
        ("linux", "x86_64", ["manylinux", "musllinux"]),
        ("linux", "aarch64", ["manylinux", "musllinux"]),
        ("macos", "x86_64", ["macosx"]),
        ("macos", "arm64", ["macosx"]),
        ("windows", "AMD64", ["win"]),
        ("windows", "ARM64", ["win"]),
    ],
)
def test_compiled_wheels_of_a_release(tools, system, architecture, kinds):
    words = ["--platform", system, "--archs", architecture, "--print-build-identifiers", ROOT]
    identifiers = run(tools / "cibuildwheel", *words).split()
    versions = ["cp311", "cp312", "cp313", "cp314"]
    assert identifiers == [f"{v}-{kind}_{architecture.lower()}" for kind in kinds for v in versions]


def test_release_matrix_covers_all_architectures():
    workflow = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    systems = ["ubuntu-latest", "ubuntu-24.04-arm", "macos-15-intel", "macos-latest"]
    systems += ["windows-latest", "windows-11-arm"]
    assert f"os: [{', '.join(systems)}]" in workflow

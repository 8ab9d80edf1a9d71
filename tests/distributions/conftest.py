"""Distributions as users install them: collected only if `FIELDMARK_PACKAGING` is set.

It is the environment with the tools, which `make test-packaging` creates.
"""

from __future__ import annotations

import os
import shutil

import pytest

from distributions.environments import ROOT, new_environment, run

TOOLS = os.environ.get("FIELDMARK_PACKAGING", "")
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".cache", ".*_cache", ".hypothesis", "__pycache__", "*.so", "build", "dist"
)
collect_ignore_glob = [] if TOOLS else ["test_*.py"]


@pytest.fixture(scope="session")
def tools():
    return ROOT / TOOLS / "bin"


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """A copy of the source without build files, in a git repository."""
    copy = tmp_path_factory.mktemp("source") / "fieldmark"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
    for words in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "-m", "x"]):
        run("git", *words, cwd=copy)
    return copy


@pytest.fixture(scope="session")
def dist(source, tools, tmp_path_factory):
    """The source distribution, and the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    run(tools / "python", "-m", "build", "--outdir", out, source)
    return out


@pytest.fixture(scope="session")
def wheel(dist):
    [path] = dist.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def core(wheel, tmp_path_factory):
    """The programs of an environment with the wheel and no extras."""
    return new_environment(tmp_path_factory.mktemp("core"), wheel)

"""Environments of other tools, which are large: collected only if `FIELDMARK_INTEGRATIONS` is set.

They are created below `.cache/integrations` on first use. A tool that cannot be installed is a
failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("FIELDMARK_INTEGRATIONS") else ["test_*.py"]

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "integrations"
EXAMPLES = ROOT / "examples" / "integrations"
OFFLINE = {
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "INSPECT_DISPLAY": "none",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
}


def install(name, packages, *commands):
    """Create an environment with packages, unless it has them, and return its directory."""
    directory, marker = CACHE / name, CACHE / name / "installed.txt"
    wanted = "\n".join(packages)
    if not marker.exists() or marker.read_text("utf-8") != wanted:
        directory.mkdir(parents=True, exist_ok=True)
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"cannot install {name}: {done.stderr[-2_000:]}"
        marker.write_text(wanted, "utf-8")
    return directory


@pytest.fixture
def examples():
    """The directory with the examples."""
    return EXAMPLES


@pytest.fixture
def python(tmp_path):
    """Run Python code in an environment with a package and what fieldmark requires."""

    def run(package, code):
        required = [each for each in metadata.requires("fieldmark") if "extra ==" not in each]
        packages, directory = [package, *required], CACHE / package.partition("==")[0]
        own = directory / "bin" / "python"
        install(
            directory.name,
            packages,
            [sys.executable, "-m", "venv", directory],
            [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
        )
        return finished([own, "-c", code], tmp_path)

    return run


@pytest.fixture
def promptfoo(tmp_path):
    """Run promptfoo with a version of Node.js that it supports, and Python assertions with ours."""

    def run(package, node, *words):
        directory = CACHE / "promptfoo"
        npm = ["npm", "install", "--prefix", directory, "--no-save", "--no-fund", "--no-audit"]
        install(directory.name, [package, node], [*npm, package, node])
        modules = directory / "node_modules"
        program = [modules / ".bin" / "node", modules / "promptfoo" / "dist/src/entrypoint.js"]
        return finished([*program, *words], tmp_path)

    return run


def finished(command, directory):
    """Run a command without its user's configuration, and return what it printed."""
    environment = {
        "HOME": str(directory),
        "PATH": os.environ["PATH"],
        "PROMPTFOO_CONFIG_DIR": str(directory / "promptfoo"),
        "PROMPTFOO_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(EXAMPLES)]),
        **OFFLINE,
    }
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr

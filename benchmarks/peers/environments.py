"""The measured peers, and the environments that they are installed in."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.workloads import cache_directory

_WINDOWS: Final = sys.platform == "win32"


class PeerUnavailable(Exception):
    """A peer that cannot be installed on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A package, its adapter script, how it compares, and how much faster fieldmark should be."""

    package: str
    adapter: str
    method: str
    target: float = 3.0

    def python(self) -> Path:
        """Return the interpreter of this peer's environment, which is created on first use."""
        home = cache_directory("peers") / self.package
        python = home / ("Scripts/python.exe" if _WINDOWS else "bin/python")
        complete = home / "complete"
        if not complete.exists():
            _run([sys.executable, "-m", "venv", "--clear", str(home)])
            _run([str(python), "-m", "pip", "install", "--quiet", "orjson", self.package])
            complete.touch()
        return python

    def script(self) -> Path:
        """Return the adapter script for the interpreter of the peer."""
        return Path(__file__).parent / "adapters" / self.adapter


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reasons = done.stderr.strip().splitlines() or ["no reason given"]
        raise PeerUnavailable(reasons[-1])


PEERS: Final = (
    Peer(
        package="stickler-eval",
        adapter="stickler_eval.py",
        method="per-field rules, optimal",
    ),
    Peer(
        package="omni-extract-bench",
        adapter="omni_extract_bench_score.py",
        method="canonical values, optimal",
    ),
    Peer(
        package="autoevals",
        adapter="autoevals_json_diff.py",
        method="JSONDiff, by index",
        target=1.2,
    ),
)

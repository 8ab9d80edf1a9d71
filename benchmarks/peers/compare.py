"""Other tools on the same documents, each installed into an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from benchmarks.measure import cache_directory, print_table, verdict
from benchmarks.throughput import Workload, reading

_OFFLINE = {"HF_HUB_OFFLINE": "1", "NO_PROXY": "*", "PYTHONHASHSEED": "0"}
"""Peers must not download models while they are measured."""
_WINDOWS: Final = sys.platform == "win32"


class PeerUnavailable(Exception):
    """A peer that cannot be installed on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A package, its adapter script, how it compares, and how much faster fieldmark should be."""

    package: str
    adapter: str
    method: str
    target: float = 5.0

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


def peers(workloads: Iterable[Workload], *, limit: float) -> bool:
    """Print the documents per CPU second of all tools; return whether all targets are met."""
    ahead = True
    for workload in _one_for_each_data_set(workloads):
        own = reading(workload, "results", repeats=1)
        rate = own.documents / own.pipeline
        rows = [("fieldmark", "per-field rules, greedy", f"{rate:,.0f}", "", "", "")]
        for peer in PEERS:
            peer_rate = _peer_rate(peer, workload, limit)
            if isinstance(peer_rate, str):
                rows.append((peer.package, peer.method, peer_rate, "", "", ""))
                continue
            ok = rate >= peer.target * peer_rate
            ahead &= ok
            speedup, target = f"{rate / peer_rate:,.1f} times", f"≥ {peer.target:g}"
            rows.append(
                (peer.package, peer.method, f"{peer_rate:,.2f}", speedup, target, verdict(ok=ok))
            )
        titles = ("method", "docs per CPU s", "speedup of fieldmark", "target", "")
        print_table((workload.name, *titles), rows)
    return ahead


def _one_for_each_data_set(workloads: Iterable[Workload]) -> list[Workload]:
    """Return the first workload on each well-formed data set."""
    chosen = {
        workload.data: workload
        for workload in reversed(list(workloads))
        if not workload.data.malformed
    }
    return sorted(chosen.values(), key=lambda workload: workload.data.items)


def _peer_rate(peer: Peer, workload: Workload, limit: float) -> float | str:
    """Return documents per CPU second, or the reason why there is no measurement."""
    truth, candidate = workload.data.write(cache_directory("data"))
    timeout = 2 * limit + 30  # wall-clock, including startup
    try:
        command = [str(peer.python()), str(peer.script()), str(truth), str(candidate), str(limit)]
        done = subprocess.run(
            command,
            capture_output=True,
            env={**os.environ, **_OFFLINE},
            timeout=timeout,
            check=True,
        )
    except PeerUnavailable as reason:
        return f"skipped: cannot be installed: {reason}"
    except subprocess.TimeoutExpired:
        return f"timeout after {timeout:g} s"
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        return f"skipped: {next((line for line in reversed(lines) if 'Error' in line), lines[-1])}"
    # A peer may print warnings before the last line, which the adapter prints.
    answer = orjson.loads(done.stdout.splitlines()[-1])
    return float(answer["documents"] / answer["cpu"])

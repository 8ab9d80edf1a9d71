"""Prints the documents per CPU second of peers, and the speedup of fieldmark over them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

import orjson

from benchmarks.measure import print_table, reading
from benchmarks.peers.environments import PEERS, Peer, PeerUnavailable
from benchmarks.workloads import Workload, cache_directory

_OFFLINE = {"HF_HUB_OFFLINE": "1", "NO_PROXY": "*", "PYTHONHASHSEED": "0"}
"""Peers must not download models while they are measured."""


def peers(workloads: Iterable[Workload], *, limit: float) -> bool:
    """Measure fieldmark and all peers on each data set; return whether all targets are met."""
    ahead = True
    for workload in _one_for_each_data_set(workloads):
        own = reading(workload, "results", repeats=1)
        rate = own.documents / own.pipeline
        rows = [("fieldmark", "per-field rules, greedy", f"{rate:,.0f}", "", "", "")]
        for peer in PEERS:
            found = _peer_rate(peer, workload, limit)
            if isinstance(found, str):
                rows.append((peer.package, peer.method, found, "", "", ""))
                continue
            ok = rate >= peer.target * found
            ahead &= ok
            speedup, target = f"{rate / found:,.1f} times", f"≥ {peer.target:g}"
            state = "ok" if ok else "FAIL"
            rows.append((peer.package, peer.method, f"{found:,.2f}", speedup, target, state))
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

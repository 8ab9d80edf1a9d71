"""Runs on a Ray cluster of several nodes on this machine, some of which die.

The arguments are a directory with `truth.jsonl` and `found.jsonl`, the number of nodes, and what
happens when the first results arrive: nothing, a worker or a node is killed, or this process is;
then the directory of the run, and another name of the predictions, or an eval file. A file `joined`
is written if Ray Data joins the rows.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import psutil
import ray
from ray.cluster_utils import Cluster

import fieldmark as fm
from fieldmark.runs import ray_engine
from waiting import eventually

os.environ.setdefault("RAY_worker_niceness", "0")  # otherwise a busy machine delays all tasks
STORE = 80 << 20
ATTEMPTS = 5


def main(directory: Path, nodes: int, fault: str, out: str, found: str = "found.jsonl") -> None:
    os.chdir(directory)
    ray_engine._TASK_SEGMENTS = 2
    ray_engine._JOIN_BLOCKS = 1
    join = ray_engine.join_on_ray

    def join_on_ray(*given, **options):
        Path("joined").touch()
        return join(*given, **options)

    ray_engine.join_on_ray = join_on_ray
    cluster, others = start_cluster(nodes)
    ray.init(cluster.address, log_to_driver=False)
    seen = []

    def progress(*_):
        """Cause the fault at the third result, or later if it is not possible yet."""
        if len(seen) < 3:
            seen.append(1)
        elif len(seen) == 3 and FAULTS[fault](cluster, others):
            seen.append(1)

    try:
        options = {"resume": Path(out).exists(), "engine": "ray", "progress": progress}
        if found.endswith(".yaml"):
            fm.evaluate(found, out=out, **options)
        else:
            truth = Path("truth.jsonl").with_suffix(Path(found).suffix)
            fm.score(str(truth), found, out=out, **options)
    finally:
        ray.shutdown()
        cluster.shutdown()


def start_cluster(nodes: int):
    """Start a cluster; a node has only 30 seconds to start, so several times if necessary."""
    node = {"num_cpus": 1, "object_store_memory": STORE}
    # A busy machine must not look like a dead node.
    config = {"health_check_failure_threshold": 1_000}
    head = {**node, "include_dashboard": False, "_system_config": config}
    cluster = repeated(lambda: Cluster(initialize_head=True, head_node_args=head))
    others = [repeated(lambda: cluster.add_node(wait=False, **node)) for _ in range(nodes - 1)]
    # A node that was given up may still join.
    assert eventually(lambda: len(cluster.global_state._live_node_ids()) >= nodes)
    return cluster, others


def repeated(start):
    for _ in range(ATTEMPTS - 1):
        try:
            return start()
        except Exception:  # noqa: BLE001 - Ray raises it
            traceback.print_exc()
    return start()


def kill_worker(*_):
    """Kill a worker that processes a task; return whether there is one."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if not process.name().startswith(("ray::_work", "ray::IDLE")):
                continue
            process.suspend()
            busy = process.name().startswith("ray::_work")
            process.kill() if busy else process.resume()
            if busy:
                Path("killed-worker").touch()
                return True
    return False


def kill_node(cluster, others):
    cluster.remove_node(others[0], allow_graceful=False)
    return True


def kill_driver(cluster, _):
    """End this process as the out-of-memory killer does; the cluster is left to its parent."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            process.kill()
    os.kill(os.getpid(), signal.SIGKILL)


FAULTS = {"none": lambda *_: True, "worker": kill_worker, "node": kill_node, "driver": kill_driver}

if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])

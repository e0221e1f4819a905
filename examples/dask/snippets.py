"""A thousand snippets of code on two workers of Dask, one of which is killed midway."""

import os
import signal
import time

import dask
from dask.distributed import Client, LocalCluster, as_completed

from worker import is_right, run_number

SNIPPETS, WORKERS, KILL_AFTER = 1000, 2, 300


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 10})
    start, killed, results, workers = time.monotonic(), None, {}, set()
    with LocalCluster(WORKERS, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        for _, (number, result, pid) in as_completed(client.map(run_number, range(SNIPPETS), retries=3),
                                                     with_results=True):
            results[number] = result
            workers.add(pid)
            if killed is None and len(results) >= KILL_AFTER:
                killed = pid
                os.kill(killed, signal.SIGKILL)
    right = sum(is_right(number, results.get(number)) for number in range(SNIPPETS))
    print("%d of %d snippets right, by %d processes, one killed, in %.1f s"
          % (right, SNIPPETS, len(workers), time.monotonic() - start))
    assert right == SNIPPETS and killed is not None  # on a busy machine, all is done before another worker is there


if __name__ == "__main__":
    main()

"""A thousand snippets of code on two workers of Ray, one of which is killed midway."""

import os
import signal
import time

import ray

from callgate import SandboxException
from worker import is_right, run_number

SNIPPETS, WORKERS, KILL_AFTER = 1000, 2, 300


@ray.remote(max_retries=-1, retry_exceptions=[SandboxException])
def run_remote(number):
    return run_number(number)


ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
start, killed = time.monotonic(), None
waiting, results, workers = [run_remote.remote(number) for number in range(SNIPPETS)], {}, set()
while waiting:
    ready, waiting = ray.wait(waiting)
    for number, result, pid in ray.get(ready):
        results[number] = result
        workers.add(pid)
    if killed is None and len(results) >= KILL_AFTER:
        killed = pid
        os.kill(killed, signal.SIGKILL)
right = sum(is_right(number, results.get(number)) for number in range(SNIPPETS))
print("%d of %d snippets right, by %d processes, one killed, in %.1f s"
      % (right, SNIPPETS, len(workers), time.monotonic() - start))
ray.shutdown()
assert right == SNIPPETS and killed is not None  # on a busy machine, all is done before another worker is there

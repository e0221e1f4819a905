#!/bin/bash
# multiprocessing by fork and spawn with semaphores in /dev/shm; subprocess; threads; temporary files.
. "$(dirname "$0")/../lib.sh"
prepare()
{
	cat >"$1/procs.py" <<'EOF'
import multiprocessing as mp, os, subprocess, sys, tempfile, threading, warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory

# With the process's number in it, from 3.12 on.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)

def square(x):
    return x * x

def count(lock, value):
    for _ in range(100):
        with lock:
            value.value += 1

def main():
    for method in ("fork", "spawn"):
        ctx = mp.get_context(method)
        with ctx.Pool(3) as pool:
            print(method, pool.map(square, range(20)))
        lock, value = ctx.Lock(), ctx.Value("i", 0, lock=False)
        ps = [ctx.Process(target=count, args=(lock, value)) for _ in range(3)]
        for p in ps: p.start()
        for p in ps: p.join()
        print(method, value.value, [p.exitcode for p in ps])
        q = ctx.Queue()
        q.put({"a": [1, 2, 3]})
        print(q.get())
    shm = shared_memory.SharedMemory(create=True, size=1000)
    shm.buf[:5] = b"hello"
    again = shared_memory.SharedMemory(name=shm.name)
    print(bytes(again.buf[:5]))
    again.close(); shm.close(); shm.unlink()
    with ProcessPoolExecutor(2) as ex:
        print(list(ex.map(square, range(5))))
    print(subprocess.run(["sh", "-c", "cat; echo err >&2; exit 3"], input=b"in", capture_output=True))
    print(subprocess.run([sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))"],
                         capture_output=True, text=True).stdout.strip())
    try:
        subprocess.run(["no-such-program"])
    except FileNotFoundError as e:
        print(e)
    try:
        subprocess.run(["sleep", "30"], timeout=0.2)
    except subprocess.TimeoutExpired as e:
        print(e.cmd)
    p = subprocess.Popen(["sleep", "30"]); p.terminate(); print(p.wait())
    print(os.system("exit 5") >> 8, os.popen("echo popen").read().strip())
    with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as f:
        f.write(b"x"); f.flush(); print(os.path.getsize(f.name), len(os.listdir(d)))
    results = []
    ts = [threading.Thread(target=lambda i=i: results.append(open("t%d" % i, "w").write("x" * i))) for i in range(20)]
    for t in ts: t.start()
    for t in ts: t.join()
    print(sorted(results))
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(w, b"child " + os.getcwd().encode()); os._exit(7)
    print(os.waitpid(pid, 0)[1] >> 8, os.read(r, 100))

if __name__ == "__main__":
    main()
EOF
}
live_env+=(PYTHONDONTWRITEBYTECODE=1)
same processes "$PYTHON" procs.py

"""System V IPC, POSIX message queues and /dev/shm inside callgate: ipc.py use|absent|look NAME|hold.

use     uses each kind between two processes
absent  checks that none is available
look    checks that objects of other runs are not visible
hold    leaves objects behind and waits for end of file on stdin
"""
import ctypes
import errno
import multiprocessing.shared_memory
import os
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
CREATE, PRIVATE, REMOVE = 0o1000, 0, 0
KEY = 0xca11
O_CREAT, O_RDWR = os.O_CREAT, os.O_RDWR


def call(function, *arguments):
    ctypes.set_errno(0)
    result = function(*arguments)
    return result if result not in (-1, ctypes.c_void_p(-1).value) else -ctypes.get_errno()


def must(what, result):
    if result < 0:
        sys.exit(f"{what}: {errno.errorcode[-result]}")
    return result


def child(function):
    pid = os.fork()
    if pid == 0:
        function()
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    if status:
        sys.exit(f"the child: {status}")


def attach(segment):
    return must("shmat", call(libc.shmat, segment, None, 0))


def use_segment():
    segment = must("shmget", call(libc.shmget, KEY, 1 << 20, CREATE | 0o600))

    def write():
        there = must("shmget again", call(libc.shmget, KEY, 0, 0))
        ctypes.memmove(attach(there), b"from the child", 15)

    child(write)
    where = attach(segment)
    print("segment:", ctypes.string_at(where))
    must("shmdt", call(libc.shmdt, ctypes.c_void_p(where)))
    must("shmctl", call(libc.shmctl, segment, REMOVE, None))


def use_semaphores():
    semaphores = must("semget", call(libc.semget, KEY, 2, CREATE | 0o600))

    def post():
        must("semop", call(libc.semop, semaphores, struct.pack("HhH", 1, 3, 0), ctypes.c_size_t(1)))

    child(post)
    must("semop", call(libc.semop, semaphores, struct.pack("HhH", 1, -2, 0), ctypes.c_size_t(1)))
    print("semaphore:", must("semctl", call(libc.semctl, semaphores, 1, 12)))  # GETVAL
    must("semctl", call(libc.semctl, semaphores, 0, REMOVE))


def use_queue():
    queue = must("msgget", call(libc.msgget, KEY, CREATE | 0o600))
    child(lambda: must("msgsnd", call(libc.msgsnd, queue, struct.pack("l6s", 7, b"queued"), ctypes.c_size_t(6), 0)))
    buffer = ctypes.create_string_buffer(64)
    must("msgrcv", call(libc.msgrcv, queue, buffer, ctypes.c_size_t(32), ctypes.c_long(7), 0))
    print("message:", buffer.raw[8:14])
    must("msgctl", call(libc.msgctl, queue, REMOVE, None))


def use_posix_queue():
    queue = must("mq_open", call(libc.mq_open, b"/callgate", O_CREAT | O_RDWR, 0o600, None))
    child(lambda: must("mq_send", call(libc.mq_send, queue, b"posix", ctypes.c_size_t(5), 1)))
    buffer = ctypes.create_string_buffer(8192)
    must("mq_receive", call(libc.mq_receive, queue, buffer, ctypes.c_size_t(8192), None))
    print("posix message:", buffer.value)
    must("mq_unlink", call(libc.mq_unlink, b"/callgate"))


def use_shared_memory():
    shared = multiprocessing.shared_memory.SharedMemory("callgate", create=True, size=4096)

    def write():
        other = multiprocessing.shared_memory.SharedMemory("callgate")
        other.buf[:5] = b"hello"
        other.close()

    child(write)
    print("shm_open:", bytes(shared.buf[:5]), os.listdir("/dev/shm"), oct(os.stat("/dev/shm").st_mode))
    shared.close()
    shared.unlink()
    libc.sem_open.restype = ctypes.c_void_p
    semaphore = ctypes.c_void_p(libc.sem_open(b"/callgate", O_CREAT, 0o600, 0))
    child(lambda: must("sem_post", call(libc.sem_post, semaphore)))
    must("sem_wait", call(libc.sem_wait, semaphore))
    print("sem_open:", os.listdir("/dev/shm"))
    must("sem_unlink", call(libc.sem_unlink, b"/callgate"))
    with multiprocessing.Pool(2) as pool:
        print("pool:", pool.map(abs, range(-3, 3)))


def use():
    use_segment()
    use_semaphores()
    use_queue()
    use_posix_queue()
    use_shared_memory()


ATTEMPTS = {
    "shmget": lambda: call(libc.shmget, KEY, 4096, CREATE | 0o600),
    "shmget private": lambda: call(libc.shmget, PRIVATE, 4096, CREATE | 0o600),
    "semget": lambda: call(libc.semget, KEY, 1, CREATE | 0o600),
    "msgget": lambda: call(libc.msgget, KEY, CREATE | 0o600),
    "shmctl": lambda: call(libc.shmctl, 0, 13, ctypes.create_string_buffer(256)),
    "mq_open": lambda: call(libc.mq_open, b"/callgate", O_CREAT | O_RDWR, 0o600, None),
    "mq_unlink": lambda: call(libc.mq_unlink, b"/callgate"),
}


def absent():
    for name, attempt in ATTEMPTS.items():
        result = attempt()
        if result != -errno.ENOSYS:
            sys.exit(f"{name}: {result}")
    use_shared_memory()


def look(name):
    """What the caller has outside under the same names."""
    for what, result in (
        ("segment", call(libc.shmget, KEY, 0, 0)),
        ("semaphore", call(libc.semget, KEY, 0, 0)),
        ("queue", call(libc.msgget, KEY, 0)),
        ("posix queue", call(libc.mq_open, b"/callgate-outside", O_RDWR, 0, None)),
    ):
        if result not in (-errno.ENOENT, -errno.ENOSYS):
            sys.exit(f"{what} of somebody else: {result}")
    for index in range(64):  # SHM_STAT by index, of any process
        if call(libc.shmctl, index, 13, ctypes.create_string_buffer(256)) >= 0:
            sys.exit(f"segment at {index}")
    if os.path.exists("/dev/shm/" + name) or os.listdir("/dev/shm"):
        sys.exit(f"in /dev/shm: {os.listdir('/dev/shm')}")


def hold():
    for name, attempt in ATTEMPTS.items():
        if name in ("shmget", "semget", "msgget"):
            attempt()
    call(libc.mq_open, b"/callgate-outside", O_CREAT | O_RDWR, 0o600, None)
    with open("/dev/shm/callgate-held", "w") as file:
        file.write("held")
    print("holding", flush=True)
    sys.stdin.read()


globals()[sys.argv[1]](*sys.argv[2:])

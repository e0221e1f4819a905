"""keep_server.py DIRECTORY COMMAND...: runs callgate serve until stdin ends, which is when the process ends that has
started it; then removes the server's directory.

A program of its own, because that also holds when that process is killed. Started by server.py with no other module
than these, so that it is small and quick.
"""

import ctypes
import os
import select
import signal
import sys
from typing import List

PR_SET_PDEATHSIG = 1
LOG_BYTES_MAX = 1 << 20
TERM_TIME_MS = 5000
CHUNK = 1 << 16


def copy_log(source: int, log: int, room: int) -> int:
    """Takes what the server says; it is kept as far as there is room. Returns the room that is left; -1 at the end."""
    data = os.read(source, CHUNK)
    if not data:
        return -1
    os.write(log, data[:room])
    return max(0, room - len(data))


def await_server(server: int, errors: int, log: int) -> bool:
    """Returns when the server has ended, which it must when stdin ends. True: stdin has ended."""
    poll = select.poll()
    for fd in (0, server, errors):
        poll.register(fd, select.POLLIN)
    room, ready, timeout, has_ended = LOG_BYTES_MAX, [], None, False
    while server not in ready:
        ready = [fd for fd, _ in poll.poll(timeout)]
        if errors in ready:
            room = copy_log(errors, log, room)
            if room < 0:
                poll.unregister(errors)
        if 0 in ready and not os.read(0, 1):
            poll.unregister(0)
            signal.pidfd_send_signal(server, signal.SIGTERM)
            timeout, has_ended = TERM_TIME_MS, True
        if not ready:
            signal.pidfd_send_signal(server, signal.SIGKILL)
            timeout = None
    return has_ended


def start_server(command: List[str], errors: int) -> int:
    """Starts the server, whose stderr is errors. It ends with this process, which some engines kill. Its pid."""
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == parent:
            os.dup2(errors, 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.execvp(command[0], command)
    except OSError as error:
        os.write(errors, ("%s: %s\n" % (command[0], error.strerror)).encode())
    os._exit(127)


def main(directory: str, command: List[str]) -> int:
    log = os.open(os.path.join(directory, "log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    errors, writer = os.pipe()
    pid = start_server(command, writer)
    os.close(writer)
    if await_server(os.pidfd_open(pid), errors, log):
        import shutil  # pylint: disable=import-outside-toplevel

        shutil.rmtree(directory, ignore_errors=True)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

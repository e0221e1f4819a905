"""Inside a session: reads the memory of programs that the session starts meanwhile, before they are what they will be.

Prints the most bytes other than zero that it has found in one heap or stack of such a process, which is a copy of the
process that starts programs until its exec; or how much such a process shares with it, when that is more than its own
slot.
"""
import ctypes
import os
import time

READ_MAX = 4 << 20
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(READ_MAX)


class IoVec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


def read(pid, begin, end):
    size = min(end - begin, READ_MAX)
    here, there = IoVec(ctypes.addressof(buffer), size), IoVec(begin, size)
    got = libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return buffer.raw[:got] if got > 0 else b""


most = last = 0
before = {int(name) for name in os.listdir("/proc") if name.isdigit()}
last = max(before)
print("ready", flush=True)
end = time.monotonic() + 6
while time.monotonic() < end:
    for pid in range(last + 1, last + 24):
        try:
            with open(f"/proc/{pid}/maps") as file:
                maps = file.read()
        except OSError:
            continue
        last = max(last, pid - 2)
        if "callgate" not in maps:
            continue
        for line in maps.splitlines():
            begin, end_of = (int(number, 16) for number in line.split()[0].split("-"))
            if line.split()[1] == "rw-s" and end_of - begin > 65536:
                most = max(most, end_of - begin)  # what programs share with the supervisor
            if line.endswith(("[heap]", "[stack]")):
                data = read(pid, begin, end_of)
                most = max(most, len(data) - data.count(0))
print(most)

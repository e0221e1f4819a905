"""Threat 18: memory whose reading stalls or fails the reader. Prints one line per finding; silence is success."""

import ctypes
import errno
import mmap
import os
import tempfile
import threading

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
NUMBERS = {"x86_64": (323, 447, 257), "aarch64": (282, 447, 56)}[os.uname().machine]
USERFAULTFD, MEMFD_SECRET, OPENAT = NUMBERS


def call(*arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(argument) for argument in arguments])
    return result, ctypes.get_errno()


for name, number in (("userfaultfd", USERFAULTFD), ("memfd_secret", MEMFD_SECRET)):
    result, error = call(number, 0)
    refused = {errno.ENOSYS}
    if "OUTER_FILTER" in os.environ:
        refused.add(errno.EPERM)  # a container's filter answers first
    if result != -1 or error not in refused:
        print(f"{name}: {result} {errno.errorcode.get(error)}, not ENOSYS")

# A path on a page of a file that was cut under the mapping: reading it is SIGBUS for the program, EFAULT for the
# kernel.
with tempfile.TemporaryFile() as file:
    file.truncate(2 * mmap.PAGESIZE)
    area = mmap.mmap(file.fileno(), 2 * mmap.PAGESIZE)
    view = (ctypes.c_char * len(area)).from_buffer(area)
    file.truncate(mmap.PAGESIZE)
    address = ctypes.addressof(view) + mmap.PAGESIZE
    progress = []

    def others():
        for _ in range(200):
            os.stat("/")
            progress.append(1)

    thread = threading.Thread(target=others)
    thread.start()
    for _ in range(200):
        result, error = call(OPENAT, -100, address, os.O_RDONLY, 0)
        if (result, error) != (-1, errno.EFAULT):
            print(f"openat of a cut page: {result} {errno.errorcode.get(error)}, not EFAULT")
            break
    # The text begins on the last good page and has no end before the bad one.
    ctypes.memset(ctypes.addressof(view) + mmap.PAGESIZE - 8, ord("x"), 8)
    result, error = call(OPENAT, -100, address - 8, os.O_RDONLY, 0)
    if (result, error) != (-1, errno.EFAULT):
        print(f"openat of a text into a cut page: {result} {errno.errorcode.get(error)}, not EFAULT")
    thread.join()
    if len(progress) != 200:
        print("the other thread did not go on")

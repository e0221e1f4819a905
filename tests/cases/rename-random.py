"""Random operations on names in the workdir: rename-random.py SEED COUNT. Prints how many calls succeeded."""
import ctypes
import os
import random
import sys

libc = ctypes.CDLL(None)
seed, count = int(sys.argv[1]), int(sys.argv[2])
rand = random.Random(seed)
names = "a b c d .env hooks x.pem".split()
held = []


def path():
    parts = [rand.choice(names) for _ in range(rand.choice([1, 1, 2, 2, 3, 3, 4]))]
    if rand.random() < 0.05:
        parts.insert(rand.randrange(len(parts) + 1), rand.choice(["..", ".", ""]))
    return "/".join(parts).lstrip("/") or "."


def rename2(old, new, flags):
    if libc.renameat2(-100, old.encode(), -100, new.encode(), flags) < 0:
        raise OSError(0, "renameat2")


def create(name, **at):
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, **at))


def append(name):
    with open(name, "a") as file:
        file.write(str(count))


def symlink(name, other):
    os.symlink(rand.choice([other, "/" + other, "../" * rand.randrange(4) + other, os.getcwd() + "/" + other]), name)


def hold(name):
    if len(held) > 8:
        os.close(held.pop(rand.randrange(len(held))))
    held.append(os.open(name, os.O_PATH | os.O_DIRECTORY))


def by_descriptor():
    one, other = rand.choice(held or [0]), rand.choice(held or [0])
    rand.choice([
        lambda: os.rename(rand.choice(names), rand.choice(names), src_dir_fd=one, dst_dir_fd=other),
        lambda: os.mkdir(rand.choice(names), dir_fd=one),
        lambda: create(rand.choice(names), dir_fd=one),
        lambda: os.rmdir(rand.choice(names), dir_fd=one)])()


def unnamed(directory, name):
    fd = os.open(directory, os.O_TMPFILE | os.O_WRONLY)
    try:
        os.link("/proc/self/fd/%d" % fd, name, follow_symlinks=True)
    finally:
        os.close(fd)


calls = [
    *[lambda a, b: os.rename(a, b)] * 5, *[lambda a, b: rename2(a, b, 2)] * 2, lambda a, b: rename2(a, b, 1),
    *[lambda a, b: os.mkdir(a)] * 2, lambda a, b: os.makedirs(a, exist_ok=True), *[lambda a, b: create(a)] * 2,
    lambda a, b: append(a), lambda a, b: os.truncate(a, 3), lambda a, b: os.unlink(a), lambda a, b: os.rmdir(a),
    lambda a, b: os.link(a, b, follow_symlinks=False), symlink, lambda a, b: hold(a), lambda a, b: by_descriptor(),
    unnamed,
    lambda a, b: os.rename(a, a)]
done = 0
for _ in range(count):
    call, one, two = rand.choice(calls), path(), path()
    try:
        call(one, two)
        done += 1
    except OSError:
        pass
print(done)

"""Tries ways out of a sandbox, one after the other, and says for each whether it was refused or what it got.

Harmless where it gets through: it reads, opens and signals with nothing that ends or changes anything, and undoes
what it made. Arguments are ignored; they mark its processes for the test that looks for survivors.
"""
import errno
import os
import sys

sys.dont_write_bytecode = True


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


# Before anything here opens a file.
INHERITED = list(filter(is_open, range(3, 1024)))

from attempt import HERE, Refused, attempt, attempts  # noqa: E402
import files  # noqa: E402,F401 (registers attempts)
import kernel  # noqa: E402,F401 (registers attempts)
import others  # noqa: E402,F401 (registers attempts)


@attempt("inherited descriptors")
def _():
    return ", ".join(map(str, INHERITED)) or None


def tried(function):
    """What the attempt got, or None, and how it was refused."""
    kept = set(os.listdir(HERE))
    try:
        return function(), "nothing there"
    except OSError as e:
        return None, errno.errorcode.get(e.errno, str(e))
    except Refused as e:
        return None, str(e)
    finally:
        for name in set(os.listdir(HERE)) - kept:
            os.unlink(name)


successes = []
for title, way in attempts:
    gain, how = tried(way)
    if gain is None:
        print("%s: refused (%s)" % (title, how), flush=True)
    else:
        print("%s: GOT %s" % (title, gain), flush=True)
        successes.append(title)
print("got: %s" % (", ".join(successes) or "nothing"), flush=True)
sys.exit(bool(successes))

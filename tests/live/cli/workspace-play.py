# A random program of file operations in the current directory, then what it sees there: SEED [OPERATIONS].
import os, random, shutil, stat, sys

draw = random.Random(int(sys.argv[1]))


def names():
    found = []
    for top, dirs, files in os.walk('.'):
        dirs.sort()
        found += [os.path.join(top, name) for name in sorted(dirs + files)]
    return found


def play():
    old = draw.choice(names() or ['.'])
    place = old if os.path.isdir(old) and not os.path.islink(old) else os.path.dirname(old)
    new = os.path.join(place, 'n%d' % draw.randrange(30))
    kind = os.lstat(old).st_mode
    what = draw.randrange(10)
    if what == 0 or not os.path.lexists(new) and what == 1:
        with open(new, 'ab') as out:
            out.write(b'%d' % draw.randrange(1000))
    elif what == 2:
        os.mkdir(new)
    elif what == 3:
        shutil.rmtree(old) if stat.S_ISDIR(kind) else os.unlink(old)
    elif what in (4, 5):
        shutil.move(old, new)
    elif what == 6 and stat.S_ISREG(kind):
        os.truncate(old, draw.randrange(100))
    elif what == 7:
        os.symlink('n%d' % draw.randrange(30), new)
    elif what == 8 and not stat.S_ISLNK(kind):
        os.chmod(old, draw.choice((0o700, 0o755, 0o750) if stat.S_ISDIR(kind) else (0o600, 0o644, 0o755)))
    elif what == 9:
        os.utime(old, ns=(10**18, draw.randrange(10**9) * 10**9), follow_symlinks=False)


for step in range(int(sys.argv[2]) if len(sys.argv) > 2 else 200):
    try:
        play()
    except (OSError, shutil.Error) as error:
        print(step, type(error).__name__, getattr(error, 'errno', None))
for name in names():
    at = os.lstat(name)
    is_dir = stat.S_ISDIR(at.st_mode)
    text = b''
    if stat.S_ISREG(at.st_mode):
        with open(name, 'rb') as file:
            text = file.read()
    elif stat.S_ISLNK(at.st_mode):
        text = os.readlink(name).encode()
    old = at.st_mtime_ns if at.st_mtime < 1.6e9 else 0
    print(ascii(name), oct(at.st_mode), 0 if is_dir else at.st_size, at.st_nlink if not is_dir else 0, old, text)

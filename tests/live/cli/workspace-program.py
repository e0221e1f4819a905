# Random programs of file operations in the current directory, then in others, and what they see there:
# SEED [OPERATIONS [DIR...]]. Prints one line an operation, with what came of it, and one line an entry. For
# workspace-random.py.
import ctypes, errno, hashlib, mmap, os, random, shutil, socket, stat, sys

AT_FDCWD, AT_SYMLINK_FOLLOW = -100, 0x400
NOREPLACE, EXCHANGE = 1, 2
OLD = 1_500_000_000  # times before this were set; later ones are those of the test
ODD = (b'.wh.n1', b'-rf', b'*', b'[a]', b'\\', b'a\nb', b' ', b'.callgate-0', b'~', b'\xff\xfe', b'.wh..wh..opq')
libc = ctypes.CDLL(None, use_errno=True)


def names_of(draw):
    """A few names, so that operations meet the same entry; all bytes but NUL and '/' are in some program."""
    letters = [byte for byte in range(1, 256) if byte != ord('/')]
    names = [b'n%d' % i for i in range(6)] + list(draw.sample(ODD, 2))
    names += [bytes(draw.choices(letters, k=draw.randrange(1, 12))) for _ in range(4)]
    names += [bytes(draw.choices(letters, k=255))]
    return [name for name in names if name not in (b'.', b'..')]


def rename(old, new, flags):
    if libc.renameat2(AT_FDCWD, old, AT_FDCWD, new, flags) < 0:
        raise OSError(ctypes.get_errno(), 'renameat2')


def is_dir(path):
    return os.path.isdir(path) and not os.path.islink(path)


def move(old, new):
    """As rename(2), also where a directory cannot be renamed (EXDEV). Hard links stay, as mv(1) keeps them."""
    try:
        rename(old, new, 0)
    except OSError as error:
        if error.errno != errno.EXDEV or not is_dir(old):
            raise
        if os.path.lexists(new):
            os.rmdir(new)
        at = os.stat(old)
        os.mkdir(new, 0o700)
        for name in os.listdir(old):
            move(os.path.join(old, name), os.path.join(new, name))
        for name in os.listxattr(old):
            os.setxattr(new, name, os.getxattr(old, name))
        os.chmod(new, stat.S_IMODE(at.st_mode))
        os.rmdir(old)
        os.utime(new, ns=(at.st_atime_ns, at.st_mtime_ns))


class Program:
    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.names = names_of(self.draw)
        self.known = sorted(os.path.join(top, name) for top, dirs, files in os.walk(b'.') for name in dirs + files)
        self.lower = set(self.known)  # what was there before

    # ---- paths ----

    def old(self):
        return self.draw.choice(self.known) if self.known else b'./none'

    def new(self):
        """A name in a directory; mostly one that does not exist."""
        near = self.old()
        return os.path.join(near if is_dir(near) else os.path.dirname(near), self.draw.choice(self.names))

    def any(self):
        return self.old() if self.draw.random() < 0.6 else self.new()

    def add(self, path):
        if path not in self.known:
            self.known.append(path)

    def drop(self, path):
        self.known = [each for each in self.known if each != path and not each.startswith(path + b'/')]
        self.lower.intersection_update(self.known)

    def moved(self, old, new):
        lower = [each for each in self.lower if each == old or each.startswith(old + b'/')]
        below = [each for each in self.known if each.startswith(old + b'/')]
        self.drop(old)
        self.drop(new)
        for each in [new] + [new + each[len(old):] for each in below]:
            self.add(each)
        self.lower.update(new + each[len(old):] for each in lower)

    def data(self, most=3000):
        return self.draw.randbytes(self.draw.randrange(most))

    # ---- operations ----

    def write(self, path, flags, offset=None):
        mode = self.draw.choice((0o600, 0o644, 0o666, 0o755, 0o400))
        data = self.data()
        fd = os.open(path, flags | os.O_NONBLOCK, mode)
        try:
            self.add(path)
            return os.write(fd, data) if offset is None else os.pwrite(fd, data, offset(os.fstat(fd).st_size))
        finally:
            os.close(fd)

    def do_create(self):
        return self.write(self.new(), os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def do_write(self):
        return self.write(self.any(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def do_append(self):
        return self.write(self.any(), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def do_overwrite(self):
        return self.write(self.old(), os.O_RDWR, lambda size: self.draw.randrange(size + 1))

    def do_hole(self):
        return self.write(self.old(), os.O_RDWR, lambda size: size + self.draw.randrange(1 << 20))

    def do_truncate(self):
        path, size = self.old(), self.draw.choice((0, 1, 100, 4096, 100_000))
        if stat.S_ISFIFO(os.lstat(path).st_mode):
            return 'a FIFO'  # opening one waits
        os.truncate(path, size)

    def do_map(self):
        with open(os.open(self.old(), os.O_RDWR | os.O_NONBLOCK), 'r+b') as file:
            with mmap.mmap(file.fileno(), 0) as area:
                at = self.draw.randrange(len(area))
                area[at:at + 1] = b'M'

    def do_read_after_write(self):
        """What was opened for reading sees what is written later."""
        path = self.old()
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return 'no file'
        with open(path, 'rb', buffering=0) as reader:
            with open(path, 'ab', buffering=0) as writer:
                writer.write(b'later')
            return hashlib.sha256(reader.read()).hexdigest()[:8], os.fstat(reader.fileno()).st_size

    def do_tmpfile(self):
        path = self.new()
        fd = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY, 0o644)
        try:
            os.write(fd, self.data())
            if libc.linkat(AT_FDCWD, b'/proc/self/fd/%d' % fd, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0:
                raise OSError(ctypes.get_errno(), 'linkat')
            self.add(path)
        finally:
            os.close(fd)

    def do_copy(self):
        old, new = self.old(), self.new()
        if not stat.S_ISREG(os.lstat(old).st_mode):
            return 'no file'
        with open(old, 'rb') as reader, open(new, 'xb') as writer:
            self.add(new)
            return os.copy_file_range(reader.fileno(), writer.fileno(), 1 << 20)

    def do_rename(self):
        old, new = self.old(), self.any()
        move(old, new)
        if old != new and not os.path.lexists(old):  # two names of one file: nothing was done
            self.moved(old, new)

    def do_noreplace(self):
        old, new = self.old(), self.any()
        try:
            rename(old, new, NOREPLACE)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            move(old, new)
        self.moved(old, new)

    def do_exchange(self):
        old, new = self.old(), self.old()
        try:
            rename(old, new, EXCHANGE)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            beside = os.path.join(os.path.dirname(old), b'exchanged')
            for source, target in (old, beside), (new, old), (beside, new):
                move(source, target)
        if old != new:
            for source, target in (old, b'/'), (new, old), (b'/', new):
                self.moved(source, target)

    def do_unlink(self):
        path = self.old()
        os.unlink(path)
        self.drop(path)

    def do_rmdir(self):
        path = self.old()
        os.rmdir(path)
        self.drop(path)

    def do_rmtree(self):
        path = self.old()
        if not is_dir(path):
            return 'no directory'  # it would open a FIFO, and wait
        shutil.rmtree(path)
        self.drop(path)

    def do_mkdir(self):
        path = self.new()
        os.mkdir(path, self.draw.choice((0o700, 0o755, 0o777)))
        self.add(path)

    def do_symlink(self):
        path, target = self.new(), self.draw.choice((self.draw.choice(self.names), b'n1/n2', b'/none/n1', b'.'))
        os.symlink(target, path)
        self.add(path)

    def do_link(self):
        old, new = self.old(), self.new()
        if old in self.lower:
            return 'was there before'  # EXDEV (doc/workspaces.md)
        os.link(old, new, follow_symlinks=False)
        self.add(new)

    def do_chmod(self):
        path = self.old()
        dirs, files = (0o700, 0o755, 0o750, 0o1777, 0o2755), (0o600, 0o644, 0o755, 0o400, 0o000, 0o1644)
        where = self.draw.random()
        if not os.path.islink(path):
            modes = dirs if os.path.isdir(path) else files
            os.chmod(path, modes[int(where * len(modes))])

    def do_utimes(self):
        at = self.draw.randrange(OLD * 10**9)
        os.utime(self.old(), ns=(at, at), follow_symlinks=False)

    def do_setxattr(self):
        name = self.draw.choice((b'user.a', b'user.b', b'user.long' + b'g' * 200, b'user.overlai.x'))
        os.setxattr(self.old(), name, self.data(200), self.draw.choice((0, 0, os.XATTR_CREATE, os.XATTR_REPLACE)),
                    follow_symlinks=False)

    def do_removexattr(self):
        os.removexattr(self.old(), self.draw.choice((b'user.a', b'user.b')), follow_symlinks=False)

    def do_mkfifo(self):
        path = self.new()
        os.mkfifo(path, 0o644)
        self.add(path)

    def do_bind(self):
        path = self.new()
        if len(path) > 100:
            return 'too long'
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(path)
        self.add(path)

    def step(self):
        operations = sorted(name for name in dir(self) if name.startswith('do_'))
        weights = [3 if name in ('do_write', 'do_rename', 'do_mkdir', 'do_create') else 1 for name in operations]
        name = self.draw.choices(operations, weights)[0]
        try:
            return name, getattr(self, name)()
        except OSError as error:
            # a directory that is not empty: rename(2) may say either, xfs does the first and overlayfs the second
            same = name == 'do_rename' and error.errno == errno.EEXIST
            return name, 'ENOTEMPTY' if same else errno.errorcode.get(error.errno, error.errno)
        except (ValueError, shutil.Error) as error:  # mmap of an empty file
            return name, type(error).__name__


def walk(root):
    for top, dirs, files in os.walk(root):
        dirs.sort()
        for name in dirs + files:
            yield os.path.join(top, name)


def look(path):
    """Kind and mode, size, time if it was set, content, extended attributes."""
    at = os.lstat(path)
    content = b''
    try:
        if stat.S_ISREG(at.st_mode):
            with open(path, 'rb') as file:
                content = hashlib.sha256(file.read()).hexdigest()[:16]
        elif stat.S_ISLNK(at.st_mode):
            content = os.readlink(path)
        attributes = {name: os.getxattr(path, name, follow_symlinks=False)
                      for name in sorted(os.listxattr(path, follow_symlinks=False))
                      if name.startswith('user.')} if not stat.S_ISLNK(at.st_mode) else {}
    except OSError as error:
        content, attributes = errno.errorcode[error.errno], {}
    return (oct(at.st_mode), 0 if stat.S_ISDIR(at.st_mode) else at.st_size,
            at.st_mtime_ns if at.st_mtime < OLD else 'new', content, attributes)


def view(root):
    """What is below a directory, with the number of names. Not the inode numbers: an overlay's may change."""
    for path in sorted(walk(root)):
        at = os.lstat(path)
        yield path, *look(path), 0 if stat.S_ISDIR(at.st_mode) else at.st_nlink


def close_some(draw, root):
    """Makes a few directories such that their owner may not write them, those below first."""
    for path in sorted(walk(root), reverse=True):
        if is_dir(path) and draw.random() < 0.3:
            os.chmod(path, draw.choice((0o555, 0o500, 0o2555)))


def open_all(root):
    """Makes all directories writable, also those that may not be read."""
    for top, dirs, _ in os.walk(root):
        for name in dirs:
            path = os.path.join(top, name)
            if is_dir(path) and stat.S_IMODE(os.lstat(path).st_mode) & 0o700 != 0o700:
                os.chmod(path, 0o755)


def play(seed):
    open_all(b'.')  # a directory that cannot be renamed is moved by its entries
    program = Program(seed)
    for step in range(int(sys.argv[2]) if len(sys.argv) > 2 else 200):
        print(step, *program.step())
    if os.getuid() != 0:  # the values of their attributes could not be compared in the directory
        for path in walk(b'.'):
            at = os.lstat(path)
            if stat.S_ISREG(at.st_mode) and not at.st_mode & stat.S_IRUSR and os.listxattr(path):
                os.chmod(path, 0o600)
    close_some(random.Random(seed), b'.')
    for line in view(b'.'):
        print(*line)


def main():
    os.umask(0o022)
    for i, where in enumerate(['.'] + sys.argv[3:]):
        os.chdir(where)
        play(int(sys.argv[1]) + i)


if __name__ == '__main__':
    main()

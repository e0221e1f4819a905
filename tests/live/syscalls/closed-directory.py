"""Closes the current directory in some ways, and prints the results of calls on it."""
import errno
import os

HERE = os.getcwd()
BY_FD = os.open(HERE, os.O_RDONLY | os.O_DIRECTORY)
BY_PATH = os.open(HERE, os.O_PATH)


def tell(what, call):
    try:
        result = call()
        print(what, oct(result.st_mode) if isinstance(result, os.stat_result) else result)
    except OSError as error:
        print(what, errno.errorcode[error.errno])


def try_open(path, flags=os.O_RDONLY, **words):
    os.close(os.open(path, flags, 0o600, **words))


def make_and_remove(path):
    try_open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.unlink(path)


def chmod(path, mode):
    """Opens the directory, and closes it again."""
    os.chmod(path, 0o755)
    os.fchmod(BY_FD, mode)


def by_path(path, name, mode):
    tell(name + ' open', lambda: try_open(path))
    tell(name + ' open O_PATH', lambda: try_open(path, os.O_PATH))
    tell(name + ' open O_NOFOLLOW', lambda: try_open(path, os.O_NOFOLLOW))
    tell(name + ' open O_WRONLY', lambda: try_open(path, os.O_WRONLY))
    tell(name + ' list', lambda: sorted(os.listdir(path)))
    tell(name + ' stat', lambda: os.stat(path))
    tell(name + ' lstat', lambda: os.lstat(path))
    tell(name + ' access', lambda: [os.access(path, mode) for mode in (os.F_OK, os.R_OK, os.W_OK, os.X_OK)])
    tell(name + ' chdir', lambda: os.chdir(path))
    tell(name + ' readlink', lambda: os.readlink(path))
    tell(name + ' listxattr', lambda: os.listxattr(path))
    tell(name + ' statvfs', lambda: bool(os.statvfs(path)))
    tell(name + ' utime', lambda: os.utime(path, (1, 1)))
    tell(name + ' chmod', lambda: chmod(path, mode))
    tell(name + ' chown', lambda: os.chown(path, -1, -1))
    tell(name + '/f open', lambda: try_open(path + '/f'))
    tell(name + '/f stat', lambda: os.stat(path + '/f'))
    tell(name + '/none unlink', lambda: os.unlink(path + '/none'))
    tell(name + '/new make', lambda: make_and_remove(path + '/new'))
    tell(name + '/f rename', lambda: os.rename(path + '/f', path + '/f'))


def by_descriptors():
    tell('descriptor: open f', lambda: try_open('f', dir_fd=BY_FD))
    tell('descriptor: open .', lambda: try_open('.', dir_fd=BY_FD))
    tell('descriptor: stat .', lambda: os.stat('.', dir_fd=BY_FD))
    tell('descriptor: stat ..', lambda: bool(os.stat('..', dir_fd=BY_FD)))
    tell('descriptor: list', lambda: sorted(os.listdir(BY_FD)))
    tell('O_PATH: open .', lambda: try_open('.', dir_fd=BY_PATH))
    tell('/proc/self/fd list', lambda: sorted(os.listdir('/proc/self/fd/%d' % BY_FD)))
    tell('/proc/self/cwd list', lambda: sorted(os.listdir('/proc/self/cwd')))
    tell('/proc/self/cwd open', lambda: try_open('/proc/self/cwd'))
    tell('..', lambda: bool(os.stat('..')))
    tell('./..', lambda: bool(os.stat('./..')))
    tell('getcwd', lambda: os.getcwd() == HERE)


def main():
    for mode in (0, 0o100, 0o200, 0o400, 0o500, 0o600, 0o700):
        print('mode', oct(mode))
        os.fchmod(BY_FD, mode)
        for path, name in ((HERE, 'path'), ('.', '.'), (HERE + '/', 'path/'), (HERE + '/.', 'path/.')):
            by_path(path, name, mode)
        by_descriptors()
        os.fchmod(BY_FD, 0o755)


if __name__ == '__main__':
    main()

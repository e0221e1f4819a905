"""What /proc says of a process that has ended: a zombie, and then one that was reaped."""
import errno, os

def tell(what, call):
    try:
        call()
        print(what, "ok")
    except OSError as e:
        print(what, errno.errorcode[e.errno])

pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
here = "/proc/%d" % pid
for name in "exe", "cwd", "root", "fd/0", "fd", "task", "maps", "status", "stat", "cmdline", "fdinfo/0", "limits":
    path = here + "/" + name
    tell("zombie readlink " + name, lambda: os.readlink(path))
    tell("zombie stat " + name, lambda: os.stat(path))
    tell("zombie lstat " + name, lambda: os.lstat(path))
    tell("zombie open " + name, lambda: os.close(os.open(path, os.O_RDONLY)))
    tell("zombie list " + name, lambda: os.listdir(path))
directory, status = os.open(here, os.O_RDONLY), os.open(here + "/status", os.O_RDONLY)
os.waitpid(pid, 0)
for name in "exe", "status", "fd", "task", ".":
    tell("reaped open at " + name, lambda: os.close(os.open(name, os.O_RDONLY, dir_fd=directory)))
    tell("reaped stat at " + name, lambda: os.stat(name, dir_fd=directory))
    tell("reaped readlink at " + name, lambda: os.readlink(name, dir_fd=directory))
    tell("reaped open " + name, lambda: os.close(os.open(here + "/" + name, os.O_RDONLY)))
    tell("reaped readlink " + name, lambda: os.readlink(here + "/" + name))
tell("reaped read", lambda: os.read(status, 10))
tell("reaped list", lambda: os.listdir(directory))
tell("reaped fchdir", lambda: os.fchdir(directory))

# Another directory that is gone is not one of a process.
os.mkdir("gone")
gone = os.open("gone", os.O_RDONLY)
os.rmdir("gone")
tell("removed open at .", lambda: os.close(os.open("name", os.O_RDONLY, dir_fd=gone)))

"""One request about files, of callgate serve. Runs in the sandbox: the policy judges each call.

stdin: a line of JSON, then the content of a file to be written. stdout: the content of one that is read. stderr: lines
of JSON: {"event": …} of a watch, and at last {"answer": …} or {"error": errno, "message": …}.
"""

import errno
import json
import os
import stat
import struct
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

PREFIX = "user.e2b."
CHUNK = 1 << 17
ENTRIES_MAX = 100000
WATCHES_MAX = 4096


def tell(message: Any) -> None:
    text = json.dumps(message).encode() + b"\n"
    while text:
        text = text[os.write(2, text):]


def shown(text: str) -> str:
    return os.fsencode(text).decode("utf-8", "replace")


def account(kind: str, number: int) -> str:
    try:
        if kind == "user":
            import pwd

            return pwd.getpwuid(number).pw_name
        import grp

        return grp.getgrgid(number).gr_name
    except (KeyError, OSError, ImportError):
        return str(number)


def metadata(path: str) -> Dict[str, str]:
    found = {}
    try:
        for name in os.listxattr(path):
            if name.startswith(PREFIX):
                found[shown(name[len(PREFIX):])] = os.getxattr(path, name).decode("utf-8", "replace")
    except OSError:
        pass
    return found


def entry(path: str) -> Dict[str, Any]:
    status = os.lstat(path)
    told = {"name": shown(os.path.basename(path) or "/"), "path": shown(path)}
    if stat.S_ISLNK(status.st_mode):
        told["symlinkTarget"] = shown(os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path))))
        try:
            status = os.stat(path)
        except OSError:
            pass
    kind = "FILE_TYPE_UNSPECIFIED"
    for test, name in ((stat.S_ISREG, "FILE"), (stat.S_ISDIR, "DIRECTORY"), (stat.S_ISLNK, "SYMLINK")):
        if test(status.st_mode):
            kind = "FILE_TYPE_" + name
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(status.st_mtime_ns // 10**9))
    return {**told, "type": kind, "size": str(status.st_size), "mode": stat.S_IMODE(status.st_mode),
            "permissions": stat.filemode(status.st_mode), "owner": account("user", status.st_uid),
            "group": account("group", status.st_gid),
            "modifiedTime": "%s.%09dZ" % (when, status.st_mtime_ns % 10**9), "metadata": metadata(path)}


# ---- requests: each returns its answer ----

def do_stat(request: Dict[str, Any]) -> Any:
    return {"entry": entry(request["path"])}


def below(path: str, depth: int) -> Iterator[str]:
    for name in sorted(os.listdir(path)):
        child = os.path.join(path, name)
        yield child
        if depth > 1 and os.path.isdir(child) and not os.path.islink(child):
            try:
                yield from below(child, depth - 1)
            except OSError:
                pass


def do_list(request: Dict[str, Any]) -> Any:
    entries: List[Any] = []
    if not os.path.isdir(request["path"]):
        os.stat(request["path"])
        raise NotADirectoryError(errno.ENOTDIR, "path is not a directory")
    for path in below(request["path"], max(1, request.get("depth", 1))):
        if len(entries) >= ENTRIES_MAX:
            raise OSError(errno.EFBIG, "more than %d entries" % ENTRIES_MAX)
        try:
            entries.append(entry(path))
        except FileNotFoundError:
            pass
    return {"entries": entries}


def do_mkdir(request: Dict[str, Any]) -> Any:
    if os.path.isdir(request["path"]):
        raise FileExistsError(errno.EEXIST, "directory already exists")
    if os.path.exists(request["path"]):
        raise NotADirectoryError(errno.ENOTDIR, "path already exists but it is not a directory")
    os.makedirs(request["path"])
    return {"entry": entry(request["path"])}


def do_move(request: Dict[str, Any]) -> Any:
    os.lstat(request["path"])
    os.makedirs(os.path.dirname(request["to"]), exist_ok=True)
    try:
        os.rename(request["path"], request["to"])
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        import shutil

        shutil.move(request["path"], request["to"])
    return {"entry": entry(request["to"])}


def do_remove(request: Dict[str, Any]) -> Any:
    if os.path.islink(request["path"]) or not os.path.isdir(request["path"]):
        try:
            os.unlink(request["path"])
        except FileNotFoundError:
            pass
    else:
        import shutil

        shutil.rmtree(request["path"])
    return {}


def do_read(request: Dict[str, Any]) -> Any:
    fd = os.open(request["path"], os.O_RDONLY | os.O_NONBLOCK)
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        raise IsADirectoryError(errno.EISDIR, "path '%s' is a directory" % shown(request["path"]))
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(errno.EINVAL, "path '%s' is no regular file" % shown(request["path"]))
    while True:
        data = os.read(fd, CHUNK)
        if not data:
            return {}
        while data:
            data = data[os.write(1, data):]


def content(compressed: bool) -> Iterator[bytes]:
    unpacker = None
    if compressed:
        import zlib

        unpacker = zlib.decompressobj(31)
    while True:
        data = os.read(0, CHUNK)
        if not data:
            return
        while unpacker is not None and (data or unpacker.unconsumed_tail):
            plain = unpacker.decompress(unpacker.unconsumed_tail + data, CHUNK)
            data = b""
            yield plain
            if not plain:
                break
        if unpacker is None:
            yield data


def keep_metadata(path: str, wanted: Dict[str, str]) -> None:
    for name in metadata(path):
        if name not in wanted:
            os.removexattr(path, PREFIX + name)
    for name, value in wanted.items():
        os.setxattr(path, PREFIX + name, value.encode())


def do_write(request: Dict[str, Any]) -> Any:
    path = request["path"]
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "path is a directory: %s" % shown(path))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
    for data in content(request.get("gzip", False)):
        while data:
            data = data[os.write(fd, data):]
    os.close(fd)
    keep_metadata(path, request.get("metadata", {}))
    told = {"name": shown(os.path.basename(path)), "path": shown(path), "type": "file"}
    return {**told, "metadata": metadata(path)} if request.get("metadata") else told


def do_compose(request: Dict[str, Any]) -> Any:
    os.makedirs(os.path.dirname(request["path"]), exist_ok=True)
    with open(request["path"], "wb") as whole:
        for part in request["parts"]:
            with open(part, "rb") as source:
                while data := source.read(CHUNK):
                    whole.write(data)
    for part in request["parts"]:
        if part != request["path"]:
            os.unlink(part)
    return {"name": shown(os.path.basename(request["path"])), "path": shown(request["path"]), "type": "file"}


def processes() -> Tuple[float, int]:
    """Seconds of processor time, and bytes in memory, of all processes here."""
    ticks = pages = 0
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % name, "rb") as status:
                fields = status.read().rpartition(b")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
            pages += int(fields[21])
        except (OSError, IndexError, ValueError):
            pass
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE")


def do_usage(request: Dict[str, Any]) -> Any:
    before, since = processes()[0], time.monotonic()
    time.sleep(0.1)
    after, memory = processes()
    blocks = 0
    for place in request["places"]:
        for path, _, names in os.walk(place):
            for name in names:
                try:
                    blocks += os.lstat(os.path.join(path, name)).st_blocks
                except OSError:
                    pass
    used = 100 * (after - before) / (time.monotonic() - since)
    return {"cpu": max(0.0, used), "memory": memory, "disk": blocks * 512}


# ---- watching, by inotify(7) ----

CREATE, MODIFY, ATTRIB, DELETE, MOVED_FROM, MOVED_TO, IS_DIR = 0x100, 2, 4, 0x200, 0x40, 0x80, 0x40000000
KINDS = ((CREATE, "CREATE"), (MODIFY, "WRITE"), (ATTRIB, "CHMOD"), (DELETE, "REMOVE"), (MOVED_FROM, "RENAME"),
         (MOVED_TO, "CREATE"))


class Watch:
    def __init__(self, root: str, recursive: bool, with_entry: bool) -> None:
        import ctypes

        self.libc = ctypes.CDLL(None, use_errno=True)
        self.get_errno = ctypes.get_errno
        self.fd = self.libc.inotify_init1(os.O_CLOEXEC)
        self.root, self.recursive, self.with_entry = root, recursive, with_entry
        self.paths: Dict[int, str] = {}
        self.add("", True)

    def add(self, relative: str, is_root: bool = False) -> None:
        path = os.path.join(self.root, relative) if relative else self.root
        mask = CREATE | MODIFY | ATTRIB | DELETE | MOVED_FROM | MOVED_TO
        number = self.libc.inotify_add_watch(self.fd, os.fsencode(path), mask)
        if number < 0 or len(self.paths) >= WATCHES_MAX:
            if is_root:
                raise OSError(self.get_errno(), os.strerror(self.get_errno()))
            return
        self.paths[number] = relative
        if self.recursive:
            for name in os.listdir(path):
                child = os.path.join(path, name)
                if os.path.isdir(child) and not os.path.islink(child):
                    self.add(os.path.join(relative, name))

    def events(self) -> Iterator[Tuple[int, str]]:
        data = os.read(self.fd, CHUNK)
        while data:
            number, mask, _, size = struct.unpack_from("iIII", data)
            name = os.fsdecode(data[16:16 + size].rstrip(b"\0"))
            data = data[16 + size:]
            if number in self.paths and name:
                yield mask, os.path.join(self.paths[number], name)

    def tell_event(self, mask: int, name: str) -> None:
        told: Dict[str, Any] = {"name": shown(name)}
        for bit, kind in KINDS:
            if mask & bit:
                told["type"] = "EVENT_TYPE_" + kind
        if self.with_entry and not mask & (DELETE | MOVED_FROM):
            try:
                told["entry"] = entry(os.path.join(self.root, name))
            except OSError:
                pass
        tell({"event": told})

    def run(self) -> None:
        tell({"event": {}})
        while True:
            for mask, name in self.events():
                if self.recursive and mask & IS_DIR and mask & (CREATE | MOVED_TO):
                    self.add(name)
                self.tell_event(mask, name)


def do_watch(request: Dict[str, Any]) -> Any:
    os.stat(request["path"])
    if not os.path.isdir(request["path"]):
        raise NotADirectoryError(errno.ENOTDIR, "path is not a directory: %s" % shown(request["path"]))
    Watch(request["path"], request.get("recursive", False), request.get("entry", False)).run()
    return {}


def main() -> None:
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return
        line += byte
    try:
        request = json.loads(line)
        tell({"answer": globals()["do_" + request["op"]](request)})
    except OSError as error:
        message: Optional[str] = error.strerror if error.filename is None else str(error)
        tell({"error": error.errno or errno.EIO, "message": shown(message or "failed")})
    except ValueError as error:
        tell({"error": errno.EINVAL, "message": shown(str(error))})
    except Exception as error:  # pylint: disable=broad-except
        tell({"error": errno.EIO, "message": shown("%s: %s" % (type(error).__name__, error))})


main()
sys.exit(0)

"""Files of a sandbox. What is done, and what is said of files, comes from programs of the sandbox."""

import re
import urllib.parse
from datetime import datetime, timezone
from typing import (IO, Any, Callable, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, TypedDict, Union,
                    overload)

from .connection import CHUNK, Answer, SandboxConnection, expecting_protocol, parse_json
from .errors import AlreadyExistsException, FileNotFoundException, InvalidArgumentException, NotFoundException
from .models import EntryInfo, FileType, FilesystemEvent, FilesystemEventType, WriteInfo

Data = Union[str, bytes, IO[bytes], IO[str]]


class WriteEntry(TypedDict):
    """A file for write_files()."""

    path: str
    data: Data


class FileStreamReader(Iterator[bytes]):
    """Content that comes piece by piece."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __next__(self) -> bytes:
        data = self._answer.read(CHUNK)
        if not data:
            raise StopIteration
        return data

    def close(self) -> None:
        self._answer.close()

    def __enter__(self) -> "FileStreamReader":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _check_path(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentException("the path %r is not UTF-8, which the protocol asks for" % path) from None
    if "\0" in path:
        raise InvalidArgumentException("the path %r has a zero byte" % path)
    return path


def _get_texts(value: Any) -> Optional[Dict[str, str]]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) and value else None


def _parse_time(text: Any) -> datetime:
    """A time of the protocol, which has nanoseconds."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", str(text))
    try:
        if match:
            micros = int((match[2] or "0").ljust(9, "0")[:6])
            return datetime.fromisoformat(match[1]).replace(microsecond=micros, tzinfo=timezone.utc)
    except ValueError:
        pass
    return datetime.fromtimestamp(0, timezone.utc)


def _parse_number(value: Any) -> int:
    """proto3 JSON writes 64-bit numbers as texts."""
    text = str(value)
    return int(text) if re.fullmatch(r"\d{1,19}", text) else 0


TYPES = {"file": FileType.FILE, "dir": FileType.DIR, "FILE_TYPE_FILE": FileType.FILE,
         "FILE_TYPE_DIRECTORY": FileType.DIR, "FILE_TYPE_SYMLINK": FileType.SYMLINK}


def _make_entry(value: Any) -> EntryInfo:
    fields = value if isinstance(value, dict) else {}
    target = fields.get("symlinkTarget")
    return EntryInfo(str(fields.get("name", "")), TYPES.get(str(fields.get("type"))), str(fields.get("path", "")),
                     _parse_number(fields.get("size")), _parse_number(fields.get("mode")),
                     str(fields.get("permissions", "")), str(fields.get("owner", "")), str(fields.get("group", "")),
                     _parse_time(fields.get("modifiedTime")), None if target is None else str(target),
                     metadata=_get_texts(fields.get("metadata")))


class WatchHandle:
    """A directory that is watched."""

    def __init__(self, files: "Filesystem", watcher_id: str) -> None:
        self._files, self._id = files, watcher_id

    def get_new_events(self, request_timeout: Optional[float] = None) -> List[FilesystemEvent]:
        """What has happened since the last call."""
        return self._files._get_events(self._id, request_timeout)  # pylint: disable=protected-access

    def stop(self, request_timeout: Optional[float] = None) -> None:
        self._files._remove_watcher(self._id, request_timeout)  # pylint: disable=protected-access


class Filesystem:
    """Files of a sandbox: Sandbox.files. Relative paths, and those with "~", begin at /home/user."""

    def __init__(self, sandbox: SandboxConnection) -> None:
        self._sandbox = sandbox

    # ---- content ----

    @overload
    def read(self, path: str, format: Literal["text"] = "text", user: Optional[str] = None,
             request_timeout: Optional[float] = None) -> str: ...

    @overload
    def read(self, path: str, format: Literal["bytes"], user: Optional[str] = None,
             request_timeout: Optional[float] = None) -> bytearray: ...

    @overload
    def read(self, path: str, format: Literal["stream"], user: Optional[str] = None,
             request_timeout: Optional[float] = None) -> FileStreamReader: ...

    def read(self, path: str, format: Literal["text", "bytes", "stream"] = "text", user: Optional[str] = None,
             request_timeout: Optional[float] = None) -> Union[str, bytearray, FileStreamReader]:
        """Reads a file. Text that is not UTF-8 has U+FFFD in its place. What is larger than 256 MiB is read as a
        "stream", whose time has no limit but request_timeout."""
        if format not in ("text", "bytes", "stream"):
            raise InvalidArgumentException("format must be \"text\", \"bytes\" or \"stream\"")
        timeout = request_timeout if format == "stream" else self._sandbox.limit(request_timeout)
        answer = self._open_content("GET", path, user, None, {}, timeout)
        if format == "stream":
            return FileStreamReader(answer)
        data = answer.read_all()
        return data.decode("utf-8", "replace") if format == "text" else bytearray(data)

    def write(self, path: str, data: Data, user: Optional[str] = None, request_timeout: Optional[float] = None,
              metadata: Optional[Mapping[str, str]] = None) -> WriteInfo:
        """Writes a file, and makes its directories. An open file is sent as it is read, without a limit of time."""
        body: Union[bytes, Iterator[bytes]]
        if isinstance(data, (str, bytes, bytearray, memoryview)):
            body = data.encode() if isinstance(data, str) else bytes(data)
            timeout = self._sandbox.limit(request_timeout)
        else:
            body, timeout = _read_pieces(data), request_timeout
        headers = {"Content-Type": "application/octet-stream"}
        for name, value in (metadata or {}).items():
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not re.fullmatch(r"[ -~]*", value):
                raise InvalidArgumentException("metadata must be printable ASCII")
            headers["X-Metadata-" + name] = value
        text = self._open_content("POST", path, user, body, headers, timeout).read_all()
        with expecting_protocol():
            written = parse_json(text)[0]
            return WriteInfo(str(written["name"]), TYPES.get(str(written.get("type"))), str(written["path"]),
                             metadata=_get_texts(written.get("metadata")))

    def write_files(self, files: Sequence[WriteEntry], user: Optional[str] = None,
                    request_timeout: Optional[float] = None, metadata: Optional[Mapping[str, str]] = None,
                    ) -> List[WriteInfo]:
        """Writes files, one after the other."""
        return [self.write(file["path"], file["data"], user, request_timeout, metadata) for file in files]

    def _open_content(self, method: str, path: str, user: Optional[str], body: Union[bytes, Iterator[bytes], None],
                      headers: Mapping[str, str], timeout: Optional[float]) -> Answer:
        query = {"path": _check_path(path), **({"username": user} if user is not None else {})}
        try:
            return self._sandbox.open(method, "/files?" + urllib.parse.urlencode(query), body, headers, timeout or None)
        except NotFoundException as error:
            raise FileNotFoundException(str(error)) from None

    # ---- names ----

    def _call(self, method: str, message: Dict[str, Any], request_timeout: Optional[float], user: Optional[str],
              ) -> Dict[str, Any]:
        try:
            return self._sandbox.call("filesystem.Filesystem/" + method, message, request_timeout, user)
        except NotFoundException as error:
            raise FileNotFoundException(str(error)) from None

    def list(self, path: str, depth: Optional[int] = 1, user: Optional[str] = None,
             request_timeout: Optional[float] = None) -> List[EntryInfo]:
        """The entries of a directory, and of those below it down to a depth."""
        if depth is not None and depth < 1:
            raise InvalidArgumentException("depth must be at least 1")
        answer = self._call("ListDir", {"path": _check_path(path), "depth": depth or 1}, request_timeout, user)
        with expecting_protocol():
            return [_make_entry(entry) for entry in answer.get("entries", [])]

    def exists(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> bool:
        try:
            self.get_info(path, user, request_timeout)
            return True
        except FileNotFoundException:
            return False

    def get_info(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> EntryInfo:
        return _make_entry(self._call("Stat", {"path": _check_path(path)}, request_timeout, user).get("entry"))

    def remove(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> None:
        """Removes a file, or a directory with all that is in it."""
        self._call("Remove", {"path": _check_path(path)}, request_timeout, user)

    def rename(self, old_path: str, new_path: str, user: Optional[str] = None,
               request_timeout: Optional[float] = None) -> EntryInfo:
        message = {"source": _check_path(old_path), "destination": _check_path(new_path)}
        return _make_entry(self._call("Move", message, request_timeout, user).get("entry"))

    def make_dir(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> bool:
        """Makes a directory, and those above it. False: it exists."""
        try:
            self._call("MakeDir", {"path": _check_path(path)}, request_timeout, user)
            return True
        except AlreadyExistsException:
            return False

    # ---- watches ----

    def watch_dir(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None,
                  recursive: bool = False, include_entry: bool = False) -> WatchHandle:
        """Watches a directory. Events are kept for get_new_events(), at most 10,000."""
        message = {"path": _check_path(path), "recursive": recursive, "includeEntry": include_entry}
        return WatchHandle(self, str(self._call("CreateWatcher", message, request_timeout, user).get("watcherId")))

    def _get_events(self, watcher_id: str, request_timeout: Optional[float]) -> List[FilesystemEvent]:
        answer = self._call("GetWatcherEvents", {"watcherId": watcher_id}, request_timeout, None)
        kinds = {"EVENT_TYPE_" + kind.name: kind for kind in FilesystemEventType}
        with expecting_protocol():
            return [FilesystemEvent(str(event.get("name")), kinds[event["type"]],
                                    _make_entry(event["entry"]) if event.get("entry") else None)
                    for event in answer.get("events", []) if event.get("type") in kinds]

    def _remove_watcher(self, watcher_id: str, request_timeout: Optional[float]) -> None:
        self._call("RemoveWatcher", {"watcherId": watcher_id}, request_timeout, None)


def _read_pieces(file: Union[IO[bytes], IO[str]]) -> Iterator[bytes]:
    read: Callable[[int], Union[str, bytes]] = file.read
    while piece := read(CHUNK):
        yield piece.encode() if isinstance(piece, str) else piece

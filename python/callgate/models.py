"""What requests return: the classes of E2B's SDKs, member by member, and two of callgate's own."""

import json as _json
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Dict, List, Optional

from .errors import SandboxException

OUTPUT_BYTES_MAX = 64 << 20
"""Bytes of a stream that a result keeps. What comes after is passed to callbacks only, and counted."""


@dataclass
class OutputMessage:
    """A piece of what code has written."""

    line: str
    timestamp: int
    """Nanoseconds since 1970."""
    error: bool = False
    """Whether it was written to stderr."""

    def __str__(self) -> str:
        return self.line


@dataclass
class ExecutionError:
    """The exception that has ended the code. "InterpreterDied" and "TimeoutError" come from the server."""

    name: str
    value: str
    traceback: str

    def to_json(self) -> str:
        return _json.dumps({"name": self.name, "value": self.value, "traceback": self.traceback})


RESULT_FORMATS = ("text", "html", "markdown", "svg", "png", "jpeg", "pdf", "latex", "json", "javascript", "data",
                  "chart")


@dataclass(repr=False)
class Result:
    """The value of the last expression, or what was displayed. Images and PDF are in base64."""

    text: Optional[str] = None
    html: Optional[str] = None
    markdown: Optional[str] = None
    svg: Optional[str] = None
    png: Optional[str] = None
    jpeg: Optional[str] = None
    pdf: Optional[str] = None
    latex: Optional[str] = None
    json: Any = None
    javascript: Optional[str] = None
    data: Optional[Dict[str, Any]] = None
    chart: Optional[Dict[str, Any]] = None
    """The data of a matplotlib figure, as the protocol has it: a dictionary."""
    is_main_result: bool = False
    """Whether it is the value of the last expression."""
    extra: Optional[Dict[str, Any]] = None
    """Other formats, by MIME type."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def formats(self) -> List[str]:
        """The names of the formats that the result has."""
        return [name for name in RESULT_FORMATS if getattr(self, name)] + list(self.extra or ())

    def __repr__(self) -> str:
        return "Result(%s)" % (self.text or "Formats: " + ", ".join(self.formats()))

    def _repr_html_(self) -> Optional[str]:
        return self.html

    def _repr_markdown_(self) -> Optional[str]:
        return self.markdown

    def _repr_svg_(self) -> Optional[str]:
        return self.svg

    def _repr_png_(self) -> Optional[str]:
        return self.png

    def _repr_jpeg_(self) -> Optional[str]:
        return self.jpeg

    def _repr_pdf_(self) -> Optional[str]:
        return self.pdf

    def _repr_latex_(self) -> Optional[str]:
        return self.latex

    def _repr_json_(self) -> Any:
        return self.json

    def _repr_javascript_(self) -> Optional[str]:
        return self.javascript


@dataclass
class Logs:
    """What code has written, piece by piece."""

    stdout: List[str] = field(default_factory=list)
    stderr: List[str] = field(default_factory=list)

    def to_json(self) -> str:
        return _json.dumps({"stdout": self.stdout, "stderr": self.stderr})


@dataclass
class Execution:
    """What code did."""

    results: List[Result] = field(default_factory=list)
    logs: Logs = field(default_factory=Logs)
    error: Optional[ExecutionError] = None
    execution_count: Optional[int] = None
    denials: List[Dict[str, Any]] = field(default_factory=list)
    """callgate's own: what the policy has refused during the run, each with its reason."""
    dropped_bytes: int = 0
    """callgate's own: what results and logs do not have, because it came after OUTPUT_BYTES_MAX."""

    @property
    def text(self) -> Optional[str]:
        """The text of the main result."""
        return next((result.text for result in self.results if result.is_main_result), None)

    def to_json(self) -> str:
        results = [{**{name: result[name] for name in RESULT_FORMATS if result[name]}, **(result.extra or {}),
                    "text": result.text} for result in self.results]
        return _json.dumps({"results": results, "logs": self.logs.to_json(),
                            "error": self.error.to_json() if self.error else None})


@dataclass
class Context:
    """An interpreter that keeps its variables."""

    id: str
    language: str
    cwd: str


@dataclass
class CommandResult:
    """How a command has ended. Output that is not UTF-8 has U+FFFD in its place."""

    stderr: str
    stdout: str
    exit_code: int
    error: Optional[str]
    dropped_bytes: int = 0
    """callgate's own: output beyond OUTPUT_BYTES_MAX."""


@dataclass(eq=False)
class CommandExitException(SandboxException, CommandResult):
    """A command has ended with an exit code that is not 0."""

    def __str__(self) -> str:
        return "Command exited with code %d and error:\n%s" % (self.exit_code, self.stderr)


@dataclass
class ProcessInfo:
    """A command that runs."""

    pid: int
    tag: Optional[str]
    cmd: str
    args: List[str]
    envs: Dict[str, str]
    cwd: Optional[str]


class FileType(Enum):
    FILE = "file"
    DIR = "dir"
    SYMLINK = "symlink"


@dataclass
class WriteInfo:
    """A file that was written."""

    name: str
    type: Optional[FileType]
    path: str
    metadata: Optional[Dict[str, str]] = field(default=None, kw_only=True)


@dataclass
class EntryInfo(WriteInfo):
    """A file or directory. All of it is said by programs of the sandbox."""

    size: int
    mode: int
    permissions: str
    owner: str
    group: str
    modified_time: datetime
    symlink_target: Optional[str] = None


class FilesystemEventType(Enum):
    CHMOD = "chmod"
    CREATE = "create"
    REMOVE = "remove"
    RENAME = "rename"
    WRITE = "write"


@dataclass
class FilesystemEvent:
    """A change in a directory that is watched. The name is relative to the directory."""

    name: str
    type: FilesystemEventType
    entry: Optional[EntryInfo] = None


@dataclass
class SandboxInfo:
    """A sandbox that runs."""

    sandbox_id: str
    template_id: str
    metadata: Dict[str, str]
    started_at: datetime
    end_at: datetime
    state: str
    cpu_count: int
    memory_mb: int
    envd_version: str


@dataclass
class SandboxMetrics:
    """What a sandbox uses. Sizes in bytes."""

    cpu_count: int
    cpu_used_pct: float
    disk_total: int
    disk_used: int
    mem_total: int
    mem_used: int
    timestamp: datetime

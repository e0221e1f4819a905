"""Part of the shell parser of callgate inspect: what commands start by their arguments, and which texts they print."""

import itertools
import re
import shlex

from shell_names import SHELLS, skip_options

# Programs that start another one which is among their words; docker and the like start it elsewhere.
STARTERS = {
    "xargs", "parallel", "sem", "su", "runuser", "script", "watch", "entr", "chroot", "unshare", "nsenter", "setpriv",
    "systemd-run", "strace", "ltrace", "valgrind", "fakeroot", "faketime", "unbuffer", "prlimit", "setarch", "linux32",
    "linux64", "gosu", "chpst", "setuidgid", "proot", "numactl", "cpulimit", "xvfb-run", "dbus-run-session",
}
FIND_STARTS = {"-exec", "-execdir", "-ok", "-okdir"}
STARTED = SHELLS | {"rm", "mv", "dd", "shred", "wipefs", "chmod", "chown", "find"}  # whose words are of note
TAKE_CODE = {"su", "runuser", "script"}  # "-c CODE" for a shell
CODE_OPTION = re.compile(r"^(-[a-zA-Z]*?c|--command(?:=|$))(.*)$", re.DOTALL)
WATCH_LETTERS, PARALLEL_LETTERS = "nq", "aCdEIJjLlNnPSsTU"  # options with an argument
PARALLEL_WORDS = {"--jobs", "--max-procs", "--arg-file", "--colsep", "--delay", "--joblog", "--tmpdir", "--workdir"}
ARGUMENTS = re.compile(r"^:::(:|\+|:\+)?$")
ARGUMENTS_MAX = 20  # of parallel
PRINTED = re.compile(r"\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|.)|%(?:[-+ #0-9.]*([sbqdci])|%)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\n", "\\": "\\", '"': '"', "'": "'"}
TEXT_CHARACTERS_MAX = 100000


def find_started(name, words):
    """The commands that a command starts, each as its words."""
    if name == "find":
        starts = [at + 1 for at, word in enumerate(words) if word in FIND_STARTS]
        return [list(itertools.takewhile(lambda word: word not in (";", "+"), words[start:])) for start in starts]
    if name not in STARTERS:
        return []
    at = next((at for at, word in enumerate(words) if word.rsplit("/", 1)[-1] in STARTED), len(words))
    return [words[at:]] if at < len(words) else []


def find_texts(name, words):
    """The texts of a command's arguments that it gives a shell."""
    if name == "-c":  # behind the file of flock
        return words[:1]
    if name in TAKE_CODE:
        matches = [(CODE_OPTION.match(word), following) for word, following in zip(words, words[1:] + [""])]
        return [match.group(2) or following for match, following in matches if match]
    if name == "watch":
        return [" ".join(words[skip_options(words, 0, WATCH_LETTERS) :])]
    return find_parallel(words) if name in ("parallel", "sem") else []


def find_parallel(words):
    """The command lines that parallel makes, with the arguments that are told: "parallel rm {} ::: a b"."""
    words = words[skip_options(words, 0, PARALLEL_LETTERS, PARALLEL_WORDS) :]
    end = next((at for at, word in enumerate(words) if ARGUMENTS.match(word)), len(words))
    command, arguments = " ".join(words[:end]), words[end + 1 :][:ARGUMENTS_MAX]
    if not command:
        return arguments
    if "{}" not in command:
        command += " {}"
    return [command.replace("{}", shlex.quote(argument)) for argument in arguments] or [command]


def expand_format(text, arguments):
    """What printf(1) makes of a format; unknown is what has other conversions, which are left as they are."""
    rest = list(arguments)

    def replace(match):
        escape, conversion = match.groups()
        if escape:
            if escape[0] == "x" and len(escape) > 1 or escape[0].isdigit():
                code = int(escape[1:], 16) if escape[0] == "x" else int(escape, 8)
                return chr(code) if code < 0xD800 else "?"
            return ESCAPED.get(escape, "\\" + escape)
        if conversion:
            return rest.pop(0) if rest else ""
        return "%"

    printed, before = PRINTED.sub(replace, text), None
    while rest and before != len(rest) and len(printed) < TEXT_CHARACTERS_MAX:
        before = len(rest)
        printed += PRINTED.sub(replace, text)
    return printed


def expand_escapes(text):
    """As "echo -e", and the echo of some shells."""
    return expand_format(text.replace("%", "%%"), [])


def find_output(command, name, words):
    """What a command writes to its standard output. None: not known."""
    start = len(command.words) - len(words)
    if name in ("cat", "tee") and not any(word[:1] != "-" for word in (words if name == "cat" else [])):
        return command.document
    if name not in ("echo", "printf") or not all(command.known[start:]):
        return None
    if name == "printf":
        words = words[words[:1] == ["--"] :]
        return expand_format(words[0], words[1:]) if words else None
    options = next((at for at, word in enumerate(words) if not re.match(r"^-[neE]+$", word)), len(words))
    text = " ".join(words[options:]) + "\n"
    return expand_escapes(text) if "e" in "".join(words[:options]) else text

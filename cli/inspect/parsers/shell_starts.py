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
SED_LINES_MAX, SED_STATEMENTS_MAX = 1000, 100  # of a script, and of a line
# Options whose argument is shell code, as one word or as two: of bash's builtins and of programs.
CODE_ARGUMENTS = {
    "mapfile": ("-C",), "readarray": ("-C",), "complete": ("-C",), "split": ("--filter",), "rsync": ("-e", "--rsh"),
    "tar": (
        "-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script", "--checkpoint-action",
        "--to-command",
    ),
    "man": ("-P", "--pager", "-H", "--html"), "zip": ("-TT", "--unzip-command"), "sort": ("--compress-program",),
    "xterm": ("-e",),
}
# Texts of editors and others, in which a shell runs what follows: vim -c ':!CODE', gdb -ex 'shell CODE', sed '1e CODE'.
EDITORS = {"vi", "vim", "view", "nvim", "ex", "ed"}
EDITOR_CODE = re.compile(r"^(?:\+|--cmd=?)?:?\s*(?:silent!?\s+)?(?:\d*r\s*|w\s*|%\s*)?!\s*(.+)$", re.DOTALL)
DEBUGGER_CODE = re.compile(r"^(?:-{0,2}i?ex=|--eval-command=)?\s*(?:!|shell\s|make\s)\s*(.+)$", re.DOTALL)
SED_ADDRESS = r"(?:\d+|\$|/[^/]{0,200}/)"
SED_CODE = re.compile(r"^ ?(?:%s(?: ?, ?%s)?)? ?!? ?e (.+)$" % (SED_ADDRESS, SED_ADDRESS))
SED_FLAGS = re.compile(r"^[gpiIm\d]{0,20}e[gpiIm\d]{0,20} ?$")
SEPARATOR = re.compile(r"s([^\w\s\\])")
KEYS = re.compile(r"^([\"'])[^\"']{0,100}\1:")


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
    if name == "bind":
        return [word[match.end() :].strip() for word in words for match in [KEYS.match(word)] if match]
    if name in EDITORS or name == "gdb":
        code = DEBUGGER_CODE if name == "gdb" else EDITOR_CODE
        return [match.group(1) for match in map(code.match, words) if match]
    if name in ("sed", "gsed"):
        return find_sed(words)
    if name in CODE_ARGUMENTS:
        return find_arguments(words, CODE_ARGUMENTS[name])
    if name in TAKE_CODE:
        matches = [(CODE_OPTION.match(word), following) for word, following in zip(words, words[1:] + [""])]
        return [match.group(2) or following for match, following in matches if match]
    if name == "watch":
        return [" ".join(words[skip_options(words, 0, WATCH_LETTERS) :])]
    return find_parallel(words) if name in ("parallel", "sem") else []


def find_arguments(words, options):
    """The arguments of options, "--option TEXT", "--option=TEXT", "-oTEXT"."""
    found = []
    for word, following in zip(words, words[1:] + [""]):
        option = next((item for item in options if word.startswith(item)), None)
        if option and word == option:
            found.append(following)
        elif option:
            found.append(word[len(option) :].lstrip("=") if option.startswith("--") else word[len(option) :])
    return [re.sub(r"^exec=", "", text) for text in found if text]


def split_sed(word):
    """The statements of a script of sed, each with what is behind it in its line."""
    for line in word[:TEXT_CHARACTERS_MAX].splitlines()[:SED_LINES_MAX]:
        statements = re.sub(r"\s+", " ", line.replace("{", ";").replace("}", ";")).split(";")
        for at, statement in enumerate(statements[:SED_STATEMENTS_MAX]):
            yield statement, ";".join(statements[at:][:SED_STATEMENTS_MAX])


def find_sed(words):
    """The code of "sed '1e CODE'", which goes on to the end of the line."""
    matches = [SED_CODE.match(rest) for word in words for _, rest in split_sed(word)]
    return [match.group(1) for match in matches if match]


def is_running_matches(name, words):
    """Whether sed has a shell run what it replaces a text by: s/x/y/e."""
    if name not in ("sed", "gsed"):
        return False
    for statement, _ in (pair for word in words for pair in split_sed(word)):
        separator = SEPARATOR.search(statement)
        parts = statement.split(separator.group(1)) if separator else []
        if len(parts) >= 4 and SED_FLAGS.match(parts[-1]):
            return True
    return False


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

"""Part of the shell parser of callgate inspect: which program a command starts, and what is known of it."""

import re

from shell_words import ASSIGNMENT, find_start

NETWORK = {
    "curl", "wget", "nc", "ncat", "netcat", "socat", "ssh", "scp", "sftp", "rsync", "telnet", "ftp", "tftp",
    "nmap", "dig", "nslookup", "host", "openssl", "aria2c", "lynx", "pip", "pip3", "npm", "npx", "gem", "cargo",
    "go",
}
FETCHES = {"curl", "wget", "fetch", "aria2c", "nc", "ncat", "lynx"}
SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash", "busybox"}
INTERPRETERS = SHELLS | {"python", "python2", "python3", "perl", "ruby", "node", "php", "lua"}
ESCAPES = re.compile(r"(\\(x[0-9a-fA-F]{1,2}|0?[0-7]{2,3})){4}")
STARTERS = {"env", "sudo", "doas"}  # they take variables of any name before the program that they start
# Programs that start another one, and the letters of their options with an argument: as in cli/inspect/wrappers.c,
# which does not read what sudo and doas start.
PREFIXES = {
    "env": "CSau", "timeout": "ks", "nice": "n", "nohup": "", "setsid": "", "stdbuf": "ioe", "time": "of",
    "ionice": "cnpPu", "chrt": "TPD", "taskset": "", "flock": "wE", "exec": "a", "command": "", "builtin": "",
    "busybox": "", "sudo": "CDghpRrTtUu", "doas": "Cu",
}
OPERANDS = {"timeout": 1, "chrt": 1, "taskset": 1, "flock": 1}  # words before the program that are no options
LONG_OPTIONS = {
    "--unset", "--chdir", "--split-string", "--argv0", "--kill-after", "--signal", "--adjustment", "--input",
    "--output", "--error", "--format", "--class", "--classdata", "--user", "--group", "--host", "--prompt",
}  # with an argument
KEYWORDS = {"then", "do", "else", "elif", "if", "while", "until", "!", "{", "("}


def skip_options(words, at, letters, long_options=frozenset()):
    """Where the options end that begin at `at`. letters, long_options: of those with an argument."""
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        match = re.match(r"^-[^-]*?[%s]" % letters, word) if letters else None
        takes_next = word in long_options or (match and match.end() == len(word))
        at += 2 if takes_next else 1
    return at


def skip_prefix(words, at, name):
    """Where the program's name is that the one at `at` starts."""
    at = skip_options(words, at + 1, PREFIXES[name], LONG_OPTIONS)
    for _ in range(OPERANDS.get(name, 0)):
        at += at < len(words)
    return at


def find_program(words):
    """Where the name of the program is that a command starts; what only starts it is left out."""
    at = find_start(words)
    while at < len(words):
        base = words[at].rsplit("/", 1)[-1]
        if ASSIGNMENT.match(words[at]) or base in KEYWORDS:
            at += 1
        elif base in PREFIXES and (base != "busybox" or not words[at + 1 : at + 2] or words[at + 1][:1] != "-"):
            at = skip_prefix(words, at, base)
        else:
            break
    return at


def name_of(words):
    """The command's own name without its directory, and its arguments."""
    at = find_program(words)
    return (words[at].rsplit("/", 1)[-1], words[at + 1 :]) if at < len(words) else ("", [])


def is_interpreter(name):
    return name in INTERPRETERS or name.rstrip("0123456789.") in INTERPRETERS


def find_code(words):
    """Where the program is that a shell is given by "-c", "-lc" and the like. None: by none of these."""
    is_argument = False
    for at, word in enumerate(words):
        if re.match(r"^-[a-zA-Z]*c[a-zA-Z]*$", word):
            return at + 1
        if word[:1] not in "-+" and not is_argument:
            return None
        is_argument = bool(re.match(r"^([-+][oO]|--rcfile|--init-file)$", word))
    return None


def is_decoding(name, words):
    if name in ("gunzip", "zcat", "uudecode", "rev"):
        return True
    if name == "printf":
        return any(ESCAPES.search(word) for word in words)
    if name in ("base64", "base32"):
        return any(word in ("-d", "-D", "--decode", "-di") for word in words)
    return (name == "xxd" and any(word.startswith("-r") for word in words)) or (name == "openssl" and "-d" in words)


def is_reading_program(name, words):
    """Whether an interpreter takes its program from standard input."""
    arguments = [word for word in words if not word.startswith("-") or word == "-"]
    if name == "xargs":
        return is_running_arguments(words)
    if name in ("at", "batch") or (name == "parallel" and not arguments):
        return True
    return is_interpreter(name) and (not arguments or arguments[0] == "-") and (
        find_code(words) is None and "-e" not in words
    ) or (name in SHELLS and "-s" in words)


def is_running_arguments(words):
    """Whether xargs gives what it reads to a shell as a program."""
    if "-c" not in words:
        return False
    at = words.index("-c")
    replaced = [word[2:] or following for word, following in zip(words, words[1:]) if word.startswith("-I")]
    return words[at - 1].rsplit("/", 1)[-1] in SHELLS and (at + 1 == len(words) or words[at + 1] in replaced)

"""Part of the shell parser of callgate inspect: which environment variables the words of a command set."""

import re

from shell_names import KEYWORDS, PREFIXES, STARTERS
from shell_words import ASSIGNMENT, SETTERS

SPLIT_OPTION = re.compile(r"^(-\w*?S|--s[a-z-]*=?)")
DEPTH_MAX = 8
# builtins, and reserved words, that set the variables that they name
NAMERS = {"printf", "read", "for", "select", "unset", "getopts", "let"}
NAME = re.compile(r"^(-\w*)?(PATH|HOME)\b")


def find_set(words):
    """Of the words behind "export" or the like. Of a function it is the variable by which other shells get it."""
    options = "".join(word for word in words if word.startswith("-"))
    names = [word for word in words if not word.startswith("-")]
    if "f" in options:
        return ["BASH_FUNC_%s%%%%=()" % name for name in names]
    return [ASSIGNMENT.sub(r"\1\3", name) for name in names if ASSIGNMENT.match(name)]


def find_split(words, depth):
    """Of "env -S TEXT", "-STEXT", "--split-string=TEXT", which comes first in `words`."""
    text = SPLIT_OPTION.sub("", words[0]) or " ".join(words[1:2])
    return find_assignments(["env"] + [part.strip("'\"") for part in text.split()], depth + 1)


def find_assignments(words, depth=0):
    """
    The words "NAME=VALUE" by which a command sets variables: before a program, of env and others, of export and others.
    Options of env are not told from their arguments, nor from the program, whose own words therefore count as well.
    """
    found = []
    starts, is_before_program = False, True
    for at, word in enumerate(words):
        base = word.rsplit("/", 1)[-1]
        if starts and SPLIT_OPTION.match(word) and depth < DEPTH_MAX:
            found += find_split(words[at : at + 2], depth)
        elif "=" in word and not word.startswith("-") and (starts or (is_before_program and ASSIGNMENT.match(word))):
            found.append(ASSIGNMENT.sub(r"\1\3", word))  # "PATH[0]=x" sets PATH
        elif is_before_program and base in SETTERS:
            return found + find_set(words[at + 1 :])
        elif base not in PREFIXES and base not in KEYWORDS and not re.match(r"^(-|\d)", word):
            is_before_program = False
        starts = starts or base in STARTERS
    return found


def find_names(name, rest):
    """Of the words behind one of NAMERS, with whether each is known, those that may be names of variables."""
    if name in ("for", "select"):
        return rest[:1]
    if name == "getopts":
        return rest[1:2]
    if name == "printf":
        at = next((at for at, (word, _) in enumerate(rest) if word.startswith("-v")), len(rest))
        return rest[at : at + 2]
    if name == "read":
        before = [""] + [word for word, _ in rest]
        return [word for word, previous in zip(rest, before) if not re.match(r"^-\w*[dinNptu]$", previous)]
    return rest


def find_named(words):
    """
    PATH and HOME, if a builtin gives them a value that is not known: their names are among its words, or may be, in
    those that the shell expands. PATH also if it has another file run by some name.
    """
    name, rest = (words[0][0] if words else ""), words[1:]
    options = "".join(word for word, _ in rest if word.startswith("-"))
    if name in NAMERS:
        names = find_names(name, rest)
        found = sorted({match.group(2) for match in [NAME.match(word) for word, _ in names] if match})
        return found or (["PATH"] if any(word[:1] == "$" and not known for word, known in names) else [])
    if name == "hash":
        return ["PATH"] if "p" in options else []
    if name in SETTERS:
        # a name that is put together, or one that stands for another one
        is_hidden = any(not known and re.match(r"^[^=]*\$", word) for word, known in rest)
        refers = "n" in options and name not in ("export", "readonly")
        return ["PATH"] if is_hidden or refers else []
    return []

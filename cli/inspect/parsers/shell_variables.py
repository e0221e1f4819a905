"""Part of the shell parser of callgate inspect: which environment variables the words of a command set."""

import re

from shell_names import KEYWORDS, PREFIXES, STARTERS
from shell_words import ASSIGNMENT, SETTERS

SPLIT_OPTION = re.compile(r"^(-\w*?S|--s[a-z-]*=?)")
DEPTH_MAX = 8


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

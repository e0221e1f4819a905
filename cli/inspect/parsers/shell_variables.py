"""Part of the shell parser of callgate inspect: which environment variables the words of a command set."""

import re

from shell_names import KEYWORDS, PREFIXES, STARTERS
from shell_words import ASSIGNMENT, SETTERS, find_start

SPLIT_OPTION = re.compile(r"^(-\w*?S|--s[a-z-]*=?)")
DEPTH_MAX = 8
# Builtins that set the variables that they name: letters of options with an argument, and of those whose argument is a
# name. mapfile and readarray make arrays, which have no effect but that the variable has no value any more.
NAMERS = {
    "read": ("adinNptu", "a"), "mapfile": ("dnOsuCc", ""), "readarray": ("dnOsuCc", ""), "printf": ("v", "v"),
    "wait": ("p", "p"), "getopts": ("", ""), "unset": ("", ""), "hash": ("p", ""),
}
LOOPS = {"for", "select"}
VALUES_MAX = 20  # of a loop; the variable has some other value if there are more
NAME = re.compile(r"^([A-Za-z_]\w*)(\[|$)")
DEFAULT = re.compile(r"\$\{(!?)(\w+)(?:\[[^]}]{0,200}\])?:?=([^}]*)")  # what a variable gets that has no value
# Texts in which a shell assigns to variables as in C: $((...)), $[...], NAME[...], ${NAME:...}
EXPRESSIONS = re.compile(
    r"\$\(\((.{0,400}?)\)\)|(?:\$|\w|^)\[([^]]{0,400})\]|"
    r"\$\{[!#]?\w+(?:\[[^]]{0,200}\])?:(?![-=?+])([^}]{0,400})\}", re.DOTALL
)
ARITHMETIC = re.compile(
    r"(?<![\w$])([A-Za-z_]\w*)\s{0,20}(?:\[[^]]{0,200}\]\s{0,20})?(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|"
    r"(?:\+\+|--)\s{0,20}([A-Za-z_]\w*)|\$[{\w}]+\s{0,20}(?:[-+*/%&|^]|<<|>>)?=(?!=)"
)
COMPARES = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}  # of [[, expressions
CHANGING = re.compile(r"^[-+]\w*[cilu]")  # options of declare by which a variable gets another value than the text says


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


def skip_builtin(words):
    """Goes behind "command" and "builtin", if what they run is a builtin that this reads. Words are pairs, as below."""
    names = [word for word, _ in words]
    at = 0
    while at < len(words) and (names[at] in ("command", "builtin") or (at and re.match(r"^-[p-]$", names[at]))):
        at += 1
    return words[at:] if at < len(words) and names[at] in BUILTINS else words


def divide_options(rest, letters, naming):
    """The operands among words, and the arguments of the options in `naming`. letters: options with an argument."""
    operands, named = [], []
    at = 0
    while at < len(rest):
        word, known = rest[at]
        at += 1
        if word == "--" or word[:1] != "-" or word == "-":
            return rest[at - (word != "--") :], named
        match = re.match(r"^-\w*?([%s])(.*)$" % letters, word, re.DOTALL) if letters else None
        if match and not match.group(2):
            argument, at = rest[at : at + 1], at + 1
        else:
            argument = [(match.group(2), known)] if match else []
        named += argument if match and match.group(1) in naming else []
    return operands, named


def find_named(name, rest):
    """What one of NAMERS gives to variables: as find_given()."""
    operands, named = divide_options(rest, *NAMERS[name])
    if name == "hash":
        is_set = any(re.match(r"^-\w*p", word) for word, _ in rest)
        return [("", None)] if is_set else []  # another file is run by some name
    if name in ("printf", "wait"):
        operands = []
    if name == "getopts":
        operands = operands[1:2]
    value = "" if name in ("unset", "mapfile", "readarray") else None
    found = []
    for word, known in operands + named:
        match = NAME.match(word)
        if match:
            found.append((match.group(1), value))
        elif not known and word[:1] == "$":
            found.append(("", None))
    return found


def find_looped(rest):
    """What "for NAME in VALUE..." gives to NAME."""
    name = "".join(word for word, _ in rest[:1] if NAME.fullmatch(word))
    values = rest[2:] if [word for word, _ in rest[1:2]] == ["in"] else []
    if not name:
        return []
    if not values or len(values) > VALUES_MAX:
        return [(name, None)]
    return [(name, word if known else None) for word, known in values]


def find_declared(name, rest):
    """What export and the like give to variables, besides assignments."""
    options = "".join(word for word, _ in rest if word[:1] in "-+")
    found = []
    for word, known in rest:
        assigned = ASSIGNMENT.match(word)
        if (not assigned and not known and re.match(r"^[^=]*[${]", word)) or (word[:1] != "-" and "n" in options and (
            name not in ("export", "readonly")
        )):
            found.append(("", None))  # a name that is put together, or one that stands for another one
        elif name in ("export", "readonly"):
            continue
        elif CHANGING.match(options) and (assigned or NAME.match(word)):
            found.append((re.match(r"\w+", word).group(0), None))
        elif NAME.match(word) and not assigned and (name == "local" or not re.search(r"[xgpfF]", options)):
            found.append((NAME.match(word).group(1), ""))  # in a function it is another variable, without a value
    return found


def find_calculated(text):
    """The names of the variables to which an arithmetic expression assigns."""
    return [(match.group(1) or match.group(2) or "", None) for match in ARITHMETIC.finditer(text)]


def find_evaluated(words):
    """Those of the words that a builtin takes for arithmetic expressions."""
    texts = [word for word, _ in words]
    name = texts[0] if texts else ""
    if name == "let" or (name == "[[" and COMPARES & set(texts)):
        return texts[1:]
    is_integer = name in SETTERS and any(re.match(r"^-\w*i", word) for word in texts)
    return [ASSIGNMENT.sub("", word) for word in texts[1:]] if is_integer else []


def find_given(command):
    """
    Pairs of a name and a value that a command gives to variables by other ways than assignments. Of a value None, it is
    not known; of a name "", the variable is not known.
    """
    if command.given is None:
        command.given = read_given(command)
    return command.given


def read_given(command):
    """Looks for what find_given() tells."""
    start = find_start(command.words)
    words = list(zip(command.marked[start:], command.known[start:]))
    count = next((at for at, (word, _) in enumerate(words) if not ASSIGNMENT.match(word)), len(words))
    words = skip_builtin(words[count:])
    name, rest = (words[0][0] if words else ""), words[1:]
    found = [(number, None) for number in command.numbered]
    expressions = command.arithmetic + find_evaluated(words)
    for text in command.marked + command.targets + command.expanded:
        for is_hidden, variable, value in DEFAULT.findall(text) if "=" in text else []:
            found.append(("" if is_hidden else variable, None if "$" in value or "`" in value else value))
        if "=" in text or "+" in text or "-" in text:
            expressions += ["".join(parts) for parts in EXPRESSIONS.findall(text)]
    for text in expressions:
        found += find_calculated(text)
    if "do" in command.words[:start] and command.words[start - 2 : start - 1]:
        found.append((command.words[start - 2], None))  # "for NAME do"
    if name in LOOPS:
        found += find_looped(rest)
    elif name in NAMERS:
        found += find_named(name, rest)
    elif name in SETTERS:
        found += find_declared(name, rest)
    return list(dict.fromkeys(found))


BUILTINS = {"cd", "pushd", ".", "source", "exec", "let"} | SETTERS | set(NAMERS) | LOOPS

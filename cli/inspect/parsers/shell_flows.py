"""Part of the shell parser of callgate inspect: files and variables with what was fetched or decoded, and their use."""

import re

from findings import LITERAL_DOLLAR
from shell_names import FETCHES, SHELLS, find_code, find_program, is_decoding, is_interpreter, name_of
from shell_starts import TEXT_CHARACTERS_MAX
from shell_variables import find_given
from shell_words import ASSIGNMENT, SETTERS, split_commands

OUTPUTS = {"curl": ("o", "--output"), "wget": ("O", "--output-document"), "aria2c": ("o", "--out")}
CHECKS = re.compile(r"^(sha\d+sum|shasum|md5sum|b2sum|gpgv?|cosign|minisign)$")
CHECKING = {"-c", "--check", "--verify", "verify", "verify-blob", "-V"}


VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")


def plain(path):
    return re.sub(r"^(\./)+", "", path)


def find_fetched(name, words, targets):
    """Names of the files to which a command fetches something."""
    letter, option = OUTPUTS.get(name, ("", ""))
    files = [target for target in targets if not target.startswith("/dev/")]
    for word, following in zip(words, words[1:] + [""]):
        if not letter:
            continue
        if word == option or re.match(r"^-[a-zA-Z]*%s$" % letter, word):
            files.append(following)
        elif word.startswith((option + "=", "-" + letter)):
            files.append(word[len(option) + 1 :] if word.startswith(option) else word[2:])
    takes_name = name == "curl" and any(re.match(r"^-[a-zA-Z]*O", word) for word in words)
    if takes_name or (name in ("wget", "aria2c") and not files):
        files += [re.sub(r"[?#].*", "", word).rsplit("/", 1)[-1] for word in words if "://" in word]
    return {plain(file) for file in files if file and file != "-"}


def find_run(words):
    """Names of the files that a command runs: the program, or the script of an interpreter."""
    at = find_program(words)
    if at >= len(words):
        return set()
    name = words[at].rsplit("/", 1)[-1]
    files = {plain(words[at])} if "/" in words[at] else set()
    if is_interpreter(name) or name in ("source", "."):
        files |= {plain(word) for word in [word for word in words[at + 1 :] if not word.startswith("-")][:1]}
    return files


class Flows:
    """Goes through the commands of a script in their order."""

    def __init__(self):
        self.files = set()  # that were fetched, and not checked since
        self.variables = {}  # with what was fetched or decoded: name and kind
        self.constants = {"SHELL": "/bin/sh", "BASH": "/bin/bash"}  # of these it is that they are shells
        self.written = {}  # files, and the texts that the script writes to them

    def kind_of(self, text):
        """What a text has in it that comes from a variable: a kind; None: nothing."""
        for name in re.findall(r"\$\{?([A-Za-z_]\w*)", text):
            if name in self.variables:
                return self.variables[name]
        return None

    def take_assignments(self, command):
        names = [name_of(part.words) for inner in command.inner for part in split_commands(inner)]
        kind = "obfuscated" if any(is_decoding(*part) for part in names) else None
        kind = "download-run" if any(name in FETCHES for name, _ in names) else kind
        for word, known in zip(command.words, command.known):
            match = ASSIGNMENT.match(word)
            if match and kind and "$(" in word:
                self.variables[match.group(1)] = kind
                self.constants.pop(match.group(1), None)
            elif match and known:
                self.variables.pop(match.group(1), None)
                self.constants[match.group(1)] = word[match.end() :]
            elif match:
                self.constants.pop(match.group(1), None)
        for name, _ in find_given(command):
            self.constants.pop(name, None)

    def expand(self, command):
        """The words of a command, with the values of the variables that are constants where it stands."""
        words = []
        for at, (word, marked) in enumerate(zip(command.words, command.marked)):
            names = [one or other for one, other in VARIABLE.findall(marked)]
            if command.known[at] or not names or "$(" in marked or not self.constants.keys() >= set(names):
                words.append(word)
                continue
            value = VARIABLE.sub(lambda match: self.constants[match.group(1) or match.group(2)], marked)
            value = value.replace(LITERAL_DOLLAR, "$")[:TEXT_CHARACTERS_MAX]
            words += value.split() if not at else [value]  # of the name of a program: a="rm -rf"; $a x
        return words

    def write(self, command, text, name, words):
        """Notes that a command writes a text to files."""
        for file in command.targets + (words if name == "tee" else []):
            if len(file) < 1000 and file[:5] != "/dev/" and file[:1] != "-":
                self.written[plain(file)] = (self.written.get(plain(file), "") + text)[:TEXT_CHARACTERS_MAX]

    def find_written(self, words):
        """The texts that the script has written to the files that a command runs."""
        return [self.written[file] for file in sorted(find_run(words)) if file in self.written]

    def find(self, command, name, words):
        """The kind of finding that a command is, by what came before it; None: it is none."""
        if not name or name in SETTERS or find_given(command):
            self.take_assignments(command)
        if not name:
            return None
        if CHECKS.match(name) and CHECKING & set(words):
            self.files = set()
        run = find_run(command.words) | find_run(self.expand(command))
        run |= {word for word in command.words[:1] if word[:1] == "$"}
        kind = "download-run" if self.files & run else None
        if name in FETCHES:
            self.files |= find_fetched(name, words, command.targets)
        has_code = bool({"-c", "-e"} & set(words)) or find_code(words) is not None
        runs_text = name == "eval" or (is_interpreter(name) and has_code)
        texts = words if runs_text else command.targets if name in SHELLS else []
        if not words and re.match(r"^\$", command.words[-1]):
            texts = command.words[-1:]
        return kind or next((found for found in map(self.kind_of, texts) if found), None)

    def is_hidden_name(self, command):
        """Whether the command's name is put together from constants: a=cu; b=rl; $a$b."""
        at = find_program(command.words)
        word = command.words[at] if at < len(command.words) else ""
        if not re.match(r"^(\$(\w+|\{\w+\})){2,}$", word):
            return False
        return all(name in self.constants for name in re.findall(r"\w+", word))

"""Part of the shell parser of callgate inspect: tells which commands a script runs, for callgate run --inspect.

It looks at the scripts that these start. A word that the shell expands is an empty text, so that no file has its name.
"""

import json
import os
import re

from findings import LITERAL_DOLLAR
from shell_inputs import feeds_others, has_functions
from shell_names import skip_prefix
from shell_own import OWN_MARKS, OwnFiles
from shell_variables import find_given, skip_builtin
from shell_words import ASSIGNMENT, SETTERS, find_start

COMMANDS_MAX = 500
BYTES_MAX = 30000  # of one command; cli/inspect/protocol.c takes no more
ALL_BYTES_MAX = 400000
WORD_BYTES_MAX = 4000  # of one of many words
DIRECTORIES_MAX = 4
PATHS_MAX = 4
# PATH's own value, and directories of the system, whose programs are not looked at (cli/inspect/program.c)
PATHS_OF_THE_SYSTEM = re.compile(r"^(\$PATH|\$\{PATH\}|/(usr/(local/)?)?s?bin/?)$")
UNKNOWN_VALUE = "$"  # of a variable: cli/inspect/wrappers.c takes it for one that a shell expands
COMMAND_TABLES = ("BASH_CMDS", "BASH_ALIASES")  # elements of these are files and texts that run by other names


class Commands:
    """The commands of one script, in their order, and the directories in which they may run."""

    def __init__(self):
        self.lines = []
        self.bytes = 0
        # "": where the script began. One is added for each "cd", which may fail, or be in a shell of its own.
        self.directories = [""]
        self.is_lost = False  # there are others, which are not known
        self.paths = []  # in which the script has programs looked for, besides those of the system
        self.input = None  # the command by which the shell itself has another standard input, if any
        self.documents = []  # the texts that the shell itself reads then; None: not known
        self.is_fed = False  # commands have another standard input by what is elsewhere in the script
        self.own = OwnFiles()
        self.home = None  # the last assignment to HOME, where shells look for the files that they run first

    def change_directory(self, words):
        names = [word for word in words[1:] if not re.match(r"^-[LPe@]*$", word) and word != "--"]
        if (words[1:] == ["-"] and len(self.directories) > 1) or (names and names[0] == "."):
            return  # "-" is one of them, unless it is where the caller was
        if not names or not names[0] or names[0][0] in "-+~":
            self.is_lost = True
            return
        is_own = names[0][0] in OWN_MARKS.values()
        for directory in list(self.directories):
            joined = names[0] if is_own else os.path.join(directory, names[0])
            if joined not in self.directories:
                self.directories.append(joined)
        if len(self.directories) > DIRECTORIES_MAX:
            self.is_lost = True
            del self.directories[DIRECTORIES_MAX:]

    def take_path(self, value):
        """Takes an assignment to PATH. What is told in its place; None: nothing."""
        value = re.sub(r"\$\{PATH:?\+(:?)\$\{?PATH\}?(:?)\}", r"\1$PATH\2", value)
        told = None
        for path in value.split(":"):
            if PATHS_OF_THE_SYSTEM.match(path) or (path or ".") in self.paths:
                continue
            if re.search(LITERAL_DOLLAR + r"|[$`*?\[{]|^~", path) or len(self.paths) >= PATHS_MAX:
                told = "PATH=" + UNKNOWN_VALUE
            else:
                self.paths = self.paths + [path or "."]
        return told

    def take_assignment(self, name, value, known, is_lasting):
        """Takes NAME=VALUE. What is told in its place; None: nothing."""
        if name == "PATH":
            return self.take_path(value)
        if name in COMMAND_TABLES:
            return "PATH=" + UNKNOWN_VALUE
        if name in ("CDPATH", "OLDPWD"):
            self.is_lost = True
        if name == "HOME" and is_lasting:
            self.home = "HOME=" + UNKNOWN_VALUE
        return "%s=%s" % (name, value.replace(LITERAL_DOLLAR, "$") if known else UNKNOWN_VALUE)

    def take_assignments(self, words):
        """
        Takes the assignments before a command, or behind one such as "export". What is told in their place, and the
        rest of the words.
        """
        count = 0
        while count < len(words) and ASSIGNMENT.match(words[count][0]):
            count += 1
        assigned, words = words[:count], skip_builtin(words[count:])
        if words and words[0][0] in SETTERS:
            assigned += [word for word in words[1:] if ASSIGNMENT.match(word[0])]
            words = []
        told = [self.home] if self.home and words else []
        for text, known in assigned:
            match = ASSIGNMENT.match(text)
            self.own.learn(match.group(1), text[match.end() :])
            told.append(self.take_assignment(match.group(1), text[match.end() :], known, not words))
        marks = tuple(OWN_MARKS.values())
        rest = [
            self.own.find(word) if not known else "" if word.startswith(marks) else word.replace(LITERAL_DOLLAR, "$")
            for word, known in words
        ]
        return [word for word in told if word], rest

    def take_given(self, command):
        """Takes what a command gives to variables by other ways. What is told."""
        told = [
            self.take_assignment(name or "PATH", UNKNOWN_VALUE if value is None else value, value is not None, True)
            for name, value in find_given(command)
        ]
        return [word for word in told if word]

    def take_inputs(self, text, commands):
        """Takes what gives another standard input to commands that are elsewhere."""
        self.is_fed = self.is_fed or has_functions(text, commands) or any(map(feeds_others, commands))

    def take_exec(self, words, command):
        """Takes "exec" without a program. A word that is empty may be no word."""
        if command.replaces_input and not any(words[skip_prefix(words, 0, "exec") :]):
            self.input = command
            self.documents.append(command.document)

    def add(self, line, command):
        start = find_start(command.words)
        words = list(zip(command.marked[start:], command.known[start:]))
        if len(self.lines) > COMMANDS_MAX or self.bytes > ALL_BYTES_MAX:
            return
        given = self.take_given(command)
        assignments, words = self.take_assignments([] if command.is_array else words)
        assignments = given + assignments
        if words and words[0] in ("cd", "pushd"):
            self.change_directory(words)
        elif words and words[0] in (".", "source"):
            name = words[1] if len(words) > 1 else ""
            for path in self.paths if name and "/" not in name else []:  # where a shell looks for it first
                self.append(line, assignments + ["bash", "--", os.path.join(path, name)], command, True)
            self.append(line, assignments + ["bash", "--", name], command, True)
            return
        elif words and words[0] == "exec":
            self.take_exec(words, command)
        if assignments + words:
            self.append(line, assignments + words, command)

    def add_unknown(self, line):
        """Tells that there are commands which are not known."""
        told = {"line": line, "words": [], "directories": [], "lost": True, "input": False}
        self.lines.append((line, json.dumps(told)))

    def add_end(self, line):
        """Tells how the state is at the end of the script, for a shell that has read it by "."."""
        told = {"end": True, "directories": self.directories, "lost": self.is_lost, "paths": self.paths}
        if self.input or self.is_fed:
            self.lines = [(number, self.add_input(text)) for number, text in self.lines]
        told["home"] = self.home is not None
        told["input"] = self.input is not None
        if self.directories != [""] or self.is_lost or self.paths or self.home or self.input:
            self.lines.append((line, json.dumps(told)))

    def add_input(self, text):
        """Tells of a command that it may have another standard input, by a loop or a function in which it is."""
        told = json.loads(text)
        if len(self.documents) > 1 and told.get("document") in self.documents:
            told.pop("document", None)
        told["input"] = told["input"] or self.is_fed or self.input is not None
        return json.dumps(told)

    def append(self, line, words, command, is_sourced=False):
        if len(self.lines) > COMMANDS_MAX:
            return
        if len(self.lines) == COMMANDS_MAX:
            words = []  # there are more
        told = {"line": line, "words": words, "directories": self.directories, "lost": self.is_lost}
        told["input"] = command.reads_other or self.input is not None
        if is_sourced:
            told["sourced"] = True
        if self.paths:
            told["paths"] = self.paths
        document = command.document if command.reads_other or not self.input else self.input.document
        if self.is_fed and not command.reads_other:
            document = None
        if document is not None:
            told["document"] = document
        text = json.dumps(told)
        if len(text) > BYTES_MAX:
            told.pop("document", None)
            text = json.dumps(told)
        if len(text) > BYTES_MAX:
            told["words"] = [word if len(word) < WORD_BYTES_MAX else "" for word in words[:4]]
            told["cut"] = True  # a script among the further words is not looked at
            text = json.dumps(told)
        self.lines.append((line, text))
        self.bytes += len(text)
        if self.bytes > ALL_BYTES_MAX:
            self.add_unknown(line)

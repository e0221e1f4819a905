"""Part of the parsers of callgate inspect: what they have found, and how they tell it.

A parser prints a line "LINE KIND WHAT" for each finding, as soon as it has it: what is found before the parser is ended
for its time or memory is told as well. At the end it prints "COUNT unlisted KIND" for those of a kind that it has left
out, and "end COUNT" with how many lines there were. cli/inspect/protocol.c takes nothing else.
"""

import json
import os
import re
import sys

OF_A_KIND_MAX = 300  # so that many harmless findings do not hide a bad one
WHAT_CHARACTERS_MAX = 100
LITERAL_DOLLAR = "\0"  # in an assignment: a "$" by which nothing is referred to
LOCAL_IMPORTS_MAX = 1000  # cli/inspect/findings.h
MODULE_NAME = re.compile(r"\.*(?:[^\W\d]\w{0,99}(?:\.[^\W\d]\w{0,99}){0,9})?\Z")
ASSIGNMENT_CHARACTERS_MAX = 190  # of ASCII; cli/inspect/protocol.c takes 800 bytes, also if all are escaped


def clean(text, characters_max=WHAT_CHARACTERS_MAX):
    """One line of printable characters, shortened."""
    text = re.sub(r"\s+", " ", text).strip()
    if len(text) > characters_max:
        text = text[:characters_max] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode("ascii") for c in text)


def load_patterns():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "patterns.json"), encoding="utf-8") as file:
        patterns = json.load(file)
    return {
        where: [(kind, re.compile(text)) for kind, texts in kinds.items() for text in texts]
        for where, kinds in patterns.items()
    }


class Findings:
    """The findings of one file, each once a line."""

    def __init__(self, tell=None):
        """tell: gets each line that the parser prints, as it is found; None: nothing is printed."""
        self.write, self.told = tell, 0
        self.found = set()
        self.count = {}
        self.left_out = {}  # for each kind the hashes of further findings
        self.modules = set()  # that are imported
        self.local_imports = set()
        self.patterns = load_patterns()
        self.assignments = set()  # to environment variables; each is told with its first line

    def tell(self, number, kind, what):
        self.told += 1
        if self.write:
            self.write("%d %s %s\n" % (number, kind, what))

    def keep(self, finding):
        line, kind, what = finding
        self.found.add(finding)
        self.tell(line, kind, what or "-")

    def add(self, line, kind, what):
        finding = (max(line, 1), kind, clean(what))
        if kind in ("import", "standard"):
            # once each, and all: with too many of them, the program is one that could not be parsed
            if (kind, what) not in self.modules:
                self.modules.add((kind, what))
                self.keep(finding)
        elif finding not in self.found and self.count.get(kind, 0) >= OF_A_KIND_MAX:
            self.left_out.setdefault(kind, set()).add(hash(finding))
        elif finding not in self.found:
            self.keep(finding)
            self.count[kind] = self.count.get(kind, 0) + 1

    def add_local_import(self, line, name):
        """Tells of an import that may be one of a file of the program: "package.module", or with dots in front."""
        if name in self.local_imports or len(self.local_imports) >= LOCAL_IMPORTS_MAX:
            return
        if name and MODULE_NAME.match(name) and len(name) <= 200:
            self.local_imports.add(name)
            self.tell(max(line, 1), "local-import", name)

    def add_assignment(self, line, text):
        """
        Tells that a program sets an environment variable: "NAME=VALUE" or "NAME+=VALUE". cli/inspect/findings.c knows
        which ones are of note: there "$NAME" is the value that the variable has already, and "\\$NAME" is text.
        There is no limit here, so that many harmless ones hide none: with too many lines, the program is one that could
        not be parsed.
        """
        self.look_at(line, text.replace(LITERAL_DOLLAR, "$"), "shell")
        name = re.match(r"[^+=]*", text).group(0)
        text = re.sub(LITERAL_DOLLAR + r"(?=\{?%s\b)" % re.escape(name), r"\\$", text).replace(LITERAL_DOLLAR, "$")
        text = text.encode("ascii", "backslashreplace").decode("ascii")
        cleaned = clean(text, ASSIGNMENT_CHARACTERS_MAX)
        if cleaned not in self.assignments:
            self.assignments.add(cleaned)
            self.tell(max(line, 1), "assignment", cleaned)

    def attempt(self, line, function, *arguments):
        """
        Calls a function that looks at one part of the program. If it fails, only what it would have found is lost:
        that is told. False: it failed.
        """
        try:
            function(*arguments)
            return True
        except Exception as error:  # whatever hostile text has led to
            self.add(line, "unparsable", "could not be parsed: %s: %s" % (type(error).__name__, error))
            return False

    def look_at(self, line, text, *where):
        """Looks for the patterns of these groups in a text of the program, such as a file's name."""
        for group in where:
            for kind, pattern in self.patterns[group]:
                match = pattern.search(text[:100000])
                if match:
                    self.add(line, kind, match.group(0))

    def look_at_directory(self, line, name):
        """Looks whether a directory that is read or copied is one of credentials."""
        for kind, pattern in self.patterns["directories"]:
            if pattern.search(name[:10000]):
                self.add(line, kind, "all of " + name)
                return

    def look_at_lines(self, text):
        """Looks for patterns in the lines of a text that could not be parsed; perhaps another version could."""
        for number, line in enumerate(text.splitlines(), 1):
            self.look_at(number, line, "strings", "shell")

    def end(self):
        """Tells what was left out, and that this was all."""
        for kind, hashes in self.left_out.items():
            self.tell(len(hashes), "unlisted", kind)
        if self.write:
            self.write("end %d\n" % self.told)


class InnerFindings(Findings):
    """What is found in a program that is a text of another one: findings of that one, in the line of the text."""

    def __init__(self, outer, line):
        super().__init__()
        self.outer, self.line = outer, line

    def add(self, line, kind, what):
        self.outer.add(self.line, kind, what)

    def add_assignment(self, line, text):
        self.outer.add_assignment(self.line, text)

    def add_local_import(self, line, name):
        self.outer.add_local_import(self.line, name)


def print_line(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def read_program():
    return sys.stdin.buffer.read()

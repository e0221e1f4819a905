"""Looks at the programs in a JSON document, which it reads from standard input: the cells of a notebook of Jupyter, the
scripts of a package.json. Started by callgate inspect in a sandbox, as the document may be hostile.
"""

import ast
import json
import os
import re
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from findings import Findings, print_line, read_program
from python import Inspector
from shell import Looker
from shell_commands import Commands

SHELL_CELL = re.compile(r"^%%(?:bash|sh|system|sx|!|script\s+(?:--?\S+\s+)*(?:ba|da|z)?sh)\b")
PYTHON_CELL = re.compile(r"^%%(?:time|timeit|capture|prun|python3?|pypy)\b")
# lines of IPython, without their indentation
SHELL_LINE = re.compile(r"^(?:[\w, ]+=\s*)?(?:!!?|%(?:system|sx|sc)\s|%(?=(?:pip|conda|mamba)\s))(.*)")
OTHER_LINE = re.compile(r"^(?:[\w, ]+=\s*)?[%?].*|^\w[\w.]*\?\??\s*$")


class Lines:
    """In which lines of a document its texts are, which come in their order."""

    def __init__(self, text):
        self.text, self.at, self.line = text, 0, 1

    def find(self, value):
        for written in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
            at = self.text.find(written, self.at)
            if at >= 0:
                self.line += self.text.count("\n", self.at, at)
                self.at = at
                break
        return self.line


class DocumentFindings(Findings):
    """Findings of a program that is put together from texts of a document: in the lines of that."""

    def __init__(self, tell):
        super().__init__(tell)
        self.lines = []  # for each line of the program

    def line_of(self, line):
        return self.lines[line - 1] if 0 < line <= len(self.lines) else 1

    def add(self, line, kind, what):
        super().add(self.line_of(line), kind, what)

    def add_assignment(self, line, text):
        super().add_assignment(self.line_of(line), text)

    def add_local_import(self, line, name):
        super().add_local_import(self.line_of(line), name)


class Document:
    """Looks at one document."""

    def __init__(self, text):
        self.findings = DocumentFindings(print_line)
        self.lines = Lines(text)
        self.program = []  # the lines of Python in all cells: a name of one is used in others
        self.commands = []
        self.unread = set()  # languages of cells that have no parser

    def look_at_shell(self, text):
        """A command line, in the last line of the program."""
        commands = Commands()
        Looker(self.findings, len(self.findings.lines), commands).look_at(text)
        line = self.findings.line_of(len(self.findings.lines))
        self.commands += [(line, json.dumps({**json.loads(told), "line": line})) for _, told in commands.lines]

    def add_line(self, text, written):
        self.findings.lines.append(self.lines.find(written))
        self.program.append(text)

    # ---- notebooks ----

    def look_at_cell(self, source, language):
        texts = source.splitlines(True)
        first = texts[0].strip() if texts else ""
        if language in ("bash", "sh", "shell") or SHELL_CELL.match(first):
            self.add_line("", texts[0])
            self.look_at_shell("".join(texts[first.startswith("%%") :]))
        elif (first.startswith("%%") and not PYTHON_CELL.match(first)) or language != "python":
            self.add_line("", texts[0])
            name = first.split()[0] if first.startswith("%%") else language
            if name not in self.unread:
                self.findings.add(len(self.findings.lines), "not-looked-at", "code of %s: no parser for it here" % name)
            self.unread.add(name)
        else:
            self.take_python(texts)

    def take_python(self, texts):
        start, is_plain = len(self.program), True
        try:
            ast.parse("".join(texts))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            is_plain = False
        for text in texts:
            self.take_line(text, is_plain)
        try:
            ast.parse("\n".join(self.program[start:]))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = start + (getattr(error, "lineno", None) or 1)
            self.findings.add(line, "syntax", getattr(error, "msg", str(error)))
            for at in range(start, len(self.program)):
                self.findings.look_at(at + 1, self.program[at], "strings", "shell")
                self.program[at] = ""

    def take_line(self, written, is_plain):
        """is_plain: the cell is Python as it is: a line that begins with "%" is a part of an expression."""
        text = written.rstrip("\n")
        stripped = text.lstrip()
        match = None if is_plain else SHELL_LINE.match(stripped)
        is_other = not is_plain and not match and OTHER_LINE.match(stripped)
        self.add_line(text[: len(text) - len(stripped)] + "pass" if match or is_other else text, written)
        if match:
            self.look_at_shell(match.group(1))

    def look_at_notebook(self, notebook):
        metadata = notebook.get("metadata")
        described = metadata.get("language_info") or metadata.get("kernelspec") if isinstance(metadata, dict) else None
        language = described.get("name") or described.get("language") if isinstance(described, dict) else None
        language = re.sub(r"[\d.]*$", "", str(language or "python")).lower()
        for cell in notebook["cells"]:
            source = cell.get("source", "") if isinstance(cell, dict) and cell.get("cell_type") == "code" else ""
            source = "".join(map(str, source)) if isinstance(source, list) else str(source)
            if source.strip():
                self.findings.attempt(1, self.look_at_cell, source, "python" if language == "ipython" else language)
        Inspector(ast.parse("\n".join(self.program)), self.findings).look_at_all()

    # ---- package.json ----

    def look_at_scripts(self, scripts):
        for script in scripts.values():
            if isinstance(script, str):
                self.add_line("", script)
                self.look_at_shell(script)

    def look_at(self, document):
        if isinstance(document, dict) and isinstance(document.get("cells"), list):
            self.findings.attempt(1, self.look_at_notebook, document)
        elif isinstance(document, dict) and isinstance(document.get("scripts", {}), dict):
            self.findings.attempt(1, self.look_at_scripts, document.get("scripts", {}))
        else:
            self.findings.add(1, "syntax", "neither a notebook nor a package.json")


def main():
    warnings.simplefilter("ignore")
    text = read_program().decode("utf-8", "replace")
    looked = Document(text)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        looked.findings.add(1, "syntax", "no JSON: %s" % error)
        looked.findings.look_at_lines(text)
    else:
        looked.look_at(document)
    for line, command in looked.commands:
        looked.findings.tell(line, "command", command)
    looked.findings.end()


if __name__ == "__main__":
    main()

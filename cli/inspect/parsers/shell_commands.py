"""Part of the shell parser of callgate inspect: tells which commands a script runs, for callgate run --inspect.

It looks at the scripts that these start. A word that the shell expands is an empty text, so that no file has its name.
"""

import json
import os
import re

COMMANDS_MAX = 500
BYTES_MAX = 30000  # of one command; cli/inspect/protocol.c takes no more
ALL_BYTES_MAX = 400000
WORD_BYTES_MAX = 4000  # of one of many words
DIRECTORIES_MAX = 4
KEYWORDS = {"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "function", "coproc"}


class Commands:
    """The commands of one script, in their order, and the directories in which they may run."""

    def __init__(self):
        self.lines = []
        self.bytes = 0
        # "": where the script began. One is added for each "cd", which may fail, or be in a shell of its own.
        self.directories = [""]
        self.is_lost = False  # there are others, which are not known

    def change_directory(self, words):
        names = [word for word in words[1:] if not re.match(r"^-[LPe@]*$", word) and word != "--"]
        if words[1:] == ["-"] or (names and names[0] == "."):
            return
        if not names or not names[0] or names[0][0] in "-+~":
            self.is_lost = True
            return
        for directory in list(self.directories):
            joined = os.path.join(directory, names[0])
            if joined not in self.directories:
                self.directories.append(joined)
        if len(self.directories) > DIRECTORIES_MAX:
            self.is_lost = True
            del self.directories[DIRECTORIES_MAX:]

    def add(self, line, command):
        words = [word if known else "" for word, known in zip(command.words, command.known)]
        while words and words[0] in KEYWORDS:
            words.pop(0)
        if not words or len(self.lines) > COMMANDS_MAX or self.bytes > ALL_BYTES_MAX:
            return
        if words[0] in ("cd", "pushd"):
            self.change_directory(words)
        elif words[0] in (".", "source"):
            words = ["bash", "--", words[1] if len(words) > 1 else ""]
        if len(self.lines) == COMMANDS_MAX:
            words = []  # there are more
        self.append(line, words, command)

    def append(self, line, words, command):
        told = {"line": line, "words": words, "directories": self.directories, "lost": self.is_lost}
        told["input"] = command.reads_other
        if command.document is not None:
            told["document"] = command.document
        text = json.dumps(told)
        if len(text) > BYTES_MAX:
            told.pop("document", None)
            told["words"] = [word if len(word) < WORD_BYTES_MAX else "" for word in words[:4]]
            text = json.dumps(told)
        self.lines.append((line, text))
        self.bytes += len(text)
        if self.bytes > ALL_BYTES_MAX:
            told = {"line": line, "words": [], "directories": [], "lost": True, "input": False}
            self.lines.append((line, json.dumps(told)))

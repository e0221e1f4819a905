"""Part of the shell parser of callgate inspect: splits a script into commands.

It knows quotes, comments, here-documents, redirections, operators and substitutions, in whatever order hostile text has
them; it expands nothing. A text that is no shell script comes to some commands as well, and to no error.
"""

import re

OPERATORS = re.compile(r"\|\||&&|;;&?|;&|\|&|[;|&()\n]")
REDIRECTION = re.compile(r"(\d*|&)(>>|>\||>&|<>|<<<|<&|>|<)")
COMMANDS_MAX = 100000


class Command:
    """A simple command: its words without quotes, what it is redirected to, and the substitutions in it."""

    def __init__(self, line, is_piped_from_previous):
        self.line = line
        self.is_piped_from_previous = is_piped_from_previous
        self.is_array = False  # the values of NAME=(...), which are no command
        self.words = []
        self.known = []  # for each word: whether it is what the program gets. False: the shell expands it
        self.reads_other = is_piped_from_previous  # its standard input is not that of the shell
        self.document = None  # the text that it reads, of a here-document without expansions
        self.targets = []
        self.inner = []
        self.escapes = 0  # characters written as \x.. or \ooo in $'...'


def is_pattern(shape):
    """Whether a shell makes other words of one with this shape. "{" and "[" alone are commands."""
    return bool(re.search(r"^~|[*?]|[\[{].", shape)) and shape not in ("[[", "{}")


def find_end_of_substitution(text, at, opening, closing):
    """Where the parenthesis that is open at `at` is closed; the end of the text if nowhere."""
    depth = 1
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "'":
            end = text.find("'", at + 1)
            at = end if end >= 0 else len(text)
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return len(text)


class Splitter:
    """Goes through a script once."""

    def __init__(self, text):
        self.text = text
        self.at = 0
        self.line = 1
        self.counted = 0  # up to where lines are counted
        self.commands = []
        self.word = None
        self.shape = ""  # the word with "q" for each part that is quoted
        self.is_expanded = False  # the word
        self.takes_target = False
        self.heredocs = []
        self.command = Command(1, False)

    def current_line(self):
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line

    # ---- ends ----

    def end_word(self):
        if self.word is None:
            return
        if not self.command.words:
            self.command.line = self.current_line()
        (self.command.targets if self.takes_target else self.command.words).append(self.word)
        if not self.takes_target:
            self.command.known.append(not self.is_expanded and not is_pattern(self.shape))
        self.word = None
        self.shape = ""
        self.is_expanded = False
        self.takes_target = False

    def end_command(self, is_pipe):
        self.end_word()
        self.takes_target = False
        if self.command.words or self.command.targets or self.command.inner:
            self.commands.append(self.command)
        self.command = Command(self.current_line(), is_pipe)

    def add(self, text, is_quoted=True):
        self.word = (self.word or "") + text
        self.shape += "q" if is_quoted else text

    # ---- pieces ----

    def take_substitution(self, start, opening, closing):
        """$(...), <(...), `...`: kept in the word as it is written, and looked at by itself."""
        if closing == "`":
            end = self.text.find("`", start)
            end = end if end >= 0 else len(self.text)
        else:
            end = find_end_of_substitution(self.text, start, opening, closing)
        inner = self.text[start:end]
        self.is_expanded = True
        if self.text[self.at : self.at + 3] != "$((":
            self.command.inner.append(inner)
        self.add("$(" if closing == "`" else self.text[self.at : start])
        self.add(inner + ")")
        self.at = end + 1

    def take_dollar(self):
        text, at = self.text, self.at
        self.is_expanded = True
        if text.startswith("$(", at):
            self.take_substitution(at + 2, "(", ")")
        elif text.startswith("${", at):
            end = find_end_of_substitution(text, at + 2, "{", "}")
            self.add(text[at : end + 1])
            self.at = end + 1
        elif text.startswith("$'", at):
            self.take_ansi_quotes()
        else:
            self.add("$")
            self.at += 1

    def take_ansi_quotes(self):
        match = re.compile(r"\$'((?:[^'\\]|\\.)*)'?", re.DOTALL).match(self.text, self.at)
        escape = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4})")
        self.command.escapes += len(escape.findall(match.group(1)))
        self.add(escape.sub(self.unescape, match.group(1)))
        self.at = match.end()

    @staticmethod
    def unescape(match):
        digits = match.group(1)
        code = int(digits[1:], 16) if digits[0] in "xu" else int(digits, 8)
        return chr(code) if 0x20 <= code < 0xD800 else "?"

    def take_double_quotes(self):
        self.add("")
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if char == "\\" and self.at + 1 < len(self.text):
                self.add(self.text[self.at + 1])
                self.at += 2
            elif char == "$":
                if self.text.startswith("$'", self.at):
                    self.add("$")
                    self.at += 1
                else:
                    self.take_dollar()
            elif char == "`":
                self.take_substitution(self.at + 1, "`", "`")
            else:
                end = re.compile(r'[^"\\$`]+|.', re.DOTALL).match(self.text, self.at).end()
                self.add(self.text[self.at : end])
                self.at = end
        self.at += 1

    def take_single_quotes(self):
        end = self.text.find("'", self.at + 1)
        end = end if end >= 0 else len(self.text)
        self.add(self.text[self.at + 1 : end])
        self.at = end + 1

    def take_heredoc(self):
        """<<WORD: remembers what ends it; the text begins at the next line."""
        match = re.compile(r"<<(-?)\s*\\?(['\"]?)([^\s'\"|;&<>()]*)\2").match(self.text, self.at)
        self.at = match.end()
        if match.group(3):
            is_quoted = match.group(2) != "" or "\\" in match.group(0)
            self.heredocs.append((match.group(1) == "-", match.group(3), is_quoted, self.command))
        self.command.reads_other = True

    def skip_heredocs(self):
        """Goes on behind the texts of the here-documents of the line that has ended."""
        for strips, end, is_quoted, command in self.heredocs:
            pattern = re.compile(r"^%s%s$" % (r"\t*" if strips else "", re.escape(end)), re.MULTILINE)
            match = pattern.search(self.text, self.at)
            start, self.at = self.at, match.end() if match else len(self.text)
            text = self.text[start : match.start() if match else len(self.text)]
            if is_quoted or not re.search(r"[$`\\]", text):
                command.document = re.sub(r"(?m)^\t+", "", text) if strips else text
            if not is_quoted and self.commands:
                self.commands[-1].inner += find_substitutions(text)
            name = self.commands[-1].words[0] if self.commands and self.commands[-1].words else ""
            if name.rsplit("/", 1)[-1] in ("sh", "bash", "dash", "zsh", "ksh"):
                self.commands[-1].inner.append(text)
        self.heredocs = []

    def take_operator(self, operator):
        is_array = operator == "(" and re.fullmatch(r"\w+(\[.*\])?\+?=", self.shape)
        was_array = self.command.is_array and operator == "\n"
        self.end_word()  # still on its own line
        self.at += len(operator)
        self.end_command(operator in ("|", "|&"))
        self.command.is_array = bool(is_array or was_array)
        if operator == "\n":
            self.skip_heredocs()

    # ---- all ----

    def step(self):
        text, char = self.text, self.text[self.at]
        if char == "\\":
            if text[self.at + 1 : self.at + 2] != "\n":
                self.add(text[self.at + 1 : self.at + 2])
            self.at += 2
        elif char in " \t\r":
            self.end_word()
            self.at += 1
        elif char == "#" and self.word is None:
            end = text.find("\n", self.at)
            self.at = end if end >= 0 else len(text)
        elif char == "'":
            self.take_single_quotes()
        elif char == '"':
            self.take_double_quotes()
        elif char == "$":
            self.take_dollar()
        elif char == "`":
            self.take_substitution(self.at + 1, "`", "`")
        elif text.startswith(("<(", ">("), self.at):
            self.take_substitution(self.at + 2, "(", ")")
        elif text.startswith("<<", self.at) and not text.startswith("<<<", self.at):
            self.end_word()
            self.take_heredoc()
        else:
            self.take_rest()

    def take_rest(self):
        redirection = REDIRECTION.match(self.text, self.at)
        operator = OPERATORS.match(self.text, self.at)
        if redirection and (self.word is None or not redirection.group(1)):
            self.end_word()
            self.at = redirection.end()
            self.takes_target = True
            self.command.reads_other = self.command.reads_other or "<" in redirection.group(2)
        elif operator:
            self.take_operator(operator.group(0))
        else:
            end = re.compile(r"[^\\\s'\"$`<>;|&()#]+|.", re.DOTALL).match(self.text, self.at).end()
            self.add(self.text[self.at : end], False)
            self.at = end

    def split(self):
        while self.at < len(self.text):
            if len(self.commands) >= COMMANDS_MAX:
                # what is behind them must not pass for harmless: the file is one that could not be parsed
                raise OverflowError("too many commands")
            self.step()
        self.end_command(False)
        return self.commands


def find_substitutions(text):
    """The substitutions in a text that a shell expands as within double quotes."""
    commands = Splitter('"%s"' % text.replace('"', "")).split()
    return [inner for command in commands for inner in command.inner]


def split_commands(text):
    """The simple commands of a script, in their order."""
    return Splitter(text).split()

"""Part of the shell parser of callgate inspect: splits a script into commands.

It knows quotes, comments, here-documents, redirections, operators and substitutions, in whatever order hostile text has
them; it expands nothing. A text that is no shell script comes to some commands as well, and to no error.
"""

import re

from findings import LITERAL_DOLLAR

ANSI_QUOTES = re.compile(r"\$'((?:[^'\\]|\\.)*)'?", re.DOTALL)
BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`?", re.DOTALL)
ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)(\[.*?\])?(\+?=)", re.DOTALL)
SETTERS = {"export", "declare", "typeset", "readonly", "local"}  # builtins that take assignments
# after these words a shell still looks for "case", "esac", and elements of arrays that are assigned to
RESERVED = {"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "coproc"}
BEGINNINGS = {"{", "if", "while", "until", "for", "select", "case", "[["}  # of compound commands
OPERATORS = re.compile(r"\|\||&&|;;&?|;&|\|&|[;|&()\n]")
REDIRECTION = re.compile(r"(\d*|&(?=>))(>>|>\||>&|<>|<<<|<<-?|<&|>|<)")
COMMANDS_MAX = 100000
WORK_MIN = 100000  # characters of a text that may be looked at for ends of expansions
WORK_MAX = 20  # and how often all of them


def find_start(words):
    """Where a command begins in words: behind reserved words, and what these take."""
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if word == "time":
            at += words[at : at + 1] == ["-p"]
            at += words[at : at + 1] == ["--"]
        elif word == "function" or (word == "coproc" and words[at + 1 : at + 2] and words[at + 1] in BEGINNINGS):
            at += 1
        elif word in ("for", "select") and words[at + 1 : at + 2] == ["do"]:
            at += 2
        elif word not in RESERVED:
            return at - 1
    return at


class Command:
    """A simple command: its words without quotes, what it is redirected to, and the substitutions in it."""

    def __init__(self, line, is_piped_from_previous):
        self.line = line
        self.is_piped_from_previous = is_piped_from_previous
        self.depth = 0  # of the parentheses that it is in
        self.is_array = False  # the values of NAME=(...), which are no command
        self.words = []
        self.marked = []  # the same with LITERAL_DOLLAR for each "$" that the shell does not expand
        self.known = []  # for each word: whether it is what the program gets. False: the shell expands it
        self.replaces_input = False  # a redirection does that
        self.reads_other = is_piped_from_previous  # its standard input is not that of the shell
        self.document = None  # the text that it reads, of a here-document without expansions
        self.read_text = None  # the same, also if there are expansions in it
        self.targets = []
        self.inner = []
        self.arithmetic = []  # the text of a "((...))" that begins here
        self.given = None  # what shell_variables.py finds; None: not looked for yet
        self.numbered = []  # variables that get the number of a descriptor
        self.expanded = []  # texts of here-documents that the shell expands
        self.is_at_start = True  # there are only reserved words before
        self.is_before_program = True  # and assignments
        self.follows_parenthesis = False  # it is behind a ")", with nothing between
        self.pipes_into_others = False  # it is a pipe that is read by what is in the parentheses behind it
        self.stdin = None  # the here-document that is its standard input, unless another redirection came later
        self.lacks_end = False  # a here-document of it has no end line
        self.escapes = 0  # characters written as \x.. or \ooo in $'...'


def is_pattern(shape):
    """Whether a shell makes other words of one with this shape. "{" and "[" alone are commands."""
    return bool(re.search(r"^~|[*?]|[\[{].", shape)) and shape not in ("[[", "{}")


class Splitter:
    """Goes through a script once."""

    def __init__(self, text, at=0, shared=None):
        """at: behind the "$(" whose end is looked for, which `shared` goes with; the script ends there."""
        self.text = text
        self.at = self.counted = at  # up to where lines are counted
        self.shared = shared or {"ends": {}, "work": 0}  # of expansions, by where they begin
        self.is_inner = shared is not None
        self.is_done = False
        self.depth = 0  # of parentheses
        self.cases = []  # for each "case": the depth, and whether a pattern comes
        self.case_wait = 0  # words that come until the "in" of a "case"
        self.line = 1
        self.commands = []
        self.parts = None  # of the word; None: no word has begun
        self.shapes = []  # the word with "q" for each part that is quoted
        self.is_expanded = False  # the word
        self.has_quotes = False  # the word
        self.takes_target = False
        self.takes_text = False  # the word is a text that is read: "<<<"
        self.takes_end_of = None  # the word is what ends a here-document: its "<<" or "<<-", and descriptor
        self.heredocs = []
        self.without_end = set()  # what ends no here-document from here on
        self.arithmetic_end = 0  # of a "((...))"
        self.command = Command(1, False)

    def current_line(self):
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line

    # ---- ends ----

    def end_word(self):
        if self.parts is None:
            return
        marked, shape = "".join(self.parts), "".join(self.shapes)
        word = marked.replace(LITERAL_DOLLAR, "$")
        self.parts, self.shapes = None, []
        command = self.command
        is_redirection = self.takes_target or self.takes_end_of
        was_at_start = command.is_at_start
        command.is_at_start = was_at_start and not is_redirection and not self.has_quotes and word in RESERVED
        command.is_before_program = command.is_before_program and bool(
            is_redirection or command.is_at_start or ASSIGNMENT.match(shape)
        )
        if self.takes_end_of:
            self.end_heredoc_word(word)
        elif self.takes_target:
            command.targets.append(word)
            if self.takes_text:
                command.read_text = word + "\n"
                command.document = None if self.is_expanded else command.read_text
        else:
            if not command.words:
                command.line = self.current_line()
            command.words.append(word)
            command.marked.append(marked)
            command.known.append(not self.is_expanded and not is_pattern(shape))
            self.look_for_case("" if self.has_quotes else word, was_at_start and not command.is_array)
        self.is_expanded = self.has_quotes = self.takes_target = self.takes_text = False
        self.takes_end_of = None

    def look_for_case(self, word, is_at_start):
        """Follows "case WORD in ... esac", for the parentheses behind patterns close nothing."""
        is_in_case = self.cases and self.cases[-1][0] == self.depth
        if self.case_wait == 2:
            self.case_wait = 1
        elif self.case_wait == 1:
            if word == "in":
                self.cases.append([self.depth, True])
                self.end_command(False)
            self.case_wait = 0
        elif word == "case" and is_at_start:
            self.case_wait = 2
        elif word == "esac" and is_in_case and is_at_start:
            self.cases.pop()

    def end_heredoc_word(self, word):
        operator, descriptor = self.takes_end_of
        heredoc = (operator == "<<-", word, self.has_quotes, self.command)
        self.heredocs.append(heredoc)
        if descriptor in ("", "0"):
            self.command.stdin = heredoc

    def end_command(self, is_pipe, operator=""):
        self.end_word()
        self.takes_target = self.takes_text = False
        self.takes_end_of = None
        command = self.command
        command.pipes_into_others = operator == "(" and command.is_piped_from_previous and not command.words
        if command.words or command.targets or command.inner or command.arithmetic or command.pipes_into_others:
            self.commands.append(command)
        self.command = Command(self.current_line(), is_pipe)
        self.command.follows_parenthesis = operator == ")"
        self.command.depth = self.depth

    def add(self, text, is_quoted=True, is_literal=False):
        if self.parts is None:
            self.parts = []
        self.parts.append(text.replace("$", LITERAL_DOLLAR) if is_literal else text)
        self.shapes.append("q" if is_quoted else text)

    def find_end(self, at, closing, found, is_quoted=False):
        """
        Where `closing` is, from `at` on, of "${", "((" or a text with its quotes; the end of the text if nowhere.
        found: gets the command substitutions before it. is_quoted: quotes are characters like others there.
        """
        text, start, depth = self.text, at, 0
        opening = {")": "(", "]": "["}.get(closing)  # of further ones in it
        begins = ("$(",) if is_quoted or closing == ")" else ("$(", "<(", ">(")
        while at < len(text) and not (depth == 0 and text[at] == closing):
            if text[at] == "\\":
                at += 2
            elif text[at] == "`" or text.startswith(begins, at):
                at, inner = self.find_substitution(at, is_quoted)
                found += inner
            elif text.startswith("${", at):
                at = self.find_end(at + 2, "}", found) + 1
            elif not is_quoted and text.startswith("$'", at):
                at = ANSI_QUOTES.match(text, at).end()
            elif not is_quoted and text[at] == "'":
                at = text.find("'", at + 1) + 1 or len(text)
            elif not is_quoted and text[at] == '"':
                at = self.find_end(at + 1, '"', found, True) + 1
            else:
                depth += (text[at] == opening) - (text[at] == closing)
                at += 1
        self.count_work(at - start)
        return min(at, len(text))

    def count_work(self, characters):
        """Notes that so many characters were looked at once more."""
        self.shared["work"] += characters
        if self.shared["work"] > WORK_MIN + WORK_MAX * len(self.text):
            raise OverflowError("too many expansions in each other")

    def find_substitution(self, at, is_quoted):
        """Where a substitution ends that begins at `at`, and the commands in it. is_quoted: it is in "..."."""
        ends = self.shared["ends"]
        if at not in ends:
            ends[at] = (len(self.text), [])  # within itself there is none
            ends[at] = self.read_substitution(at, is_quoted)
        return ends[at]

    def read_substitution(self, at, is_quoted):
        if self.text[at] == "`":
            match = BACKTICKS.match(self.text, at)
            return match.end(), [re.sub(r'\\([$`\\"])' if is_quoted else r"\\([$`\\])", r"\1", match.group(1))]
        if self.text.startswith("$((", at):
            found = []
            end = self.find_end(at + 3, ")", found)
            if self.text.startswith("))", end):
                return end + 2, found
        inner = Splitter(self.text, at + 2, self.shared)
        inner.split()
        # here-documents whose text comes behind it
        self.heredocs += [heredoc[:3] + (None,) for heredoc in inner.heredocs]
        return inner.at + 1, [self.text[at + 2 : inner.at]]

    # ---- pieces ----

    def take_substitution(self, is_quoted=False):
        """$(...), <(...), `...`: kept in the word as it is written, and looked at by itself."""
        end, inner = self.find_substitution(self.at, is_quoted)
        self.is_expanded = True
        self.command.inner += inner
        text = self.text[self.at : end]
        self.add("$(" + text.strip("`") + ")" if text[0] == "`" else text)
        self.at = end

    def take_expansion(self, start, closing):
        """${...}, $[...], and the [...] of an element: kept as it is written."""
        end = self.find_end(start, closing, self.command.inner) + 1
        self.is_expanded = True
        self.add(self.text[self.at : end])
        self.at = end

    def take_dollar(self):
        text, at = self.text, self.at
        if text.startswith("$(", at):
            self.take_substitution()
        elif text.startswith("${", at):
            self.take_expansion(at + 2, "}")
        elif text.startswith("$[", at):
            self.take_expansion(at + 2, "]")
        elif text.startswith("$'", at):
            self.take_ansi_quotes()
        else:
            self.is_expanded = True
            if not text.startswith('$"', at):
                self.add("$")
            self.at += 1

    def take_ansi_quotes(self):
        match = ANSI_QUOTES.match(self.text, self.at)
        self.is_expanded = self.has_quotes = True
        escape = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4})")
        self.command.escapes += len(escape.findall(match.group(1)))
        self.add(escape.sub(self.unescape, match.group(1)), is_literal=True)
        self.at = match.end()

    @staticmethod
    def unescape(match):
        digits = match.group(1)
        code = int(digits[1:], 16) if digits[0] in "xu" else int(digits, 8)
        return chr(code) if 0x20 <= code < 0xD800 else "?"

    def take_double_quotes(self):
        self.add("")
        self.has_quotes = True
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if char == "\\" and self.at + 1 < len(self.text):
                # before other characters it stays
                kept = re.sub(r"^\\(?:\n|(?=[$`\"\\]))", "", self.text[self.at : self.at + 2])
                self.add(kept, is_literal=True)
                self.at += 2
            elif char == "$":
                if self.text.startswith(("$'", '$"'), self.at):
                    self.add("$", is_literal=True)
                    self.at += 1
                else:
                    self.take_dollar()
            elif char == "`":
                self.take_substitution(True)
            else:
                end = re.compile(r'[^"\\$`]+|.', re.DOTALL).match(self.text, self.at).end()
                self.add(self.text[self.at : end])
                self.at = end
        self.at += 1

    def take_single_quotes(self):
        end = self.text.find("'", self.at + 1)
        end = end if end >= 0 else len(self.text)
        self.add(self.text[self.at + 1 : end], is_literal=True)
        self.has_quotes = True
        self.at = end + 1

    def take_redirection(self, descriptor, operator):
        if operator in ("<<", "<<-"):
            self.takes_end_of = (operator, descriptor.lstrip("0") or descriptor[:1])
        else:
            self.takes_target = True
            self.takes_text = operator == "<<<" and descriptor.strip("0") == ""
        if "<" in operator or descriptor.strip("0") == "" != descriptor:
            if descriptor.strip("0") == "":
                self.command.stdin = self.command.document = self.command.read_text = None
                self.command.replaces_input = True
            self.command.reads_other = True

    def skip_heredocs(self):
        """Goes on behind the texts of the here-documents of the line that has ended."""
        for heredoc in self.heredocs:
            strips, end = heredoc[:2]
            pattern = re.compile(r"^%s%s$" % (r"\t*" if strips else "", re.escape(end)), re.MULTILINE)
            match = None if (strips, end) in self.without_end else pattern.search(self.text, self.at)
            if match:
                self.take_document(heredoc, self.text[self.at : match.start()])
                self.at = match.end()
            else:
                self.count_work(0 if (strips, end) in self.without_end else len(self.text) - self.at)
                # what comes may be a document, or commands: they are looked at
                self.without_end.add((strips, end))
                (heredoc[3] or self.command).lacks_end = True
        self.heredocs = []

    def take_document(self, heredoc, text):
        strips, _, is_quoted, command = heredoc
        last = self.commands[-1] if self.commands else Command(self.current_line(), False)
        is_of_inner = command is None
        command = command or last
        if command.stdin is heredoc:
            command.read_text = re.sub(r"(?m)^\t+", "", text) if strips else text
            if is_quoted or not re.search(r"[$`\\]", text):
                command.document = command.read_text
        if not is_quoted:
            last.inner += find_substitutions(text)
            last.expanded.append(text)
        names = {word.rsplit("/", 1)[-1] for word in last.words[:1] + command.words[:1]}
        if is_of_inner or names & {"sh", "bash", "dash", "zsh", "ksh"}:
            last.inner.append(text)

    def take_operator(self, operator):
        is_array = operator == "(" and re.fullmatch(r"\w+(\[.*\])?\+?=", "".join(self.shapes))
        was_array = self.command.is_array and operator == "\n"
        self.end_word()  # still on its own line
        if self.takes_operator(operator):
            return
        self.at += len(operator)
        # behind a pipe the next command may be on the next line
        command = self.command
        is_going_on = operator == "\n" and command.is_piped_from_previous and not (command.words or command.targets)
        self.end_command(operator in ("|", "|&") or is_going_on, operator)
        self.command.is_array = bool(is_array or was_array)
        if operator == "(" and self.at < self.arithmetic_end and self.text[self.at] == "(":
            self.command.arithmetic.append(self.text[self.at + 1 : self.arithmetic_end])
        if operator == "\n":
            self.skip_heredocs()

    def takes_operator(self, operator):
        """Follows parentheses and "case". True: this one ends the substitution whose end is looked for."""
        case = self.cases[-1] if self.cases and self.cases[-1][0] == self.depth else None
        if operator == "(":
            self.depth += 1
            if self.text.startswith("((", self.at) and self.at >= self.arithmetic_end:
                end = self.find_end(self.at + 2, ")", [])
                self.arithmetic_end = end if self.text.startswith("))", end) else 0
        elif operator == ")" and case:
            self.end_pattern(case)
        elif operator == ")" and self.depth > 0:
            self.depth -= 1
            case = self.cases[-1] if self.cases else None
            if case and case[0] == self.depth and case[1] and not self.command.is_array:
                self.end_pattern(case)
        elif operator == ")" and self.is_inner:
            self.is_done = True
        elif operator == "|" and case and case[1]:
            self.drop_pattern()
        elif operator in (";;", ";&", ";;&") and case:
            case[1] = True
        return self.is_done

    def end_pattern(self, case):
        if case[1]:
            self.drop_pattern()
        case[1] = False

    def drop_pattern(self):
        self.command.words, self.command.marked, self.command.known = [], [], []

    # ---- all ----

    def step(self):
        text, char = self.text, self.text[self.at]
        if char == "\\":
            if text[self.at + 1 : self.at + 2] != "\n":
                self.add(text[self.at + 1 : self.at + 2], is_literal=True)
                self.has_quotes = True
            self.at += 2
        elif char in " \t\r":
            self.end_word()
            self.at += 1
        elif char == "#" and self.parts is None and self.at >= self.arithmetic_end:
            end = text.find("\n", self.at)
            self.at = end if end >= 0 else len(text)
        elif char == "'":
            self.take_single_quotes()
        elif char == '"':
            self.take_double_quotes()
        elif char == "$":
            self.take_dollar()
        elif char == "`":
            self.take_substitution()
        elif text.startswith(("<(", ">("), self.at) and self.at >= self.arithmetic_end:
            self.take_substitution()
        elif char == "[" and self.command.is_before_program and self.is_name():
            self.take_subscript()
        else:
            self.take_rest()

    def is_name(self):
        """Whether the word is a name so far. It is read from its end on, and only to a "[": there may be many."""
        return all(re.fullmatch(r"\w*", shape) for shape in reversed(self.shapes)) and bool(
            re.match(r"[A-Za-z_]", "".join(self.shapes))
        )

    def take_subscript(self):
        """NAME[...] where a shell takes it for an element that is assigned to, whatever is in it."""
        found = []
        end = self.find_end(self.at + 1, "]", found) + 1
        if end > len(self.text):
            end = self.at + 1
        else:
            self.command.inner += found
        self.add(self.text[self.at : end], False)
        self.at = end

    def take_rest(self):
        redirection = REDIRECTION.match(self.text, self.at)
        operator = OPERATORS.match(self.text, self.at)
        if redirection and self.at < self.arithmetic_end:
            self.end_word()
            self.at += 1
        elif redirection and (self.parts is None or not redirection.group(1)):
            descriptor, operator = redirection.groups()
            if self.parts and re.fullmatch(r"\{[A-Za-z_]\w*\}", "".join(self.shapes)):
                descriptor = "".join(self.parts)  # a variable that gets its number
                self.command.numbered.append(descriptor[1:-1])
                self.parts, self.shapes = None, []
            self.end_word()
            self.at = redirection.end()
            self.take_redirection(descriptor, operator)
        elif operator:
            self.take_operator(operator.group(0))
        else:
            end = re.compile(r"[^\\\s'\"$`<>;|&()#\[]+|.", re.DOTALL).match(self.text, self.at).end()
            self.add(self.text[self.at : end], False)
            self.at = end

    def split(self):
        while self.at < len(self.text) and not self.is_done:
            if len(self.commands) >= COMMANDS_MAX:
                # what is behind them must not pass for harmless: the file is one that could not be parsed
                raise OverflowError("too many commands")
            self.step()
        self.end_command(False)
        return self.commands


def find_substitutions(text):
    """The substitutions in a text that a shell expands as within double quotes."""
    found = []
    Splitter(text).find_end(0, None, found, True)
    return found


def split_commands(text):
    """The simple commands of a script, in their order."""
    return Splitter(text).split()

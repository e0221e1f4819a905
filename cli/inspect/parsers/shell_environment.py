"""Part of the shell parser of callgate inspect: where a script writes or sends all environment variables."""

import re

from shell_names import NETWORK, find_program, name_of
from shell_words import ASSIGNMENT, BEGINNINGS, find_start, split_commands

# Programs that write what they read, whatever form they give to it.
PASSES = {
    "cat", "tac", "tee", "sort", "uniq", "base64", "base32", "gzip", "bzip2", "xz", "zstd", "openssl", "gpg", "xxd",
    "od", "hexdump", "rev", "tr", "jq", "nl", "pv", "paste", "fold", "column", "strings", "perl", "dd", "zip", "sponge",
}
WRITES_ARGUMENTS = {"echo", "printf", "cat"}
# Programs of other languages that print all: of awk, Perl, Python and node.
PRINTS = re.compile(r"\bin\s+ENVIRON\b|%ENV\b|print\([^\n]{0,40}os\.environ\)|\(process\.env\)")
REFERENCE = re.compile(r"\$\{?!?([A-Za-z_]\w*)")
ENDS = {"fi", "done", "}", "esac"}
COMMANDS_MAX = 50  # of those in parentheses, or of a loop
PIPES_MAX = 20
DEPTH_MAX = 3  # of substitutions in each other
CHARACTERS_MAX = 10000  # of one
NO_FILES = re.compile(r"^(/dev/(null|stdout|stderr|tty|fd/\d+)|[&\d-]*|.*[\n<(].*)$", re.DOTALL)


def is_printing(command):
    """Whether a command prints all variables: env, printenv, set, export -p, declare -x."""
    name, words = name_of(command.words)
    options = [word for word in words if word[:1] in "-+"]
    if any(word in ("-i", "-", "--ignore-environment") for word in command.words):
        return False
    if not name:
        bases = [word.rsplit("/", 1)[-1] for word in command.words[: find_program(command.words)]]
        return "env" in bases
    if name in ("printenv", "set", "export", "declare", "typeset") and len(options) == len(words):
        letters = "".join(options)
        return not words if name == "set" else not re.search(r"[fFn]", letters)
    return name in ("awk", "gawk", "mawk", "perl", "python", "python3", "node") and any(map(PRINTS.search, words))


class Environment:
    """Goes through the commands of a script in their order."""

    def __init__(self):
        self.variables = set()  # with all environment variables
        self.files = set()  # to which they were written
        self.depth = 0  # of the substitution that is looked at

    def refers(self, text):
        """Whether a text has a variable in it that has all."""
        return bool(self.variables) and any(name in self.variables for name in REFERENCE.findall(text))

    def substitutes(self, command):
        """Whether a command gets all through a substitution: "$(env)", <(env)."""
        if self.depth >= DEPTH_MAX:
            return False
        self.depth += 1
        found = any(self.carries_at_end(inner) for inner in command.inner if len(inner) <= CHARACTERS_MAX)
        self.depth -= 1
        return found

    def carries_at_end(self, text):
        """Whether what the commands of a text write has all in it."""
        commands = split_commands(text)
        for at in range(len(commands)):
            is_end = not commands[at + 1 : at + 2] or not commands[at + 1].is_piped_from_previous
            if is_end and self.carries(commands, at):
                return True
        return False

    def carries(self, commands, at):
        """Whether what the command at `at` writes has all in it."""
        for _ in range(PIPES_MAX):
            command = commands[at]
            if is_printing(command):
                return True
            name = name_of(command.words)[0]
            if name in WRITES_ARGUMENTS and (
                self.substitutes(command) or any(map(self.refers, command.words + command.targets + command.expanded))
            ):
                return True
            if name == "cat" and self.files & set(command.words + command.targets):
                return True
            if name not in PASSES or not command.is_piped_from_previous or at == 0:
                return False
            if self.carries_in_group(commands, at):
                return True
            at -= 1
        return False

    def carries_in_group(self, commands, at):
        """Of the commands in parentheses, in braces or in a loop whose output the command at `at` reads."""
        first, depth = at - 1, 0
        if commands[at - 1].words[:1] and commands[at - 1].words[0] in ENDS:
            while first >= max(at - COMMANDS_MAX, 0):
                words = commands[first].words
                depth += (words[:1] != [] and words[0] in ENDS) - bool(BEGINNINGS & set(words[: find_start(words) + 1]))
                if depth <= 0:
                    break
                first -= 1
        else:
            while first >= max(at - COMMANDS_MAX, 0) and commands[first].depth > commands[at].depth:
                first -= 1
            first += 1
        return any(is_printing(command) for command in commands[max(first, 0) : at])

    def reads(self, commands, at):
        """Whether a command gets all from a pipe."""
        command = commands[at]
        if not command.is_piped_from_previous or at == 0:
            return False
        return self.carries_in_group(commands, at) or self.carries(commands, at - 1)

    def find(self, commands, at):
        """What the command at `at` writes or sends all with. None: it does not."""
        command = commands[at]
        name, words = name_of(command.words)
        files = [target for target in command.targets if not NO_FILES.match(target)]
        if not name or ASSIGNMENT.match(command.words[-1]):
            self.take_assignments(command)
        sends = name in NETWORK and not (name == "openssl" and "s_client" not in words)
        sends = sends or (name == "xargs" and NETWORK & {word.rsplit("/", 1)[-1] for word in words})
        reads = (sends or files or name in ("read", "tee")) and self.reads(commands, at)
        if name == "read" and (reads or (command.words[0] != name and any(map(self.refers, command.targets)))):
            self.variables |= {word for word in words if word[:1] != "-"}
        if files and not command.replaces_input and self.carries(commands, at):
            self.files |= set(files)
            return self.describe(commands, at, reads) + " > " + files[0]
        if name == "tee" and reads and [word for word in words if word[:1] != "-" and not NO_FILES.match(word)]:
            return self.describe(commands, at, reads)
        if not sends:
            return None
        texts = words + command.targets + command.expanded
        gets = reads or self.substitutes(command) or any(map(self.refers, texts)) or any(
            re.sub(r"^.*@", "", text) in self.files for text in texts
        )
        return self.describe(commands, at, reads) if gets else None

    @staticmethod
    def describe(commands, at, reads):
        texts = [" ".join(command.words) for command in commands[at - 1 if reads else at : at + 1]]
        return " | ".join(texts)

    def take_assignments(self, command):
        """Of commands that are assignments alone, or those of export and the like."""
        is_held = self.substitutes(command)
        for word in command.words:
            match = ASSIGNMENT.match(word)
            if not match:
                continue
            value = word[match.end() :]
            if (is_held and ("$(" in value or "<(" in value)) or self.refers(value):
                self.variables.add(match.group(1))
            elif not match.group(3).startswith("+"):
                self.variables.discard(match.group(1))

"""Looks at a shell script, which it reads from standard input: commands by a tokenizer, syntax by "bash -n". Started by
callgate inspect in a sandbox, as the script may be hostile.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from findings import LITERAL_DOLLAR, Findings, print_line, read_program
from shell_commands import Commands
from shell_environment import Environment
from shell_files import COPIES, Directories
from shell_flows import Flows
from shell_names import FETCHES, NETWORK, SHELLS, find_code, is_decoding, is_interpreter, is_reading_program, name_of
from shell_own import find_own
from shell_starts import expand_escapes, find_output, find_started, find_texts, is_running_matches
from shell_variables import find_assignments, find_given
from shell_words import Splitter, split_commands

NATIVE = {"insmod", "modprobe", "ld.so"}
DISKS = re.compile(r"^(of=)?/dev/(sd|nvme|vd|hd|mmcblk)\w")
ROOTS = re.compile(
    r"^(/|/\*|/\.|~|~/|~/\*|\$(HOME|\{HOME(:?[?-][^{}]{0,100})?\})/?\*?|/(usr|etc|home|root|var|bin|boot)/?\*?)$"
)
FETCHED = re.compile(r"^(\$\(|`)\s*(curl|wget)\b")
BRACES = re.compile(r"\{[^{},\s]+(,[^{},\s]*)+\}")
# settings of ssh, also of what starts it, whose value a shell runs
CODE_OPTIONS = re.compile(r"(?i)^(?:-o)?(?:ProxyCommand|LocalCommand|KnownHostsCommand)(?:\s*=|\s)\s*(.+)", re.DOTALL)
DEPTH_MAX = 8
READERS = SHELLS | {"at", "batch", "parallel"}  # that run the text they read, or have a shell run it


def is_made(word):
    """Whether the name of a file comes from a command, other than one that tells the script's own directory."""
    return word.startswith("$(") and not find_own(word)


class Looker:
    """Looks at one script."""

    def __init__(self, findings, base_line, commands=None):
        self.findings = findings
        self.flows = Flows()
        self.environment = Environment()
        self.directories = Directories(self.flows.constants)
        self.changes = []  # of the directory: in how many parentheses, and whether to one of ROOTS
        self.commands = commands  # is told of all commands; None: nothing is
        self.base_line = base_line  # of a text in another program: the line of each finding. None: the command's own

    def line(self, command):
        return self.base_line or command.line

    def add(self, command, kind, what=None):
        self.findings.add(self.line(command), kind, what or " ".join(command.words))

    def look_at(self, text, depth=0):
        splitter = Splitter(text)
        is_split = self.findings.attempt(self.base_line or 1, splitter.split)
        commands = splitter.commands
        if self.commands:
            self.findings.attempt(self.base_line or 1, self.commands.take_inputs, text, commands)
        for at, command in enumerate(commands):
            line = self.line(command)
            if not self.findings.attempt(line, self.look_at_each, commands, at, depth) and self.commands:
                self.commands.add_unknown(line)
        if not is_split:
            self.look_at_rest(text)
        self.findings.attempt(self.base_line or 1, self.look_at_fork_bomb, text, commands)

    def look_at_rest(self, text):
        """Of a text that could not be split."""
        if self.commands:
            self.commands.add_unknown(self.base_line or 1)
        if self.base_line:
            self.findings.look_at(self.base_line, text, "strings", "shell")
        else:
            self.findings.look_at_lines(text)

    def look_at_each(self, commands, at, depth):
        command = commands[at]
        self.expand_braces(command)
        self.take_output(commands, at, depth)
        if self.commands:
            self.commands.add(self.line(command), command)
        name, words = name_of(self.flows.expand(command))
        self.look_at_command(command, name, words, depth)
        self.look_at_starts(command, name, words, depth)
        self.look_at_written(command, name, words, depth)
        for inner in command.inner:
            self.look_at_inner(command, name, words, inner, depth)
        if command.is_piped_from_previous and is_reading_program(name, words):
            self.look_at_pipe(commands, at)
        sent = self.environment.find(commands, at)
        if sent:
            self.add(command, "credentials", "the whole environment: " + sent)
        if name == "xargs" and at and COPIES & set(words):
            words = name_of(commands[at - 1].words)[1]
            name = "cat"
        for directory in self.directories.find(name, words):
            self.findings.look_at_directory(self.line(command), directory)

    @staticmethod
    def expand_braces(command):
        """{echo,x} is "echo x"."""
        if command.words and not command.known[0] and BRACES.fullmatch(command.words[0]):
            words = command.words[0][1:-1].split(",")
            command.words[:1] = command.marked[:1] = words
            command.known[:1] = [True] * len(words)

    # ---- one command ----

    def look_at_command(self, command, name, words, depth):
        line = self.line(command)
        if command.lacks_end:
            self.findings.add(line, "syntax", "a here-document has no end line")
        for word in command.words + command.targets:
            self.findings.look_at(line, word, "strings")
        for assignment in find_assignments(command.marked):
            self.findings.add_assignment(line, assignment)
        for variable, value in find_given(command):
            if value or value is None or variable == "PATH":  # without a value, the others have no effect
                text = "$(%s)" % " ".join(command.words) if value is None else value
                self.findings.add_assignment(line, "%s=%s" % (variable, text))
        if name in NETWORK and not (name == "openssl" and "s_client" not in words):
            self.add(command, "network")
        loads_builtin = name == "enable" and any(re.match(r"^-\w*f", word) for word in words)
        if name in NATIVE or loads_builtin or any(word.startswith("LD_PRELOAD=") for word in command.words):
            self.add(command, "native")
        if name == "eval" or (name in ("source", ".") and words and is_made(words[0])):
            self.add(command, "dynamic")
        if name in ("useradd", "usermod") and any(re.match(r"^-\w*o", word) for word in words):
            self.add(command, "persistence")
        if name == "crontab" and words and words[-1] != "-l":
            self.add(command, "persistence")
        if re.match(r"(python|perl|ruby|node|php)", name) and any(FETCHED.match(word) for word in words):
            self.add(command, "download-run")
        if name == "eval" or (name == "trap" and words):
            self.look_deeper(command, " ".join(words) if name == "eval" else words[0], depth, self.commands)
        if name == "alias":
            for word in words:
                self.look_deeper(command, word.partition("=")[2], depth, self.commands)
        for match in filter(None, map(CODE_OPTIONS.match, words)):
            self.look_deeper(command, match.group(1), depth, self.commands)
        kind = self.flows.find(command, name, words)
        if kind:
            self.add(command, kind)
        self.look_at_hiding(command)
        self.look_at_damage(command, name, words)
        self.look_at_remote_shell(command, name, words)

    def look_at_program(self, command, words, depth):
        program = "".join(words[find_code(words) :][:1])
        if program.startswith("$") or not program:
            self.add(command, "dynamic")
        else:
            self.look_deeper(command, program, depth)

    def look_at_starts(self, command, name, words, depth):
        """The programs that a command starts by its arguments."""
        if name in SHELLS and find_code(words) is not None:
            self.look_at_program(command, words, depth)
        for text in find_texts(name, words):
            self.look_deeper(command, text, depth, self.commands)
        if is_running_matches(name, words):
            self.add(command, "dynamic")
        for started in find_started(name, words):
            name, words = name_of(started)
            self.look_at_damage(command, name, words)
            if depth < DEPTH_MAX:
                self.look_at_starts(command, name, words, depth + 1)

    def take_output(self, commands, at, depth):
        """Takes what the command before this one writes for what it reads, if it is known."""
        command = commands[at]
        name, words = name_of(command.words)
        text = command.read_text
        if at and command.is_piped_from_previous and not command.replaces_input:
            before = commands[at - 1]
            text = find_output(before, *name_of(before.words))
            # functions and others may write more, or other text
            if before.depth == command.depth and self.commands and not self.commands.is_fed:
                command.document = text
        if text and is_reading_program(name, words) and not {name, *words}.isdisjoint(READERS):
            for variant in sorted({text, expand_escapes(text)}):  # as the echo of this or that shell writes it
                self.look_deeper(command, variant, depth)

    def look_at_written(self, command, name, words, depth):
        """A file that the script has made before, and now runs."""
        for text in self.flows.find_written([name] + words if name in SHELLS else command.words):
            program = re.match(r"(python|node)", name) or re.match(r"#!.{0,100}\b(python|node)", text)
            if program and self.commands:
                option = "-c" if program.group(1) == "python" else "-e"
                self.commands.append(self.line(command), [program.group(1), option, text], command)
            elif not program:
                self.look_deeper(command, text, depth, self.commands)
        text = find_output(command, name, words) or (command.read_text if name in ("cat", "tee") else None)
        if text:
            self.flows.write(command, text, name, words)

    def look_deeper(self, command, text, depth, commands=None):
        """Looks at a program in a command. commands: if that is told what the program runs."""
        if depth < DEPTH_MAX:
            Looker(self.findings, self.line(command), commands).look_at(text, depth + 1)
        else:
            self.add(command, "obfuscated", "programs in programs, more than %d deep" % DEPTH_MAX)

    def look_at_hiding(self, command):
        if command.words and (command.escapes >= 4 or re.search(r"\w\$\{?IFS\}?[\w/$]", command.words[0])):
            self.add(command, "obfuscated")
        elif self.flows.is_hidden_name(command):
            self.add(command, "obfuscated")

    def is_in_root(self, command):
        """Whether the directory was changed to one of ROOTS last. What is in parentheses changes it only there."""
        while self.changes and self.changes[-1][0] > command.depth:
            self.changes.pop()
        return bool(self.changes) and self.changes[-1][1]

    def look_at_damage(self, command, name, words):
        options = "".join(word for word in words if word.startswith("-") and not word.startswith("--"))
        if name == "rm" and ("r" in options or "R" in options or "--recursive" in words):
            is_all = self.is_in_root(command) and {"*", ".", "./", "./*", ".*"} & set(words)
            if is_all or "--no-preserve-root" in words or any(ROOTS.match(word) for word in words):
                self.add(command, "destructive")
        if name in ("cd", "pushd", "popd"):
            self.changes = [change for change in self.changes if change[0] < command.depth]
            is_to_root = name != "popd" and (not words or any(ROOTS.match(word) for word in words))
            self.changes.append((command.depth, is_to_root))
        if name == "find" and any(ROOTS.match(word) for word in words) and {"-delete", "rm", "shred"} & set(words):
            self.add(command, "destructive")
        if name == "mv" and any(ROOTS.match(word) for word in words[:-1]):
            self.add(command, "destructive")
        if name.startswith("mkfs") and any(word.startswith("/dev/") for word in words):
            self.add(command, "destructive")
        if (name in ("dd", "shred", "wipefs") and any(DISKS.match(word) for word in words)) or any(
            DISKS.match(target) for target in command.targets
        ):
            self.add(command, "destructive")
        if name in ("chmod", "chown") and "R" in options and any(ROOTS.match(word) for word in words):
            self.add(command, "destructive")
        if name == "chmod" and any(re.match(r"^([0-7]?[4-7][0-7]{3}|[ua]*\+[rwx]*s.*)$", word) for word in words):
            self.add(command, "set-id")

    def look_at_remote_shell(self, command, name, words):
        text = " ".join(words)
        parts = text.split() if name in ("nc", "ncat", "netcat") else []
        for part, following in zip(parts, parts[1:] + [""]):
            end = following if re.fullmatch(r"-\w*[ec]", part) and following else part
            if re.match(r"-\w*[ec]", part) and end.endswith("sh"):
                self.add(command, "reverse-shell")
        if name == "ncat" and "--sh-exec" in words or "--exec" in words and name == "ncat":
            self.add(command, "reverse-shell")
        if name == "socat" and re.search(r"(?i)\b(exec|system):", text):
            self.add(command, "reverse-shell")
        if re.match(r"^(python|perl|ruby|php|node|lua)", name) and re.search(r"(?i)socket|fsockopen", text):
            if re.search(r"dup2|/bin/(ba|da)?sh|exec\s*\(|STDIN->fdopen|pty\.spawn", text):
                self.add(command, "reverse-shell")

    # ---- several commands ----

    def look_at_inner(self, command, name, words, inner, depth):
        """A command substitution or process substitution in a command."""
        self.look_deeper(command, inner, depth, self.commands)
        script = next((word for word in words if not word.startswith("-")), "")
        runs = name in ("eval", "source", ".") or (is_interpreter(name) and script.startswith("<(")) or (
            name in SHELLS
            and (find_code(words) is not None or "<(" in " ".join(words) or "$(" in " ".join(command.targets))
        )
        if not runs and command.words and not command.words[0].startswith("$("):
            return
        names = [name_of(part.words) for part in split_commands(inner)]
        if any(part in FETCHES for part, _ in names):
            self.add(command, "download-run")
        elif any(is_decoding(*part) for part in names):
            self.add(command, "obfuscated")

    def look_at_pipe(self, commands, at):
        """The commands before an interpreter that reads its program from them."""
        end = commands[at]
        while at > 0 and commands[at].is_piped_from_previous:
            at -= 1
            if commands[at].is_piped_from_previous and is_reading_program(*name_of(commands[at].words)):
                return  # what is before it was looked at already
            name, words = name_of([word for word in self.flows.expand(commands[at]) if word != "eval"])
            if name in FETCHES:
                self.add(end, "download-run", "%s | %s" % (" ".join(commands[at].words), " ".join(end.words)))
            elif is_decoding(name, words):
                self.add(end, "obfuscated", "%s | %s" % (" ".join(commands[at].words), " ".join(end.words)))
            elif name in ("nc", "ncat", "netcat"):
                self.add(end, "reverse-shell")
            elif name in ("echo", "printf"):
                kind = self.flows.kind_of(" ".join(words))
                if kind:
                    self.add(end, kind)

    def look_at_fork_bomb(self, text, commands):
        for match in re.finditer(r"(?:^|[\s;])([\w:.]{1,40})\s*\(\)\s*\{", text[:200000]):
            name = re.escape(match.group(1))
            if re.match(r"\s*%s\s*\|\s*%s\s*&" % (name, name), text[match.end() : match.end() + 200]):
                line = self.base_line or text.count("\n", 0, match.start(1)) + 1
                self.findings.add(line, "destructive", match.group(0).strip() + " starts itself twice")
        fifo = any(name_of(command.words)[0] in ("mkfifo", "mknod") for command in commands)
        for command in commands:
            name, words = name_of(command.words)
            if fifo and name in ("nc", "ncat", "netcat", "telnet", "openssl") and command.is_piped_from_previous:
                self.add(command, "reverse-shell")


def look_at_text(findings, text, line):
    """Looks at a command line that a program of another language gives to a shell."""
    Looker(findings, line).look_at(text)
    findings.look_at(line, text, "shell")


def look_at_words(findings, words, line):
    """Looks at the arguments of a program that is started without a shell."""
    name, rest = name_of(words)
    if name in SHELLS and find_code(rest) is not None:
        look_at_text(findings, "".join(rest[find_code(rest) :][:1]), line)
    for text in find_texts(name, rest):
        look_at_text(findings, text, line)
    for started in find_started(name, rest):
        look_at_words(findings, started, line)
    for directory in Directories({}).find(name, rest):
        findings.look_at_directory(line, directory)
    for assignment in find_assignments([word.replace("$", LITERAL_DOLLAR) for word in words]):
        findings.add_assignment(line, assignment)
    findings.look_at(line, " ".join(words), "shell")


def check_syntax(findings, program, shell):
    """Adds what "bash -n" says first. Nothing is run by that."""
    checked = subprocess.run([shell, "--norc", "-n"], input=program, capture_output=True, check=False)
    match = re.search(rb"line (\d+): (.*)", checked.stderr)
    if checked.returncode and match:
        findings.add(int(match.group(1)), "syntax", match.group(2).decode("utf-8", "replace"))
        findings.look_at_lines(program.decode("utf-8", "replace"))


def main():
    program = read_program().replace(b"\0", b"")  # as shells do
    findings = Findings(print_line)
    if len(sys.argv) > 1:
        check_syntax(findings, program, sys.argv[1])
    commands = Commands()
    interpreter = re.match(rb"#!\s*\S*/env\s+(?:-\w+\s+)*(?:-\w*S|--split-string[=\s])\s*([^\n]*)", program)
    if interpreter:  # "#!/usr/bin/env -S sh -c CODE"
        findings.attempt(1, Looker(findings, 1).look_at, interpreter.group(1).decode("utf-8", "replace"))
    Looker(findings, None, commands).look_at(program.decode("utf-8", "replace"))
    if not findings.attempt(1, commands.add_end, 1):
        commands.add_unknown(1)
    for line, command in commands.lines:
        findings.tell(line, "command", command)
    findings.end()


if __name__ == "__main__":
    main()

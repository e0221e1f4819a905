"""Part of the Python parser of callgate inspect: the command line, or the words, of a program that a call starts."""

import ast
import re

# os.execl(PATH, WORD...), os.spawnv(MODE, PATH, WORDS), os.posix_spawn(PATH, WORDS, ...)
REPLACES = re.compile(r"^os\.(?:exec|(spawn)|(posix_spawn))([lv]?)p?(e?)$")
TAKES_WORDS = ("asyncio.create_subprocess_exec",)  # each argument is a word
TAKES_COMMAND = (
    "os.system", "os.popen", "subprocess.", "commands.", "popen2.", "asyncio.create_subprocess_shell", "pty.spawn",
)
KEYWORDS = ("args", "cmd", "command", "argv")


def is_starter(name):
    return bool(REPLACES.match(name)) or name in TAKES_WORDS or name.startswith(TAKES_COMMAND)


def find_command(name, call, names, lists):
    """The expressions of a command: one, of a command line, or those of its words. lists: variables that are lists."""
    nodes = find_arguments(name, call, lists)
    return list_words(find_line(nodes[0], names), lists) if len(nodes) == 1 else nodes


def find_arguments(name, call, lists):
    match = REPLACES.match(name)
    args = call.args
    if not match:
        named = [word.value for word in call.keywords if word.arg in KEYWORDS]
        return args if name in TAKES_WORDS else (args or named)[:1]
    is_spawn, is_posix, form, has_environment = match.groups()
    args = args[1:] if is_spawn else args
    if form == "l":
        args = args[: len(args) - bool(has_environment)]
        return args[:1] + args[2:]  # the first word is a name, and the program is that of the path
    words = list_words(args[1], lists) if len(args) > 1 else []
    return args[:1] + words[1:] if form == "v" or is_posix else []


def list_words(node, lists):
    """The expressions of a list, or of a variable that is one; otherwise the expression itself."""
    if isinstance(node, ast.Name):
        node = lists.get(node.id, node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = list_words(node.left, lists), list_words(node.right, lists)
        return left + right if len(left) > 1 or len(right) > 1 else [node]
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]


def find_line(node, names):
    """The command line of shlex.split("LINE") and "LINE".split(); otherwise the expression itself."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return node
    if names.resolve(node.func) == "shlex.split" and node.args:
        return node.args[0]
    return node.func.value if node.func.attr == "split" and not node.args else node

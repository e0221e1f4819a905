"""Part of the Python parser of callgate inspect: which environment variables a program sets, for itself or others."""

import ast
import re

from findings import LITERAL_DOLLAR

ENVIRONMENT = re.compile(r"(?i)(^|\.)\w*env(iron\w*)?(\(\))?(\.copy\(\))?$")
OWN = ("os.environ", "os.environ.copy()", "posix.environ")
DEPTH_MAX = 8
NAME_CHARACTERS_MAX = 200  # of a name, from its end


def is_environment(node, names):
    """Whether an expression is os.environ, or has a name of a copy of it, such as env."""
    own = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    ends = [name[-NAME_CHARACTERS_MAX:] for name in (own, names.resolve(node) or "")]
    return any(ENVIRONMENT.search(end) for end in ends)


def find_in_value(node, depth=0):
    """Pairs of name and value of a dictionary, or of what makes one: {**os.environ, "A": b}, dict(os.environ, A=b)."""
    if isinstance(node, ast.Dict):
        pairs = [(key, value) for key, value in zip(node.keys, node.values) if key is not None]
        inner = [value for key, value in zip(node.keys, node.values) if key is None]
    elif isinstance(node, ast.Call):
        pairs = [(ast.Constant(word.arg), word.value) for word in node.keywords if word.arg]
        inner = node.args + [word.value for word in node.keywords if not word.arg]
    elif isinstance(node, ast.BinOp):
        pairs, inner = [], [node.left, node.right]
    else:
        return []
    return pairs + [pair for item in inner if depth < DEPTH_MAX for pair in find_in_value(item, depth + 1)]


def find_in_call(node, names):
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    found = [pair for word in node.keywords if word.arg == "env" for pair in find_in_value(word.value)]
    if names.resolve(node.func) in ("os.putenv", "posix.putenv") and len(node.args) > 1:
        found.append((node.args[0], node.args[1]))
    elif method == "setdefault" and len(node.args) > 1 and is_environment(node.func.value, names):
        found.append((node.args[0], node.args[1]))
    elif method == "update" and is_environment(node.func.value, names):
        found += find_in_value(node)
    elif re.match(r"^(os\.|posix\.)?(exec|spawn)[lv]p?e$|^(os\.|posix\.)posix_spawn", names.resolve(node.func) or ""):
        found += [pair for item in node.args for pair in find_in_value(item)]
    return found


def find_pairs(node, names):
    """Expressions for name and value of the variables that a statement or a call sets."""
    if isinstance(node, ast.Call):
        return find_in_call(node, names)
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        found = []
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Subscript) and is_environment(target.value, names):
                found.append((target.slice, node.value))
            elif isinstance(target, (ast.Name, ast.Attribute)) and is_environment(target, names):
                found += find_in_value(node.value)
        return found
    return []


def is_own_value(node, variable, names):
    """Whether an expression is the value that a variable has already: os.environ["PATH"], os.getenv("PATH", "")."""
    if isinstance(node, ast.Subscript):
        return names.resolve(node.value) in OWN and names.text_of(node.slice) == variable
    if not isinstance(node, ast.Call) or not node.args or node.keywords:
        return False
    function = names.resolve(node.func) or ""
    is_getter = function == "os.getenv" or (function.endswith(".get") and function[: -len(".get")] in OWN)
    has_other = len(node.args) > 1 and names.text_of(node.args[1]) != ""
    return is_getter and not has_other and names.text_of(node.args[0]) == variable


def find_parts(node):
    """The expressions that an expression joins to one text. None: it does not."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [node.left, node.right]
    if isinstance(node, ast.JoinedStr):
        return [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join" and node.args:
        items = node.args[0]
        if isinstance(items, (ast.List, ast.Tuple)) and items.elts:
            return [part for item in items.elts for part in (node.func.value, item)][1:]
    return None


def describe_value(node, variable, names, describe, depth=0):
    """
    A value as text: "$NAME" for what the variable has already, LITERAL_DOLLAR for other "$", and what is not known
    within braces.
    """
    if is_own_value(node, variable, names):
        return "$" + variable
    if names.resolve(node) == "os.pathsep":
        return ":"
    parts = find_parts(node) if depth < DEPTH_MAX else None
    text = None if parts and isinstance(node, ast.JoinedStr) else names.text_of(node)
    if text is None and parts:
        return "".join(describe_value(part, variable, names, describe, depth + 1) for part in parts)
    return ("{%s}" % describe(node) if text is None else text).replace("$", LITERAL_DOLLAR)


def find_assignments(node, names, describe):
    """The texts "NAME=VALUE" of the variables that a node sets."""
    for name, value in find_pairs(node, names):
        name = names.text_of(name)
        is_added = isinstance(node, ast.AugAssign)
        if name and "=" not in name:
            text = describe_value(value, name, names, describe)
            yield "%s%s%s" % (name, "+=" if is_added else "=", text)

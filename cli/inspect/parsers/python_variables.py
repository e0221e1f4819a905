"""Part of the Python parser of callgate inspect: which environment variables a program sets, for itself or others."""

import ast
import re

ENVIRONMENT = re.compile(r"(?i)(^|\.)\w*env(iron\w*)?(\(\))?(\.copy\(\))?$")
DEPTH_MAX = 8


def is_environment(node, names):
    """Whether an expression is os.environ, or has a name of a copy of it, such as env."""
    own = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return bool(ENVIRONMENT.search(own) or ENVIRONMENT.search(names.resolve(node) or ""))


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


def find_assignments(node, names, describe):
    """The texts "NAME=VALUE" of the variables that a node sets; a value that is not known is within braces."""
    for name, value in find_pairs(node, names):
        name = names.text_of(name)
        text = names.text_of(value)
        is_added = isinstance(node, ast.AugAssign)
        if name and "=" not in name:
            yield "%s%s%s" % (name, "+=" if is_added else "=", "{%s}" % describe(value) if text is None else text)

"""Part of the Python parser of callgate inspect: variables, and which of many values a loop or a comprehension uses."""

import ast


def key_of(node):
    """The name under which a variable is kept: "x", or "self.x" of an attribute. None: of another expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return "%s.%s" % (node.value.id, node.attr)
    return key_of(node.value) if isinstance(node, (ast.Subscript, ast.Starred)) else None


def find_targets(target):
    return [part for item in target.elts for part in find_targets(item)] if isinstance(
        target, (ast.Tuple, ast.List)
    ) else [target]


def find_values(target, source):
    """
    Of a loop over an environment: the variables that get values, and as "key NAME" those that get names of variables
    alone.
    """
    targets = [key_of(item) or "" for item in find_targets(target)]
    while isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.args:
        source = source.args[0]  # sorted(...) and the like
    if len(targets) > 1:
        return {"key " + targets[0], *targets[1:]}
    has_values = isinstance(source, ast.Call) and getattr(source.func, "attr", "") != "keys"
    return set(targets) if has_values else {"key " + targets[0]}


def selects(test, variables):
    """
    Whether a condition is true for some variables only: NAME.startswith("MY_"), not what leaves out a few. variables:
    of the loop, which are true by themselves for nearly all.
    """
    if isinstance(test, ast.BoolOp):
        return (all if isinstance(test.op, ast.Or) else any)(selects(item, variables) for item in test.values)
    if isinstance(test, ast.UnaryOp):
        return rejects(test.operand, variables)
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], (ast.Eq, ast.In))
    if isinstance(test, ast.Name):
        return test.id not in variables
    if isinstance(test, ast.Call):
        return getattr(test.func, "id", "") not in ("isinstance", "len", "bool")
    return isinstance(test, ast.NamedExpr)


def rejects(test, variables):
    """Whether a condition is false for some variables only."""
    if isinstance(test, ast.BoolOp):
        return (any if isinstance(test.op, ast.Or) else all)(rejects(item, variables) for item in test.values)
    if isinstance(test, ast.UnaryOp):
        return selects(test.operand, variables)
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.NotEq, ast.NotIn))


def has_choice(loop):
    """Whether a loop uses only what a condition in it selects."""
    variables = {key_of(item) for item in find_targets(loop.target)}
    for part in (part for statement in loop.body for part in ast.walk(statement)):
        if isinstance(part, ast.If) and any(isinstance(item, ast.Continue) for item in part.body):
            if rejects(part.test, variables):
                return True
        elif isinstance(part, (ast.If, ast.IfExp)) and selects(part.test, variables):
            return True
    return False


def is_chosen(node):
    """Whether a comprehension has only what its conditions select."""
    for part in node.generators:
        variables = {key_of(item) for item in find_targets(part.target)}
        if any(selects(test, variables) for test in part.ifs):
            return True
    return False

"""Part of the Python parser of callgate inspect: functions that others call, such as in Thread(target=os.system)."""

import ast
import re

ASK_ONLY = (
    "isinstance", "issubclass", "getattr", "hasattr", "setattr", "callable", "id", "repr", "str", "type", "print",
)
ELEMENTS_MAX = 100  # that are looked at, of the arguments of a call
NAMED_ARGUMENTS = ("args", "kwds", "kwargs")  # keywords with what the function gets: of Thread, Process, Timer, ...


def make_call(function, arguments, keywords, place):
    """The call of a function that another one makes, in the place of what has it made."""
    return ast.copy_location(ast.Call(func=function, args=arguments, keywords=keywords), place)


def list_elements(node):
    return list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else [node]


def find_calls(node, names, is_of_note):
    """
    The calls that a call has made of functions of note which it is given, with the other arguments: partial(os.system,
    "x"), Thread(target=os.system, args=("x",)), map(eval, ["x"]), methodcaller("system", "x")(os). Of f(eval, x, eval,
    y) it is one call, eval(x, eval, y).
    """
    called = names.resolve(node.func)
    if called in ASK_ONLY:
        return []
    keywords = [word for word in node.keywords if word.arg]
    given = [element for word in keywords if word.arg in NAMED_ARGUMENTS for element in list_elements(word.value)]
    calls, made = [], set()
    keywords = keywords[:ELEMENTS_MAX]
    for at, value in enumerate(node.args[:ELEMENTS_MAX]):
        name = names.resolve(value)
        if name not in made and is_of_note(name):
            made.add(name)
            rest = [element for item in node.args[at + 1 :][:ELEMENTS_MAX] for element in list_elements(item)]
            rest = rest[:ELEMENTS_MAX]
            if not calls and re.search(r"(^|\.)i?map(_async)?$", called or ""):  # one call for each element
                calls += [make_call(value, [element], [], node) for element in rest]
            else:
                calls.append(make_call(value, rest + given, keywords, node))
    for word in keywords:
        if is_of_note(names.resolve(word.value)):
            calls.append(make_call(word.value, given + node.args[:1], [], node))
    if called == "operator.methodcaller()" and isinstance(node.func, ast.Call) and node.func.args and node.args:
        name = names.text_of(node.func.args[0])
        if name and name.isidentifier():
            function = ast.copy_location(ast.Attribute(value=node.args[0], attr=name, ctx=ast.Load()), node)
            calls.append(make_call(function, node.func.args[1:], node.func.keywords, node))
    return calls


def find_decorations(node, names, is_of_note):
    """Likewise, the calls by "@os.system" before a function or class."""
    decorators = [item for item in node.decorator_list if is_of_note(names.resolve(item))]
    return [make_call(item, [], [], item) for item in decorators]

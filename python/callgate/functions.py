"""Functions as source: what a sandbox needs to call a function of this process."""

import ast
import builtins
import dis
import inspect
import sys
import textwrap
import types
from typing import Any, Callable, Dict, Iterator, List, Set

from .values import encode

FUNCTIONS_MAX = 100  # that a function needs, with those that these need

CONSTANTS = (type(None), bool, int, float, complex, str, bytes)


class FunctionError(TypeError):
    """A function that cannot be sent to a sandbox."""


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _global_names(code: types.CodeType) -> Set[str]:
    """Global names that the code reads, also in what is defined in it."""
    return {instruction.argval for part in _codes(code) for instruction in dis.get_instructions(part)
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


class Bundle:
    """The source of a function and of what it uses."""

    def __init__(self) -> None:
        self._imports: Dict[str, str] = {}
        self._constants: Dict[str, str] = {}
        self._functions: Dict[str, types.FunctionType] = {}
        self._sources: List[str] = []

    def add(self, function: Callable[..., Any]) -> str:
        """Adds a function. Returns the expression by which it is called."""
        module = getattr(function, "__module__", None) or ""
        name = getattr(function, "__qualname__", "")
        if not isinstance(function, types.FunctionType):
            return self._refer(function, module, name)
        if module.partition(".")[0] in sys.stdlib_module_names and module != "__main__":
            return self._refer(function, module, name)
        self._add_function(function)
        return function.__name__

    def _refer(self, function: Callable[..., Any], module: str, name: str) -> str:
        """A function of the standard library, which the sandbox has, too."""
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not function or module.partition(".")[0] not in sys.stdlib_module_names:
            raise FunctionError("%r cannot be sent: it is neither a function with a source nor one of the standard "
                                "library. Write a function around it" % (function,))
        self._imports[module] = "import " + module
        return module + "." + name

    def _add_function(self, function: types.FunctionType) -> None:
        name = function.__name__
        if self._functions.get(name, function) is not function:
            raise FunctionError("%s: two functions of this name are used" % name)
        if name in self._functions:
            return
        self._functions[name] = function
        if len(self._functions) > FUNCTIONS_MAX:
            raise FunctionError("%s: more than %d functions are used" % (name, FUNCTIONS_MAX))
        tree = _parse(function)
        defaults = ast.Expression(ast.Tuple([node for node in [*tree.args.defaults, *tree.args.kw_defaults] if node],
                                            ast.Load()))
        names = _global_names(function.__code__)
        names |= {node.id for node in ast.walk(defaults) if isinstance(node, ast.Name)}
        for used in sorted(names - {name}):
            self._add_global(function, used)
        self._sources.append(ast.unparse(tree))

    def _add_global(self, function: types.FunctionType, name: str) -> None:
        if name not in function.__globals__:
            if not hasattr(builtins, name) and name != "display":  # the interpreter of a sandbox has that
                raise FunctionError("%s() uses %s, which is not defined" % (function.__name__, name))
            return
        value = function.__globals__[name]
        if isinstance(value, types.ModuleType):
            self._imports[name] = "import %s as %s" % (value.__name__, name)
        elif isinstance(value, types.FunctionType) and value.__name__ == name:
            if self.add(value) != name:
                self._imports[name] = "from %s import %s" % (value.__module__, name)
        elif type(value) in CONSTANTS:
            self._constants[name] = encode(value)
        elif getattr(value, "__module__", None) in sys.stdlib_module_names and hasattr(value, "__qualname__"):
            self._refer(value, value.__module__, value.__qualname__)
            self._imports[name] = "from %s import %s as %s" % (value.__module__, value.__qualname__, name)
        else:
            raise FunctionError("%s() uses the global %s, a %s, which the sandbox does not have: pass it as an argument"
                                % (function.__name__, name, type(value).__name__))

    def make_source(self) -> str:
        """The program that defines the functions. It has `decode` of values.py."""
        lines = ["from __future__ import annotations", *sorted(set(self._imports.values())),
                 *["%s = decode(%r)" % item for item in self._constants.items()], *self._sources]
        return "\n".join(lines) + "\n"


def _parse(function: types.FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The function's definition, without annotations that the sandbox may not know. FunctionError: it has none."""
    name = function.__name__
    if name == "<lambda>":
        raise FunctionError("a lambda cannot be sent: its source cannot be told from what is around it. Write a def")
    if function.__closure__:
        raise FunctionError("%s() is a closure over %s, which the sandbox does not have: pass these as arguments"
                            % (name, ", ".join(function.__code__.co_freevars)))
    if hasattr(function, "__wrapped__"):
        raise FunctionError("%s() is decorated: send the function within, or write one around it" % name)
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError) as error:
        raise FunctionError("the source of %s() is not known: %s" % (name, error)) from None
    node = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != name:
        raise FunctionError("the source of %s() is no def" % name)
    if node.decorator_list:
        raise FunctionError("%s() is decorated: send the function within, or write one around it" % name)
    return node

"""Part of the Python parser of callgate inspect: what names and constant expressions of a program stand for."""

import ast
import base64
import codecs
import importlib

TEXT_CHARACTERS_MAX = 100000
DEPTH_MAX = 40
WORK_MAX = 4000000  # steps that the expressions of a program take
WORK_OF_EACH_MAX = 4000  # and that one takes
STARS = (  # modules of Python whose names are known, after "from MODULE import *"
    "os", "posix", "subprocess", "shutil", "base64", "pickle", "marshal", "codecs", "importlib", "builtins",
)
IMPORTERS = ("__import__", "importlib.import_module", "importlib.__import__")


def decode(function, value):
    """What a call that decodes constant text comes to. None: not known, or no text."""
    try:
        if function in ("base64.b64decode", "base64.standard_b64decode", "base64.urlsafe_b64decode"):
            return base64.b64decode(value).decode()
        if function in ("base64.b32decode",):
            return base64.b32decode(value).decode()
        if function in ("bytes.fromhex", "binascii.unhexlify", "bytearray.fromhex"):
            return bytes.fromhex(value if isinstance(value, str) else value.decode()).decode()
    except (ValueError, TypeError):
        pass
    return None


class Names:
    """What the names of a module stand for: dotted names of modules and functions, or constant texts."""

    def __init__(self):
        self.stands_for = {}
        self.texts = {}
        self.work_left = WORK_MAX
        self.work_of_this = 0  # what is left for this expression
        self.is_limited = False  # an expression was not looked at to its end

    def has_work_left(self, depth):
        """What looks at the parts of an expression looks at theirs several times. depth 0: another one begins."""
        self.work_of_this = (self.work_of_this if depth else WORK_OF_EACH_MAX) - 1
        self.work_left -= 1
        has_some = self.work_of_this >= 0 and self.work_left >= 0
        self.is_limited = self.is_limited or not has_some
        return has_some

    # ---- names ----

    def resolve(self, node, depth=0):
        """The dotted name that an expression stands for, such as "os.system". None: unknown."""
        if depth > DEPTH_MAX or not self.has_work_left(depth):
            return None
        if isinstance(node, ast.Name):
            return self.stands_for.get(node.id, node.id)
        if isinstance(node, ast.NamedExpr):
            return self.resolve(node.value, depth + 1)
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and (node.value.id, node.attr) in self.stands_for:
                return self.stands_for[node.value.id, node.attr]
            base = self.resolve(node.value, depth + 1)
            return self.join(base, node.attr) if base else None
        if isinstance(node, ast.Subscript):
            return self.resolve_item(node, depth)
        if isinstance(node, ast.Call):
            return self.resolve_call(node, depth)
        return None

    @staticmethod
    def join(base, name):
        if base in ("builtins", "__builtins__"):
            return name
        return "%s.%s" % (base, name)

    def resolve_item(self, node, depth):
        """globals()["x"], sys.modules["x"], module.__dict__["x"] and the like."""
        key = self.text_of(node.slice, depth + 1)
        base = self.resolve(node.value, depth + 1)
        if key is None or base is None:
            return None
        if base == "sys.modules":
            return key
        if base in ("globals()", "locals()", "vars()"):
            return self.stands_for.get(key, key)
        if base.endswith(".__dict__"):
            return self.join(base[: -len(".__dict__")], key)
        if base == "__builtins__":
            return key
        return None

    def resolve_call(self, node, depth):
        function = self.resolve(node.func, depth + 1)
        if function in IMPORTERS and node.args:
            return self.text_of(node.args[0], depth + 1)
        if function == "getattr" and len(node.args) >= 2:
            base = self.resolve(node.args[0], depth + 1)
            name = self.text_of(node.args[1], depth + 1)
            return self.join(base, name) if base and name else None
        if function in ("globals", "locals", "vars") and not node.args:
            return function + "()"
        if function in ("pkgutil.resolve_name", "pydoc.locate") and node.args:
            text = self.text_of(node.args[0], depth + 1)
            return text.replace(":", ".") if text else None
        if function == "functools.partial" and node.args:
            return self.resolve(node.args[0], depth + 1)
        if function == "operator.attrgetter()" and node.args and isinstance(node.func, ast.Call) and node.func.args:
            base = self.resolve(node.args[0], depth + 1)
            name = self.text_of(node.func.args[0], depth + 1)
            return self.join(base, name) if base and name else None
        if function == "vars" and node.args:
            base = self.resolve(node.args[0], depth + 1)
            return base + ".__dict__" if base else None
        return "%s()" % function if function else None

    # ---- constant texts ----

    def text_of(self, node, depth=0):
        """The text that an expression has in each run. None: not known."""
        if depth > DEPTH_MAX or not self.has_work_left(depth):
            return None
        text = None
        if isinstance(node, ast.Constant):
            text = self.text_of_constant(node.value)
        elif isinstance(node, ast.Name):
            text = self.texts.get(node.id)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.text_of(node.left, depth + 1), self.text_of(node.right, depth + 1)
            text = left + right if left is not None and right is not None else None
        elif isinstance(node, ast.JoinedStr):
            parts = [self.text_of(part, depth + 1) for part in node.values]
            text = "".join(part if part is not None else "{}" for part in parts)
        elif isinstance(node, ast.FormattedValue):
            text = self.text_of(node.value, depth + 1)
        elif isinstance(node, ast.Subscript):
            text = self.text_of_reversed(node, depth)
        elif isinstance(node, ast.Call):
            text = self.text_of_call(node, depth)
        return text if text is None or len(text) <= TEXT_CHARACTERS_MAX else None

    @staticmethod
    def text_of_constant(value):
        if isinstance(value, str):
            return value
        return value.decode("latin-1") if isinstance(value, bytes) else None

    def text_of_reversed(self, node, depth):
        step = node.slice.step if isinstance(node.slice, ast.Slice) else None
        is_reversed = (
            isinstance(step, ast.UnaryOp)
            and isinstance(step.op, ast.USub)
            and isinstance(step.operand, ast.Constant)
            and step.operand.value == 1
        )
        text = self.text_of(node.value, depth + 1) if is_reversed else None
        return text[::-1] if text is not None else None

    def text_of_call(self, node, depth):
        function = self.resolve(node.func, depth + 1)
        if function == "chr" and node.args and isinstance(node.args[0], ast.Constant):
            value = node.args[0].value
            return chr(value) if isinstance(value, int) and 0 <= value < 0x110000 else None
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("decode", "encode", "strip", "lower"):
            return self.text_of(node.func.value, depth + 1)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "join" and node.args:
            return self.text_of_join(node, depth)
        value = self.text_of(node.args[0], depth + 1) if node.args else None
        if value is None:
            return None
        if function == "codecs.decode" and len(node.args) > 1 and self.text_of(node.args[1]) in ("rot13", "rot_13"):
            return codecs.decode(value, "rot13")
        return decode(function, value)

    def text_of_join(self, node, depth):
        between, items = self.text_of(node.func.value, depth + 1), node.args[0]
        if between is None or not isinstance(items, (ast.List, ast.Tuple)):
            return None
        parts = [self.text_of(item, depth + 1) for item in items.elts[:1000]]
        return between.join(parts) if None not in parts else None

    # ---- learning ----

    def learn_import(self, node):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    self.stands_for[alias.asname] = alias.name
        elif node.module and not node.level:
            for alias in node.names:
                if alias.name == "*" and node.module in STARS:
                    names = vars(importlib.import_module(node.module))
                    self.stands_for.update({name: "%s.%s" % (node.module, name) for name in names if name[0] != "_"})
                self.stands_for[alias.asname or alias.name] = "%s.%s" % (node.module, alias.name)

    def learn_assignment(self, name, value):
        text = self.text_of(value)
        if text is not None:
            self.texts[name] = text
            return
        found = self.resolve(value)
        if found and found != name and not found.startswith(name + "."):
            self.stands_for.setdefault(name, found)

    def learn_target(self, target, value):
        """Of a tuple: each of its items. Of self.NAME: what has a dotted name."""
        if isinstance(target, ast.Name):
            self.learn_assignment(target.id, value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            found = self.resolve(value)
            if found and "()" not in found and isinstance(value, (ast.Name, ast.Attribute, ast.Call)):
                self.stands_for.setdefault((target.value.id, target.attr), found)
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
            for item, part in zip(target.elts, value.elts):
                if isinstance(item, ast.Name):
                    self.learn_assignment(item.id, part)

    def learn_defaults(self, arguments):
        """Functions that are defaults of parameters: def run(call=os.system)."""
        positional = arguments.posonlyargs + arguments.args
        pairs = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults))
        for parameter, value in pairs + list(zip(arguments.kwonlyargs, arguments.kw_defaults)):
            if isinstance(value, ast.Attribute):
                self.learn_assignment(parameter.arg, value)

    def learn(self, nodes):
        """Takes imports and assignments of the whole module, wherever they stand."""
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.learn_import(node)
        for _ in range(2):
            for node in nodes:
                if isinstance(node, ast.Assign) and len(node.targets) == 1:
                    self.learn_target(node.targets[0], node.value)
                elif isinstance(node, ast.arguments):
                    self.learn_defaults(node)
                elif isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
                    self.learn_assignment(node.target.id, node.value)
                elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
                    self.learn_assignment(node.optional_vars.id, node.context_expr)

"""Part of the Python parser of callgate inspect: where a program writes or sends all environment variables.

It follows the values that have all variables in them through the statements of a module. A dictionary that is given to
a program as its environment is of no note, nor are single variables, or those that a condition selects.
"""

import ast

from python_loops import find_targets, find_values, has_choice, is_chosen, key_of

OWN = ("os.environ", "os.environb", "posix.environ")
# What makes a value of another one, with the same content.
PASSES = {
    "dict", "str", "repr", "list", "tuple", "sorted", "set", "bytes", "bytearray", "format", "ascii", "map", "zip",
    "iter", "reversed", "enumerate", "copy.copy", "copy.deepcopy", "collections.ChainMap", "collections.OrderedDict",
    "json.dumps", "pickle.dumps", "marshal.dumps", "yaml.dump", "yaml.safe_dump", "pprint.pformat", "pprint.saferepr",
    "urllib.parse.urlencode", "urllib.parse.quote", "urllib.parse.quote_plus", "urllib.request.Request", "io.BytesIO",
    "io.StringIO", "base64.b64encode", "base64.urlsafe_b64encode", "base64.b32encode", "base64.b16encode",
    "base64.standard_b64encode", "base64.encodebytes", "binascii.hexlify", "binascii.b2a_base64", "zlib.compress",
    "gzip.compress", "bz2.compress", "lzma.compress", "types.MappingProxyType", "orjson.dumps",
}
PASSING_METHODS = {
    "copy", "items", "values", "encode", "decode", "hex", "join", "format", "strip", "replace", "splitlines", "split",
    "__str__", "__repr__", "getvalue", "getbuffer", "read", "as_string", "as_bytes",
}
# Methods by which an object gets what they are called with.
TAKING_METHODS = {
    "append", "appendleft", "extend", "update", "add", "insert", "set_content", "set_payload", "attach", "push",
    "write",
}
WRITERS = {
    "json.dump", "json.dumps", "pickle.dump", "pickle.dumps", "marshal.dump", "marshal.dumps", "yaml.dump",
    "yaml.safe_dump", "urllib.parse.urlencode", "orjson.dumps", "os.write", "pprint.pprint", "print",
}
WRITING_METHODS = {
    "write", "writelines", "write_text", "write_bytes", "writerow", "writerows", "writestr", "send", "sendall",
    "sendto", "sendmail", "send_message", "send_json", "send_bytes", "post", "patch", "request", "urlopen",
    "communicate",
}
CONSOLE = ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")
STREAMS = ("io.StringIO()", "io.BytesIO()")  # they are followed as values
TAKES_ENVIRONMENT = {"env", "environ", "environment"}  # parameters
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
ROUNDS_MAX = 4  # through the whole module
WORK_MAX = 40  # times the nodes of a module, that are looked at


def may_name_environment(node):
    if isinstance(node, ast.Attribute):
        return node.attr in ("environ", "environb", "__dict__")
    if isinstance(node, ast.ImportFrom):
        return node.module in ("os", "posix")
    return isinstance(node, ast.Name) and node.id in ("getattr", "vars")


class Environment:
    """Follows all environment variables through a module."""

    def __init__(self, names, is_network, report):
        """is_network: whether a dotted name is a function that sends. report: called with each call of note."""
        self.names, self.is_network, self.report = names, is_network, report
        self.functions = {}  # of the module, by their names
        self.parameters = {}  # of functions: those that get an environment
        self.makers = set()  # functions that return one
        self.attributes = set()  # such as "self.env"
        self.work_left = 0

    def look_at_all(self, tree, nodes):
        """False: there was too much to look at."""
        if not any(map(may_name_environment, nodes)):
            return True
        self.work_left = WORK_MAX * len(nodes) + 10000
        self.functions = {node.name: node for node in nodes if isinstance(node, SCOPES)}
        own = set()
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module in ("os", "posix"):
                own |= {alias.asname or alias.name for alias in node.names if "os." + alias.name in OWN}
                own |= {"environ", "environb"} if node.names[0].name == "*" else set()
        for _ in range(ROUNDS_MAX):
            before = self.state()
            self.look_at_scope(tree, set(own))
            if before == self.state() or self.work_left < 0:
                break
        return self.work_left >= 0

    def state(self):
        return len(self.makers), len(self.attributes), sum(map(len, self.parameters.values()))

    # ---- statements ----

    def look_at_scope(self, scope, held):
        """Looks at the body of a module, a class or a function. held: names of variables with an environment."""
        inner = []
        self.look_at_block(scope.body, held, scope, inner)
        for function in inner:
            arguments = function.args
            own = {item.arg for item in arguments.posonlyargs + arguments.args + arguments.kwonlyargs}
            own |= {item.arg for item in (arguments.vararg, arguments.kwarg) if item}
            self.look_at_scope(function, (held - own) | self.parameters.get(function.name, set()))

    def look_at_block(self, body, held, scope, inner):
        for statement in body:
            self.look_at_statement(statement, held, scope, inner)

    def look_at_branches(self, branches, held, scope, inner):
        """Bodies of which any may be run; what one of them takes out of `held` is in it still."""
        for body in branches:
            now = set(held)
            self.look_at_block(body, now, scope, inner)
            held |= now

    def look_at_statement(self, node, held, scope, inner):
        if self.work_left < 0:
            return
        self.work_left -= 1
        if isinstance(node, SCOPES):
            inner.append(node)
            held.discard(node.name)
        elif isinstance(node, ast.ClassDef):
            self.look_at_block(node.body, set(held), scope, inner)
        elif isinstance(node, ast.If):
            self.look_at_if(node, held, scope, inner)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            self.look_at_loop(node, held, scope, inner)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                is_held = self.evaluate(item.context_expr, held)
                self.assign(item.optional_vars, is_held, held)
            self.look_at_block(node.body, held, scope, inner)
        elif hasattr(node, "handlers"):  # try
            handlers = [handler.body for handler in node.handlers]
            self.look_at_block(node.body, held, scope, inner)
            self.look_at_branches(handlers + [node.orelse, node.finalbody], held, scope, inner)
        elif hasattr(node, "cases"):  # match, since Python 3.10
            self.evaluate(node.subject, held)
            self.look_at_branches([case.body for case in node.cases], held, scope, inner)
        else:
            self.look_at_simple(node, held, scope)

    def look_at_if(self, node, held, scope, inner):
        branches = []
        while True:  # over each "elif", of which there may be many
            self.evaluate(node.test, held)
            branches.append(node.body)
            if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
                break
            node = node.orelse[0]
        self.look_at_branches(branches + [node.orelse], held, scope, inner)

    def look_at_loop(self, node, held, scope, inner):
        if isinstance(node, ast.While):
            self.evaluate(node.test, held)
            values = set()
        else:
            is_held = self.evaluate(node.iter, held)
            held -= {key_of(item) for item in find_targets(node.target)}
            is_held = is_held or self.has_keys(node.iter, held)
            values = find_values(node.target, node.iter) if is_held and not has_choice(node) else set()
        for _ in range(2):
            before = set(held)
            now = held | values
            self.look_at_block(node.body, now, scope, inner)
            held |= now - values
            if held == before:
                break
        self.look_at_branches([node.orelse], held, scope, inner)

    def look_at_simple(self, node, held, scope):
        value = getattr(node, "value", None)
        is_held = self.evaluate(node, held) if value is None else self.evaluate(value, held)
        if value is None:
            return
        if isinstance(node, ast.Return) and is_held and isinstance(scope, SCOPES):
            self.makers.add(scope.name)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, is_held, held)
        elif isinstance(node, ast.AnnAssign):
            self.assign(node.target, is_held, held)
        elif isinstance(node, ast.AugAssign) and is_held:
            self.hold(key_of(node.target), held)

    def assign(self, target, is_held, held):
        for item in find_targets(target) if target is not None else []:
            key = key_of(item)
            if is_held:
                self.hold(key, held)
            elif isinstance(item, ast.Name):
                held.discard(key)

    def hold(self, key, held):
        if key and key.startswith(("os.environ", "self.environ.")):
            return
        if key and "." in key:
            self.attributes.add(key)
        elif key:
            held.add(key)

    # ---- expressions ----

    def evaluate(self, root, held):
        """Whether an expression has all variables in it. Reports the calls in it that write or send them."""
        nodes = list(ast.walk(root))
        self.work_left -= len(nodes)
        flags = self.find_flags(nodes, held)
        for _ in range(2):  # of a comprehension in another one, the outer one is known later
            values = self.find_comprehended(nodes, held, flags)
            if values <= held:
                break
            held = held | values
            flags = self.find_flags(nodes, held)
        return flags[id(root)]

    def find_comprehended(self, nodes, held, flags):
        """The variables of comprehensions over an environment."""
        found = set()
        for node in nodes:
            if isinstance(node, COMPREHENSIONS):
                for part in node.generators:
                    is_held = flags[id(part.iter)] or self.has_keys(part.iter, held)
                    if is_held and not is_chosen(node):
                        found |= find_values(part.target, part.iter)
        return found

    def has_keys(self, node, held):
        """Whether an expression is the names of all variables: os.environ.keys(), sorted(os.environ.keys())."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            node = node.args[0]
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "keys":
            return False
        base = node.func.value
        return key_of(base) in held if isinstance(base, ast.Name) else self.names.resolve(base) in OWN

    def find_flags(self, nodes, held):
        flags = {}
        for node in reversed(nodes):  # the parts of an expression before it
            flags[id(node)] = self.is_held(node, held, flags)
        return flags

    def is_held(self, node, held, flags):
        if isinstance(node, ast.Name):
            return node.id in held
        if isinstance(node, ast.Attribute):
            return key_of(node) in self.attributes or self.names.resolve(node) in OWN
        if isinstance(node, ast.Call):
            return self.look_at_call(node, held, flags)
        if isinstance(node, ast.Subscript):
            if flags[id(node.value)] and "key %s" % key_of(node.slice) in held:
                return True
            is_own = not flags[id(node.value)] and self.names.resolve(node) in OWN
            return is_own or isinstance(node.slice, ast.Slice) and flags[id(node.value)]
        if isinstance(node, COMPREHENSIONS):
            return self.is_held_in_comprehension(node, flags)
        if isinstance(node, ast.Dict):
            return any(flags[id(item)] for item in node.values)
        if isinstance(node, ast.IfExp):
            return flags[id(node.body)] or flags[id(node.orelse)]
        if isinstance(node, ast.BinOp):
            is_filled = isinstance(node.op, ast.Mod) and "%(" in (self.names.text_of(node.left) or "")
            return (flags[id(node.left)] or flags[id(node.right)]) and not is_filled
        if isinstance(node, ast.NamedExpr) and flags[id(node.value)]:
            self.hold(key_of(node.target), held)
        if isinstance(node, (
            ast.List, ast.Tuple, ast.Set, ast.JoinedStr, ast.FormattedValue, ast.BoolOp, ast.NamedExpr, ast.Starred,
            ast.Await,
        )):
            return any(flags[id(child)] for child in ast.iter_child_nodes(node))
        return False

    @staticmethod
    def is_held_in_comprehension(node, flags):
        """{k: v for k, v in os.environ.items()}, [os.environ[k] for k in os.environ], and what they are put into."""
        if is_chosen(node):
            return False
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return any(flags[id(part)] for item in made for part in ast.walk(item))

    def look_at_call(self, node, held, flags):
        """Whether what a call returns has them; reports the call if it writes or sends them."""
        name = self.names.resolve(node.func) or ""
        arguments = node.args + [word.value for word in node.keywords if word.arg not in TAKES_ENVIRONMENT and word.arg]
        gets = any(flags[id(item)] for item in arguments)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        base = node.func.value if method else None
        is_base_held = base is not None and flags[id(base)]
        if gets and self.writes(node, name, base, flags):
            self.report(node)
        if gets and isinstance(node.func, (ast.Name, ast.Attribute)):
            self.give(method or name, node, flags)
        if gets and method in TAKING_METHODS:
            self.hold(key_of(base), held)
        if method == "get" and is_base_held:
            return "key %s" % (key_of(node.args[0]) if node.args else "") in held
        if method in PASSING_METHODS and name not in PASSES:
            return is_base_held or gets or name.endswith(tuple(one + ".copy" for one in OWN))
        if (method or name) in self.makers or self.names.resolve(node) in OWN:
            return True
        if name == "dict" and any(word.arg is None and flags[id(word.value)] for word in node.keywords):
            return True
        return name in PASSES and any(flags[id(item)] for item in node.args + [word.value for word in node.keywords])

    def give(self, name, node, flags):
        """Notes which parameters of a function of the module get them."""
        function = self.functions.get(name)
        if not function:
            return
        names = [item.arg for item in function.args.posonlyargs + function.args.args]
        if isinstance(node.func, ast.Attribute) and names[:1] == ["self"]:
            names = names[1:]
        got = {one for one, item in zip(names, node.args) if flags[id(item)]}
        got |= {word.arg for word in node.keywords if word.arg and flags[id(word.value)]}
        self.parameters.setdefault(function.name, set()).update(got)

    def writes(self, node, name, base, flags):
        if name == "print":
            files = [word.value for word in node.keywords if word.arg == "file"]
            return any(self.names.resolve(item) not in CONSOLE for item in files)
        if name == "pprint.pprint":
            return len(node.args) > 1
        if name == "os.write":
            return not (isinstance(node.args[0], ast.Constant) and node.args[0].value in (1, 2))
        if name in WRITERS or self.is_network(name):
            return True
        if self.runs_sender(node, name, flags):
            return True
        method = node.func.attr if base is not None else ""
        owner = (self.names.resolve(base) or "") if base is not None else ""
        is_console = owner.startswith(CONSOLE)
        return method in WRITING_METHODS and not is_console and owner not in STREAMS

    def runs_sender(self, node, name, flags):
        """Whether a call starts a program that sends, such as curl, with them in its arguments or its input."""
        if not name.startswith(("subprocess.", "os.system", "os.popen", "os.exec", "os.spawn")) or not node.args:
            return False
        if name.startswith(("os.exec", "os.spawn")) and not any(
            flags[id(item)] for item in node.args if isinstance(item, (ast.List, ast.Tuple))
        ):
            return False  # it is the environment of the program
        from shell_names import NETWORK, name_of  # here, because few programs need it, as in python.py

        words = []
        for argument in node.args[:3]:
            items = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
            words += [self.names.text_of(item) or "" for item in items]
        return name_of(" ".join(words).split())[0] in NETWORK

"""Looks at a Python program, which it reads from standard input, by Python's own ast. Started by callgate inspect in a
sandbox: the program may be hostile, and Python's parser is not made for that.
"""

import ast
import functools
import os
import re
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from findings import Findings, InnerFindings, print_line, read_program
from python_archive import has_text_before, open_archive, read_programs
from python_environment import Environment
from python_files import LOOPS, Files, is_wiping_loop
from python_given import find_calls, find_decorations
from python_names import IMPORTERS, Names
from python_paths import Paths
from python_starts import find_command, is_starter
from python_variables import find_assignments

NETWORK = (
    "socket", "ssl", "http.client", "http.server", "urllib.request", "urllib2", "urllib3", "requests", "httpx",
    "aiohttp", "ftplib", "smtplib", "telnetlib", "poplib", "imaplib", "nntplib", "xmlrpc", "socketserver",
    "websocket", "websockets", "paramiko", "asyncssh", "dns", "scapy", "pycurl", "grpc", "boto3",
    "asyncio.open_connection", "asyncio.start_server", "webbrowser",
)
PROCESS = (
    "subprocess", "os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.startfile",
    "pty", "multiprocessing", "popen2", "commands", "pexpect", "sh", "plumbum", "posix.system",
    "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell",
)
NATIVE = (
    "ctypes", "_ctypes", "cffi", "_cffi_backend", "importlib.machinery.ExtensionFileLoader", "imp.load_dynamic",
    "numpy.ctypeslib", "_imp.create_dynamic", "distutils.ccompiler", "llvmlite", "keystone", "Cython",
)
RUNS_TEXT = (
    "eval", "exec", "compile", "execfile", "code.InteractiveInterpreter", "code.interact", "runpy.run_path",
    "runpy.run_module", "types.CodeType", "types.FunctionType", "timeit.timeit", "timeit.repeat", "timeit.Timer",
    "site.addsitedir", "cProfile.run", "cProfile.runctx", "profile.run", "profile.runctx", "pdb.run", "pdb.runeval",
    "bdb.Bdb().run", "code.InteractiveConsole", "imp.load_source", "zipimport.zipimporter", "pkgutil.resolve_name",
    "pydoc.locate", "importlib.metadata.EntryPoint", "importlib.machinery.SourceFileLoader",
)
BY_NAME = ("eval", "exec")  # are of note also where they are not called
UNPICKLES = (
    "pickle.load", "pickle.loads", "pickle.Unpickler", "_pickle.load", "_pickle.loads", "_pickle.Unpickler",
    "cPickle.load", "cPickle.loads", "dill.load", "dill.loads", "cloudpickle.load", "cloudpickle.loads",
    "marshal.load", "marshal.loads", "shelve.open", "jsonpickle.decode", "yaml.unsafe_load", "yaml.full_load",
    "yaml.unsafe_load_all", "joblib.load", "pandas.read_pickle",
)
DECODES = (
    "base64.b64decode", "base64.standard_b64decode", "base64.urlsafe_b64decode", "base64.b32decode",
    "base64.b16decode", "base64.a85decode", "base64.b85decode", "base64.decodebytes", "base64.decodestring",
    "binascii.unhexlify", "binascii.a2b_base64", "binascii.a2b_hex", "zlib.decompress", "lzma.decompress",
    "bz2.decompress", "gzip.decompress", "codecs.decode", "bytes.fromhex", "bytearray.fromhex", "marshal.loads",
    "marshal.load",
)
FETCHES = (
    "urllib.request.", "urllib2.", "requests.", "httpx.", "urllib.urlopen", "urllib3.", "http.client.",
    "aiohttp.", "socket.socket().recv",
)
INNARDS = (
    "__subclasses__", "__globals__", "__builtins__", "__code__", "__bases__", "__mro__", "__getattribute__",
    "f_globals", "gi_frame", "co_code",
)
METHODS = ("connect", "connect_ex", "bind", "listen", "sendto")  # of the values that calls return
STANDARD = getattr(sys, "stdlib_module_names", ())  # since Python 3.10
CHARACTERS_MAX = 5  # by chr(), which are not of note
MADE_OFTEN = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.Lambda)
WIPES = ("shutil.rmtree", "os.removedirs")
NO_FUNCTION = re.compile(r"^subprocess\.([A-Z_]+|\w+Error|TimeoutExpired|CompletedProcess)$")  # what others are given
UNSAFE_LOADERS = ("Loader", "UnsafeLoader", "CLoader", "FullLoader")  # of yaml
EXTENSION_METHODS = ("load_extension", "enable_load_extension")  # of connections to SQLite


@functools.lru_cache(maxsize=10000)
def is_one_of(name, table):
    """Whether a dotted name is in the table, or below a module of it. A row that ends with a "." is a prefix."""
    return any(name == row or name.startswith(row if row.endswith(".") else row + ".") for row in table)


def describe(node):
    """The expression as source text; of a long one the beginning."""
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        return type(node).__name__


class ArchiveFindings(InnerFindings):
    """What is found in an archive, whose programs import from the archive."""

    def add_local_import(self, line, name):
        pass


class Inspector:
    """Collects the findings of one module."""

    def __init__(self, tree, findings):
        self.tree = tree
        self.nodes = list(ast.walk(tree))
        self.names = Names()
        self.findings = findings
        self.decoded, self.fetched, self.sockets = set(), set(), set()
        self.said = {}  # by once()
        self.imports_network = False
        self.called = {id(node.func) for node in self.nodes if isinstance(node, ast.Call)}
        self.files = Files(self.names, lambda node: self.comes_from(node, FETCHES, self.fetched))
        self.paths = Paths(self.names)
        self.findings.attempt(1, self.names.learn, self.nodes)
        self.findings.attempt(1, self.paths.learn, self.nodes)
        self.findings.attempt(1, self.follow_values)
        self.findings.attempt(1, self.files.learn, self.nodes)

    # ---- where values come from ----

    def once(self, look, node, *rest):
        """What a method says of an expression: many calls that are given functions share their arguments."""
        key = look.__name__, id(node), tuple(map(id, rest))
        if key not in self.said:
            self.said[key] = node, look(node, *rest)  # with the node, another one does not get its id
        return self.said[key][1]

    def comes_from(self, node, table, known):
        """Whether an expression calls a function of the table, or uses a name whose value comes from one."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                name = self.names.resolve(part.func)
                if name and is_one_of(name, table):
                    return True
                if table is FETCHES and isinstance(part.func, ast.Attribute) and part.func.attr in ("recv", "urlopen"):
                    return True
            if isinstance(part, ast.Name) and part.id in known:
                return True
        return False

    def is_decoded(self, node):
        if self.comes_from(node, DECODES, self.decoded) or self.is_of_characters(node):
            return True
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and self.names.resolve(part.func) in ("bytes", "bytearray"):
                if part.args and isinstance(part.args[0], (ast.List, ast.Tuple)):
                    return True
            if isinstance(part, ast.Subscript) and self.names.text_of(part) is not None:
                return True
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "decode":
                if any(self.names.text_of(arg) in ("rot13", "rot_13", "hex", "base64") for arg in part.args):
                    return True
        return False

    def is_of_characters(self, node):
        """Whether characters are made by numbers: in a loop, or more than a few, such as chr(34) for a quote."""
        parts = list(ast.walk(node))
        calls = [part for part in parts if isinstance(part, ast.Call) and self.names.resolve(part.func) == "chr"]
        if len(calls) > CHARACTERS_MAX:
            return True
        loops = [part for part in parts if isinstance(part, MADE_OFTEN)]
        called = {id(call.func) for call in calls}
        repeated = {id(part) for loop in loops for part in ast.walk(loop)} if calls else set()
        return bool(called & repeated) or any(
            isinstance(part, ast.Name) and id(part) not in called and self.names.resolve(part) == "chr"
            for part in parts
        )

    def follow_values(self):
        for _ in range(3):
            known = len(self.decoded), len(self.fetched)
            for node in self.nodes:
                if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    self.follow_value(targets, node.value)
                elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                    self.follow_value([node.optional_vars], node.context_expr)
                elif isinstance(node, ast.For):
                    self.follow_value([node.target], node.iter)
            if known == (len(self.decoded), len(self.fetched)):
                return  # a further round would find nothing more

    def follow_value(self, targets, value):
        names = {
            part.id
            for target in targets
            for part in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])
            if isinstance(part, ast.Name)
        }
        if self.comes_from(value, DECODES, self.decoded):
            self.decoded |= names
        if self.comes_from(value, FETCHES, self.fetched):
            self.fetched |= names
        if isinstance(value, ast.Call) and self.names.resolve(value.func) in (
            "socket.socket", "socket.create_connection"
        ):
            self.sockets |= names

    # ---- statements ----

    def tell_local_imports(self, node):
        """A name that is imported from a package may be a module in it."""
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            start = "." * node.level + (node.module or "")
            between = "." if node.module else ""
            names = [start if alias.name == "*" else start + between + alias.name for alias in node.names]
        for name in names:
            self.findings.add_local_import(node.lineno, name)

    def look_at_import(self, node):
        self.tell_local_imports(node)
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif node.level or not node.module:
            return
        else:
            modules = [node.module]
            for alias in node.names:
                self.classify_import(node.lineno, "%s.%s" % (node.module, alias.name), True)
        for module in modules:
            self.add_import(node.lineno, module)
            self.classify_import(node.lineno, module, False)

    def add_import(self, line, module):
        is_standard = module.split(".")[0] in STANDARD
        self.findings.add(line, "standard" if is_standard else "import", module)

    def classify_import(self, line, name, is_member):
        """is_member: the name may be a function; then it is of note only if the table has just that."""
        for kind, table in (("network", NETWORK), ("process", PROCESS), ("native", NATIVE)):
            if (name in table) if is_member else is_one_of(name, table):
                self.findings.add(line, kind, "import " + name)
                self.imports_network |= kind == "network"

    def look_at_call(self, node, is_given=False):
        """is_given: the call is made by another one, which was given the function."""
        name = self.names.resolve(node.func)
        for call in [] if is_given else find_calls(node, self.names, self.is_function_of_note):
            self.look_at_call(call, True)
        if isinstance(node.func, ast.Attribute) and node.func.attr in EXTENSION_METHODS:
            self.findings.add(node.lineno, "native", describe(node))
        if isinstance(node.func, ast.Call) and self.names.resolve(node.func.func) == "getattr":
            self.look_at_getattr(node.func)
        if not name:
            return
        name = re.sub(r"^(posix|nt)\.", "os.", name)  # what os is made of
        if name in IMPORTERS:
            self.look_at_dynamic_import(node, name)
        self.look_at_text_runner(node, name)
        is_method_of_result = "()" in name and name.rsplit(".", 1)[-1] not in METHODS
        for kind, table in (("network", NETWORK), ("process", PROCESS), ("native", NATIVE)):
            # os.exec is a prefix of functions' names
            if is_method_of_result:
                break
            if is_one_of(name, table) or (kind == "process" and name.startswith(("os.exec", "os.spawn", "os.posix_s"))):
                self.findings.add(node.lineno, kind, describe(node))
        if is_starter(name):
            self.look_at_command(node, name)
        self.look_at_socket_use(node, name)
        self.look_at_wiping(node, name)

    @staticmethod
    def is_function_of_note(name):
        """Whether a dotted name is one of a function that starts programs or runs what it is given."""
        name = re.sub(r"^(posix|nt)\.", "os.", name or "")
        return "()" not in name and not NO_FUNCTION.match(name) and (
            is_starter(name) or name in UNPICKLES or (name in RUNS_TEXT and not name.startswith("types."))
        )

    def look_at_environment(self, tree):
        def report(call):
            self.findings.add(call.lineno, "credentials", "the whole environment: " + describe(call))

        environment = Environment(self.names, lambda name: is_one_of(name, NETWORK), report)
        if not environment.look_at_all(tree, self.nodes):
            self.names.is_limited = True

    def look_at_getattr(self, call):
        base = self.names.resolve(call.args[0]) if call.args else None
        if len(call.args) > 1 and self.names.text_of(call.args[1]) is None and base in (
            "os", "subprocess", "builtins", "__builtins__", "sys", "ctypes", "socket", "importlib"
        ):
            self.findings.add(call.lineno, "dynamic", "calls " + describe(call))

    def look_at_dynamic_import(self, node, name):
        module = self.names.text_of(node.args[0]) if node.args else None
        if module is None or "{}" in module:
            self.findings.add(node.lineno, "dynamic", describe(node))
            return
        is_plain = isinstance(node.args[0], (ast.Constant, ast.Name))
        self.findings.add_local_import(node.lineno, module)
        self.add_import(node.lineno, module)
        self.classify_import(node.lineno, module, False)
        if not is_plain:
            self.findings.add(node.lineno, "obfuscated", "%s of a name that is put together: %s" % (name, module))

    def look_at_text_runner(self, node, name):
        is_runner = is_one_of(name, RUNS_TEXT)
        if self.is_unsafe_load(node, name):
            self.findings.add(node.lineno, "dynamic", describe(node))
        if not is_runner and not is_one_of(name, UNPICKLES):
            return
        self.findings.add(node.lineno, "dynamic", describe(node))
        for value in node.args if is_runner else []:
            text = self.names.text_of(value)
            if self.once(self.comes_from, value, FETCHES, self.fetched):
                self.findings.add(node.lineno, "download-run", describe(node))
            elif self.once(self.is_decoded, value):
                self.findings.add(node.lineno, "obfuscated", text or describe(node))
            if text and value is node.args[0]:
                self.look_at_inner_program(node.lineno, text)

    def is_unsafe_load(self, node, name):
        """Whether a call reads what may be code, by its arguments: with or without one, it reads data."""
        values = {word.arg: word.value for word in node.keywords}
        if name in ("yaml.load", "yaml.load_all"):
            loader = values.get("Loader", node.args[1] if len(node.args) > 1 else None)
            return loader is None or (self.names.resolve(loader) or "").rsplit(".", 1)[-1] in UNSAFE_LOADERS
        flag = {"numpy.load": "allow_pickle", "torch.load": "weights_only"}.get(name)
        is_set = isinstance(values.get(flag), ast.Constant) and bool(values[flag].value)
        return is_set if name == "numpy.load" else name == "torch.load" and not is_set

    def look_at_inner_program(self, line, text):
        """The text of an eval or exec is a program as well."""
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return
        Inspector(tree, InnerFindings(self.findings, line)).look_at_all()

    def look_at_shell(self, line, texts):
        """The command line, or the arguments, of a program that is started."""
        import shell  # here, because few programs need it, and it is a third of the parser's start

        if len(texts) == 1:
            shell.look_at_text(self.findings, texts[0], line)
        else:
            shell.look_at_words(self.findings, texts, line)

    def look_at_command(self, node, name):
        """The arguments of a call that starts a program."""
        items = find_command(name, node, self.names, self.paths.lists)
        sources = items + node.args
        if any(self.once(self.comes_from, item, FETCHES, self.fetched) for item in sources):
            self.findings.add(node.lineno, "download-run", describe(node))
        elif any(self.once(self.is_decoded, item) for item in sources):
            self.findings.add(node.lineno, "obfuscated", describe(node))
        texts = [self.paths.path_of(item) for item in items]
        if texts and texts[0]:
            texts = ["{}" if text is None else text for text in texts]
            self.look_at_shell(node.lineno, texts)
        if self.files.runs(items):
            self.findings.add(node.lineno, "download-run", describe(node))
        for word in node.keywords:
            if word.arg in ("stdin", "stdout") and self.uses_socket(word.value):
                self.findings.add(node.lineno, "reverse-shell", describe(node))

    def uses_socket(self, node):
        return any(isinstance(part, ast.Name) and part.id in self.sockets for part in ast.walk(node))

    def look_at_socket_use(self, node, name):
        if name in ("os.dup2", "posix.dup2") and node.args:
            value = node.args[0]
            if self.uses_socket(value):
                self.findings.add(node.lineno, "reverse-shell", describe(node))
        if name == "pty.spawn" and self.imports_network:
            self.findings.add(node.lineno, "reverse-shell", describe(node))

    def look_at_wiping(self, node, name):
        if name not in WIPES or not node.args:
            return
        if self.is_root(node.args[0]):
            self.findings.add(node.lineno, "destructive", describe(node))

    def is_root(self, node):
        """Whether an expression is a directory below which everything of the system or a user is."""
        is_home = isinstance(node, ast.Call) and self.names.resolve(node.func) in (
            "os.path.expanduser", "pathlib.Path.home"
        ) and (not node.args or self.names.text_of(node.args[0]) in ("~", "~/"))
        return is_home or self.names.text_of(node) in ("/", "/home", "/etc", "/usr", "/root", "~")

    def look_at_loop(self, node):
        """while True: os.fork()"""
        if not isinstance(node.test, ast.Constant) or not node.test.value or len(node.body) > 2:
            return
        for statement in node.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                if self.names.resolve(statement.value.func) in ("os.fork", "os.forkpty"):
                    self.findings.add(node.lineno, "destructive", "an endless loop of os.fork()")

    def look_at_all(self):
        for node in self.nodes:
            self.findings.attempt(getattr(node, "lineno", 1), self.look_at_node, node)
        self.findings.attempt(1, self.look_at_environment, self.tree)
        if self.names.is_limited:
            self.findings.add(1, "unparsable", "could not be parsed: too many expressions in each other")

    def look_at_node(self, node):
        if self.paths.is_put_together(node):
            self.findings.look_at(node.lineno, self.paths.path_of(node) or "", "strings")
        for assignment in find_assignments(node, self.names, describe):
            self.findings.add_assignment(node.lineno, assignment)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.look_at_import(node)
        elif isinstance(node, ast.Call):
            self.look_at_call(node)
            for path in self.paths.find_read(node):
                self.findings.look_at_directory(node.lineno, path)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for call in find_decorations(node, self.names, self.is_function_of_note):
                self.look_at_call(call, True)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in self.called:
            if self.names.stands_for.get(node.id, node.id) in BY_NAME:
                self.findings.add(node.lineno, "dynamic", "uses " + node.id)
        elif isinstance(node, ast.While):
            self.look_at_loop(node)
        elif isinstance(node, LOOPS) and is_wiping_loop(node, self.names, self.is_root):
            self.findings.add(node.lineno, "destructive", describe(node))
        elif isinstance(node, ast.Attribute) and node.attr in INNARDS:
            self.findings.add(node.lineno, "dynamic", "uses " + node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if len(text) < 1000 and "\n" not in text:
                self.findings.look_at(node.lineno, text, "strings")


def parse(program, findings):
    """The tree of a program; None: it is none in this version of Python, which may not be the one that runs it."""
    try:
        return ast.parse(program)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        findings.add(line, "syntax", "%s" % getattr(error, "msg", error))
        findings.look_at_lines(program.decode("latin-1"))
    except (RecursionError, MemoryError) as error:  # too deep for the parser
        findings.add(1, "unparsable", "could not be parsed: %s" % type(error).__name__)
        findings.look_at_lines(program.decode("latin-1"))
        return None
    if b"\0" not in program:
        return None
    # before Python 3.12, lines end at a zero byte
    return parse(re.sub(rb"\0[^\n]*", b"", program), findings)


def look_at_archive(archive, findings):
    """Looks at what is in an archive."""
    for inner in read_programs(archive, findings):
        inner_findings = ArchiveFindings(findings, 1)
        tree = parse(inner, inner_findings)
        if tree:
            Inspector(tree, inner_findings).look_at_all()


def main():
    warnings.simplefilter("ignore")
    findings = Findings(print_line)
    program = read_program()
    archive = open_archive(program)
    if archive:
        findings.attempt(1, look_at_archive, archive, findings)
    if archive and has_text_before(program):
        findings.add(1, "obfuscated", "an archive behind other text, of which Python runs __main__.py instead")
    tree = None if archive and not has_text_before(program) else parse(program, findings)
    if tree:
        Inspector(tree, findings).look_at_all()
    findings.end()


if __name__ == "__main__":
    main()

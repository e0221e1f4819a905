"""Part of the Python parser of callgate inspect: files that a program fetches and runs, or wipes."""

import ast

REMOVES = ("os.remove", "os.unlink", "shutil.rmtree", "os.rmdir")
LISTS = ("os.walk", "os.fwalk", "os.scandir", "os.listdir")
GLOBS = ("glob.glob", "glob.iglob")
LIST_METHODS = ("iterdir", "rglob", "walk")
LOOPS = (ast.For, ast.ListComp, ast.GeneratorExp, ast.SetComp)
WRITES = ("write", "write_bytes", "write_text", "writelines")
OPENS = ("open", "io.open", "pathlib.Path", "os.fdopen")


def is_listing(call, names, is_root):
    """Whether a call lists all files below a root: os.walk("/home"), Path("/").iterdir(), glob.glob("/*")."""
    name = names.resolve(call.func) or ""
    if name in LISTS and call.args:
        return is_root(call.args[0])
    if name in GLOBS and call.args:
        return names.text_of(call.args[0]) in ("/*", "/**", "/home/*", "/root/*", "~/*")
    base = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in LIST_METHODS else None
    return isinstance(base, ast.Call) and names.resolve(base.func) == "pathlib.Path" and (
        bool(base.args) and is_root(base.args[0])
    )


def is_wiping_loop(node, names, is_root):
    """Whether a loop over all files below a root removes each: for ... in os.walk("/home"): os.remove(...)."""
    iterated = node.iter if isinstance(node, ast.For) else node.generators[0].iter
    calls = [part for part in ast.walk(iterated) if isinstance(part, ast.Call)]
    roots = iterated.elts if isinstance(iterated, (ast.Tuple, ast.List)) else []
    if not any(map(is_root, roots)) and not any(is_listing(call, names, is_root) for call in calls):
        return False
    parts = [part for part in ast.walk(node) if isinstance(part, (ast.Call, ast.If, ast.IfExp, ast.comprehension))]
    has_choice = any(isinstance(part, (ast.If, ast.IfExp)) or getattr(part, "ifs", None) for part in parts)
    return not has_choice and any(isinstance(part, ast.Call) and names.resolve(part.func) in REMOVES for part in parts)


class Files:
    """The files to which a program writes what it has fetched."""

    def __init__(self, names, is_fetched):
        self.names = names
        self.is_fetched = is_fetched
        self.opened = {}  # names of variables, and the files that they stand for
        self.fetched = set()

    def file_of(self, node):
        """The name of the file that an expression stands for: open("x", "wb"), Path("x"), or a variable of one."""
        if isinstance(node, ast.Name):
            return self.opened.get(node.id)
        if isinstance(node, ast.Call) and node.args and self.names.resolve(node.func) in OPENS:
            return self.name_of(node.args[0])
        return None

    def name_of(self, node):
        """A file's name, or what stands for that of a variable, which may be that of a new temporary file."""
        text = self.names.text_of(node)
        return "/{%s}" % node.id if text is None and isinstance(node, ast.Name) else text

    def learn(self, nodes):
        for node in nodes:
            if isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
                self.opened[node.optional_vars.id] = self.file_of(node.context_expr)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.opened[node.targets[0].id] = self.file_of(node.value)
        for node in nodes:
            if isinstance(node, ast.Call):
                self.learn_call(node)
        self.fetched.discard(None)

    def learn_call(self, node):
        if self.names.resolve(node.func) in ("urllib.request.urlretrieve", "urllib.urlretrieve", "wget.download"):
            self.fetched.update(self.name_of(arg) for arg in node.args[1:2])
        elif isinstance(node.func, ast.Attribute) and node.func.attr in WRITES and node.args:
            if self.is_fetched(node.args[0]):
                self.fetched.add(self.file_of(node.func.value))

    def runs(self, items):
        """Whether the expressions of a command line, or those of the words of a command, run one of the files."""
        texts = [self.name_of(item) or "{}" for item in items]
        if not self.fetched or not texts:
            return False
        from shell_flows import find_run, plain  # here, because few programs need it, as in python.py
        from shell_words import split_commands

        commands = [texts] if len(texts) > 1 else [command.words for command in split_commands(texts[0])]
        fetched = {plain(file) for file in self.fetched}
        return any(find_run(words) & fetched for words in commands)

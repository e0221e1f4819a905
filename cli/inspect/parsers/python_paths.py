"""Part of the Python parser of callgate inspect: names of files that a program puts together, and whole directories of
credentials that it copies or reads."""

import ast

HOMES = ("os.environ['HOME']", "pathlib.Path.home()")
GETTERS = ("os.getenv", "os.environ.get", "posix.environ.get")
SAME = (
    "os.path.expanduser", "os.path.expandvars", "os.path.abspath", "os.path.realpath", "os.path.normpath", "os.fspath",
    "str", "pathlib.Path", "pathlib.PosixPath", "pathlib.PurePath",
)
SAME_METHODS = ("expanduser", "resolve", "absolute", "as_posix", "__str__", "__fspath__")
JOINS = ("os.path.join", "posixpath.join", "pathlib.Path", "pathlib.PosixPath", "pathlib.PurePath")
# Functions that read a directory's files or names, all that is below it, or put it elsewhere.
READS = (
    "shutil.copytree", "shutil.move", "shutil.make_archive", "distutils.dir_util.copy_tree", "os.walk", "os.fwalk",
    "os.listdir", "os.scandir", "glob.glob", "glob.iglob", "tarfile.open().add", "tarfile.TarFile.open().add",
    "tarfile.TarFile().add", "zipfile.ZipFile().write", "zipfile.ZipFile().mkdir",
)
READING_METHODS = ("iterdir", "rglob", "glob", "walk", "copy", "move", "copy_into", "move_into")
DESTINATIONS = ("shutil.copytree", "shutil.move", "distutils.dir_util.copy_tree")  # the second argument is no source
SOURCES = ("src", "root_dir", "base_dir", "path")  # keywords
DEPTH_MAX = 20
VALUES_MAX = 50  # of a loop


class Paths:
    """The names of files and directories that expressions have; the user's home directory is "~"."""

    def __init__(self, names):
        self.names = names
        self.variables = {}
        self.lists = {}  # variables that are lists of names
        self.looped = {}  # variables of loops over such lists, and all values that they get

    def learn(self, nodes):
        for _ in range(2):
            for node in nodes:
                if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                    path = self.path_of(node.value)
                    if path is not None:
                        self.variables[node.targets[0].id] = path
                    elif isinstance(node.value, (ast.List, ast.Tuple)):
                        self.lists[node.targets[0].id] = node.value
                elif isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Name):
                    values = self.lists.get(node.iter.id) if isinstance(node.iter, ast.Name) else node.iter
                    if isinstance(values, (ast.List, ast.Tuple)):
                        self.looped[node.target.id] = values.elts[:VALUES_MAX]

    def path_of(self, node, depth=0):
        """None: not known."""
        if depth > DEPTH_MAX:
            return None
        text = self.names.text_of(node)
        if text is not None and not isinstance(node, ast.JoinedStr):
            return text
        if isinstance(node, ast.Name):
            return self.variables.get(node.id)
        if isinstance(node, ast.Subscript):
            is_home = self.names.text_of(node.slice) == "HOME"
            return "~" if is_home and self.names.resolve(node.value) in ("os.environ", "posix.environ") else None
        if isinstance(node, ast.Call):
            return self.path_of_call(node, depth)
        if isinstance(node, ast.JoinedStr):
            parts = [self.path_of(part, depth + 1) for part in node.values]
            return "".join("{}" if part is None else part for part in parts)
        if isinstance(node, ast.FormattedValue):
            return self.path_of(node.value, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
            return self.join([node.left, node.right], "/" if isinstance(node.op, ast.Div) else "", depth)
        return None

    def join(self, nodes, between, depth):
        parts = [self.path_of(node, depth + 1) for node in nodes]
        if all(part is None for part in parts):
            return None
        return between.join("{}" if part is None else part.rstrip("/") if between else part for part in parts)

    def path_of_call(self, node, depth):
        name = self.names.resolve(node.func) or ""
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name + "()" in HOMES:
            return "~"
        if name in GETTERS:
            return "~" if node.args and self.names.text_of(node.args[0]) == "HOME" else None
        if name in JOINS and len(node.args) > 1:
            return self.join(node.args, "/", depth)
        if method == "joinpath":
            return self.join([node.func.value] + node.args, "/", depth)
        if name in SAME and node.args:
            return self.path_of(node.args[0], depth + 1)
        return self.path_of(node.func.value, depth + 1) if method in SAME_METHODS else None

    def is_put_together(self, node):
        """Whether an expression makes a name of a file of several parts."""
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, (ast.Add, ast.Div))
        if not isinstance(node, ast.Call) or not node.args:
            return False
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "joinpath"
        return is_method or (len(node.args) > 1 and self.names.resolve(node.func) in JOINS)

    def find_read(self, node):
        """The directories of which a call reads or copies what is in them."""
        name = self.names.resolve(node.func) or ""
        found = []
        if name in READS:
            found = node.args[:1] if name in DESTINATIONS else node.args
            found = found + [word.value for word in node.keywords if word.arg in SOURCES]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in READING_METHODS:
            found = [node.func.value]
        return [path for item in found for path in self.paths_of(item) if path is not None]

    def paths_of(self, node):
        """The names that an expression has in a loop."""
        used = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
        name = next((one for one in used if one in self.looped), None)
        if name is None:
            return [self.path_of(node)]
        paths, before = [], self.variables.get(name)
        for value in self.looped[name]:
            self.variables[name] = self.path_of(value)
            paths.append(self.path_of(node))
        self.variables[name] = before
        return paths

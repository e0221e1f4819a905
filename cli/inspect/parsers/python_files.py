"""Part of the Python parser of callgate inspect: files that a program fetches and runs, or wipes."""

import ast

REMOVES = ("os.remove", "os.unlink", "shutil.rmtree", "os.rmdir")
WRITES = ("write", "write_bytes", "write_text", "writelines")
OPENS = ("open", "io.open", "pathlib.Path", "os.fdopen")


def find_wiping_loop(node, names, is_root):
    """Whether a loop over all files below a root removes each: for ... in os.walk("/home"): os.remove(...)."""
    call = node.iter
    if not isinstance(call, ast.Call) or names.resolve(call.func) not in ("os.walk", "os.scandir") or not call.args:
        return False
    if not is_root(call.args[0]):
        return False
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    has_choice = any(isinstance(part, (ast.If, ast.IfExp)) for part in ast.walk(node))
    return not has_choice and any(names.resolve(part.func) in REMOVES for part in calls)


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
            return self.names.text_of(node.args[0])
        return None

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
            self.fetched.update(self.names.text_of(arg) for arg in node.args[1:2])
        elif isinstance(node.func, ast.Attribute) and node.func.attr in WRITES and node.args:
            if self.is_fetched(node.args[0]):
                self.fetched.add(self.file_of(node.func.value))

    def runs(self, texts):
        """Whether a command line, or the words of a command, run one of the files."""
        if not self.fetched:
            return False
        from shell_flows import find_run, plain  # here, because few programs need it, as in python.py
        from shell_words import split_commands

        commands = [texts] if len(texts) > 1 else [command.words for command in split_commands(texts[0])]
        fetched = {plain(file) for file in self.fetched}
        return any(find_run(words) & fetched for words in commands)

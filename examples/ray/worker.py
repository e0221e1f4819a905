"""What the workers run. A module, and not part of the program: so its state is that of the worker process."""

import os

from callgate import Sandbox, SandboxException

sandboxes = []  # of this process: at most one


def run(code):
    """Runs a snippet in the sandbox of this worker. What came of it, as a text."""
    try:
        if not sandboxes:
            sandboxes.append(Sandbox.create(timeout=3600))
        done = sandboxes[0].run_code(code, timeout=60)
        return done.error.name if done.error else done.text
    except SandboxException:
        sandboxes.clear()  # the next snippet gets a new one
        raise


def run_number(number):
    """Every hundredth snippet ends its interpreter. The number, the result, and the process that had it."""
    code = "import os; os._exit(1)" if number % 100 == 0 else "sum(range(%d))" % number
    return number, run(code), os.getpid()


def is_right(number, result):
    return result == ("InterpreterDied" if number % 100 == 0 else str(sum(range(number))))

"""The quick start of E2B's code interpreter."""

from e2b_code_interpreter import Sandbox

with Sandbox.create() as sandbox:
    sandbox.run_code("numbers = [1, 2, 3]")
    print(sandbox.run_code("sum(numbers)").text)

    sandbox.files.write("hello.txt", "hello from a file\n")
    print(sandbox.commands.run("cat hello.txt; whoami; pwd").stdout, end="")

    print(sandbox.run_code("open('/etc/shadow')").error.value)

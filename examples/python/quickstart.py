"""A sandbox: code that keeps its variables, commands, files."""

from callgate import CommandExitException, Sandbox

with Sandbox.create() as sandbox:
    sandbox.run_code("numbers = [1, 2, 3]")
    print(sandbox.run_code("sum(numbers)").text)

    sandbox.files.write("hello.txt", "hello from a file\n")
    print(sandbox.commands.run("cat hello.txt; whoami; pwd").stdout, end="")
    print(sandbox.commands.run("sort", stdin="b\na\n").stdout.split())

    print(sandbox.run_code("open('/etc/shadow')").error)
    try:
        sandbox.commands.run("touch /usr/bin/mine")
    except CommandExitException as error:
        print(error.exit_code, error.stderr, end="")

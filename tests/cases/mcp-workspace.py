"""Checkpoints of `callgate mcp --cow`, by its tools. Arguments: the command line of the server; the directory of -w has
a file "file". Prints what is wrong, and exits with 1 then."""
import json
import subprocess
import sys

failed = False
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
last_id = 0


def expect(what, condition, got=None):
    global failed
    if not condition:
        failed = True
        print(f"FAIL: {what}: {str(got)[:1500]}")


def ask(method, params):
    global last_id
    last_id += 1
    message = {"jsonrpc": "2.0", "id": last_id, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())["result"]


def call(tool, **arguments):
    return ask("tools/call", {"name": tool, "arguments": arguments})


def run(command):
    return call("run_command", command=command)["structuredContent"]["stdout"]


ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
hints = {tool["name"]: tool["annotations"].get("destructiveHint") for tool in ask("tools/list", {})["tools"]}
expect("the tools", hints.get("restore") is True and hints.get("checkpoint") is False and hints["status"] is None,
       hints)
expect("a program", run("echo one >file; echo kept >kept; cat file") == "one\n")
first = call("checkpoint")
expect("a checkpoint", not first["isError"] and first["structuredContent"]["sandbox"], first)
expect("another program", run("echo two >file; rm kept; echo x >new; cat file") == "two\n")
second = call("checkpoint", name="later")
expect("its name", second["structuredContent"]["checkpoint"] == "later", second)
result = call("restore", checkpoint=first["structuredContent"]["checkpoint"])
expect("restored", not result["isError"] and run("cat file kept; ls") == "one\nkept\nfile\nkept\n", result)
expect("and back", not call("restore", checkpoint="later")["isError"] and run("cat file; ls") == "two\nfile\nnew\n")
for name in ("nonesuch", "../later", "", "--list", "later"):
    result = call("checkpoint" if name == "later" else "restore", **{"name" if name == "later" else "checkpoint": name})
    expect(f"refused: {name}", result["isError"] and "structuredContent" not in result, result)
expect("it goes on", run("cat file") == "two\n")
process.stdin.close()
expect("the end", process.wait(20) == 0)
sys.exit(failed)

"""The tools of `callgate mcp --cow` for workspaces. Arguments: the directory of -w, which has a file "file" with the
text "old", and the command line of the server; --allow-apply is added. MCP_APPLY_IS_KILLED: the command line of a
server whose `callgate ws apply` is killed. Prints what is wrong, and exits with 1 then."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the module is in the source tree
from mcp_client import end, expect  # noqa: E402 pylint: disable=wrong-import-position

directory, command = sys.argv[1], sys.argv[2:]
process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
last_id = 0


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


def changes(result):
    return [(change["change"], change["path"]) for change in result.get("structuredContent", {}).get("changes", [])]


def outside():
    return {name: open(os.path.join(directory, name), encoding="ascii").read() for name in os.listdir(directory)}


def text_of(result):
    return "\n".join(item["text"] for item in result["content"])


# ---- shown, and not applied: the server was started without --allow-apply ----
expect("hints", [hints["workspace_" + name] for name in ("diff", "apply", "discard")] == [False, True, True], hints)
before = outside()
result = call("workspace_diff")
both = [("modified", "file"), ("added", "new")]
expect("changes", changes(result) == both and "added new" in text_of(result), result)
expect("at a checkpoint", changes(call("workspace_diff", checkpoint=first["structuredContent"]["checkpoint"])) ==
       [("modified", "file"), ("added", "kept")])
for name in ("nonesuch", "--json", ""):
    result = call("workspace_diff", checkpoint=name)
    expect(f"no checkpoint: {name}", result["isError"] and "structuredContent" not in result, result)
result = call("workspace_apply")
expect("only shown", result["structuredContent"]["applied"] is False and not result["isError"] and
       changes(result) == both and "a person" in text_of(result), result)
expect("nothing was applied", outside() == before, outside())
expect("the sandbox goes on", run("cat file") == "two\n")
result = call("workspace_discard")
expect("discarded", result["structuredContent"]["discarded"] is True and outside() == before, result)
expect("another sandbox", run("cat file; ls") == "old\nfile\n")
expect("without changes", changes(call("workspace_diff")) == [])
expect("discarded, too", call("workspace_discard")["structuredContent"]["discarded"] is True)
process.stdin.close()
expect("the end", process.wait(20) == 0)

# ---- applied, where the person permits it; what runs outside of the sandbox is left to the person ----
process = subprocess.Popen(command + ["--allow-apply"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
expect("a program", run("echo mine >file; echo x >added; mkdir .git; echo evil >.git/config; cat file") == "mine\n")
expect("outside", outside() == before)
result = call("workspace_apply")
left = changes(result)
expect("applied, but for what git obeys", result["isError"] and result["structuredContent"]["applied"] is True and
       left and all(path.startswith(".git") for _, path in left) and "callgate ws apply" in text_of(result), result)
expect("outside, applied", open(os.path.join(directory, "file"), encoding="ascii").read() == "mine\n" and
       os.path.exists(os.path.join(directory, "added")) and not os.path.exists(os.path.join(directory, ".git/config")))
expect("a new sandbox", run("cat file; echo again >file") == "mine\n")
with open(os.path.join(directory, "file"), "w", encoding="ascii") as file:
    file.write("theirs\n")
result = call("workspace_diff")
expect("a stale read", "stale_reads" in result["structuredContent"] and
       "changed outside since" not in text_of(result), result)
result = call("workspace_apply")
expect("a conflict", result["isError"] and changes(result) == [("modified", "file")], result)
conflict = result["structuredContent"]["changes"][0]
expect("its versions", conflict["result"] == "conflict" and
       open(conflict["conflict"]["base"], encoding="ascii").read() == "mine\n" and
       open(conflict["conflict"]["theirs"], encoding="ascii").read() == "again\n", result)
expect("is not applied", open(os.path.join(directory, "file"), encoding="ascii").read() == "theirs\n")
expect("another program", run("cat added; echo more >more") == "x\n")
with open(os.path.join(directory, "added"), "w", encoding="ascii") as file:
    file.write("changed\n")
stale = [{"path": "added", "removed": False}]
result = call("workspace_diff")
expect("a stale read", result["structuredContent"]["stale_reads"] == stale and
       "added, which the sandbox has read, was changed outside since" in text_of(result), result)
result = call("workspace_apply")
expect("a stale read is told", result["structuredContent"]["stale_reads"] == stale and
       result["structuredContent"]["applied_count"] == 1, result)
expect("all of it", not result["isError"] and changes(result) == [] and "more" in text_of(result), result)
process.stdin.close()
expect("the end", process.wait(20) == 0)
# ---- `callgate ws apply` is killed: nothing says that it was applied ----
process = subprocess.Popen(os.environ["MCP_APPLY_IS_KILLED"].split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
expect("a program", run("echo never >never; cat never") == "never\n")
result = call("workspace_apply")
expect("not applied", result["isError"] and not result.get("structuredContent", {}).get("applied") and
       "has not ended" in text_of(result) and "callgate ws recover " in text_of(result) and
       not os.path.exists(os.path.join(directory, "never")), result)
process.stdin.close()
expect("the end", process.wait(20) == 0)
end()

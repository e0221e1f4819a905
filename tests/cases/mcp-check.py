"""Speaks the Model Context Protocol with `callgate mcp`, in both revisions, as clients do and as none should.

Arguments: the command line of the server. Prints what is wrong, and exits with 1 then.
"""
import base64
import os
import signal
import sys
import time

sys.dont_write_bytecode = True  # the module is in the source tree
from mcp_client import MODERN, WAIT, Connection, end, expect  # noqa: E402 pylint: disable=wrong-import-position


class Server(Connection):
    """The server, by requests to its tools."""

    def __init__(self, *more, modern=True):
        super().__init__(sys.argv[1:] + list(more), *([] if modern else ["2025-11-25"]))

    def call(self, tool, meta=None, **arguments):
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments}, meta)
        return (answer or {}).get("result", {"content": [], "isError": None, "structuredContent": {}, "got": answer})


def text_of(result):
    return "\n".join(item["text"] for item in result["content"] if item["type"] == "text")


def fits(schema, value):
    """A subset of JSON Schema: what our schemas use."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and not isinstance(value, tuple(kinds[kind] for kind in wanted)):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, dict):
        return all(name in value for name in schema.get("required", [])) and \
            all(fits(part, value[name]) for name, part in schema.get("properties", {}).items() if name in value)
    return not isinstance(value, list) or all(fits(schema.get("items", {}), item) for item in value)


def check_protocol():
    server = Server()
    found = server.ask("server/discover")["result"]
    expect("discover", found["supportedVersions"] == [MODERN] and found["resultType"] == "complete" and
           "tools" in found["capabilities"] and
           found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "callgate", found)
    listed = server.ask("tools/list")["result"]
    names = [tool["name"] for tool in listed["tools"]]
    expect("the tools", names == ["run_code", "run_command", "read_file", "write_file", "list_files", "explain_denial",
                                  "status"], names)
    expect("schemas", all(tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
                          for tool in listed["tools"]), listed)
    expect("caching", listed["ttlMs"] > 0 and listed["cacheScope"] == "public", listed)
    for what, params, code in (
            ("another version", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2030-01-01",
                                           "io.modelcontextprotocol/clientCapabilities": {}}}, -32022),
            ("no capabilities", {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}, -32602),
            ("no version", {}, -32602)):
        server.last_id += 1
        server.send(id=server.last_id, method="tools/list", params=params)
        answer = server.wait(server.last_id)
        expect(what, answer and answer["error"]["code"] == code, answer)
    for what, method, code in (("ping is gone", "ping", -32601), ("unknown method", "nonesuch", -32601)):
        answer = server.ask(method)
        expect(what, answer["error"]["code"] == code, answer)
    answer = server.ask("tools/call", {"name": "nonesuch", "arguments": {}})
    expect("unknown tool", answer["error"]["code"] == -32602, answer)
    for arguments in ({}, {"code": 1}, {"code": "1", "nonesuch": 1}, {"code": "1", "language": "cobol"},
                      {"code": "1", "timeout_seconds": 0}, {"code": "a\0b"}):
        result = server.call("run_code", **arguments)
        expect(f"arguments {arguments}", result["isError"] is True and result["content"], result)
    number = server.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    expect("a stream of no changes", server.wait_for(lambda: any(
        note["method"] == "notifications/subscriptions/acknowledged" and
        note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == number
        for note in server.notes)), server.notes)
    expect("status", server.call("status")["structuredContent"]["sandboxes"] == 0)
    expect("the end", server.close() == 0)


def check_hostile_lines():
    server = Server()
    for line, code in ((b"nonsense\n", -32700), (b"[]\n", -32600), (b"7\n", -32700), (b"{}\n", -32600),
                       (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
                       (b'{"jsonrpc":"2.0","method":"a","id":{}}\n', -32600),
                       (b'{"a":1,"a":2}\n', -32700), (b"[" * 100000 + b"\n", -32700), (b"\xff\xfe\n", -32700),
                       (b'{"jsonrpc":"2.0","id":99999999999999999999,"method":"x"}\n', -32700),
                       (b"x" * (17 << 20) + b"\n", -32600)):
        server.send_bytes(line)
        answer = server.wait(None)
        expect(f"line {line[:30]}", answer and answer["error"]["code"] == code, answer)
    server.send_bytes(b'\n\r\n{"jsonrpc":"2.0","result":{},"id":5}\n{"jsonrpc":"2.0","method":"notifications/x"}\n')
    server.send(method="notifications/cancelled", params={"requestId": 12345})
    expect("it goes on", "result" in server.ask("tools/list"))
    expect("the end", server.close() == 0)


def check_tools(server):
    schemas = {tool["name"]: tool["outputSchema"] for tool in server.ask("tools/list")["result"]["tools"]}
    handle = {}

    def call(tool, meta=None, **arguments):
        result = server.call(tool, meta, **handle, **arguments)
        if not result["isError"] or "structuredContent" in result:
            expect(f"{tool}: output schema", fits(schemas[tool], result["structuredContent"]), result)
        return result

    first = call("run_code", code="x = 6 * 7\nprint('out')\nx")
    expect("a value", first["structuredContent"]["stdout"] == "out\n" and
           first["structuredContent"]["results"][0]["text"] == "42" and
           first["structuredContent"]["status"] == "ok", first)
    if server.modern:
        handle["sandbox"] = first["structuredContent"]["sandbox"]
        expect("the handle is told to the model, too", handle["sandbox"] in text_of(first), first)
    expect("variables stay", call("run_code", code="x + 1")["structuredContent"]["results"][0]["text"] == "43")
    if server.modern:
        other = server.call("run_code", code="x")
        expect("another sandbox", other["structuredContent"]["error"]["name"] == "NameError" and other["isError"] and
               "NameError" in text_of(other), other)
    result = call("run_code", code="echo $((6*7))", language="bash")
    expect("bash", result["structuredContent"]["stdout"] == "42\n", result)
    result = call("run_command", command="printf a; printf b >&2; cat; exit 3", stdin="in", env={"A": "v"})
    expect("a command", (result["structuredContent"]["stdout"], result["structuredContent"]["stderr"],
                         result["structuredContent"]["exit_code"]) == ("ain", "b", 3), result)
    result = call("run_command", command="cat /etc/shadow; exit 0")
    denials = result["structuredContent"]["denials"]
    expect("a denial", denials and denials[0]["target"] == "/etc/shadow" and "/etc/shadow" in text_of(result) and
           "refused" in text_of(result), result)
    result = call("run_code", code="open('/etc/shadow')")
    expect("a denial in code", result["isError"] and
           any(denial["target"] == "/etc/shadow" for denial in result["structuredContent"]["denials"]), result)
    # files
    result = call("write_file", path="sub/f.txt", content="grüße\n")
    expect("write", result["structuredContent"]["size"] == 8, result)
    result = call("read_file", path="sub/f.txt")
    expect("read", result["structuredContent"]["content"] == "grüße\n" and text_of(result).startswith("grüße"), result)
    binary = bytes(range(256)) * 4096
    call("write_file", path="b", content=base64.b64encode(binary).decode(), encoding="base64")
    result = call("read_file", path="b")
    expect("bytes", base64.b64decode(result["structuredContent"]["content"]) == binary, result)
    image = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
                             "AABJRU5ErkJggg==")
    call("write_file", path="i.png", content=base64.b64encode(image).decode(), encoding="base64")
    result = call("read_file", path="i.png")
    expect("an image", [item["mimeType"] for item in result["content"] if item["type"] == "image"] == ["image/png"],
           result)
    result = call("list_files", depth=2)
    paths = [entry["path"] for entry in result["structuredContent"]["entries"]]
    expect("list", any(path.endswith("sub/f.txt") for path in paths) and any(path.endswith("/b") or path == "b"
                                                                            for path in paths), result)
    for path in ("/etc/shadow", "../../etc/shadow", "nonesuch", "/proc/1/environ"):
        result = call("read_file", path=path)
        expect(f"read {path}", result["isError"], result)
    expect("write outside", call("write_file", path="/etc/x", content="")["isError"])
    expect("no base64", call("write_file", path="x", content="!", encoding="base64")["isError"])
    # limits
    result = call("run_command", command="sleep 60", timeout_seconds=1)
    expect("a time limit", result["structuredContent"]["status"] == "timeout", result)
    result = call("run_code", code="while True: pass", timeout_seconds=1)
    expect("a time limit of code", result["isError"], result)
    result = call("run_command", command="head -c 3000000 /dev/zero | tr '\\0' x")
    expect("long output", result["structuredContent"]["stdout_truncated"] and
           len(result["structuredContent"]["stdout"]) < 1 << 20 and "3000000" in text_of(result), len(text_of(result)))
    expect("the interpreter goes on", call("run_code", code="1+1")["structuredContent"]["results"][0]["text"] == "2")
    result = call("run_code", code="import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    expect("a killed interpreter", result["isError"], result)
    expect("is made again", call("run_code", code="1+2")["structuredContent"]["results"][0]["text"] == "3")
    # the policy
    result = server.call("explain_denial", path="/etc/shadow")
    expect("why", result["structuredContent"]["verdict"] == "deny" and "suggest" in text_of(result), result)
    result = server.call("explain_denial", host="example.com")
    expect("why not the network", result["structuredContent"]["verdict"] == "deny" and
           "--allow-host example.com:443" in text_of(result), result)
    expect("why what", server.call("explain_denial")["isError"])
    expect("why two", server.call("explain_denial", path="/a", host="b")["isError"])
    result = call("status")
    expect("status", result["structuredContent"]["sandbox"]["state"] == "ready" and
           result["structuredContent"]["sandboxes"] == (2 if server.modern else 1), result)
    return handle


def check_progress_and_cancel(server, handle):
    number = server.begin("tools/call", {"name": "run_command", "arguments":
                                         {"command": "for i in 1 2 3 4 5; do echo line $i; sleep 0.3; done", **handle}},
                          {"progressToken": "p"})
    expect("the call", server.wait(number))
    progress = [note["params"] for note in server.notes if note["method"] == "notifications/progress"]
    expect("progress", len(progress) >= 2 and all(part["progressToken"] == "p" for part in progress) and
           [part["progress"] for part in progress] == sorted({part["progress"] for part in progress}), progress)
    for tool, arguments in (("run_command", {"command": "sleep 300"}),
                            ("run_code", {"code": "import time; time.sleep(300)"})):
        number = server.begin("tools/call", {"name": tool, "arguments": {**arguments, **handle}})
        time.sleep(0.5)
        server.send(method="notifications/cancelled", params={"requestId": number})
        expect(f"{tool}: cancelled without an answer", server.wait(number, 1) is None)
    expect("nothing of it runs on", becomes(lambda: server.call(
        "run_command", command="grep -l 'slee[p]' /proc/[0-9]*/cmdline; true", **handle)
        ["structuredContent"]["stdout"] == ""))
    expect("the interpreter survives", server.call("run_code", code="7", **handle)["structuredContent"]["results"], "")
    wrong = server.call("run_code", code="1", sandbox="sb-0123456789abcdef0123456789abcdef")
    expect("a guessed handle", wrong["isError"], wrong)


def check_limits():
    server = Server("--sandboxes", "2", "--idle", "8s")  # within which the third call comes
    for i in range(2):
        expect(f"sandbox {i}", not server.call("run_command", command="true")["isError"])
    expect("one too many", server.call("run_command", command="true")["isError"])
    expect("idle ones end", becomes(lambda: not server.call("run_command", command="true")["isError"]))
    numbers = [server.begin("tools/call", {"name": "status", "arguments": {}}) for _ in range(200)]
    expect("many calls", all(server.wait(number) for number in numbers))
    server.begin("tools/call", {"name": "run_command", "arguments": {"command": "sleep 300"}})
    server.process.send_signal(signal.SIGTERM)
    expect("SIGTERM", server.process.wait(60) == 0)


def check_kill():
    server = Server()
    seconds = f"43{os.getpid()}"  # of no other process
    result = server.call("run_command", command=f"echo $PPID; setsid sleep {seconds} >/dev/null 2>&1 & echo ok")
    handle = result["structuredContent"]["sandbox"]
    server.begin("tools/call", {"name": "run_command",
                                "arguments": {"command": f"exec sleep {seconds}", "sandbox": handle}})
    expect("it sleeps", becomes(lambda: sleepers(seconds)))
    server.process.kill()
    server.process.wait()
    expect("SIGKILL of the server ends its sandboxes", becomes(lambda: not sleepers(seconds)), sleepers(seconds))


def becomes(condition):
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def sleepers(seconds):
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and has_command(pid, f"sleep\0{seconds}\0".encode())]


def has_command(pid, words):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return words in file.read()
    except OSError:
        return False


check_protocol()
check_hostile_lines()
modern = Server()
check_progress_and_cancel(modern, check_tools(modern))
expect("the end", modern.close() == 0)
legacy = Server(modern=False)
expect("initialize", legacy.hello["result"]["protocolVersion"] == "2025-11-25" and
       "instructions" in legacy.hello["result"], legacy.hello)
expect("ping", legacy.ask("ping")["result"] == {})
check_progress_and_cancel(legacy, check_tools(legacy))
expect("the end", legacy.close() == 0)
check_limits()
check_kill()
end()

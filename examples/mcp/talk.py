"""A client of the Model Context Protocol, revision 2026-07-28, without a library."""

import itertools
import json
import os
import subprocess
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    server = json.load(file)["mcpServers"]["sandbox"]
command = [os.environ.get("CALLGATE", server["command"]), *server["args"]]
process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
numbers = itertools.count(1)


def call(tool, **arguments):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    request = {"jsonrpc": "2.0", "id": next(numbers), "method": "tools/call",
               "params": {"name": tool, "arguments": arguments, "_meta": meta}}
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    result = json.loads(process.stdout.readline())["result"]
    print(f"--- {tool}")
    for item in result["content"]:
        print(item.get("text", item["type"]).rstrip())
    return result.get("structuredContent", {})


sandbox = call("run_code", code="numbers = [1, 2, 3]\nsum(numbers)")["sandbox"]
call("run_code", code="max(numbers)", sandbox=sandbox)
call("write_file", path="notes/plan.txt", content="one\n", sandbox=sandbox)
call("run_command", command="cat notes/plan.txt; cat /etc/shadow", sandbox=sandbox)
call("explain_denial", host="example.com", port=443)
process.stdin.close()
sys.exit(process.wait())

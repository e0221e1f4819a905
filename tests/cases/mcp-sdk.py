"""Uses `callgate mcp` through the official client of PyPI, `mcp`. Arguments: the server's command line."""
import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

failed = False


def expect(what, condition, got=None):
    global failed
    if not condition:
        failed = True
        print(f"FAIL: python: {what}: {got}")


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        expect("the server", hello.server_info.name == "callgate", hello)
        names = [tool.name for tool in (await session.list_tools()).tools]
        expect("tools", "run_command" in names, names)
        first = await session.call_tool("run_command", {"command": "echo $((6*7))"})
        expect("a command", first.structured_content["stdout"] == "42\n", first)
        code = await session.call_tool("run_code", {"code": "import math\nmath.pi"})
        expect("code", code.structured_content["results"][0]["text"].startswith("3.14"), code)
        second = await session.call_tool("run_command", {"command": "cat /etc/shadow"})
        expect("a denial", second.structured_content["denials"][0]["target"] == "/etc/shadow", second)
        if "--cow" in sys.argv:
            await check_workspace(session)


async def check_workspace(session):
    await session.call_tool("run_command", {"command": "echo text >added"})
    for tool in ("workspace_diff", "workspace_apply"):  # without --allow-apply both only show
        result = await session.call_tool(tool, {})
        changes = [change["path"] for change in result.structured_content["changes"]]
        expect(tool, changes == ["added"] and not result.structured_content.get("applied"), result)
    result = await session.call_tool("workspace_discard", {})
    expect("discarded", result.structured_content["discarded"] is True, result)


asyncio.run(main())
sys.exit(failed)

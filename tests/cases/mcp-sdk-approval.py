"""Answers questions of `callgate mcp --approve client` through the official client of PyPI, `mcp`, in both revisions.
Arguments: a directory with the files a and b, which the policy denies and asks about; the server's command line."""
import asyncio
import sys

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

host, command = sys.argv[1], sys.argv[2:]
failed = False


def expect(what, condition, got=None):
    global failed
    if not condition:
        failed = True
        print(f"FAIL: python: {what}: {got}")


def make_callback(asked):
    """Permits what is about the file a, and declines everything else."""
    async def answer(_context, params):
        asked.append(params)
        if f'path: "{host}/a"' in params.message:
            return ElicitResult(action="accept", content={"answer": "once"})
        return ElicitResult(action="decline")
    return answer


async def check(what, client, asked):
    result = await client.call_tool("run_command", {"command": f"cat {host}/a; cat {host}/b; cat {host}/a; echo end"})
    content = result.structured_content
    denied = [each["answer"] for each in content["denials"]]
    expect(what, content["stdout"] == "text a\ntext a\nend\n" and denied == ["no"], result)
    expect(f"{what}: the questions", len(asked) == 3, asked)


async def main():
    server = StdioServerParameters(command=command[0], args=command[1:])
    asked = []
    async with stdio_client(server) as (read, write), \
            ClientSession(read, write, elicitation_callback=make_callback(asked)) as session:
        await session.initialize()
        await check("with initialize", session, asked)
    asked = []
    async with Client(server, elicitation_callback=make_callback(asked)) as client:
        expect("the revision", client.protocol_version == "2026-07-28", client.protocol_version)
        await check("with interim results", client, asked)
    async with Client(server) as client:
        result = await client.call_tool("run_command", {"command": f"cat {host}/a; echo end"})
        expect("without a callback", result.structured_content["stdout"] == "end\n", result)


asyncio.run(main())
sys.exit(failed)

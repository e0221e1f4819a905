// Uses `callgate mcp` through the official clients of npm: @modelcontextprotocol/sdk (2025-11-25) and
// @modelcontextprotocol/client (2026-07-28). Arguments: the directory of node_modules, the server's command line.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, command, ...args] = process.argv.slice(2);
const require = createRequire(modules + "/");
let failed = 0;

function expect(what, condition, got) {
  if (condition) return;
  failed = 1;
  console.log(`FAIL: ${what}: ${JSON.stringify(got)}`);
}

async function load(name) {
  return import(pathToFileURL(require.resolve(name)));
}

async function use(what, client, transport, wanted) {
  await client.connect(transport);
  expect(`${what}: version`, wanted(client), "");
  const { tools } = await client.listTools();
  expect(`${what}: tools`, tools.some((tool) => tool.name === "run_command"), tools);
  // These clients validate structuredContent against the output schema.
  const first = await client.callTool({ name: "run_command", arguments: { command: "echo $((6*7)) >f; cat f" } });
  expect(`${what}: a command`, first.structuredContent.stdout === "42\n", first);
  const { sandbox } = first.structuredContent;
  const second = await client.callTool({ name: "run_command", arguments: { command: "cat f /etc/shadow", sandbox } });
  expect(`${what}: the same sandbox`, second.structuredContent.stdout === "42\n", second);
  expect(`${what}: a denial`, second.structuredContent.denials[0].target === "/etc/shadow", second);
  const code = "x = 41\nx + 1";
  const result = await client.callTool({ name: "run_code", arguments: { code, sandbox } });
  expect(`${what}: code`, result.structuredContent.results[0].text === "42", result);
  await client.callTool({ name: "write_file", arguments: { path: "a/b", content: "text", sandbox } });
  const file = await client.callTool({ name: "read_file", arguments: { path: "a/b", sandbox } });
  expect(`${what}: a file`, file.structuredContent.content === "text", file);
  const wrong = await client.callTool({ name: "run_command", arguments: {} });
  expect(`${what}: a mistake`, wrong.isError, wrong);
  let progress = 0;
  const lines = "for i in 1 2 3; do echo $i; sleep 0.4; done";
  await client.callTool({ name: "run_command", arguments: { command: lines, sandbox } },
    ...(what === "sdk" ? [undefined] : []), { onprogress: () => progress++ });
  expect(`${what}: progress`, progress > 0, progress);
  const abort = new AbortController();
  const waiting = client.callTool({ name: "run_command", arguments: { command: "sleep 100", sandbox } },
    ...(what === "sdk" ? [undefined] : []), { signal: abort.signal });
  setTimeout(() => abort.abort(), 300);
  expect(`${what}: cancellation`, await waiting.then(() => false, () => true), "");
  if (args.includes("--cow")) {
    await client.callTool({ name: "run_command", arguments: { command: "echo text >added", sandbox } });
    for (const tool of ["workspace_diff", "workspace_apply"]) { // without --allow-apply both only show
      const shown = await client.callTool({ name: tool, arguments: { sandbox } });
      expect(`${what}: ${tool}`, shown.structuredContent.changes.some((change) => change.path === "added") &&
        !shown.structuredContent.applied, shown);
    }
    const gone = await client.callTool({ name: "workspace_discard", arguments: { sandbox } });
    expect(`${what}: discarded`, gone.structuredContent.discarded === true, gone);
  }
  await client.close();
}

{
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  await use("sdk", new Client({ name: "check", version: "1" }), new StdioClientTransport({ command, args }),
    (client) => client.getServerVersion().name === "callgate");
}
{
  const { Client } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  await use("client", new Client({ name: "check", version: "1" }, { versionNegotiation: { mode: "auto" } }),
    new StdioClientTransport({ command, args }), (client) => client.getNegotiatedProtocolVersion?.() === "2026-07-28");
}
process.exit(failed);

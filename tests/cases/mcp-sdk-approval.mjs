// Answers questions of `callgate mcp --approve client` through the official clients of npm: @modelcontextprotocol/sdk
// (2025-11-25) and @modelcontextprotocol/client (2026-07-28). Arguments: the directory of node_modules; a directory with
// the files a and b, which the policy denies and asks about; the server's command line.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, host, command, ...args] = process.argv.slice(2);
const require = createRequire(modules + "/");
let failed = 0;

async function load(name) {
  return import(pathToFileURL(require.resolve(name)));
}

// Permits what is about the file a, and declines everything else.
async function use(what, client, transport, method) {
  const asked = [];
  client.setRequestHandler(method, async (request) => {
    asked.push(request.params.message);
    return request.params.message.includes(`path: "${host}/a"`)
      ? { action: "accept", content: { answer: "once" } }
      : { action: "decline" };
  });
  await client.connect(transport);
  const result = await client.callTool({
    name: "run_command",
    arguments: { command: `cat ${host}/a; cat ${host}/b; cat ${host}/a; echo end` },
  });
  if (result.structuredContent?.stdout !== "text a\ntext a\nend\n" || asked.length !== 3) {
    failed = 1;
    console.log(`FAIL: ${what}: ${JSON.stringify(result)} ${JSON.stringify(asked)}`);
  }
  await client.close();
}

const capabilities = { elicitation: { form: {} } };
{
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  const { ElicitRequestSchema } = await load("@modelcontextprotocol/sdk/types.js");
  await use("sdk", new Client({ name: "check", version: "1" }, { capabilities }),
    new StdioClientTransport({ command, args }), ElicitRequestSchema);
}
{
  const { Client } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  await use("client", new Client({ name: "check", version: "1" },
    { capabilities, versionNegotiation: { mode: "auto" } }), new StdioClientTransport({ command, args }),
    "elicitation/create");
}
process.exit(failed);

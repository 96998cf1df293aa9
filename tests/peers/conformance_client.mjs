// What a client does in the scenarios of @modelcontextprotocol/conformance: lists the tools and calls each. Its last argument is the server.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: { form: { applyDefaults: true } } } });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv.at(-1))));
for (const { name, inputSchema } of (await client.listTools()).tools) {
  const given = Object.fromEntries(Object.keys(inputSchema.properties ?? {}).map((key, index) => [key, index + 1]));
  await client.callTool({ name, arguments: given });
}
await client.close();

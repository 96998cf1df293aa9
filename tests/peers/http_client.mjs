// A session with server-everything over HTTP: what came, in the order of the questions; progress beside them. Its argument is the server.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "test", version: "1" });
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
await client.connect(transport);
const tools = (await client.listTools()).tools.map(({ name }) => name);
let progress = 0;
const slow = client.callTool({ name: "trigger-long-running-operation", arguments: { duration: 1, steps: 4 } }, undefined, { onprogress: () => progress++ });
// Meanwhile, on other connections.
const sums = await Promise.all([...Array(20).keys()].map((a) => client.callTool({ name: "get-sum", arguments: { a, b: 1 } })));
const resources = (await client.listResources()).resources.length;
console.log(JSON.stringify([tools, sums, resources, (await slow).content, progress]));
await transport.terminateSession();
await client.close();

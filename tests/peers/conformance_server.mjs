// A server with what the scenarios of @modelcontextprotocol/conformance ask for, on the SDK: sessions, streams that can be resumed, requests of its
// own. Its port is its argument; it says "ready" once it listens.
import { randomUUID } from "node:crypto";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const pause = () => new Promise((done) => setTimeout(done, 50));
const text = (said) => ({ type: "text", text: said });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const resource = (uri, mimeType, said) => ({ type: "resource", resource: { uri, mimeType, text: said } });
const user = (content) => ({ role: "user", content });
const choices = (...names) => names.map((name) => ({ const: name, title: `Title ${name}` }));

const asks = (message, properties, required = []) => async (_, extra) => {
  const params = { message, requestedSchema: { type: "object", properties, required } };
  const { action, content } = await extra.sendRequest({ method: "elicitation/create", params }, types.ElicitResultSchema);
  return [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`)];
};

const TOOLS = {
  test_simple_text: async () => [text("This is a simple text response for testing.")],
  test_image_content: async () => [image],
  test_audio_content: async () => [{ type: "audio", data: WAV, mimeType: "audio/wav" }],
  test_embedded_resource: async () => [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  test_multiple_content_types: async () => [
    text("Multiple content types test:"), image, resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ],
  test_tool_with_logging: async (_, extra) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });
      await pause();
    }
    return [text("logged")];
  },
  test_tool_with_progress: async (_, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      await pause();
    }
    return [text("done")];
  },
  test_error_handling: async () => { throw new Error("This tool intentionally returns an error for testing"); },
  test_sampling: async ({ prompt }, extra) => {
    const params = { messages: [user(text(prompt))], maxTokens: 100 };
    const said = await extra.sendRequest({ method: "sampling/createMessage", params }, types.CreateMessageResultSchema);
    return [text(`LLM response: ${said.content.text}`)];
  },
  test_elicitation: (given, extra) =>
    asks(given.message, { username: { type: "string", description: "User's response" }, email: { type: "string", description: "User's email address" } }, ["username", "email"])(given, extra),
  test_elicitation_sep1034_defaults: asks("Defaults", {
    name: { type: "string", default: "John Doe" }, age: { type: "integer", default: 30 }, score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" }, verified: { type: "boolean", default: true },
  }),
  test_elicitation_sep1330_enums: asks("Enums", {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: { type: "string", oneOf: choices("value1", "value2", "value3") },
    legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: { type: "array", items: { anyOf: choices("value1", "value2", "value3") } },
  }),
  test_reconnection: async (_, extra) => {
    extra.closeSSEStream?.();
    await pause();
    return [text("Reconnection test completed successfully")];
  },
  json_schema_2020_12_tool: async () => [text("ok")],
};
const SCHEMAS = {
  json_schema_2020_12_tool: {
    $schema: "https://json-schema.org/draft/2020-12/schema", type: "object",
    $defs: { address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } }, additionalProperties: false,
  },
};
const PROMPTS = {
  test_simple_prompt: () => [user(text("This is a simple prompt for testing."))],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  test_prompt_with_embedded_resource: ({ resourceUri }) => [
    user(resource(resourceUri, "text/plain", "Embedded resource content for testing.")), user(text("Please process the embedded resource above.")),
  ],
  test_prompt_with_image: () => [user(image), user(text("Please analyze the image above."))],
};
const ARGUMENTS = { test_prompt_with_arguments: ["arg1", "arg2"], test_prompt_with_embedded_resource: ["resourceUri"] };

function contents(uri) {
  if (uri === "test://static-binary") return { uri, mimeType: "image/png", blob: PNG };
  const [, id] = uri.match(/^test:\/\/template\/(.*)\/data$/) ?? [];
  if (id) return { uri, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
  return { uri, mimeType: "text/plain", text: "This is the content of the static text resource." };
}

function server() {
  const capabilities = { tools: {}, prompts: {}, resources: { subscribe: true }, logging: {}, completions: {} };
  const made = new Server({ name: "conformance", version: "1" }, { capabilities });
  const on = (schema, answer) => made.setRequestHandler(schema, answer);
  const described = (name) => ({ name, description: `What ${name} does` });
  on(types.ListToolsRequestSchema, () => ({ tools: Object.keys(TOOLS).map((name) => ({ ...described(name), inputSchema: SCHEMAS[name] ?? { type: "object" } })) }));
  on(types.CallToolRequestSchema, async ({ params }, extra) => {
    try {
      return { content: await TOOLS[params.name](params.arguments ?? {}, extra) };
    } catch (error) {
      return { isError: true, content: [text(error.message)] };
    }
  });
  on(types.ListPromptsRequestSchema, () => ({ prompts: Object.keys(PROMPTS).map((name) => ({ ...described(name), arguments: (ARGUMENTS[name] ?? []).map((name) => ({ name, description: name, required: true })) })) }));
  on(types.GetPromptRequestSchema, ({ params }) => ({ messages: PROMPTS[params.name](params.arguments ?? {}) }));
  on(types.ListResourcesRequestSchema, () => ({ resources: ["static-text", "static-binary", "watched-resource"].map((name) => ({ uri: `test://${name}`, ...described(name) })) }));
  on(types.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [{ uriTemplate: "test://template/{id}/data", ...described("template") }] }));
  on(types.ReadResourceRequestSchema, ({ params }) => ({ contents: [contents(params.uri)] }));
  for (const schema of [types.SubscribeRequestSchema, types.UnsubscribeRequestSchema, types.SetLevelRequestSchema]) on(schema, () => ({}));
  on(types.CompleteRequestSchema, () => ({ completion: { values: ["paris", "park"], total: 2, hasMore: false } }));
  return made;
}

/** The events of one session, so that its streams can be resumed. */
class Events {
  all = [];
  async storeEvent(stream, message) {
    return `${stream}_${this.all.push([stream, message]) - 1}`;
  }
  async replayEventsAfter(last, { send }) {
    const at = last.lastIndexOf("_");
    const stream = last.slice(0, at);
    for (const [index, [of, message]] of this.all.entries())
      if (of === stream && index > Number(last.slice(at + 1)) && Object.keys(message).length > 0) await send(`${of}_${index}`, message);
    return stream;
  }
}

const sessions = new Map();
const app = createMcpExpressApp();
app.all("/mcp", async (request, response) => {
  let transport = sessions.get(request.headers["mcp-session-id"]);
  if (!transport) {
    if (request.headers["mcp-session-id"]) return response.status(404).json({ jsonrpc: "2.0", error: { code: -32001, message: "Session not found" }, id: null });
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: new Events(), retryInterval: 500,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await server().connect(transport);
  }
  await transport.handleRequest(request, response, request.body);
});
app.listen(Number(process.argv[2]), "127.0.0.1", () => console.log("ready"));

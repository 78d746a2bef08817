// What the official conformance suite wants of a server that it tests, as the descriptions of its
// scenarios have it: a handler for each method, for servers of both eras. It also serves them over
// HTTP, to this machine alone.
import { createServer } from "node:http";

const text = (value) => ({ type: "text", text: String(value) });
const image = { type: "image", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==", mimeType: "image/png" };
const audio = { type: "audio", data: "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=", mimeType: "audio/wav" };
const embedded = (uri) => ({ type: "resource", resource: { uri, mimeType: "text/plain", text: "an embedded resource" } });
const form = (message, properties, required) => ({ method: "elicitation/create", params: { mode: "form", message, requestedSchema: { type: "object", properties, required } } });
const named = (message) => form(message, { name: { type: "string" } }, ["name"]);
const confirm = form("Please confirm", { ok: { type: "boolean" } }, ["ok"]);
const sample = (prompt) => ({ method: "sampling/createMessage", params: { maxTokens: 50, messages: [{ role: "user", content: text(prompt) }] } });
const roots = { method: "roots/list", params: {} };
const fault = (code, message, data) => Object.assign(new Error(message), { code, data });

// A tool is its input schema and what it returns, of its arguments and of on: ask has requests
// answered by the client, log and progress notify it, changed tells of a list, and capabilities are
// the client's.
const nothing = { type: "object", properties: {} };
const tools = {
  test_simple_text: [nothing, () => [text("This is a simple text response for testing.")]],
  test_image_content: [nothing, () => [image]],
  test_audio_content: [nothing, () => [audio]],
  test_embedded_resource: [nothing, () => [embedded("test://embedded-resource")]],
  test_multiple_content_types: [nothing, () => [text("Multiple content types test:"), image, embedded("test://mixed-content-resource")]],
  test_error_handling: [nothing, () => { throw new Error("This tool intentionally returns an error for testing"); }],
  test_tool_with_logging: [nothing, async (_, on) => {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await on.log("info", line);
    }
    return [text("it has logged")];
  }],
  test_tool_with_progress: [nothing, async (_, on) => {
    for (const progress of [0, 50, 100]) {
      await on.progress({ progress, total: 100, message: `step ${progress}` });
    }
    return [text("it is done")];
  }],
  test_sampling: [{ type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] }, async ({ prompt }, on) => {
    const { answer } = await on.ask({ answer: sample(prompt) });
    return [text(`LLM response: ${answer.content.text}`)];
  }],
  test_elicitation: [{ type: "object", properties: { message: { type: "string" } }, required: ["message"] }, async ({ message }, on) => {
    const { person } = await on.ask({ person: form(message, { username: { type: "string" }, email: { type: "string" } }, ["username", "email"]) });
    return [text(`User response: ${person.action}, ${JSON.stringify(person.content)}`)];
  }],
  test_elicitation_sep1034_defaults: [nothing, async (_, on) => {
    const { person } = await on.ask({
      person: form("Defaults", {
        name: { type: "string", default: "John Doe" }, age: { type: "integer", default: 30 }, score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" }, verified: { type: "boolean", default: true },
      }, []),
    });
    return [text(`Elicitation completed: ${person.action}`)];
  }],
  test_elicitation_sep1330_enums: [nothing, async (_, on) => {
    const plain = ["option1", "option2", "option3"];
    const titled = [{ const: "value1", title: "First Option" }, { const: "value2", title: "Second Option" }, { const: "value3", title: "Third Option" }];
    const { person } = await on.ask({
      person: form("Enums", {
        untitledSingle: { type: "string", enum: plain }, titledSingle: { type: "string", oneOf: titled },
        legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
        untitledMulti: { type: "array", minItems: 1, maxItems: 3, items: { type: "string", enum: plain } },
        titledMulti: { type: "array", minItems: 1, maxItems: 3, items: { anyOf: titled } },
      }, []),
    });
    return [text(`Elicitation completed: ${person.action}`)];
  }],
  json_schema_2020_12_tool: [{
    $schema: "https://json-schema.org/draft/2020-12/schema", type: "object",
    $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
    properties: {
      name: { type: "string" }, address: { $ref: "#/$defs/address" }, contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" }, email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    then: { required: ["phone"] }, else: { required: ["email"] }, additionalProperties: false,
  }, (args) => [text(JSON.stringify(args))]],
  test_x_mcp_header: [{ type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } }, ({ region }) => [text(`region=${region}`)]],
  test_missing_capability: [nothing, (_, on) => {
    if (!on.capabilities.sampling) throw fault(-32021, "the client does not offer sampling", { requiredCapabilities: { sampling: {} } });
    return [text("the client offers sampling")];
  }],
  test_streaming_elicitation: [nothing, async (_, on) => {
    await on.progress({ progress: 1 });
    return [text("nothing was asked")];
  }],
  test_logging_tool: [nothing, async (_, on) => {
    await on.log("info", "a line");
    return [text("it may have logged")];
  }],
  test_trigger_tool_change: [nothing, async (_, on) => {
    await on.changed("tools");
    return [text("the tools have changed")];
  }],
  test_trigger_prompt_change: [nothing, async (_, on) => {
    await on.changed("prompts");
    return [text("the prompts have changed")];
  }],
  test_input_required_result_elicitation: [nothing, async (_, on) => {
    const { user_name } = await on.ask({ user_name: named("What is your name?") });
    return [text(`Hello, ${user_name.content.name}!`)];
  }],
  test_input_required_result_sampling: [nothing, async (_, on) => {
    const { capital_question } = await on.ask({ capital_question: sample("What is the capital of France?") });
    return [text(capital_question.content.text)];
  }],
  test_input_required_result_list_roots: [nothing, async (_, on) => {
    const { client_roots } = await on.ask({ client_roots: roots });
    return [text(client_roots.roots.map((root) => root.uri).join(" "))];
  }],
  test_input_required_result_request_state: [nothing, async (_, on) => {
    await on.ask({ confirm });
    return [text("state-ok")];
  }],
  test_input_required_result_tampered_state: [nothing, async (_, on) => {
    await on.ask({ confirm });
    return [text("state-ok")];
  }],
  test_input_required_result_multiple_inputs: [nothing, async (_, on) => {
    const got = await on.ask({ user_name: named("What is your name?"), greeting: sample("Generate a greeting"), client_roots: roots });
    return [text(`${got.greeting.content.text} ${got.user_name.content.name}: ${got.client_roots.roots.length} roots`)];
  }],
  test_input_required_result_multi_round: [nothing, async (_, on) => {
    const { step1 } = await on.ask({ step1: named("Step 1: What is your name?") });
    const { step2 } = await on.ask({ step2: form("Step 2: What is your favorite color?", { color: { type: "string" } }, ["color"]) });
    return [text(`${step1.content.name} likes ${step2.content.color}`)];
  }],
  test_input_required_result_capabilities: [nothing, async (_, on) => {
    const requests = { elicitation: named("What is your name?"), sampling: sample("Generate a greeting"), roots };
    await on.ask(Object.fromEntries(Object.entries(requests).filter(([name]) => on.capabilities[name])));
    return [text("the client was asked what it offers to answer")];
  }],
};

// Prompts are their arguments and what they return, as tools are.
const says = (...contents) => contents.map((content) => ({ role: "user", content }));
const prompts = {
  test_simple_prompt: [[], () => says(text("This is a simple prompt for testing."))],
  test_prompt_with_arguments: [["arg1", "arg2"], ({ arg1, arg2 }) => says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  test_prompt_with_embedded_resource: [["resourceUri"], ({ resourceUri }) => says(embedded(resourceUri), text("Please process the embedded resource above."))],
  test_prompt_with_image: [[], () => says(image, text("Please analyze the image above."))],
  test_input_required_result_prompt: [[], async (_, on) => {
    const { user_context } = await on.ask({ user_context: form("What context should the prompt use?", { context: { type: "string" } }, ["context"]) });
    return says(text(user_context.content.context));
  }],
};

const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: image.data },
  "test://watched-resource": { mimeType: "text/plain", text: "a watched resource" },
};

function read(uri) {
  const id = uri.match(/^test:\/\/template\/([^/]+)\/data$/)?.[1];
  const found = id ? { mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) } : resources[uri];
  if (!found) throw fault(-32602, "Resource not found", { uri });
  return { contents: [{ uri, ...found }] };
}

export const info = { name: "conformance-fixture", version: "1.0.0" };
export const capabilities = { completions: {}, logging: {}, prompts: { listChanged: true }, resources: { subscribe: true }, tools: { listChanged: true } };

// lasting says for how long a result may be kept, which only the modern era has a word for.
export const handlers = (lasting) => ({
  "tools/list": () => ({ ...lasting, tools: Object.entries(tools).map(([name, [inputSchema]]) => ({ name, description: `is ${name}`, inputSchema })) }),
  "tools/call": async ({ name, arguments: args = {} }, on) => {
    if (!tools[name]) throw fault(-32602, `Tool ${name} not found`);
    try {
      return { content: await tools[name][1](args, on) };
    } catch (err) {
      if (err.code !== undefined || err.asks) throw err;
      return { isError: true, content: [text(err.message)] };
    }
  },
  "prompts/list": () => ({
    ...lasting,
    prompts: Object.entries(prompts).map(([name, [args]]) => ({ name, description: `is ${name}`, arguments: args.map((arg) => ({ name: arg, description: arg, required: true })) })),
  }),
  "prompts/get": async ({ name, arguments: args = {} }, on) => {
    if (!prompts[name]) throw fault(-32602, `Prompt ${name} not found`);
    return { messages: await prompts[name][1](args, on) };
  },
  "resources/list": () => ({ ...lasting, resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri.slice("test://".length), mimeType })) }),
  "resources/templates/list": () => ({ ...lasting, resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }] }),
  "resources/read": ({ uri }) => ({ ...lasting, ...read(uri) }),
  "completion/complete": () => ({ completion: { values: ["paris", "park", "party"], total: 3, hasMore: false } }),
});

// serve says where it listens. A page of a browser that has another name for this machine is refused.
export function serve(handle) {
  const ours = /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
  const site = createServer((req, res) => {
    if (ours.test(req.headers.host) && ours.test(req.headers.origin ?? "localhost")) return handle(req, res);
    res.writeHead(403).end();
  });
  site.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${site.address().port}/mcp`));
}

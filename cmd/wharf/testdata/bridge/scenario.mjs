// What a client of either era does with a server behind a bridge or a gateway. It prints a line for
// each thing that came, for the test to compare. Where the server is one of several, its tools and
// prompts have names that begin with PREFIX.
const prefix = process.env.PREFIX ?? "";
const say = (what, value) => console.log(`${what}: ${value}`);
const textOf = (result) => result.content.map((part) => part.text).join(" ");

// open returns what brings the client to the server of the command line.
export function open(Stdio, HTTP) {
  const [command, ...args] = process.argv.slice(2);
  if (command.startsWith("http:")) return new HTTP(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } } });
  return new Stdio({ command, args, env: process.env, stderr: "inherit" });
}

export async function run(client, on) {
  const call = async (name, args = {}, options = {}) => textOf(await on.call(prefix + name, args, options));
  say("server", client.getServerVersion()?.name);
  say("tools", (await client.listTools()).tools.map((tool) => tool.name).sort().join(" "));
  say("resources", (await client.listResources()).resources.map((r) => r.uri).join(" "));
  say("read", (await client.readResource({ uri: "note://one" })).contents[0].text);
  say("prompts", (await client.listPrompts()).prompts.map((p) => p.name).join(" "));
  say("prompt", (await client.getPrompt({ name: `${prefix}greet` })).messages[0].content.text);
  say("echo", await call("echo", { message: "hello" }));
  say("ask", await call("ask"));
  say("think", await call("think"));
  say("roots", await call("roots"));

  // A client may drop progress that comes in the same read as the answer: the answer waits for it.
  say("count", await call("count", {}, { onprogress: (p) => { say("progress", `${p.progress}/${p.total}`); call("release"); } }));

  const updated = new Promise((done) => on.updated(done));
  await on.subscribe("note://one");
  say("touch", await call("touch"));
  say("updated", await updated);

  const logged = new Promise((done) => on.logged(done));
  await on.level("info");
  say("note", await call("note"));
  say("logged", await logged);

  const stop = new AbortController();
  const waiting = call("wait", {}, { signal: stop.signal, onprogress: () => stop.abort("enough") });
  say("wait", await waiting.then(() => "it was answered", () => "it was cancelled"));
  say("cancelled", await call("cancelled"));

  say("unknown tool", await call("nothing").then((text) => text, (err) => `error ${err.code}`));
  say("unknown resource", await client.readResource({ uri: "note://two" }).then(() => "it is there", (err) => `error ${err.code}`));
  await client.close();
}

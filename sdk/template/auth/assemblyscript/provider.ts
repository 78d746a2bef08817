// An auth provider for Wharf: an API key that a person is asked for once, that is kept
// in the vault, and that goes with each request in a header, or to a server that is a
// stream. README.md says how to build, test and use it, and what to change first.
//
// A provider performs no I/O. Each call of wharf_auth_step brings an event, and the
// answer lists actions; the last of them may await another event, which is the next
// call. What is to be remembered until then goes into the state, which comes back with
// it: here, the start of the flow.
//
//	start initial             → load
//	loaded (nothing)          → done: the server may not want a key, and says so if it does
//	loaded                    → credentials or material, done
//	start challenged or login → prompt
//	input                     → credentials or material, store
//	start logout              → load, locked
//	loaded                    → forget
//	stored                    → done
//
// A server that is a stream cannot say that it wants a key: there, a flow that ends
// without one has Wharf say that a sign-in is missing, and `wharf login` asks.
import { base64, broken, input, member, quote, reply, text, value } from "./auth";

const manifest = `{"abi":"wharf-auth-0","name":"pigeon","version":"0.1.0","about":"an API key, asked for once",
"settings":[
  {"key":"key","about":"the key; without it a person is asked, and it is kept in the vault","secret":true},
  {"key":"header","about":"the header that it goes in; X-Api-Key if it is not said"}],
"wants":{"prompt":true,"material":true}}`;

// What a step works on: JSON, as it came.
let event = "";
let start = "";

function setting(key: string): string {
  return text(member(member(start, "settings"), key));
}

function server(): string {
  return text(member(member(start, "server"), "name"));
}

// record names a record of the vault. Other providers have their own. A server that has
// no url has no resource: there, the name of its entry tells it from others.
function record(): string {
  const resource = member(member(start, "server"), "resource");
  return '"key":{"name":"key",' + (resource == "" ? '"client":' + quote(server()) : '"resource":' + resource) + "}";
}

// action is an action of a kind, with what it needs. done needs nothing.
function action(kind: string, members: string): string {
  return '{"kind":"' + kind + '","' + kind + '":{' + members + "}}";
}

const done = '{"kind":"done"}';

// fail ends the flow. The class says who can help: login a person, config the file.
function fail(kind: string, message: string): string {
  return action("fail", '"class":"' + kind + '","message":' + quote(message + server()));
}

// give says what the server gets from now on, and what is done then: its requests carry
// the key in a header, or, where its entry says that it is a stream, the key goes there
// as it is. Wharf puts it there: the transport does not see it, and the provider sees no
// request.
function give(key: string, then: string): string {
  const to = member(start, "server");
  if (member(to, "blob") == "true") return action("material", '"blob":' + base64(key)) + "," + then;
  if (member(to, "variables") != "") return fail("config", "this provider fills no variables: leave them out of the auth of ");
  if (!isWord(key)) return fail("config", "the key holds what cannot stand in a header, that of ");
  let header = setting("header");
  if (header == "") header = "X-Api-Key";
  return action("credentials", '"headers":{' + quote(header) + ":" + quote(key) + "}") + "," + then;
}

// isWord tells what can stand in a header and is no mistake: visible, and one word.
function isWord(key: string): bool {
  for (let i = 0; i < key.length; i++) {
    if (key.charCodeAt(i) <= 0x20 || key.charCodeAt(i) > 0x7e) return false;
  }
  return key != "";
}

// ask asks the person, if there is one.
function ask(): string {
  if (member(start, "interactive") != "true") return fail("login", "an API key is wanted by the server ");
  return action("prompt", '"label":' + quote("API key of " + server()) + ',"secret":true');
}

function started(): string {
  const key = setting("key");
  const reason = text(member(start, "reason"));
  if (reason == "logout") return action("load", '"lock":true,' + record());
  if (reason == "upscope") return fail("config", "more than the key allows was asked of ");
  if (key != "" && reason == "challenged") return fail("config", "the key that is configured is not taken by ");
  if (key != "") return give(key, done);
  if (reason == "challenged" || reason == "login") return ask();
  return action("load", record());
}

function signsOut(): bool {
  return text(member(start, "reason")) == "logout";
}

// loaded uses the key that was saved. A vault that does not work is one without a key.
// When the person signs out, what was loaded is forgotten; the lock keeps other
// processes from saving another one in between.
function loaded(): string {
  if (signsOut()) return action("forget", record());
  const key = text(member(member(event, "record"), "value"));
  return key == "" ? done : give(key, done);
}

// stored ends the flow. A key that is not saved costs the person another question the
// next time; one that is not forgotten they have to know of.
function stored(): string {
  if (signsOut() && member(event, "problem") != "") return fail("config", "the vault did not forget the key of ");
  return done;
}

// answered takes what the person typed, and saves it.
function answered(): string {
  const key = text(member(member(event, "input"), "text"));
  if (key == "") return fail("login", "no API key was given for ");
  return give(key, action("store", record() + ',"value":' + quote(key)));
}

function actions(kind: string): string {
  if (kind == "start") return started();
  if (kind == "loaded") return loaded();
  if (kind == "input") return answered();
  if (kind == "stored") return stored();
  return fail("config", "this provider is built for another version of Wharf than the one that signs in to ");
}

export function wharf_auth_describe(): i32 {
  return reply(manifest);
}

export function wharf_auth_step(): i32 {
  const call = value(input());
  event = member(call, "event");
  const kind = text(member(event, "kind"));
  start = member(kind == "start" ? event : member(call, "state"), "start");
  if (start == "") return broken("the call is not of this contract");
  return reply('{"state":{"start":' + start + '},"actions":[' + actions(kind) + "]}");
}

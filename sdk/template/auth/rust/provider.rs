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
mod auth;

use auth::{base64, object, quote, Json};

const MANIFEST: &str = r#"{"abi":"wharf-auth-0","name":"pigeon","version":"0.1.0","about":"an API key, asked for once",
"settings":[
  {"key":"key","about":"the key; without it a person is asked, and it is kept in the vault","secret":true},
  {"key":"header","about":"the header that it goes in; X-Api-Key if it is not said"}],
"wants":{"prompt":true,"material":true}}"#;

// What a step works on: the event, and the start of the flow. A list of actions is what
// each of its functions returns.
struct Step<'a> {
    event: Json<'a>,
    start: Json<'a>,
}

impl Step<'_> {
    fn setting(&self, key: &str) -> String {
        self.start.get("settings").get(key).text()
    }

    fn server(&self) -> String {
        self.start.get("server").get("name").text()
    }

    // record names a record of the vault. Other providers have their own. A server that
    // has no url has no resource: there, the name of its entry tells it from others.
    fn record(&self) -> String {
        let resource = self.start.get("server").get("resource");
        if resource.is_missing() {
            return object(&[("name", r#""key""#), ("client", &quote(&self.server()))]);
        }
        object(&[("name", r#""key""#), ("resource", resource.raw())])
    }

    // fail ends the flow. The class says who can help: login a person, config the file.
    fn fail(&self, class: &str, message: &str) -> Vec<String> {
        let message = quote(&(message.to_string() + &self.server()));
        vec![action("fail", &object(&[("class", &quote(class)), ("message", &message)]))]
    }

    // give says what the server gets from now on, and what is done then: its requests
    // carry the key in a header, or, where its entry says that it is a stream, the key
    // goes there as it is. Wharf puts it there: the transport does not see it, and the
    // provider sees no request.
    fn give(&self, key: &str, then: String) -> Vec<String> {
        let server = self.start.get("server");
        if server.get("blob").is("true") {
            return vec![action("material", &object(&[("blob", &base64(key.as_bytes()))])), then];
        }
        if !server.get("variables").is_missing() {
            return self.fail("config", "this provider fills no variables: leave them out of the auth of ");
        }
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_graphic()) {
            return self.fail("config", "the key holds what cannot stand in a header, that of ");
        }
        let mut header = self.setting("header");
        if header.is_empty() {
            header = "X-Api-Key".to_string();
        }
        let headers = object(&[(&header, &quote(key))]);
        vec![action("credentials", &object(&[("headers", &headers)])), then]
    }

    // ask asks the person, if there is one.
    fn ask(&self) -> Vec<String> {
        if !self.start.get("interactive").is("true") {
            return self.fail("login", "an API key is wanted by the server ");
        }
        let label = quote(&("API key of ".to_string() + &self.server()));
        vec![action("prompt", &object(&[("label", &label), ("secret", "true")]))]
    }

    fn started(&self) -> Vec<String> {
        let key = self.setting("key");
        match self.start.get("reason").text().as_str() {
            "logout" => vec![action("load", &object(&[("key", &self.record()), ("lock", "true")]))],
            "upscope" => self.fail("config", "more than the key allows was asked of "),
            "challenged" if !key.is_empty() => self.fail("config", "the key that is configured is not taken by "),
            _ if !key.is_empty() => self.give(&key, done()),
            "challenged" | "login" => self.ask(),
            _ => vec![action("load", &object(&[("key", &self.record())]))],
        }
    }

    fn signs_out(&self) -> bool {
        self.start.get("reason").text() == "logout"
    }

    // loaded uses the key that was saved. A vault that does not work is one without a key.
    // When the person signs out, what was loaded is forgotten; the lock keeps other
    // processes from saving another one in between.
    fn loaded(&self) -> Vec<String> {
        if self.signs_out() {
            return vec![action("forget", &object(&[("key", &self.record())]))];
        }
        let key = self.event.get("record").get("value").text();
        if key.is_empty() { vec![done()] } else { self.give(&key, done()) }
    }

    // stored ends the flow. A key that is not saved costs the person another question
    // the next time; one that is not forgotten they have to know of.
    fn stored(&self) -> Vec<String> {
        if self.signs_out() && !self.event.get("problem").is_missing() {
            return self.fail("config", "the vault did not forget the key of ");
        }
        vec![done()]
    }

    // answered takes what the person typed, and saves it.
    fn answered(&self) -> Vec<String> {
        let key = self.event.get("input").get("text").text();
        if key.is_empty() {
            return self.fail("login", "no API key was given for ");
        }
        self.give(&key, action("store", &object(&[("key", &self.record()), ("value", &quote(&key))])))
    }
}

// action is an action of a kind, with what it needs.
fn action(kind: &str, body: &str) -> String {
    object(&[("kind", &quote(kind)), (kind, body)])
}

fn done() -> String {
    object(&[("kind", r#""done""#)])
}

// step answers one call.
fn step(call: &str) -> Result<String, &'static str> {
    let call = Json::parse(call);
    let event = call.get("event");
    let kind = event.get("kind").text();
    let start = if kind == "start" { event.get("start") } else { call.get("state").get("start") };
    if start.is_missing() {
        return Err("the call is not of this contract");
    }
    let s = Step { event, start };
    let actions = match kind.as_str() {
        "start" => s.started(),
        "loaded" => s.loaded(),
        "input" => s.answered(),
        "stored" => s.stored(),
        _ => s.fail("config", "this provider is built for another version of Wharf than the one that signs in to "),
    };
    let state = object(&[("start", start.raw())]);
    let actions = String::from("[") + &actions.join(",") + "]";
    Ok(object(&[("state", &state), ("actions", &actions)]))
}

#[no_mangle]
pub extern "C" fn wharf_auth_describe() -> i32 {
    auth::answer(Ok(MANIFEST.to_string()))
}

#[no_mangle]
pub extern "C" fn wharf_auth_step() -> i32 {
    auth::answer(step(&auth::input()))
}

// What an auth provider for Wharf needs beside itself, in Rust: the door to the host
// and as much JSON as the contract takes, which is described by `go doc
// github.com/wharf-mcp/wharf/abi/step`. It wants the standard library and no crate.
// Copy it beside your own file, which says `mod auth;` and exports wharf_auth_describe
// and wharf_auth_step.
#![allow(dead_code)]

// The door: what Extism's kernel offers a module. Input and output lie in the kernel's
// memory, which is not ours, and are moved by words.
#[link(wasm_import_module = "extism:host/env")]
extern "C" {
    fn input_length() -> u64;
    fn input_load_u64(at: u64) -> u64;
    fn input_load_u8(at: u64) -> u32;
    fn alloc(size: u64) -> u64;
    fn store_u64(at: u64, value: u64);
    fn store_u8(at: u64, value: u32);
    fn output_set(at: u64, size: u64);
    fn error_set(at: u64);
}

// input returns what the host gave.
pub fn input() -> String {
    let mut bytes = Vec::new();
    unsafe {
        let size = input_length();
        let words = size / 8;
        for i in 0..words {
            bytes.extend_from_slice(&input_load_u64(i * 8).to_le_bytes());
        }
        for at in words * 8..size {
            bytes.push(input_load_u8(at) as u8);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

// stored copies a text to the kernel.
fn stored(text: &str) -> u64 {
    let words = text.as_bytes().chunks_exact(8);
    unsafe {
        let to = alloc(text.len() as u64);
        let mut at = to;
        let rest = words.remainder();
        for word in words {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            store_u64(at, u64::from_le_bytes(bytes));
            at += 8;
        }
        for &byte in rest {
            store_u8(at, byte as u32);
            at += 1;
        }
        to
    }
}

// answer ends a call: with a reply, or with words for the person who looks for a fault.
pub fn answer(reply: Result<String, &str>) -> i32 {
    match reply {
        Ok(reply) => {
            let at = stored(&reply);
            unsafe { output_set(at, reply.len() as u64) };
            0
        }
        Err(why) => {
            let at = stored(why);
            unsafe { error_set(at) };
            1
        }
    }
}

// How deep values may stand within others.
const DEPTH: usize = 64;

// A value, as it stands in its text. What is missing, of another kind or malformed is
// a value without text, which every method takes, so nothing is checked twice.
#[derive(Clone, Copy)]
pub struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    // parse returns the value that text holds and nothing beside it.
    pub fn parse(text: &'a str) -> Json<'a> {
        let text = text.trim_matches(SPACE);
        match skip(text, DEPTH) {
            Some("") => Json(text),
            _ => Json(""),
        }
    }

    // get returns the value of a key of an object.
    pub fn get(self, key: &str) -> Json<'a> {
        self.find(key).unwrap_or(Json(""))
    }

    fn find(self, key: &str) -> Option<Json<'a>> {
        let mut rest = self.0.strip_prefix('{')?.trim_start_matches(SPACE);
        loop {
            let name = rest;
            rest = skip(name, DEPTH)?;
            let found = Json(&name[..name.len() - rest.len()]).text() == key;
            rest = rest.trim_start_matches(SPACE).strip_prefix(':')?.trim_start_matches(SPACE);
            let value = rest;
            rest = skip(value, DEPTH)?;
            if found {
                return Some(Json(&value[..value.len() - rest.len()]));
            }
            rest = rest.trim_start_matches(SPACE).strip_prefix(',')?.trim_start_matches(SPACE);
        }
    }

    // raw returns the value as it stands: to put it into what is written, unread.
    pub fn raw(self) -> &'a str {
        self.0
    }

    pub fn is_missing(self) -> bool {
        self.0.is_empty() || self.0 == "null"
    }

    // is reports whether the value is this word or number.
    pub fn is(self, word: &str) -> bool {
        self.0 == word
    }

    // number returns a whole number.
    pub fn number(self) -> Option<i64> {
        self.0.parse().ok()
    }

    // text returns what stands between the quotes, or "" for what is no text.
    pub fn text(self) -> String {
        let quoted = self.0.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let mut out = String::new();
        let mut units = Vec::new(); // of UTF-16, as \u has them
        let mut chars = quoted.unwrap_or("").chars();
        while let Some(c) = chars.next() {
            let escaped = if c == '\\' { chars.next() } else { None };
            if escaped == Some('u') {
                let digits: String = chars.by_ref().take(4).collect();
                units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xFFFD));
                continue;
            }
            out.extend(char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or('\u{FFFD}')));
            out.push(match escaped {
                None => c,
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(other) => other,
            });
        }
        out.extend(char::decode_utf16(units).map(|c| c.unwrap_or('\u{FFFD}')));
        out
    }
}

const SPACE: &[char] = &[' ', '\t', '\r', '\n'];

// skip returns what follows the value that text begins with.
fn skip(text: &str, depth: usize) -> Option<&str> {
    let close = match text.chars().next()? {
        '"' => return skip_text(text),
        '{' => '}',
        '[' => ']',
        _ => return skip_word(text),
    };
    if depth == 0 {
        return None;
    }
    let mut rest = text[1..].trim_start_matches(SPACE);
    if let Some(behind) = rest.strip_prefix(close) {
        return Some(behind);
    }
    loop {
        if close == '}' {
            rest = skip_text(rest)?.trim_start_matches(SPACE).strip_prefix(':')?.trim_start_matches(SPACE);
        }
        rest = skip(rest, depth - 1)?.trim_start_matches(SPACE);
        if let Some(behind) = rest.strip_prefix(close) {
            return Some(behind);
        }
        rest = rest.strip_prefix(',')?.trim_start_matches(SPACE);
    }
}

fn skip_text(text: &str) -> Option<&str> {
    let mut escaped = false;
    for (i, c) in text.strip_prefix('"')?.char_indices() {
        match c {
            _ if c < ' ' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(&text[i + 2..]),
            _ => {}
        }
    }
    None
}

// skip_word moves past a number or a word. The caller that reads one checks it.
fn skip_word(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if rest.len() < text.len() { Some(rest) } else { None }
}

// quote writes a text as JSON.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ if c.is_control() => out += &format!("\\u{:04x}", c as u32),
            _ => out.push(c),
        }
    }
    out + "\""
}

// base64 writes bytes as the contract has them: a text in base64, with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::from("\"");
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | *three.get(i).unwrap_or(&0) as usize);
        for i in 0..4 {
            out.push(if i <= three.len() { DIGITS[bits >> (18 - 6 * i) & 63] as char } else { '=' });
        }
    }
    out + "\""
}

// object writes an object, of values that are JSON.
pub fn object(members: &[(&str, &str)]) -> String {
    let members: Vec<_> = members.iter().map(|(key, value)| quote(key) + ":" + value).collect();
    String::from("{") + &members.join(",") + "}"
}

package config

import (
	"strings"
	"testing"
)

// needed is what each example needs beside it to make a whole table.
var needed = map[string]string{
	"args": "command", "env": "command", "env_file": "command", "dir": "command", "disabled": "command", "enabled_tools": "command",
	"disabled_tools": "command", "sampler": "command", "timeout": "command", "start_timeout": "command", "max_timeout": "command", "ping": "command", "ping_timeout": "command", "idle_stop": "command", "resend": "command", "message_cap": "command", "share": "command", "copies": "command",
	"protocol": "command", "framing": "command", "registry": "command", "settings": "command",
	"headers": "url", "proxy": "url", "tls": "url", "auth": "url", "type": "url", "strategy": "url", "transport": "url", "address": "pigeon",
}

// Each key says what it is, and its example is read.
func TestKeys(t *testing.T) {
	companions := map[string]string{"command": "command = \"a\"\n", "url": "url = \"https://x.example\"\n", "pigeon": "transport = \"pigeon\"\n"}
	wraps := map[string]func(k Key) string{
		"(the file)": func(k Key) string {
			return k.Example + "\n" + map[string]string{"servers": `command = "a"`, "plugins": `file = "a.wasm"`, "access": `match = ["*"]`, "policy": `plugin = "a"`}[k.Name]
		},
		"[reconnect]":    func(k Key) string { return "[reconnect]\n" + k.Example },
		"[servers.NAME]": func(k Key) string { return "[servers.a]\n" + companions[needed[k.Name]] + k.Example },
		"servers.NAME.tls": func(k Key) string {
			return "[servers.a]\nurl = \"https://x.example\"\n[servers.a.tls]\n" + k.Example + map[string]string{"cert": "\nkey = \"k\"", "key": "\ncert = \"c\""}[k.Name]
		},
		"servers.NAME.auth": func(k Key) string {
			target := map[string]string{"variables": `command = "a"`, "blob": "address = \"unix:/a\"\ntransport = \"pigeon\""}[k.Name]
			if target == "" {
				target = `url = "https://x.example"`
			}
			return "[servers.a]\n" + target + "\n[servers.a.auth]\n" + k.Example + map[string]string{"env": "\ncommand = [\"a\"]"}[k.Name]
		},
		"servers.NAME.registry": func(k Key) string {
			return "[servers.a]\ncommand = \"a\"\n[servers.a.registry]\n" + k.Example +
				map[string]string{"name": "\nversion = \"1\"", "version": "\nname = \"a/b\"", "address": "\nname = \"a/b\"\nversion = \"1\"", "sha256": "\nname = \"a/b\"\nversion = \"1\""}[k.Name]
		},
		"[audit]": func(k Key) string { return "[audit]\n" + k.Example },
		"[access.NAME]": func(k Key) string {
			return "[access.a]\n" + k.Example + map[string]string{"allow": "\nmatch = [\"*\"]", "deny": "\nmatch = [\"*\"]"}[k.Name]
		},
		"[policy.NAME]": func(k Key) string {
			return "[policy.a]\n" + k.Example + map[bool]string{true: "\nplugin = \"a\""}[k.Name != "plugin"]
		},
		"[serve]": func(k Key) string { return "[serve]\n" + k.Example },
		"serve.oauth": func(k Key) string {
			text := "[serve.oauth]\n" + k.Example
			for _, key := range []string{"resource", "issuer"} {
				if k.Name != key {
					text += "\n" + key + " = \"https://a.example\""
				}
			}
			return text
		},
		"serve.tls": func(k Key) string {
			return "[serve.tls]\n" + k.Example + map[string]string{"cert": "\nkey = \"k\"", "key": "\ncert = \"c\"", "client_ca": "\ncert = \"c\"\nkey = \"k\""}[k.Name]
		},
		"[plugins.NAME]": func(k Key) string {
			return "[plugins.a]\n" + k.Example + map[string]string{"sha256": "\nfile = \"a.wasm\"", "origins": "\nfile = \"a.wasm\"", "discover": "\nfile = \"a.wasm\""}[k.Name]
		},
	}
	for _, table := range Tables() {
		seen := map[string]bool{}
		for _, k := range table.Keys {
			if seen[k.Name] || k.Type == "" || k.Default == "" || !strings.HasSuffix(k.Meaning, ".") {
				t.Errorf("%s %s: is there twice, or says too little: %+v", table.Name, k.Name, k)
			}
			seen[k.Name] = true
			text := wraps[table.Name](k)
			if !strings.Contains(k.Example, k.Name) {
				t.Errorf("%s %s: the example is of another key", table.Name, k.Name)
			}
			if _, err := Parse("wharf.toml", []byte(text)); err != nil {
				t.Errorf("%s\n%v", text, err)
			}
		}
	}
}

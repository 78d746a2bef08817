package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
	"github.com/wharf-mcp/wharf/internal/nearest"
)

// foreignKeys lists, for each setting, the keys that mean it: Wharf's own and those of other
// clients. If an entry has several of them, the first in the list counts.
var foreignKeys = struct {
	transport, command, dir, url, env, headers, cap, start, timeout, protocol, settings []string
	enabledTools, disabledTools, envFile, bearer, token, variables, headerVariables     []string
}{
	transport:       []string{"type", "transport"},
	command:         []string{"command", "cmd", "executable"},
	dir:             []string{"cwd", "dir"},
	url:             []string{"httpUrl", "url", "serverUrl", "baseUrl", "uri", "http_url", "server_url", "base_url"},
	env:             []string{"env", "environment", "envs"},
	headers:         []string{"headers", "http_headers", "httpHeaders"},
	cap:             []string{"message_cap", "messageCap"},
	start:           []string{"start_timeout", "startTimeout", "startup_timeout_sec", "startup_timeout_ms", "connectionTimeout", "initTimeout", "discoveryTimeoutMs"},
	timeout:         []string{"timeout", "tool_timeout_sec"},
	protocol:        []string{"protocol", "protocolVersion", "protocol_version"},
	settings:        []string{"settings", "config"},
	enabledTools:    []string{"enabled_tools", "enabledTools", "includeTools", "allowedTools", "allowed_tools", "available_tools", "tools"},
	disabledTools:   []string{"disabled_tools", "disabledTools", "excludeTools", "blockedTools", "blocked_tools"},
	envFile:         []string{"env_file", "envFile"},
	bearer:          []string{"bearer_token_env_var", "bearerTokenEnvVar", "bearerTokenEnv", "bearer_token_env"},
	token:           []string{"bearerToken", "bearer_token"},
	variables:       []string{"env_vars", gooseVariables},
	headerVariables: []string{"env_http_headers", "envHttpHeaders"},
}

// foreignUsed are all keys that are read of a foreign entry.
var foreignUsed = slices.Concat(
	foreignKeys.transport, foreignKeys.command, foreignKeys.dir, foreignKeys.url, foreignKeys.env, foreignKeys.headers,
	foreignKeys.cap, foreignKeys.start, foreignKeys.timeout, foreignKeys.protocol, foreignKeys.settings,
	foreignKeys.enabledTools, foreignKeys.disabledTools, foreignKeys.envFile, foreignKeys.bearer, foreignKeys.token, foreignKeys.variables, foreignKeys.headerVariables,
	slices.Collect(maps.Keys(foreignOAuthKeys)),
	[]string{"args", "address", "framing", "strategy", "resend", "disabled", "enabled", "oauth", "auth", "headersHelper"})

// foreignLabels are keys that say something about a server to people, or to a program
// that draws it. They change nothing, and are passed over.
var foreignLabels = []string{"name", "description", "display_name", "displayName", "icon", "iconPath", "gallery", "source", "version", "bundled", "title", "tags"}

// foreignAllowing are keys that let a client use tools without asking. They allow nothing here.
var foreignAllowing = []string{"autoApprove", "alwaysAllow", "autoapprove", "trust", "default_tools_approval_mode", "toolApproval"}

// notTaken is the note about a key of foreignAllowing.
const notTaken = "is not taken: what is used without asking is for you to decide"

// TransportOf returns Wharf's name for a transport that other clients call name, or "".
func TransportOf(name string) string { return foreignTransports[name] }

// TransportMeant returns the transport of Wharf's own that a name was probably meant to be, or "".
func TransportMeant(name string) string { return closest(name, []string{"stdio", "http", "sse"}) }

// foreignTransports are other names of the transports.
var foreignTransports = map[string]string{
	"local": "stdio", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http", "streamablehttp": "http", "http-stream": "http",
	"remote": "http", "ws": "websocket",
}

// misspelt warns of the keys of an entry that was left out, if they look like misspelt forms
// of keys that it lacks.
func (e *entry) misspelt() (warnings []string) {
	for _, key := range e.keys() {
		if slices.Contains(foreignUsed, key) || key == "dev" { // which VS Code has, and no slip of dir
			continue
		}
		if m := e.lookalike(key, suggestion(key, foreignUsed)); m != nil {
			warnings = append(warnings, m.Error())
		}
	}
	return warnings
}

// lookalike returns the mistake of a key that is not read and looks like the key better, which is
// read. It returns nil if better is "", or if the entry has better too.
func (e *entry) lookalike(key, better string) *Error {
	switch _, given := e.values[better]; {
	case given, better == "":
		return nil
	case strings.TrimSpace(key) == better:
		return e.mistake(key, "has blanks around it; write %s without them", better)
	}
	return e.mistake(key, "is not used by wharf; did you mean %s?", better)
}

// unused returns a note for each key of an entry that is not read.
func (e *entry) unused() (notes []*Error) {
	for _, key := range e.keys() {
		switch {
		case slices.Contains(foreignUsed, key), slices.Contains(foreignLabels, key):
		case slices.Contains(foreignAllowing, key):
			notes = append(notes, e.mistake(key, "%s", notTaken))
		case key == "sandboxEnabled" && e.values[key] == true: // of VS Code
			notes = append(notes, e.mistake(key, "is not taken: %s", NoSandbox))
		default:
			slip := nearest.Name(key, foreignUsed, 1) // not more: other clients have keys of their own, such as dev
			notes = append(notes, cmp.Or(e.lookalike(key, slip), e.mistake(key, "is not used by wharf")))
		}
	}
	return notes
}

// keys returns the keys of an entry, in the order of the file where that is known.
func (e *entry) keys() []string {
	if list := e.doc.under(e.path...); list != nil {
		return list
	}
	return slices.Sorted(maps.Keys(e.values))
}

// foreign reads an entry of another client. Empty texts and null are the same
// as absent to most of them.
func (e *entry) foreign(c *client, name string) Server {
	e.normalize(c)
	e.keyed = e.keyNames(c)
	transport := e.text(e.first(foreignKeys.transport))
	s := Server{
		Name:          name,
		Transport:     cmp.Or(foreignTransports[transport], transport),
		Dir:           e.text(e.first(foreignKeys.dir)),
		URL:           e.text(e.first(foreignKeys.url)),
		Env:           e.foreignEnv(c),
		EnvFile:       e.text(e.first(foreignKeys.envFile)),
		Headers:       e.foreignHeaders(),
		Strategy:      e.oneOf("strategy", strategies...),
		Auth:          e.foreignAuth(),
		Address:       e.text("address"),
		Resend:        e.flag("resend"),
		MessageCap:    e.size(e.first(foreignKeys.cap)),
		Framing:       e.oneOf("framing", framings...),
		Protocol:      e.foreignProtocol(),
		Settings:      e.texts(e.first(foreignKeys.settings)),
		Disabled:      e.flag("disabled"),
		DisabledTools: e.disabledTools(), EnabledTools: e.enabledTools(c), // in this order: both read the key tools
		file:    e.doc.path,
		line:    e.lineOf(""),
		lines:   e.lines(),
		envFile: e.first(foreignKeys.envFile),
		sandbox: e.values["sandboxEnabled"] == true,
	}
	s.keys = e.keyed
	s.Command, s.Args = e.foreignCommand(c)
	s.Env = e.containerEnv(s.Command, s.Args, s.Env)
	s.named, s.noDefaults, s.unsetTexts, s.ownEnv = e.named, !c.defaults, c.unset == unsetText, true
	s.Timeout, s.StartTimeout = e.foreignTimeouts(c)
	if _, given := e.values["enabled"]; given && !e.flag("enabled") {
		s.Disabled = true
	}
	if c.sse && s.Transport == "" && s.URL != "" && !isWebSocket(s.URL) {
		s.Transport = "sse"
		if e.values["httpUrl"] != nil {
			s.Transport = "http"
		}
	}
	e.oneCredential(&s)
	s.translate(e, c)
	s.tellHelper(e.path[len(e.path)-1])
	if c.id == "crush" {
		s.optionalHeaders(e)
	}
	if len(e.wrong) == 0 {
		e.checkName(name)
		e.checkTarget(&s)
		if holdsUser(s.URL) { // import is not to write what can never work
			e.fail("url", "holds a user or a password; write an entry of your own without them, with the header Authorization")
		}
		e.checkKeys(&s)
		e.checkAuth(&s)
	}
	return s
}

// normalize rewrites an entry into the newest form of its client. Some clients have changed their
// keys over time.
func (e *entry) normalize(c *client) {
	e.values = maps.Clone(e.values)
	if inner, ok := e.values["config"].(map[string]any); ok && c.id == "goose" {
		delete(e.values, "config")
		maps.Copy(e.values, inner)
	}
	if inner, ok := e.values["command"].(map[string]any); ok && c.id == "zed" { // as Zed wrote it until 2025
		delete(e.values, "command")
		for from, to := range map[string]string{"path": "command", "args": "args", "env": "env"} {
			if inner[from] != nil {
				e.values[to] = inner[from]
			}
		}
	}
	inner := "requestInit" // of GitHub Copilot in JetBrains, Xcode and Eclipse: install-other-copilot-ides.md of its server
	if c.id == "continue" {
		inner = "requestOptions"
	}
	if options, ok := e.values[inner].(map[string]any); ok && e.values["headers"] == nil {
		delete(e.values, inner)
		e.values["headers"] = options["headers"]
		for _, key := range slices.Sorted(maps.Keys(options)) {
			if key != "headers" {
				e.note(inner+"."+key, "is not used by wharf")
			}
		}
	}
	if e.values["url"] != nil && e.values["apiKey"] != nil && c.id == "continue" { // which sends it so: MCPConnection.ts
		e.values["bearerToken"] = e.values["apiKey"]
		delete(e.values, "apiKey")
	}
	if c.id == "zed" && e.values["command"] == nil && e.values["url"] == nil && e.values["settings"] != nil {
		e.fail("", "is started by an extension of Zed; write its command into your own configuration")
	}
	if v, given := e.values["bundled"]; given && v == nil {
		delete(e.values, "bundled")
	}
	maps.DeleteFunc(e.values, func(_ string, v any) bool { return v == nil })
}

// ofGoose reports whether an entry is a part of Goose itself and no server.
func (e *entry) ofGoose() bool {
	kind, _ := e.values["type"].(string)
	if inner, ok := e.values["config"].(map[string]any); ok && kind == "" {
		kind, _ = inner["type"].(string)
	}
	return slices.Contains([]string{"builtin", "platform", "frontend", "inline_python"}, kind)
}

// foreignCommand reads a command, which may be a list with its arguments.
func (e *entry) foreignCommand(c *client) (command string, args []string) {
	key := e.first(foreignKeys.command)
	if _, list := e.values[key].([]any); list {
		if argv := e.list(key); len(argv) > 0 {
			return argv[0], append(argv[1:], e.list("args")...)
		}
		return "", nil
	}
	command, args = e.text(key), e.list("args")
	if c.id == "mcporter" && len(args) == 0 { // which splits a command line
		if argv := words(command); len(argv) > 1 {
			return argv[0], argv[1:]
		}
	}
	return command, args
}

// words splits a command line at its spaces that are in no quotes.
func words(line string) (list []string) {
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range line {
		switch {
		case r == quote && quote != 0:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if begun {
				list = append(list, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		list = append(list, word.String())
	}
	return list
}

// first returns the first of the keys that the entry has, or "".
func (e *entry) first(keys []string) string {
	given := slices.IndexFunc(keys, func(key string) bool { return e.values[key] != nil })
	return keys[max(given, 0)]
}

// foreignProtocol reads which era is spoken; every version before the modern
// one is legacy.
func (e *entry) foreignProtocol() string {
	key := e.first(foreignKeys.protocol)
	if s := e.text(key); version.MatchString(s) && s < modern {
		return "legacy"
	}
	return e.oneOf(key, protocols...)
}

var version = lazyregexp.New(`^\d{4}-\d{2}-\d{2}$`)

// foreignTimeouts reads the timeouts of a request and of the start.
func (e *entry) foreignTimeouts(c *client) (request, start time.Duration) {
	keys, ofStart := c.timeoutKeys()
	request, start = e.timeouts(e.first(keys), c.unit)
	if key := e.first(ofStart); e.values[key] != nil {
		start = e.number(key, c.unitOfStart(key))
	}
	return request, start
}

// timeouts reads a number, which is the timeout of a request, or a table of both, as opencode has it.
func (e *entry) timeouts(key string, unit time.Duration) (request, start time.Duration) {
	table, ok := e.values[key].(map[string]any)
	if !ok {
		return e.number(key, unitOf(key, unit)), 0
	}
	e.within(key, table, func(inner *entry) {
		request, start = inner.number("request", unit), inner.number("startup", unit)
	})
	return request, start
}

// sharedTimeouts reads the timeouts of a client's file for the servers that have none of their own.
func (f *File) sharedTimeouts(doc *document, c *client) (request, start time.Duration) {
	for _, path := range c.waits {
		if doc.at(path) == nil {
			continue
		}
		e := newEntry(doc, "", path[:len(path)-1]...)
		each, first := e.timeouts(path[len(path)-1], c.unit)
		request, start = cmp.Or(request, each), cmp.Or(start, first)
		for _, w := range e.wrong {
			f.Warnings = append(f.Warnings, w.Error()+"; it is left out")
		}
	}
	return request, start
}

// timeoutKeys returns the keys of an entry that mean the timeout of a request, and those that mean the timeout of the
// start. A key of the first kind may be one of the second to a client, as timeout is to Crush.
func (c *client) timeoutKeys() (request, start []string) {
	start = foreignKeys.start
	request = slices.DeleteFunc(slices.Clone(foreignKeys.timeout), func(key string) bool { return key == c.keys["start_timeout"] })
	if len(request) < len(foreignKeys.timeout) {
		start = append([]string{c.keys["start_timeout"]}, start...)
	}
	return request, start
}

// unitOfStart returns the unit of a number in one of the keys for the start: milliseconds, unless the key says otherwise, or is
// one for requests to other clients.
func (c *client) unitOfStart(key string) time.Duration {
	if slices.Contains(foreignKeys.timeout, key) {
		return unitOf(key, c.unit)
	}
	return unitOf(key, time.Millisecond)
}

// unitOf returns the unit in the name of a key, such as timeout_ms, or unit if the name has none.
func unitOf(key string, unit time.Duration) time.Duration {
	switch {
	case strings.HasSuffix(key, "_sec"):
		return time.Second
	case strings.HasSuffix(key, "_ms"):
		return time.Millisecond
	}
	return unit
}

// unitNames are the units of timeouts, for people.
var unitNames = map[time.Duration]string{0: "milliseconds", time.Millisecond: "milliseconds", time.Second: "seconds"}

// ofUnit says what a number counts, where that is known.
var ofUnit = map[time.Duration]string{time.Millisecond: " of milliseconds", time.Second: " of seconds"}

// number reads a timeout: a number of units, or a duration as in our own files. Where the
// unit is not known, a number below 1000 is taken for seconds: no client would wait for
// less than one, and several count in seconds.
func (e *entry) number(key string, unit time.Duration) time.Duration {
	var text string
	switch n := e.values[key].(type) {
	case json.Number:
		text = n.String()
	case int64, float64:
		text, _ = asText(n)
	case string:
		if _, err := time.ParseDuration(n); err == nil || n == "" {
			return e.duration(key)
		}
		hint := ""
		if isNumber(n) {
			hint = "; write " + e.assigned(key, strings.TrimSpace(n))
		}
		e.fail(key, "expected a number%s, not the text %q%s", ofUnit[unit], n, hint)
		return 0
	case nil:
		return 0
	default:
		e.fail(key, "expected a number%s, not %s", ofUnit[unit], sort(n))
		return 0
	}
	n, err := json.Number(text).Float64()
	if err != nil || n < 0 || n > math.MaxInt32 {
		e.fail(key, "expected %s, not %s", unitNames[unit], text)
		return 0
	}
	if n == 0 {
		return -1
	}
	if unit == 0 {
		unit = time.Millisecond
		if n < 1000 {
			unit = time.Second
			e.note(key, "%s is taken for seconds; milliseconds are written from 1000 on", text)
		}
	}
	return time.Duration(n * float64(unit))
}

package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"sync"
	"time"
)

// foreignRoots are the keys under which other clients keep their servers.
var foreignRoots = []string{"mcpServers", "servers"}

// foreignKeys are the keys that mean the same here, under their own name and
// under those of other clients. The first one that an entry has counts.
var foreignKeys = struct{ transport, dir, url, cap, start, protocol, settings []string }{
	transport: []string{"type", "transport"},
	dir:       []string{"cwd", "dir"},
	url:       []string{"url", "serverUrl", "httpUrl"},
	cap:       []string{"message_cap", "messageCap"},
	start:     []string{"start_timeout", "startTimeout"},
	protocol:  []string{"protocol", "protocolVersion"},
	settings:  []string{"settings", "config"},
}

// foreignUsed are all keys that are read of a foreign entry.
var foreignUsed = slices.Concat(
	foreignKeys.transport, foreignKeys.dir, foreignKeys.url, foreignKeys.cap,
	foreignKeys.start, foreignKeys.protocol, foreignKeys.settings,
	[]string{"command", "args", "env", "headers", "address", "framing", "strategy", "timeout", "resend", "disabled", "enabled",
		"oauth", "auth", "headersHelper", "bearer_token_env_var"})

// foreignTransports are other names of the transports.
var foreignTransports = map[string]string{
	"local": "stdio", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http",
	"remote": "http",
}

// parseForeign reads a file of another client. What such a client alone
// understands is no mistake: it is left out with a warning.
func parseForeign(path string, data []byte) (*File, error) {
	doc, err := readJSON(path, data)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path}
	for _, w := range doc.twice {
		w.File = path
		f.Warnings = append(f.Warnings, w.Error())
	}
	found, taken := false, make(map[string]bool)
	for _, root := range foreignRoots {
		if _, ok := doc.table(root); !ok {
			continue
		}
		found = true
		for _, name := range doc.under(root) {
			e := newEntry(doc, "server "+name, root, name)
			if taken[name] {
				e.fail("", "stands twice in this file")
			}
			taken[name] = f.addForeign(e, name) || taken[name]
		}
	}
	if !found {
		return nil, &Error{File: path, Problem: `has no "mcpServers" (or "servers"); expected {"mcpServers": {"NAME": {"command": "…"}}}`}
	}
	return f, nil
}

// addForeign adds a server if it can be used.
func (f *File) addForeign(e *entry, name string) (added bool) {
	s := e.foreign(name)
	for _, w := range e.wrong {
		w.Problem += "; this server is left out"
		f.Warnings = append(f.Warnings, w.Error())
	}
	if len(e.wrong) > 0 {
		f.Warnings = append(f.Warnings, e.misspelt()...)
		return false
	}
	f.Servers = append(f.Servers, s)
	for _, key := range e.doc.under(e.path...) {
		if !slices.Contains(foreignUsed, key) {
			f.Warnings = append(f.Warnings, e.mistake(key, "is not used by wharf").Error())
		}
	}
	return true
}

// misspelt tells of the keys of an entry that was left out which may have been meant
// for those that it lacks.
func (e *entry) misspelt() (warnings []string) {
	for _, key := range e.doc.under(e.path...) {
		better := suggestion(key, foreignUsed)
		if _, given := e.values[better]; given || better == "" || slices.Contains(foreignUsed, key) {
			continue
		}
		warnings = append(warnings, e.mistake(key, "is not used by wharf; did you mean %s?", better).Error())
	}
	return warnings
}

// foreign reads an entry of another client. Empty texts and null are the same
// as absent to most of them.
func (e *entry) foreign(name string) Server {
	maps.DeleteFunc(e.values, func(_ string, v any) bool { return v == nil })
	env, _ := e.values["env"].(map[string]any)
	for name, v := range env {
		if v == nil { // to some clients, the variable of that name, as the host has it
			env[name] = "${" + name + "}"
		}
	}
	transport := e.text(e.first(foreignKeys.transport))
	s := Server{
		Name:         name,
		Transport:    cmp.Or(foreignTransports[transport], transport),
		Command:      e.text("command"),
		Args:         e.list("args"),
		Env:          e.texts("env"),
		Dir:          e.text(e.first(foreignKeys.dir)),
		URL:          e.text(e.first(foreignKeys.url)),
		Headers:      e.texts("headers"),
		Strategy:     e.oneOf("strategy", strategies...),
		Auth:         e.foreignAuth(),
		Address:      e.text("address"),
		Timeout:      e.milliseconds("timeout"),
		StartTimeout: e.milliseconds(e.first(foreignKeys.start)),
		Resend:       e.flag("resend"),
		MessageCap:   e.size(e.first(foreignKeys.cap)),
		Framing:      e.oneOf("framing", framings...),
		Protocol:     e.foreignProtocol(),
		Settings:     e.texts(e.first(foreignKeys.settings)),
		Disabled:     e.flag("disabled"),
		file:         e.doc.path,
		line:         e.lineOf(""),
	}
	if _, given := e.values["enabled"]; given && !e.flag("enabled") {
		s.Disabled = true
	}
	if len(e.wrong) == 0 {
		e.checkName(name)
		e.checkTarget(&s)
		e.checkKeys(&s)
		e.checkAuth(&s)
	}
	return s
}

// first returns the first of the keys that the entry has.
func (e *entry) first(keys []string) string {
	given := slices.IndexFunc(keys, func(key string) bool { return e.values[key] != nil })
	return keys[max(given, 0)]
}

// foreignProtocol reads which era is spoken; every version before the modern
// one is legacy.
func (e *entry) foreignProtocol() string {
	key := e.first(foreignKeys.protocol)
	if s := e.text(key); version().MatchString(s) && s < modern {
		return "legacy"
	}
	return e.oneOf(key, protocols...)
}

var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`) })

// milliseconds reads a timeout: a number of milliseconds, or a duration as in
// our own files.
func (e *entry) milliseconds(key string) time.Duration {
	n, ok := e.values[key].(json.Number)
	if !ok {
		return e.duration(key)
	}
	ms, err := n.Float64()
	if err != nil || ms < 0 || ms > math.MaxInt32 {
		e.fail(key, "expected milliseconds, not %s", n)
		return 0
	}
	if ms == 0 {
		return -1
	}
	return time.Duration(ms * float64(time.Millisecond))
}

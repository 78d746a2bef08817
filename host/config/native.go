package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// meant maps keys of other clients to Wharf's keys with the same meaning. Their spellings are too
// different to be found by likeness.
var meant = map[string]string{
	"mcpServers": "servers", "mcp_servers": "servers", "context_servers": "servers", "server": "servers",
	"cwd": "dir", "serverUrl": "url", "httpUrl": "url", "uri": "url", "cmd": "command",
	"http_headers": "headers", "environment": "env", "envs": "env", "config": "settings",
	"path": "file", "hash": "sha256",
}

// parseNative reads a file of our own.
func parseNative(doc *document, at place) (*File, error) {
	f := &File{Path: doc.path}
	root := newEntry(doc, "")
	root.onlyKeys(rootKeys, "")
	for _, key := range []string{"servers", "plugins", "access", "policy"} {
		valueOf[map[string]any](root, key, "expected tables, not %s; write ["+key+".NAME]")
	}
	f.MaxTimeout, f.Reconnect, f.Audit = root.duration("max_timeout"), root.reconnect(), root.audit()
	f.Serve = root.serve()
	wrong := root.wrong
	if e := nameless(doc, []string{"servers"}); e != nil {
		return nil, join([]*Error{e})
	}
	for _, name := range doc.under("servers") {
		e := newServer(doc, name, "servers")
		s := e.server(name)
		if home, err := os.UserHomeDir(); err == nil { // else the path is not found, and its error shows the tilde
			s.replaceTilde(literal(home))
		}
		if at.words != "" {
			s.noteScript(e)
			s.settle(literal(at.words))
		}
		s.settleSecrets(at.folder)
		f.Servers = append(f.Servers, s)
		wrong = append(wrong, e.wrong...)
		for _, n := range e.noted {
			f.note("%v", n)
		}
	}
	for _, name := range doc.under("plugins") {
		e := newEntry(doc, "plugin "+name, "plugins", name)
		if f.Plugins == nil {
			f.Plugins = make(map[string]Plugin)
		}
		f.Plugins[name] = e.plugin(name)
		wrong = append(wrong, e.wrong...)
	}
	texts := 0
	for _, name := range doc.under("access") {
		e := newEntry(doc, "access "+name, "access", name)
		f.Access = append(f.Access, e.access(name, &texts))
		wrong = append(wrong, e.wrong...)
	}
	for _, name := range doc.under("policy") {
		e := newEntry(doc, "policy "+name, "policy", name)
		f.Policies = append(f.Policies, e.policy(name))
		wrong = append(wrong, e.wrong...)
	}
	slices.SortStableFunc(wrong, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	if err := join(wrong); err != nil {
		return nil, err
	}
	return f, nil
}

// onlyKeys refuses every key that is not in the table. hint says where else a key may belong.
func (e *entry) onlyKeys(table keys, hint string) {
	known := table.names()
	for _, key := range slices.Sorted(maps.Keys(e.values)) {
		better := suggestion(key, known)
		strayed := e.strayed(key)
		switch {
		case slices.Contains(known, key):
		case strayed != "":
			e.fail(key, "there is no such key; %s", strayed)
		case key == "enabled" && slices.Contains(known, "disabled") && hint == "": // the suggestion "disabled" would say the opposite
			e.fail(key, "there is no such key; write disabled = true for a server that is not to be used, and nothing for one that is")
		case better != "" && hint != "":
			e.fail(key, "there is no such key; did you mean %s? %s", better, strings.ToUpper(hint[:1])+hint[1:])
		case better != "":
			e.fail(key, "there is no such key; did you mean %s?", better)
		default:
			e.fail(key, "there is no such key; %s", cmp.Or(hint, "there are "+strings.Join(known, ", ")))
		}
	}
}

// strayed says to which table a key belongs that was written in another, or returns "".
func (e *entry) strayed(key string) string {
	inner, _ := e.values[key].(map[string]any)
	isServer := inner["command"] != nil || inner["url"] != nil
	switch {
	case len(e.path) == 0 && isServer:
		return fmt.Sprintf("a server is written [servers.%s]", key)
	case len(e.path) == 0 && slices.Contains(serverKeys.names(), key):
		return "it is one of a server: write it below [servers.NAME]"
	case len(e.path) == 2 && isServer:
		return fmt.Sprintf(`a name with a dot is written in quotes: [%s."%s.%s"]`, e.path[0], e.path[1], key)
	}
	return ""
}

func suggestion(key string, known []string) string {
	if m := meant[key]; slices.Contains(known, m) {
		return m
	}
	return closest(key, known)
}

// transport reads the transport, which may be called type as other clients do.
func (e *entry) transport() string {
	name, kind := e.text("transport"), e.text("type")
	if name != "" && kind != "" && name != kind {
		e.fail("type", "says %q and transport %q; leave one out", kind, name)
	}
	return cmp.Or(name, kind)
}

// tls reads how a server over TLS proves its identity, and which certificate it is shown.
func (e *entry) tls() TLS {
	fields := e.texts("tls")
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(tlsKeys.names(), key) {
			e.fail("tls."+key, "there is no such key; there are %s", strings.Join(tlsKeys.names(), ", "))
		}
	}
	t := TLS{CA: fields["ca"], Cert: fields["cert"], Key: fields["key"], Name: fields["name"]}
	if (t.Cert == "") != (t.Key == "") {
		e.fail("tls", "cert and key go together; add the other one")
	}
	return t
}

// registry reads the version in a registry that an entry was made from.
func (e *entry) registry() Registry {
	fields := e.texts("registry")
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(registryKeys.names(), key) {
			e.fail("registry."+key, "there is no such key; there are %s", strings.Join(registryKeys.names(), ", "))
		}
	}
	r := Registry{Address: fields["address"], Name: fields["name"], Version: fields["version"], SHA256: strings.ToLower(fields["sha256"])}
	if fields != nil && (r.Name == "" || r.Version == "") {
		e.fail("registry", "name and version go together; add both, or leave it out")
	}
	if r.SHA256 != "" && !hash.MatchString(r.SHA256) {
		e.fail("registry.sha256", "expected 64 hex digits; leave it out, and the next update writes it")
	}
	return r
}

// server reads a server entry and checks it.
func (e *entry) server(name string) Server {
	hint := ""
	if transport, _ := e.values["transport"].(string); transport != "" && !isShipped(transport) {
		hint = fmt.Sprintf("what %s itself reads goes into [servers.%s.settings]", transport, name)
	}
	e.onlyKeys(serverKeys, hint)
	s := Server{
		Name:         name,
		Transport:    e.transport(),
		Command:      e.command(),
		Args:         e.list("args"),
		Env:          e.texts("env"),
		EnvFile:      e.text("env_file"),
		Dir:          e.text("dir"),
		URL:          e.text("url"),
		Headers:      e.texts("headers"),
		Proxy:        e.text("proxy"),
		Strategy:     e.oneOf("strategy", strategies...),
		TLS:          e.tls(),
		Auth:         e.auth(),
		Address:      e.text("address"),
		Timeout:      e.duration("timeout"),
		StartTimeout: e.duration("start_timeout"),
		MaxTimeout:   e.duration("max_timeout"),
		Ping:         e.duration("ping"),
		PingTimeout:  e.duration("ping_timeout"),
		IdleStop:     e.duration("idle_stop"),
		Resend:       e.flag("resend"),
		MessageCap:   e.size("message_cap"),
		Framing:      e.oneOf("framing", framings...),
		Protocol:     e.oneOf("protocol", protocols...),
		Settings:     e.texts("settings"),
		Disabled:     e.flag("disabled"),
		EnabledTools: e.list("enabled_tools"), DisabledTools: e.list("disabled_tools"),
		Sampler:  e.sampler(),
		Share:    e.oneOf("share", shares...),
		Copies:   e.count("copies", maxCopies),
		Registry: e.registry(),
		file:     e.doc.path,
		line:     e.lineOf(""),
		lines:    e.lines(),
	}
	if s.Ping > 0 && s.Ping < time.Second {
		e.fail("ping", `is too often; write "1s" or more, or "0" for never`)
	}
	if len(e.wrong) == 0 {
		e.check(&s)
	}
	return s
}

// command reads the name of a program. Other clients have its arguments in the same list.
func (e *entry) command() string {
	if _, list := e.values["command"].([]any); list {
		e.fail("command", `expected a text, not a list; write command = "PROGRAM", and args = ["…"]`)
		return ""
	}
	return e.text("command")
}

// sampler reads the command that answers for a model.
func (e *entry) sampler() []string {
	argv := e.list("sampler")
	if argv != nil && (len(argv) == 0 || argv[0] == "") {
		e.fail("sampler", `names no program; write ["…"]`)
	}
	for i, word := range argv {
		if strings.Contains(word, "${secret:") {
			e.fail(fmt.Sprintf("sampler[%d]", i), "the program is given no secret; it has the variables that wharf has")
		}
	}
	return argv
}

// A hash is 64 hex digits.
var hash = lazyregexp.New(`^[0-9a-f]{64}$`)

// plugin reads a plugin entry and checks it.
func (e *entry) plugin(name string) Plugin {
	e.onlyKeys(pluginKeys, "")
	p := Plugin{
		Name: name, File: e.text("file"), SHA256: strings.ToLower(e.text("sha256")),
		Origins: e.list("origins"), Discover: e.flag("discover"),
		Isolation: e.oneOf("isolation", IsolationNone, IsolationProcess),
	}
	e.checkName(name)
	for i, o := range p.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
			u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
			e.fail(fmt.Sprintf("origins[%d]", i), `%q is no origin; write "https://host" or "https://host:port"`, o)
		}
	}
	if p.File == "" && !p.isStricter() && len(e.wrong) == 0 {
		e.fail("file", `is missing; write file = "path/to/%s.wasm"%s`, name, p.asInstalled())
	}
	if p.File != "" && !filepath.IsAbs(p.File) {
		p.File = filepath.Join(filepath.Dir(e.doc.path), p.File)
	}
	if p.SHA256 != "" && !hash.MatchString(p.SHA256) {
		e.fail("sha256", "expected 64 hex digits, got %d characters; write what `wharf plugin inspect %s` prints",
			len(p.SHA256), p.File)
	}
	return p
}

// asInstalled says how an installed plugin gets the access that an entry without a file would give.
func (p Plugin) asInstalled() string {
	given := slices.Clone(p.Origins)
	if p.Discover {
		given = append(given, "discover")
	}
	if len(given) == 0 {
		return ""
	}
	return fmt.Sprintf(", or, if the plugin is installed: wharf plugin grant %s %s", p.Name, strings.Join(given, " "))
}

// isStricter reports whether an entry only says where a plugin runs. Such an entry gives the plugin
// no new access.
func (p Plugin) isStricter() bool {
	return p.Isolation != "" && p.File == "" && p.SHA256 == "" && len(p.Origins) == 0 && !p.Discover
}

package config

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// gooseVariables is the key at which Goose lists the names of variables.
const gooseVariables = "env_keys"

// foreignEnv reads the variables of a process. Some clients write null as the value of a variable,
// or the names of variables in a list. Each such variable gets the value that it has in the host. To
// VS Code, null takes the variable away (McpStdioServerDefinition.env in its API). To mcp-hub, an empty text is as
// null (_resolveEnvObject in src/utils/env-resolver.js).
func (e *entry) foreignEnv(c *client) map[string]string {
	key := e.first(foreignKeys.env)
	if table, ok := e.values[key].(map[string]any); ok {
		table = maps.Clone(table)
		for name, v := range table {
			switch {
			case v == nil && c.id == "vscode":
				delete(table, name)
			case v == nil, v == "" && c.id == "mcphub":
				table[name] = variableNamed(name)
				e.raw = append(e.raw, "env."+name)
			}
		}
		e.values[key] = table
	}
	env := e.texts(key)
	names := e.first(foreignKeys.variables)
	list, _ := e.values[names].([]any)
	for _, item := range list {
		if table, ok := item.(map[string]any); ok { // as Codex has it for variables of another machine
			item = table["name"]
		}
		name, ok := item.(string)
		if !ok || name == "" {
			e.fail(names, "expected names of variables, not %s", sort(item))
			continue
		}
		if env == nil {
			env = make(map[string]string)
		}
		if _, given := env[name]; !given {
			env[name] = variableNamed(name)
			e.raw = append(e.raw, "env."+name)
			e.nameIn("env."+name, names)
		}
		if names == gooseVariables {
			e.note(names, "Goose keeps %s in its own keyring; set the variable, or keep the secret in wharf's vault", name)
		}
	}
	return env
}

// foreignHeaders reads headers. A value may be the name of a variable, which becomes ${NAME}.
func (e *entry) foreignHeaders() map[string]string {
	headers := e.texts(e.first(foreignKeys.headers))
	key := e.first(foreignKeys.headerVariables)
	for name, variable := range e.texts(key) {
		if headers == nil {
			headers = make(map[string]string)
		}
		headers[name] = variableNamed(variable)
		e.raw = append(e.raw, "headers."+name)
		e.nameIn("headers."+name, key+"."+name)
	}
	return headers
}

// optionalHeaders leaves out headers that are empty, and those that are a variable which is not set or is empty, as
// Crush does (MCPConfig.ResolvedHeaders in internal/config/config.go).
func (s *Server) optionalHeaders(e *entry) {
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		value := s.Headers[name]
		m := emptyDefault.FindStringSubmatch(value)
		switch {
		case value == "":
			delete(s.Headers, name)
		case m != nil:
			s.Headers[name] = variableNamed(m[1])
			e.nameIn("headers."+name, "headers."+name)
			if _, set := os.LookupEnv(m[1]); !set {
				e.note("headers."+name, "is left out until the variable %s is set, as in Crush", m[1])
			}
		}
	}
	s.named = e.named
}

// emptyDefault matches a value that is nothing but a variable, which is empty where it is not set.
var emptyDefault = lazyregexp.New(`^\$\{([A-Za-z_][A-Za-z0-9_]*):-\}$`)

// variableNamed returns the variable of that name, which a file gives: it is to mean nothing else in braces.
func variableNamed(name string) string {
	if ofWharf.MatchString(name) || strings.HasPrefix(name, "input:") {
		return "${env:" + name + "}"
	}
	return "${" + name + "}"
}

// ownReference matches what means a secret in Wharf's own file.
var ownReference = lazyregexp.New(`\$\{(?:secret|file):[^}]*\}`)

// meansSecret reports whether a value in the syntax of Expand means a secret.
func meansSecret(value string) bool {
	pieces, _ := split(value, vars{lookup: unset})
	return slices.ContainsFunc(pieces, piece.isSecret)
}

// nameIn notes the key at which a field has the name of a variable in place of a value.
func (e *entry) nameIn(field, key string) {
	if e.named == nil {
		e.named = make(map[string]string)
	}
	e.named[field] = key
}

// translate rewrites the variables in the values of an entry in the syntax of Expand, and "~" as
// the path of the home folder. It notes each value that only looks like a variable of the client.
func (s *Server) translate(e *entry, c *client) {
	y, hint := c.syntax, ""
	switch {
	case c.id == "goose":
		y, hint = gooseSyntax(s.Env), "list %s in env_keys for that"
	case c.prefixed:
		hint = "write ${env:%s} for that"
	case y == nil || c.id == "mcphub":
		hint = "write ${%s} for that"
	}
	switch {
	case c == &unknownClient:
		y = ownSyntax
	case e.doc.format == formatXML:
		y, hint = optionSyntax, ""
	case y == nil && c.prefixed:
		y = editorSyntax
	case y == nil:
		y = bareSyntax
	}
	x := &expansion{server: s, replace: func(field, value string) (string, []error) {
		if slices.Contains(e.raw, field) {
			return value, nil
		}
		out, err := y(field, value)
		if err != nil {
			return value, []error{err}
		}
		m := unbraced.FindStringSubmatch(value)
		if m == nil {
			m = unprefixed.FindStringSubmatch(value)
		}
		if m != nil && hint != "" && out == literal(value) && !editorWord.MatchString(m[2]) {
			e.note(field, "is the text %s, and no variable; "+hint, m[1], m[2])
		}
		if m := ownReference.FindString(value); m != "" && !meansSecret(out) {
			e.note(field, "is the text %s, as in %s; it means a secret or a file in wharf.toml alone", m, c.name)
		}
		if m := librechatUser.FindString(value); m != "" && c.id == "librechat" {
			e.note(field, "holds %s, which LibreChat fills in for the user that it serves; to wharf it is a text", m)
		}
		return out, nil
	}}
	x.every = true
	x.all()
	for _, w := range x.wrong {
		e.fail(w.Field, "%s", w.Problem)
	}
	s.replaceTilde("${userHome}")
}

// noteUnset notes the variables of an entry that are not set, where that is no mistake to its client.
func (e *entry) noteUnset(s *Server, c *client) {
	if c.unset == "" {
		return
	}
	names := make(map[string]bool)
	s.settledTexts().eachUnset(os.LookupEnv, func(name string, wrong bool) { names[name] = names[name] || !wrong })
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] {
			e.note("", "the variable %s is not set; until it is, it stands for %s, as in %s%s", name, c.unset, c.name, c.since)
		}
	}
}

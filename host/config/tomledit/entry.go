package tomledit

import "github.com/wharf-mcp/wharf/host/config"

// Server returns the table of an entry: what says how it is reached, and where it was
// made from, in the order in which a person reads it. All but the fields that are named
// here is left to the caller.
func Server(s config.Server) Table {
	t := Table{Path: []string{"servers", s.Name}}
	add := func(name string, value any, there bool) {
		if there {
			t.Keys = append(t.Keys, Key{name, value})
		}
	}
	text := func(name, value string) { add(name, value, value != "") }
	text("transport", s.Transport)
	text("command", s.Command)
	add("args", s.Args, len(s.Args) > 0)
	text("url", s.URL)
	text("address", s.Address)
	text("strategy", s.Strategy)
	text("dir", s.Dir)
	add("headers", s.Headers, len(s.Headers) > 0)
	add("env", s.Env, len(s.Env) > 0)
	if s.Registry.Name != "" {
		add("registry", registry(s.Registry), true)
	}
	return t
}

func registry(r config.Registry) map[string]string {
	table := map[string]string{"name": r.Name, "version": r.Version}
	if r.Address != "" {
		table["address"] = r.Address
	}
	if r.SHA256 != "" {
		table["sha256"] = r.SHA256
	}
	return table
}

package tomledit

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
)

// Server returns the table of an entry, in the order in which a person reads it. It leaves out
// fields that are zero, and those that only an entry of a project has.
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
	text("proxy", s.Proxy)
	text("protocol", s.Protocol)
	text("framing", s.Framing)
	text("timeout", duration(s.Timeout))
	text("start_timeout", duration(s.StartTimeout))
	text("max_timeout", duration(s.MaxTimeout))
	text("ping", duration(s.Ping))
	text("ping_timeout", duration(s.PingTimeout))
	text("idle_stop", duration(s.IdleStop))
	add("resend", s.Resend, s.Resend)
	add("message_cap", fmt.Sprint(s.MessageCap, "B"), s.MessageCap > 0)
	add("disabled", s.Disabled, s.Disabled)
	add("enabled_tools", s.EnabledTools, s.EnabledTools != nil)
	add("disabled_tools", s.DisabledTools, len(s.DisabledTools) > 0)
	add("sampler", s.Sampler, len(s.Sampler) > 0)
	text("share", s.Share)
	add("copies", s.Copies, s.Copies > 0)
	text("env_file", s.EnvFile)
	add("tls", tls(s.TLS), s.TLS != config.TLS{})
	add("headers", s.Headers, len(s.Headers) > 0)
	add("env", s.Env, len(s.Env) > 0)
	add("auth", auth(s.Auth), !s.Auth.IsZero())
	add("settings", s.Settings, len(s.Settings) > 0)
	if s.Registry.Name != "" {
		add("registry", registry(s.Registry), true)
	}
	return t
}

// duration returns a timeout as the configuration writes it: below zero is none.
func duration(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < 0:
		return "0"
	}
	text := d.String() // 1h0m0s
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func tls(t config.TLS) map[string]string {
	table := map[string]string{"ca": t.CA, "cert": t.Cert, "key": t.Key, "name": t.Name}
	maps.DeleteFunc(table, func(_, value string) bool { return value == "" })
	return table
}

// auth returns the name of a provider, or its table if there are settings.
func auth(a config.Auth) any {
	table := map[string]any{"provider": a.Provider}
	for key, value := range a.Settings {
		if r, ok := value.(config.Reference); ok {
			fields := map[string]string{"env": r.Env, "file": r.File, "secret": r.Secret}
			maps.DeleteFunc(fields, func(_, text string) bool { return text == "" })
			value = fields
		}
		table[key] = value
	}
	if len(a.Command) > 0 {
		table["command"] = a.Command
	}
	if len(a.Env) > 0 {
		table["env"] = a.Env
	}
	if len(a.Variables) > 0 {
		table["variables"] = a.Variables
	}
	if a.Blob {
		table["blob"] = true
	}
	if a.RequestBody {
		table["request_body"] = true
	}
	if len(table) == 1 {
		return a.Provider
	}
	return table
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

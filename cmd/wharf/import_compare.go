package main

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// differences returns the keys in which two servers differ. It compares only keys that say what is
// run or reached, and what that is given. Two servers are the same if there are none.
func differences(s, other host.Server) (keys []string) {
	for _, part := range []struct {
		key  string
		same bool
	}{
		{"command", s.Command == other.Command},
		{"args", slices.EqualFunc(s.Args, other.Args, sameValue)},
		{"env", maps.EqualFunc(s.Env, other.Env, sameValue)},
		{"env_file", s.EnvFile == other.EnvFile},
		{"dir", s.Dir == other.Dir},
		{"url", sameValue(s.URL, other.URL)},
		{"address", s.Address == other.Address},
		{"headers", maps.EqualFunc(lowered(s.Headers), lowered(other.Headers), sameValue)},
		{"tls", s.TLS == other.TLS},
		{"auth", reflect.DeepEqual(s.Auth, other.Auth)},
	} {
		if !part.same {
			keys = append(keys, part.key)
		}
	}
	return keys
}

// sameValue reports whether two values are the same, or differ only in how a variable is written, and in what becomes
// of one that is not set.
func sameValue(value, other string) bool {
	const name = "$${$1}"
	return value == other || ownVariables.ReplaceAllString(value, name) == ownVariables.ReplaceAllString(other, name)
}

// ownVariables matches a variable without a default, or with one that import has written.
var ownVariables = lazyregexp.New(`\$\{\??(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(?:\$[A-Za-z_][A-Za-z0-9_]*|\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*\})?)?\}`)

// lowered returns headers by their names in lower case, as a table of its own.
func lowered(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		out[strings.ToLower(name)] = value
	}
	return out
}

// asEntry returns s, a server of another client, as import would write it in place of mine, an entry of
// the user. Where both have a secret in the same place, the result refers to the vault by the name that
// mine uses, so the two can be compared. values holds the texts of these secrets in s, by that name.
// asEntry does not read the vault.
func asEntry(s, mine host.Server) (adopted host.Server, values map[string]string) {
	renamed, answers := make(map[string]string), make(map[string]string)
	s.Adopt(make(map[string]string), renamed)
	for before, name := range renamed {
		for _, ref := range mine.Secrets() {
			if path.Base(ref.Secret) == path.Base(name) { // behind the name of the server that was copied first
				answers[before] = ref.Secret
			}
		}
	}
	secrets := make(map[string]string)
	adopted, _ = s.Adopt(secrets, answers)
	adopted.Headers = lowered(adopted.Headers)
	values = make(map[string]string)
	note := func(value, own string) {
		moved, refs := secretRefs.FindAllStringSubmatch(value, -1), secretRefs.FindAllStringSubmatch(own, -1)
		if len(moved) != len(refs) || secretRefs.ReplaceAllString(value, "") != secretRefs.ReplaceAllString(own, "") {
			return
		}
		for i, ref := range moved {
			if text, ok := secrets[ref[1]]; ok {
				values[refs[i][1]] = text
			}
		}
	}
	same := func(value, before, own string) string {
		if own != before && withoutServers(own) != withoutServers(value) {
			return value
		}
		note(value, own)
		return own
	}
	keep := func(copied, before, own map[string]string) {
		for name, value := range copied {
			ref := secretRefs.FindStringSubmatch(value)
			switch {
			case ref == nil || secrets[ref[1]] == "":
			case ref[0] == value && strings.Contains(own[name], "${secret:"):
				note(value, own[name])
				copied[name] = own[name]
			default:
				copied[name] = same(value, before[name], own[name])
			}
		}
	}
	keep(adopted.Env, s.Env, mine.Env)
	keep(adopted.Headers, lowered(s.Headers), lowered(mine.Headers))
	for i := range min(len(adopted.Args), len(mine.Args)) {
		adopted.Args[i] = same(adopted.Args[i], s.Args[i], mine.Args[i])
	}
	adopted.URL = same(adopted.URL, s.URL, mine.URL)
	for i := range min(len(adopted.Auth.Command), len(mine.Auth.Command)) {
		adopted.Auth.Command[i] = same(adopted.Auth.Command[i], s.Auth.Command[i], mine.Auth.Command[i])
	}
	for key, setting := range adopted.Auth.Settings {
		moved, isRef := setting.(config.Reference)
		own, isOwn := mine.Auth.Settings[key].(config.Reference)
		text, known := secrets[moved.Secret]
		switch {
		case !isRef || !known:
		case isOwn && own.Secret != "":
			values[own.Secret] = text
			adopted.Auth.Settings[key] = own
		case reflect.DeepEqual(s.Auth.Settings[key], mine.Auth.Settings[key]): // it was copied in the clear
			adopted.Auth.Settings[key] = mine.Auth.Settings[key]
		}
	}
	return adopted, values
}

// secretRefs are references to secrets of the vault.
var secretRefs = lazyregexp.New(`\$\{secret:([^{}]*)\}`)

// withoutServers drops the name of the server from each reference to a secret: an entry may have
// been copied under another name.
func withoutServers(value string) string {
	return secretRefs.ReplaceAllStringFunc(value, func(ref string) string { return path.Base(strings.TrimPrefix(ref, "${secret:")) })
}

// complete gives a server the times that only another one has. It returns the keys of those that differ, of which the
// server keeps its own.
func complete(s *host.Server, other host.Server) (differ []string) {
	for _, t := range []struct {
		key   string
		mine  *time.Duration
		other time.Duration
	}{
		{"timeout", &s.Timeout, other.Timeout},
		{"start_timeout", &s.StartTimeout, other.StartTimeout},
	} {
		switch {
		case *t.mine == 0:
			*t.mine = t.other
		case t.other != 0 && t.other != *t.mine:
			differ = append(differ, t.key)
		}
	}
	return differ
}

// forbidsAll reports whether mine forbids all that other forbids.
func forbidsAll(mine, other host.Server) bool {
	switch {
	case mine.Disabled:
		return true
	case other.Disabled:
		return false
	case mine.EnabledTools != nil && !slices.ContainsFunc(mine.EnabledTools, func(tool string) bool { return strings.Contains(tool, "*") }):
		return !slices.ContainsFunc(mine.EnabledTools, func(tool string) bool { return mine.Permits(tool) && !other.Permits(tool) })
	}
	narrower := mine.EnabledTools != nil && !slices.ContainsFunc(mine.EnabledTools, func(pattern string) bool {
		return !(&host.Server{EnabledTools: other.EnabledTools}).Permits(pattern)
	})
	return (other.EnabledTools == nil || narrower) &&
		!slices.ContainsFunc(other.DisabledTools, func(tool string) bool { return !slices.Contains(mine.DisabledTools, tool) })
}

// forbidden returns the keys of an entry that forbid something which mine allows, for people.
func forbidden(s, mine host.Server) string {
	var keys []string
	if s.Disabled && !mine.Disabled {
		keys = append(keys, "disabled")
	}
	if s.EnabledTools != nil && !slices.Equal(s.EnabledTools, mine.EnabledTools) {
		keys = append(keys, fmt.Sprintf("enabled_tools: %q", s.EnabledTools))
	}
	more := slices.DeleteFunc(slices.Clone(s.DisabledTools), func(tool string) bool { return slices.Contains(mine.DisabledTools, tool) })
	if len(more) > 0 {
		keys = append(keys, fmt.Sprintf("disabled_tools: %q", more))
	}
	return plain.Line(strings.Join(keys, ", "))
}

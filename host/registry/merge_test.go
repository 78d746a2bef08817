package registry

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

const (
	firstVersion = `{"registryType": "npm", "identifier": "b", "version": "1.0.0", ` + stdio + `"packageArguments": [{"type": "positional", "valueHint": "dir", "isRequired": true, "isRepeated": true}, {"type": "named", "name": "--old"}, {"type": "named", "name": "--level", "default": "info"}, {"type": "named", "name": "--ro", "format": "boolean"}], "environmentVariables": [{"name": "KEY", "isRequired": true}, {"name": "MODE", "value": "one"}, {"name": "GONE", "value": "x"}]}`
	laterVersion = `{"registryType": "npm", "identifier": "b", "version": "2.0.0", ` + stdio + `"packageArguments": [{"type": "named", "name": "--new"}, {"type": "positional", "valueHint": "dir", "isRequired": true, "isRepeated": true}, {"type": "named", "name": "--level", "default": "warn"}, {"type": "named", "name": "--ro", "format": "boolean"}], "environmentVariables": [{"name": "KEY", "isRequired": true}, {"name": "MODE", "value": "two"}, {"name": "TOKEN", "isRequired": true}, {"name": "FRESH", "default": "y"}]}`
)

// An update stays with the kind of package that it had: another kind is another program.
func TestSuccessorIsOfTheSameKind(t *testing.T) {
	old := described(t, "packages", `{"registryType": "npm", "identifier": "b", "version": "1.0.0", "transport": {"type": "stdio"}}`)
	s, err := old.Entry(nil)
	if err != nil {
		t.Fatal(err)
	}
	other := &Option{Kind: "cargo", Runs: "npx", program: "npx"}
	if found := old.Successor([]*Option{other}, s); found != nil {
		t.Errorf("it goes on as %s %s", found.Kind, found.Runs)
	}
	if found := old.Successor([]*Option{other, old}, s); found != old {
		t.Errorf("%+v", found)
	}
	sse := described(t, "remotes", `{"type": "sse", "url": "https://example.com/sse"}`)
	http := described(t, "remotes", `{"type": "streamable-http", "url": "https://example.com/mcp"}`)
	if s, err = sse.Entry(nil); err != nil {
		t.Fatal(err)
	}
	if found := sse.Successor([]*Option{other, http}, s); found != http {
		t.Errorf("%+v", found)
	}
}

// What an entry is compared with is a pattern of the registry's choice: it is bounded.
func TestPatternsAreBounded(t *testing.T) {
	many := described(t, "packages", `{"registryType": "npm", "identifier": "b", "version": "1.0.0", `+stdio+`"packageArguments": [{"type": "positional", "value": "`+strings.Repeat("{a}", 20_000)+`", "variables": {"a": {"default": "x"}}}]}`)
	if !strings.Contains(many.Unusable, "more than 200 places") {
		t.Errorf("%q", many.Unusable)
	}
	remote := described(t, "remotes", `{"type": "sse", "url": "https://example.com/`+strings.Repeat("{a}", 300)+`", "variables": {"a": {"default": "x"}}}`)
	if !strings.Contains(remote.Unusable, "more than 200 places") {
		t.Errorf("%q", remote.Unusable)
	}
	m := &manifest{UserConfig: map[string]bundleInput{"a": {Type: "string"}}}
	m.Server.Run = bundleRun{Command: "node", Args: []string{strings.Repeat("${user_config.a}", 300)}}
	if err := m.compile(&Option{}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "more than 200 places") {
		t.Errorf("%v", err)
	}
	for size, want := range map[int]bool{maxMatched - len(ended): true, maxMatched: false} {
		m := matched{answers: make(Answers)}
		if got := m.read([]template{{{input: "a"}}}, []string{strings.Repeat("x", size)}); got != want {
			t.Errorf("%d bytes are matched: %v", size, got)
		}
	}
	words := make([]word, maxGroups+1)
	for i := range words {
		words[i] = word{flag: "f", texts: []template{{{text: "--f"}}}}
	}
	if (matched{answers: make(Answers)}).readArgs(words, nil) {
		t.Error("a pattern of too many groups is matched")
	}
}

// An entry follows the registry where it is as the registry made it, and is the user's
// where they changed it.
func TestMerge(t *testing.T) {
	old, fresh := described(t, "packages", firstVersion), described(t, "packages", laterVersion)
	added, err := old.Entry(Answers{"dir": {"/a", "/b"}, "KEY": {"k"}, "ro": {"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"-y", "b@1.0.0", "/a", "/b", "--old", "--level", "info", "--ro"}; !slices.Equal(added.Args, want) {
		t.Fatalf("%q", added.Args)
	}
	var missing *MissingError
	if _, _, err := Merge(old, fresh, added, nil); !errors.As(err, &missing) || !areMissing(missing, "TOKEN") {
		t.Fatalf("%v", err)
	}
	token := Answers{"TOKEN": {"t"}}
	for name, tc := range map[string]struct {
		edit func(s *config.Server)
		want config.Server
		kept []string
	}{
		"nothing changed": {func(*config.Server) {}, config.Server{
			Command: "npx", Args: []string{"-y", "b@2.0.0", "--new", "/a", "/b", "--level", "warn", "--ro"},
			Env: map[string]string{"KEY": "k", "MODE": "two", "TOKEN": "t", "FRESH": "y"},
		}, nil},
		"values changed": {func(s *config.Server) {
			s.Args = []string{"-y", "b@1.0.0", "/c", "--old", "--level", "debug"}
			s.Env = map[string]string{"KEY": "${OTHER}", "MODE": "one", "OWN": "1"}
			s.Dir, s.Command = "/d", "/opt/npx"
		}, config.Server{
			Command: "/opt/npx", Dir: "/d", Args: []string{"-y", "b@2.0.0", "--new", "/c", "--level", "debug"},
			Env: map[string]string{"KEY": "${OTHER}", "MODE": "two", "TOKEN": "t", "FRESH": "y", "OWN": "1"},
		}, []string{"command stays, by your own change", "env.OWN stays, by your own change"}},
		"arguments changed": {func(s *config.Server) { s.Args = []string{"-y", "b@1.0.0", "/a", "--mine"} }, config.Server{
			Command: "npx", Args: []string{"-y", "b@2.0.0", "/a", "--mine"},
			Env: map[string]string{"KEY": "k", "MODE": "two", "TOKEN": "t", "FRESH": "y"},
		}, []string{"args stay, except for the package in them, by your own change"}},
		"an argument with a default taken out": {func(s *config.Server) { s.Args = []string{"-y", "b@1.0.0", "/a", "--old"} }, config.Server{
			Command: "npx", Args: []string{"-y", "b@2.0.0", "/a", "--old"},
			Env: map[string]string{"KEY": "k", "MODE": "two", "TOKEN": "t", "FRESH": "y"},
		}, []string{"args stay, except for the package in them, by your own change"}},
		"variables changed and taken out": {func(s *config.Server) { s.Env = map[string]string{"KEY": "k", "GONE": "mine"} }, config.Server{
			Command: "npx", Args: []string{"-y", "b@2.0.0", "--new", "/a", "/b", "--level", "warn", "--ro"},
			Env: map[string]string{"KEY": "k", "GONE": "mine", "TOKEN": "t", "FRESH": "y"},
		}, []string{"env.GONE stays, by your own change"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := added
			now.Env = maps.Clone(added.Env)
			tc.edit(&now)
			got, kept, err := Merge(old, fresh, now, token)
			if err != nil || !reflect.DeepEqual(got, tc.want) || !slices.Equal(kept, tc.kept) {
				t.Errorf("got  %+v, %q, %v\nwant %+v, %q", got, kept, err, tc.want, tc.kept)
			}
		})
	}
	t.Run("a package of another name", func(t *testing.T) {
		renamed := described(t, "packages", strings.Replace(laterVersion, `"b"`, `"c"`, 1))
		now := added
		now.Args = []string{"-y", "b@1.0.0", "/a", "--mine"}
		got, kept, err := Merge(old, renamed, now, token)
		if err != nil || !slices.Equal(got.Args, []string{"-y", "c@2.0.0", "/a", "--mine"}) {
			t.Errorf("%q, %q, %v", got.Args, kept, err)
		}
		now.Args = []string{"-y", "fork@1.0.0", "/a"}
		got, kept, err = Merge(old, renamed, now, token)
		if err != nil || !slices.Equal(got.Args, now.Args) || !slices.Equal(kept, []string{"args stay, by your own change"}) {
			t.Errorf("%q, %q, %v", got.Args, kept, err)
		}
		if renamed.IsIn(added) || !fresh.IsIn(added) {
			t.Error("the package of an entry is not known")
		}
	})
	t.Run("an unknown old version asks for nothing that only arguments need", func(t *testing.T) {
		got, kept, err := Merge(nil, fresh, added, Answers{"TOKEN": {"t"}, "KEY": {"other"}})
		want := []string{"-y", "b@2.0.0", "/a", "/b", "--old", "--level", "info", "--ro"}
		if err != nil || !slices.Equal(got.Args, want) || !slices.Contains(kept, "args stay, except for the package in them, as it is not known what you changed") {
			t.Errorf("%q, %q, %v", got.Args, kept, err)
		}
		var missing *MissingError
		if _, _, err := Merge(nil, fresh, added, Answers{"KEY": {"k"}}); !errors.As(err, &missing) || !areMissing(missing, "TOKEN") {
			t.Errorf("%v", err)
		}
	})
	t.Run("an unknown old version asks for nothing that the entry has", func(t *testing.T) {
		kept := added
		kept.Env = map[string]string{"KEY": "${secret:b/KEY}"}
		got, why, err := Merge(nil, fresh, kept, Answers{"TOKEN": {"t"}})
		if err != nil || got.Env["KEY"] != kept.Env["KEY"] || got.Env["TOKEN"] != "t" || len(why) != 1 {
			t.Errorf("%v, %q, %v", got.Env, why, err)
		}
	})
	t.Run("an unknown old version", func(t *testing.T) {
		got, _, err := Merge(nil, fresh, added, Answers{"TOKEN": {"t"}, "KEY": {"other"}, "dir": {"/"}})
		want := []string{"-y", "b@2.0.0", "/a", "/b", "--old", "--level", "info", "--ro"}
		if err != nil || !slices.Equal(got.Args, want) || got.Env["KEY"] != "k" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func areMissing(e *MissingError, ids ...string) bool {
	return slices.EqualFunc(e.Inputs, ids, func(in Input, id string) bool { return in.ID == id })
}

// What stays as the user has written it, or has been taken out, needs no answer.
func TestMergeAsksForNothingThatStays(t *testing.T) {
	const remote = `{"type": "streamable-http", "url": "https://{tenant}.example.com/VERSION", "variables": {"tenant": {"isRequired": true}},
		"headers": [{"name": "Authorization", "isRequired": true, "value": "Bearer {token}", "variables": {"token": {"isRequired": true}}}NEW]}`
	version := func(path, more string) *Option {
		return described(t, "remotes", strings.NewReplacer("VERSION", path, "NEW", more).Replace(remote))
	}
	old := version("one", "")
	fresh := version("two", `, {"name": "X-Tenant", "value": "{id}", "variables": {"id": {"isRequired": true}}}, {"name": "X-Org", "isRequired": true}`)
	added, err := old.Entry(Answers{"tenant": {"acme"}, "token": {"${T}"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		old  *Option
		edit func(s *config.Server)
		url  string
		auth string
		kept []string
	}{
		"nothing changed":              {old, func(*config.Server) {}, "https://acme.example.com/two", "Bearer ${T}", nil},
		"a header of one's own":        {old, func(s *config.Server) { s.Headers["Authorization"] = "Basic x" }, "https://acme.example.com/two", "Basic x", []string{"headers.Authorization stays, by your own change"}},
		"a header that is gone":        {old, func(s *config.Server) { delete(s.Headers, "Authorization") }, "https://acme.example.com/two", "", nil},
		"a url of one's own":           {old, func(s *config.Server) { s.URL = "http://127.0.0.1:1/own" }, "http://127.0.0.1:1/own", "Bearer ${T}", []string{"url stays, by your own change"}},
		"an old one that is not known": {nil, func(*config.Server) {}, "https://acme.example.com/one", "Bearer ${T}", []string{"url stays, as it is not known what you changed"}},
	} {
		now := added
		now.Headers = maps.Clone(added.Headers)
		tc.edit(&now)
		var missing *MissingError
		if _, _, err := Merge(tc.old, fresh, now, nil); !errors.As(err, &missing) || !areMissing(missing, "id", "X-Org") || err.Error() != "id (for the header X-Tenant), the header X-Org are missing" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, kept, err := Merge(tc.old, fresh, now, Answers{"id": {"7"}, "X-Org": {"o"}})
		if err != nil || got.URL != tc.url || got.Headers["Authorization"] != tc.auth || got.Headers["X-Tenant"] != "7" || !slices.Equal(kept, tc.kept) {
			t.Errorf("%s: %+v, %q, %v", name, got, kept, err)
		}
	}
}

// An argument that passes on a variable follows the registry, also where the variable stays.
func TestMergeKeepsThePassingOfAVariable(t *testing.T) {
	image := func(version, more string) *Option {
		return described(t, "packages", `{"registryType": "oci", "identifier": "ghcr.io/e/b:`+version+`", "transport": {"type": "stdio"}, "environmentVariables": [{"name": "KEY", "isRequired": true, "value": "k={key}", "variables": {"key": {"isRequired": true}}}`+more+`]}`)
	}
	old, fresh := image("1.0.0", ""), image("2.0.0", `, {"name": "TOKEN", "isRequired": true}`)
	now, err := old.Entry(Answers{"key": {"x"}})
	if err != nil {
		t.Fatal(err)
	}
	now.Env["KEY"] = "mine"
	got, kept, err := Merge(old, fresh, now, Answers{"TOKEN": {"t"}})
	if want := []string{"run", "-i", "--rm", "-e", "KEY", "-e", "TOKEN", "ghcr.io/e/b:2.0.0"}; err != nil || !slices.Equal(got.Args, want) || got.Env["KEY"] != "mine" {
		t.Errorf("%q, %q, %q, %v", got.Args, got.Env, kept, err)
	}
}

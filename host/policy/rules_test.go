package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The callers of the tests.
var (
	local = Caller{Kind: Gateway, Name: "editor"}
	agent = Caller{Kind: Gateway, Name: "agent-7"}
	ci    = Caller{Kind: Gateway, Name: "agent-7", Principal: "ci-1"}
	other = Caller{Kind: Bridge, Principal: "guest"}
)

func decide(t *testing.T, r *Rules, c Caller, target string) Decision {
	t.Helper()
	call, err := ParseCall(target)
	if err != nil {
		t.Fatal(err)
	}
	call.Caller = &c
	return r.Decide(t.Context(), &call)
}

func rules(t testing.TB, own []Table, projects ...[]Table) *Rules {
	t.Helper()
	r, err := New(own, projects...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDecide(t *testing.T) {
	r := rules(t, []Table{
		{Name: "agents", Match: []string{"client:agent-*"}, Allow: []string{"files", "issues/list_*", "prompt:issues/*", "resource:docs/file:///pub/*"}, Deny: []string{"*/delete_*", "resource:files/*/secret/*"}, Place: "w.toml:3"},
		{Name: "robots", Match: []string{"principal:ci-*"}, Allow: []string{"build/run"}},
		{Name: "all", Match: []string{"*"}, Deny: []string{"hidden", "files/format"}},
	})
	for _, tt := range []struct {
		caller Caller
		target string
		allow  bool
		rule   string // a part of it
	}{
		{local, "files/read", true, "default"},
		{local, "files/delete_all", true, "default"},
		{local, "files/format", false, `access.all: deny "files/format"`},
		{local, "files/FORMAT", false, "access.all"},
		{local, "files/ format", false, "access.all"},
		{local, "hidden/x", false, `deny "hidden"`},
		{local, "resource:hidden/x:y", false, `deny "hidden"`},
		{agent, "files/read", true, `access.agents (w.toml:3): allow "files"`},
		{agent, "prompt:files/x", true, `allow "files"`},
		{agent, "files/delete_x", false, `access.agents (w.toml:3): deny "*/delete_*"`},
		{agent, "files/Delete_x", false, `deny "*/delete_*"`},
		{agent, "prompt:files/delete_x", true, `allow "files"`},
		{agent, "issues/list_all", true, `allow "issues/list_*"`},
		{agent, "issues/close", false, "nothing else"},
		{agent, "prompt:issues/close", true, `allow "prompt:issues/*"`},
		{agent, "resource:issues/x:y", false, "nothing else"},
		{agent, "build/run", false, "nothing else"},
		{agent, "resource:docs/file:///pub/a", true, "allow"},
		{agent, "resource:docs/file:///pub/../etc/passwd", false, "nothing else"},
		{agent, "resource:docs/file:///pub/%2e%2e/etc/passwd", false, "nothing else"},
		{agent, `resource:docs/file:///pub/..\etc`, false, "nothing else"},
		{agent, "resource:files/file:///a/secret/b", false, "deny"},
		{agent, "resource:files/file:///a/%73ecret/b", false, "deny"},
		{ci, "build/run", true, "access.robots"},
		{ci, "files/read", true, "access.agents"},
		{ci, "files/format", false, "access.all"},
		{other, "files/read", false, "no access names"},
		{other, "build/run", false, "no access names"},
	} {
		if d := decide(t, r, tt.caller, tt.target); d.Allow != tt.allow || !strings.Contains(d.Rule, tt.rule) {
			t.Errorf("%v, %s: %+v", &tt.caller, tt.target, d)
		}
	}
}

// The file of a project forbids more, and allows nothing that the user's own file does not.
func TestProjectsNarrow(t *testing.T) {
	own := []Table{{Name: "a", Match: []string{"client:agent-*"}, Allow: []string{"files"}, Deny: []string{"files/drop"}}}
	r := rules(t, own, []Table{{Name: "p", Match: []string{"*"}, Allow: []string{"*"}, Deny: []string{"*/write"}}}, []Table{{Name: "q", Match: []string{"bridge", "principal:*"}, Allow: []string{"*/read"}}})
	for target, allow := range map[string]bool{"files/read": true, "files/write": false, "files/drop": false, "other/read": false} {
		if d := decide(t, r, agent, target); d.Allow != allow {
			t.Errorf("%s: %+v", target, d)
		}
	}
	if d := decide(t, r, other, "files/read"); d.Allow {
		t.Errorf("a project has allowed it to a principal: %+v", d)
	}
	if d := decide(t, r, local, "files/read"); !d.Allow {
		t.Errorf("%+v", d)
	}
	if d := decide(t, r, Caller{Kind: Bridge}, "files/list"); d.Allow {
		t.Errorf("%+v", d)
	}
	for caller, want := range map[Caller]Scope{other: Nothing, local: Some, agent: Some} {
		if got := r.Scope(&caller, "files"); got != want {
			t.Errorf("%v: scope %d, want %d", &caller, got, want)
		}
	}

	r = rules(t, []Table{{Name: "a", Match: []string{"principal:*"}, Allow: []string{"files"}}}, []Table{{Name: "p", Match: []string{"client:editor"}, Allow: []string{"*/read"}}})
	if d, scope := decide(t, r, other, "files/list"), r.Scope(&other, "files"); !d.Allow || scope == Nothing {
		t.Errorf("a project that does not name a principal has denied it: %+v, scope %d", d, scope)
	}
}

func TestScope(t *testing.T) {
	r := rules(t, []Table{
		{Match: []string{"client:agent-*"}, Allow: []string{"files", "issues/x"}},
		{Match: []string{"client:*"}, Deny: []string{"hidden", "de*/y"}},
		{Match: []string{"bridge"}, Allow: []string{}},
	})
	for _, tt := range []struct {
		caller Caller
		server string
		want   Scope
	}{
		{local, "files", Everything}, {local, "hidden", Nothing}, {local, "demo", Some}, {local, "deny", Some},
		{agent, "files", Everything}, {agent, "issues", Some}, {agent, "other", Nothing},
		{Caller{Kind: Bridge}, "files", Nothing}, {Caller{Kind: Command}, "files", Everything}, {other, "files", Nothing},
	} {
		if got := r.Scope(&tt.caller, tt.server); got != tt.want {
			t.Errorf("%v at %s: scope %d, want %d", &tt.caller, tt.server, got, tt.want)
		}
	}
	if !rules(t, nil, nil).Empty() || r.Empty() {
		t.Error("Empty is wrong")
	}
	if got := rules(t, nil).Scope(&other, "files"); got != Nothing {
		t.Errorf("without a rule, another principal has scope %d", got)
	}
}

func TestBadTables(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "names no server",
		"/x":               "names no server",
		"files/":           "all of it",
		"prompt:files":     `"prompt:files/*"`,
		"prompt:":          "names no server",
		"resource:/x":      "names no server",
		"tool:files/x":     `there is no "tool:"`,
		"resources:f/x":    `there is no "resources:"`,
		"files/a:b":        "",
		"resource:f/a:b/c": "",
		"*":                "",
	} {
		_, err := New([]Table{{Match: []string{"*"}, Deny: []string{text}}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
	for _, text := range []string{"", "client:", "principal:", "user:x", "gateways"} {
		if _, err := New([]Table{{Match: []string{text}}}); err == nil {
			t.Errorf("the match %q is taken", text)
		}
	}
}

// What is called is one thing, and no pattern.
func TestParseCall(t *testing.T) {
	for text, want := range map[string]string{
		"": "has no /", "files": "has no / between a server and what of it is called", "files/": "names nothing of the server", "prompt:files": "has no /",
		"prompt:files/": "names nothing of the server", "tool:files/x": `there is no "tool:"`, "files/*": "is a pattern", "*/read": "is a pattern", "prompt:f/a*": "is a pattern",
		"resource:*/x:y": "is a pattern", "resource:f/x:{path*}": "", "files/read": "",
	} {
		_, err := ParseCall(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || want != "is a pattern" && strings.Contains(err.Error(), `/*"`)) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

// Clients choose their names, of any length and as many as they like.
func TestCallersAreBounded(t *testing.T) {
	r := rules(t, []Table{{Match: []string{"client:x*"}, Deny: []string{"files/*"}}})
	for i := range 10_000 {
		c := Caller{Name: strings.Repeat("x", 1000) + fmt.Sprint(i)}
		if i%2 == 0 {
			c.Name = fmt.Sprint("x", i)
		}
		if decide(t, r, c, "files/a").Allow {
			t.Fatal("allowed")
		}
	}
	if len(r.callers) > maxCallers {
		t.Errorf("%d callers are remembered", len(r.callers))
	}
	for c := range r.callers {
		if len(c.name) > maxName {
			t.Errorf("a name of %d bytes is remembered", len(c.name))
		}
	}
}

// The index finds what a look at every pattern finds.
func FuzzIndex(f *testing.F) {
	f.Add("files/read files/* */delete_* resource:*/file:///*x* *", "files", "delete_me", int(Tool), true)
	f.Add("a*/b*c */* prompt:a/*z b", "ab", "bxc", int(Prompt), false)
	f.Add("a/é* a/É", "a", "É", int(Tool), true)
	f.Add("resource:a/file:///x/../etc/* resource:a/HTTP://h:80/*", "a", "file:////tmp/%2e%2E/%65tc/x", int(Resource), true)
	f.Fuzz(func(t *testing.T, patterns, server, text string, target int, folds bool) {
		if target < int(Other) || target > int(Resource) {
			return
		}
		x := index{folds: folds}
		call := Call{Server: server, Target: Target(target), Name: text}
		name, want := spell(&call, folds), false
		for _, pattern := range strings.Fields(patterns) {
			p, err := readPattern(pattern)
			if err != nil {
				continue
			}
			x.add(rule{p, pattern})
			want = want || fitsSlowly(p, &call, &name, folds)
		}
		if _, found := x.find(&call, &name); found != want {
			t.Errorf("%s of %s with %q: found is %v, want %v", text, server, patterns, found, want)
		}
	})
}

func fitsSlowly(p pattern, c *Call, name *spelling, folds bool) bool {
	if !Fits(p.server, c.Server) {
		return false
	}
	forms, patterns := name.forms[:name.count], []string{p.name}
	if !folds {
		forms = []string{name.name}
	}
	switch {
	case p.whole:
		return true
	case p.target != c.Target:
		return false
	case folds && c.Target == Resource:
		patterns = append(patterns, deniedForms(p.name)...)
	case c.Target == Resource && name.strict:
		return strings.Trim(p.name, "*") == ""
	case c.Target == Resource:
		patterns = []string{allowedForm(p.name)}
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if folds {
			pattern = strings.ToLower(pattern)
		}
		return slices.ContainsFunc(forms, func(form string) bool { return Fits(pattern, form) })
	})
}

// thousand are 1,000 rules of all forms.
func thousand(b testing.TB) *Rules {
	tables := make([]Table, 20)
	for i := range tables {
		t := &tables[i]
		t.Name, t.Match = fmt.Sprintf("t%d", i), []string{"client:agent-*", fmt.Sprintf("client:x%d", i)}
		for j := range 10 {
			n := i*10 + j
			t.Allow = append(t.Allow, fmt.Sprintf("server%d/tool_%d", n%50, n), fmt.Sprintf("server%d/list_%d_*", n%50, n), fmt.Sprintf("resource:server%d/file:///%d/*", n%50, n))
			t.Deny = append(t.Deny, fmt.Sprintf("*/delete_%d_*", n), fmt.Sprintf("*/*_%d_secret", n))
		}
	}
	tables[19].Allow = append(tables[19].Allow, "*/*")
	return rules(b, tables)
}

func BenchmarkDecide(b *testing.B) {
	r := thousand(b)
	for _, bb := range []struct {
		name string
		call Call
	}{
		{"allowed by the last", Call{Caller: &agent, Server: "server7", Target: Tool, Name: "read_the_file"}},
		{"denied", Call{Caller: &agent, Server: "server7", Target: Tool, Name: "delete_190_it"}},
		{"resource", Call{Caller: &agent, Server: "server7", Target: Resource, Name: "file:///57/some/where.txt"}},
		{"resource in another spelling", Call{Caller: &agent, Server: "server7", Target: Resource, Name: "FILE://localhost//57/./%73ome/where.txt"}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Scope(bb.call.Caller, bb.call.Server)
				r.Decide(context.Background(), &bb.call)
			}
		})
	}
}

// A decision allocates nothing, at 1,000 rules and for a caller who has called before.
func TestDecideAllocates(t *testing.T) {
	r := thousand(t)
	call := Call{Caller: &agent, Server: "server7", Target: Tool, Name: "read_the_file"}
	if n := testing.AllocsPerRun(100, func() {
		r.Scope(call.Caller, call.Server)
		r.Decide(context.Background(), &call)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A pattern that is about none of the servers is told, with its place in the table.
func TestStrangers(t *testing.T) {
	table := Table{
		Allow: []string{"files", "file", "prompt:fi*/x", "*/x", "resource:*x*/y"},
		Deny:  []string{"Files/x", "resource:issues/x:/files/y", "is*/x", "iss"},
	}
	var got []string
	table.Strangers([]string{"files", "issues"}, func(key string, i int, server string) { got = append(got, fmt.Sprint(key, i, server)) })
	if want := []string{"allow1file", "allow4*x*", "deny0Files", "deny3iss"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

package gateway

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, tt := range []struct{ server, tool, want string }{
		{"files", "read", "files__read"},
		{"files", "read_more-2", "files__read_more-2"},
		{"files", "_read", "files___read"},
		{"files_", "read", "files_-0000000000000000__read"},
		{"a__b", "c", "a_b-0000000000000000__c"},
		{"a", "b__c", "a__b__c"},
		{"my.server", "read", "my_server-0000000000000000__read"},
		{"files", "read file", "files-0000000000000000__read_file"},
		{"files", "読む", "files-0000000000000000____"},
		{"files", "🔧", "files-0000000000000000___"},
		{"files", "", "files-0000000000000000__"},
		{"files", long, "files-0000000000000000__" + long[:40]},
		{long, "read", long[:20] + "-0000000000000000__read"},
	} {
		got := aggregateName(tt.server, tt.tool)
		if got != tt.want && masked(got) != masked(tt.want) || len(got) > maxName || replaceLetters(got) != got {
			t.Errorf("%q of %q is called %q, want %q", tt.tool, tt.server, got, tt.want)
		}
		if server, tool, ok := splitName(got); ok && (server != tt.server || tool != tt.tool) {
			t.Errorf("%q is read as %q of %q", got, tool, server)
		}
	}
}

// masked returns a name without the digits of its hash.
func masked(name string) string {
	if at := strings.Index(name, separator); at > hashDigits && name[at-hashDigits-1] == '-' {
		return name[:at-hashDigits] + name[at:]
	}
	return name
}

// FuzzNames: a name is legal, and is read as no other server's.
func FuzzNames(f *testing.F) {
	f.Add("a_", "b", "a", "_b")
	f.Add("a__b", "c", "a", "b__c")
	f.Add("a", "read file", "a", "read_file")
	f.Add("a", "read file", "a", "read.file")
	f.Fuzz(func(t *testing.T, server, tool, other, name string) {
		called := aggregateName(server, tool)
		if len(called) > maxName || replaceLetters(called) != called {
			t.Fatalf("%q", called)
		}
		if s, n, ok := splitName(called); ok && (s != server || n != tool) {
			t.Fatalf("%q of %q is called %q, which is %q of %q", tool, server, called, n, s)
		}
		if (server != other || tool != name) && called == aggregateName(other, name) {
			t.Fatalf("%q of %q is called %q, as is %q of %q", tool, server, called, name, other)
		}
		if s, id, ok := ownTaskID(taskID(server, tool)); !ok || s != server || id != tool {
			t.Fatalf("task %q of %q is read as %q of %q", tool, server, id, s)
		}
	})
}

func FuzzURIs(f *testing.F) {
	f.Add("files", "file:///a b")
	f.Add("a:b~c/d", "ui://panel/main")
	f.Add("", "ui://~x")
	f.Fuzz(func(t *testing.T, server, uri string) {
		qualified := qualify(server, uri)
		if s, u, ok := unqualify(qualified); !ok || s != server || u != uri {
			t.Fatalf("%q of %q is %q, which is %q of %q, %v", uri, server, qualified, u, s, ok)
		}
		if strings.HasPrefix(uri, pages) != strings.HasPrefix(qualified, pages) {
			t.Fatalf("%q of %q is %q", uri, server, qualified)
		}
	})
}

func TestOwners(t *testing.T) {
	var o owners
	o.add("a", "file:///x", false)
	o.add("b", "file:///x", false)
	o.add("b", "file:///y", false)
	o.add("b", "log:///{day}", true)
	o.add("b", "mail:///{id}", true)
	o.add("c", "log:///{day}", true)
	o.add("c", "{broken", true)
	for _, tt := range []struct{ server, uri, want string }{
		{"a", "file:///x", "wharf+a:file:///x"}, {"b", "file:///y", "file:///y"}, {"b", "log:///{day}", "wharf+b:log:///{day}"},
		{"b", "log:///monday", "wharf+b:log:///monday"}, {"a", "log:///monday", "wharf+a:log:///monday"}, {"d", "file:///y", "wharf+d:file:///y"},
		{"a", "none:///", "none:///"}, {"b", "mail:///1", "mail:///1"}, {"a", "asked:///", "wharf+a:asked:///"},
		{"b", "log:///asked", "log:///asked"},
	} {
		asked := func(form string) bool { return form == "wharf+a:asked:///" || form == "log:///asked" }
		n := &uriNaming{owners: &o, server: tt.server, asked: asked}
		if got := n.form(tt.uri); got != tt.want {
			t.Errorf("%s of %s is called %s, want %s", tt.uri, tt.server, got, tt.want)
		}
	}
	for uri, want := range map[string]string{"file:///x": "a", "file:///y": "b", "log:///monday": "b", "log:///a/b": "", "": ""} {
		if got, ok := o.serverOf(uri); got != want || ok != (want != "") {
			t.Errorf("%s is read from %q, %v; want %q", uri, got, ok, want)
		}
	}
}

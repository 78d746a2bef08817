package policy

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

// What a rule denies is denied in each spelling that a server may read as the same resource.
func TestDeniedInAnySpelling(t *testing.T) {
	r := rules(t, []Table{{Name: "all", Match: []string{"*"}, Deny: []string{
		"resource:files/file:///etc/*", "resource:files/file:///a/b.txt", "resource:web/https://intern.example/secret/*", "resource:web/HTTPS://Host:443/a/../b",
		"resource:notes/note:Plan", "resource:memo/memo:/x/*",
	}}})
	for server, uris := range map[string][]string{
		"files": {
			"file:///etc/passwd", "file:///tmp/../etc/passwd", "file:///./etc/passwd", "file:///tmp/%2e%2e/etc/passwd", "file:///tmp/.%2E/etc/passwd",
			"file:////etc/passwd", "file://///etc//passwd", "file:/etc/passwd", "file:etc/passwd", "file://localhost/etc/passwd", "FILE://LOCALHOST./etc/passwd",
			"file://user:pass@localhost/etc/passwd", "file://%6cocalhost/etc/passwd", "file://localhost:/etc/passwd", "file://other/etc/passwd", "file://etc/passwd",
			`file:///tmp/..\etc/passwd`, `file:\\\etc\passwd`, `file:///./etc/x\..\..\passwd`, "file:///ETC/passwd", "file:///%65%74%63/passwd", "file:///./%65tc/%zz/../passwd",
			"file:///tmp/..%2fetc/passwd", "file:///tmp/..%5Cetc/passwd", "file:///../etc/passwd", "file:///tmp%00/../etc/passwd", "file:///e\ttc/passwd",
			" file:///etc/passwd", "file:///etc/passwd?x", "file:///tmp?/../../etc/passwd", "file:///tmp#/%2e%2e/etc/passwd", "/etc/passwd", "//etc/passwd", "/tmp/../etc/passwd",
			"file:///a/./b%2Etxt", "file:///a/b.txt/", "file:///a/b.txt/.", "file:///a/b.txt?x=1", "file:///a/b.txt#1",
		},
		"web": {
			"https://intern.example/secret/x", "HTTPS://Intern.Example/secret/x", "https://intern.example:443/secret/x", "https://intern.example./secret/x",
			"https://u:p@intern.example/secret/x", "https://intern.example//secret/x", "https://intern.example:/open/../secret/x", "https://intern.example/secret/../../x",
			"https:/intern.example/secret/x", "https:intern.example/secret/x", "https:///intern.example/secret/x", "https://intern.example/%73ecret/x",
			"https://host/b", "https://host/b#x",
		},
		"notes": {"note:Plan", "NOTE:plan", "note:%50lan", "note:Plan\x00", "note:Plan%00"},
		"memo":  {"memo:/x/y", "memo:///x/y", "memo:/./x/y", "memo:///x//y"},
	} {
		for _, uri := range uris {
			if d := decide(t, r, local, "resource:"+server+"/"+uri); d.Allow || !strings.Contains(d.Rule, "access.all: deny") {
				t.Errorf("%s of %s: %+v", uri, server, d)
			}
		}
	}
	for server, uris := range map[string][]string{
		"files": {"file:///tmp/x", "file:///etcetera", "file:///tmp/etc/passwd", "file:///a/b.txt.old", "file:///tmp/{name}", "file:///50%25", "other:etc/passwd", "name"},
		"web":   {"https://intern.example/", "https://intern.example/?to=/secret/..%2Fx", "https://host:8443/b", "http://host/b"},
		"notes": {"note:Plans", "note:a/../Plan", `note:a\Plan`, "note:a%2FPlan"},
		"other": {`file:///x%2F\..`, "file:///../x"}, // no rule is about it
	} {
		for _, uri := range uris {
			if d := decide(t, r, local, "resource:"+server+"/"+uri); !d.Allow {
				t.Errorf("%s of %s: %+v", uri, server, d)
			}
		}
	}
}

// What is allowed is allowed in its normal form alone.
func TestAllowedInItsNormalForm(t *testing.T) {
	r := rules(t, []Table{{Name: "all", Match: []string{"*"}, Allow: []string{
		"resource:files/file:///pub/*", "resource:web/HTTPS://Host:443/%61*", "resource:web/https://u@host/x", "resource:any/*",
	}}})
	for uri, want := range map[string]bool{
		"files/file:///pub/a": true, "files/FILE://localhost/%70ub/./a": true, "files/file:////pub//a": true, "files/file:/pub/a": true,
		"files/file:///pub/../pub/a": false, "files/file:///pub/../etc/x": false, "files/file:///./pub/%2e%2e/x": false, "files/file:///pub/%2e%2e/x%zz": false,
		"files/file:///pub/a%2f..%2fx": false, "files/file:///pub/a%00": false, `files/file:///pub/a\b`: false, "files/file:pub/a": false, "files/file:///Pub/a": false,
		"files/file://host/pub/a": false, "files/file://pub/a": false, "files/ file:///pub/a": false, "files//pub/a": false, "files/file:///x/*": false,
		"web/https://host/abc": true, "web/https://HOST:443/abc": true, "web/https://host:8443/abc": false, "web/https://host/b": false,
		"web/https://u@host/x": true, "web/https://v@host/x": false, "web/https://host/x": false, "any/file:///x/../y%2F": true,
	} {
		if d := decide(t, r, local, "resource:"+uri); d.Allow != want {
			t.Errorf("%s: %+v", uri, d)
		}
	}
	if d := decide(t, r, local, "resource:files/file:///pub/a%2fb"); !strings.Contains(d.Reason, hasSlash) {
		t.Errorf("%+v", d)
	}
}

func TestNormal(t *testing.T) {
	for uri, want := range map[string]string{
		"HTTP://Example.COM:80":              "http://example.com/",
		"http://h/a/./b/../c/%7Euser%3a":     "http://h/a/c/~user%3A",
		"http://u%40:p@h.:8080//a/?q=%2f%7e": "http://u%40:p@h:8080//a/?q=%2F~",
		"http://[::1]:80/":                   "http://[::1]/",
		"file:/a%20b//c/.":                   "file:///a b/c/",
		"file://localhost":                   "file://",
		"mailto:A%42@x/../y":                 "mailto:AB@x/../y",
		"x:/a//b":                            "x:/a//b",
		"x:50%*":                             "x:50%25%2A",
		"no uri":                             "no uri",
		"":                                   "",
	} {
		form, doubt := reading{}.normal(uri)
		again, _ := reading{}.normal(form)
		if form != want || again != form || doubt != "" {
			t.Errorf("%q becomes %q (%s) and %q, want %q", uri, form, doubt, again, want)
		}
	}
}

// No spelling of the path of a denied file is allowed.
func FuzzDeniedFile(f *testing.F) {
	for _, uri := range []string{"file:///tmp/../etc/passwd", "file:///%65tc/x", "FILE:////etc/./x?y", "file://u@h:1/a/b", "file:etc/x", "file:/a%2F..%2Fetc/%78", "file:///etc/..", "file:///x/\u212a", "file:a/b#c", "web://host/a/b.c"} {
		f.Add(uri)
	}
	tables, err := New([]Table{{Match: []string{"*"}, Deny: []string{"resource:files/file:///etc/*", "resource:files/file:///a/b"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		for _, r := range []reading{{}, {loose: true}} {
			if form, doubt := r.normal(uri); settled(uri) && (form != uri || doubt != "" || leaves(uri)) {
				t.Errorf("%q is settled, and becomes %q (%s)", uri, form, doubt)
			}
		}
		call := Call{Caller: &local, Server: "files", Target: Resource, Name: uri}
		if !tables.Decide(t.Context(), &call).Allow {
			return
		}
		u, err := url.Parse(uri)
		if err != nil || u.Scheme != "file" {
			return
		}
		file := path.Clean("/" + u.Path + unescaped(u.Opaque))
		if strings.HasPrefix(file, "/etc/") || file == "/a/b" {
			t.Errorf("%q is allowed, and is %s", uri, file)
		}
	})
}

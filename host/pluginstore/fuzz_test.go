package pluginstore

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse: what is read of a lock is what would be written, and none of it can
// lead out of the folder.
func FuzzParse(f *testing.F) {
	a, _ := sample("a")
	b, _ := sample("b")
	b.Kind, b.Asked, b.Granted = Provider, []string{Discover, "https://a.example"}, []string{}
	b.Former, b.Source = a.SHA256, "oci://ghcr.io/owner/b:1"
	text, err := format([]Installed{a, b})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":1,"plugins":[]}`))
	f.Add([]byte(`{"version":1,"plugins":null}{`))
	f.Add(bytes.Replace(text, []byte(`"a"`), []byte(`"../a"`), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parse(text)
		if err != nil {
			return
		}
		s := Open(Config{Dir: "/book", Files: "/files"})
		for _, e := range entries {
			if strings.ContainsAny(e.Name, "/\\.") || filepath.Dir(s.Path(e)) != filepath.FromSlash("/files") {
				t.Errorf("%q is at %s", e.Name, s.Path(e))
			}
		}
		again, err := format(entries)
		if err != nil {
			t.Fatalf("it cannot be written: %v", err)
		}
		back, err := parse(again)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if third, _ := format(back); !bytes.Equal(again, third) {
			t.Error("it is another each time")
		}
	})
}

// FuzzParseSource: what a user calls a source leads where it says, and reading it
// again changes nothing.
func FuzzParseSource(f *testing.F) {
	for _, text := range []string{"pigeon.wasm", "/a/../b", "https://a.example/p.wasm", "oci://ghcr.io/owner/pigeon:1.0", "oci://ghcr.io/../x", "http://a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSource(text)
		if err != nil {
			return
		}
		again, err := parseSource(s.Text)
		if err != nil && len(s.Text) <= maxText || err == nil && again.Text != s.Text {
			t.Errorf("%q: %q, %v", s.Text, again.Text, err)
		}
		switch {
		case s.url != nil && s.url.Scheme != "https", s.oci != nil && strings.Contains(s.oci.name, ".."), s.url == nil && s.oci == nil && !filepath.IsAbs(s.file):
			t.Errorf("%q: %+v", text, s)
		}
	})
}

// FuzzCheckSignature: no signature that one makes up is right.
func FuzzCheckSignature(f *testing.F) {
	key, sign := newKey(f)
	good := sign([]byte("plugin"))
	f.Add([]byte(good), []byte("another"))
	f.Add([]byte("untrusted comment: x\n"), []byte("plugin"))
	f.Fuzz(func(t *testing.T, signature, binary []byte) {
		if _, err := checkSignature(key, string(signature), binary); err == nil && string(binary) != "plugin" {
			t.Errorf("%q signs %q", signature, binary)
		}
	})
}

func TestBookIsBounded(t *testing.T) {
	e, _ := sample("a")
	e.Summary = strings.Repeat("x", maxText)
	var entries []Installed
	for i := range maxEntries + 1 {
		e.Name = "a" + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
		e.Name += strings.Repeat("z", i/676)
		entries = append(entries, e)
	}
	if _, err := format(entries); err == nil {
		t.Error("no error")
	}
	text, err := format(entries[:maxEntries])
	if err != nil {
		t.Fatal(err)
	}
	if back, err := parse(text); len(back) != maxEntries || err != nil {
		t.Errorf("%d, %v", len(back), err)
	}
	if os.PathSeparator == '/' && len(text) > maxLockfile {
		t.Error("it would not be read")
	}
}

package pluginstore

import (
	"strconv"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, good := range []string{"a", "0", "carrier-pigeon", "console", "com", "com10", strings.Repeat("a", 64)} {
		if err := checkName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"", "-a", "A", "Pigeon", "a b", "a/b", `a\b`, "..", ".", "../a", "a.wasm", "a\x00", "a\n", "pigéon", "рigeon", "~", "a:b", "$a",
		"con", "nul", "com1", "lpt9", "none", strings.Repeat("a", 65), strings.Repeat("/", 1000),
	} {
		if err := checkName(bad); err == nil || len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\x00\n") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAccesses(t *testing.T) {
	for _, tc := range []struct {
		kind   Kind
		access string
		good   bool
	}{
		{Transport, "process", true}, {Transport, "stream", true}, {Transport, "http", true}, {Transport, Serve, true}, {Provider, Serve, false},
		{Transport, "", false}, {Transport, "Process", false}, {Transport, Discover, false}, {Transport, "https://a.example", false},
		{Provider, Discover, true}, {Provider, "https://a.example", true}, {Provider, "https://a.example:8443", true}, {Provider, "http://localhost:1", true},
		{Provider, "http", false}, {Provider, "", false}, {Provider, "https://", false}, {Provider, "https://a.example/", false},
		{Provider, "https://a.example/x", false}, {Provider, "https://u@a.example", false}, {Provider, "https://a.example?x", false},
		{Provider, "https://a.example#x", false}, {Provider, "ftp://a.example", false}, {Provider, "a.example", false}, {Provider, "https:a", false},
	} {
		if err := checkAccess(tc.kind, tc.access); (err == nil) != tc.good {
			t.Errorf("%s %q: %v", tc.kind, tc.access, err)
		}
	}
	for _, access := range []string{"stream", Discover, "https://a.example"} {
		if err := checkAccess(Policy, access); err == nil || !strings.HasPrefix(err.Error(), "a policy is given nothing, and so not "+strconv.Quote(access)) {
			t.Errorf("policy %q: %v", access, err)
		}
	}
}

func TestSources(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, good := range []string{
		"https://a.example/p.wasm", "https://a.example:8443/p.wasm?token=x", "oci://ghcr.io/owner/pigeon", "oci://ghcr.io/owner/pigeon:1.0",
		"oci://localhost:5000/a/b/c@" + digest, "oci://ghcr.io/a:1@" + digest,
	} {
		if s, err := parseSource(good); err != nil || s.Text != good {
			t.Errorf("%q: %q, %v", good, s.Text, err)
		}
	}
	for _, bad := range []string{
		"", "http://a.example/p.wasm", "file:///etc/passwd", "ftp://a/b", "https://", "https://u:p@a.example/p", "https://a.example/p#x",
		"oci://", "oci://ghcr.io", "oci://ghcr.io/Owner/a", "oci://ghcr.io/../a", "oci://ghcr.io/a//b", "oci://u@ghcr.io/a", "oci://ghcr.io/a@sha256:00",
		"oci://ghcr.io/a?b", "oci://ghcr.io/a:" + strings.Repeat("x", 129), "https://a.example/" + strings.Repeat("x", maxText),
	} {
		if s, err := parseSource(bad); err == nil {
			t.Errorf("%q: %+v", bad, s)
		}
	}
}

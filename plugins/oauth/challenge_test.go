//go:build !wasip1

package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseChallenges(t *testing.T) {
	bearer := func(params ...string) challenge {
		c := challenge{scheme: "bearer", params: map[string]string{}}
		for i := 0; i < len(params); i += 2 {
			c.params[params[i]] = params[i+1]
		}
		return c
	}
	for _, tt := range []struct {
		name   string
		fields []string
		want   []challenge
	}{
		{"nothing", nil, nil},
		{"blank", []string{"", " , ,"}, nil},
		{"a scheme", []string{"Bearer"}, []challenge{bearer()}},
		{"a parameter", []string{`Bearer scope="a b"`}, []challenge{bearer("scope", "a b")}},
		{"several", []string{`Bearer realm="x", error=invalid_token ,scope="a"`}, []challenge{bearer("realm", "x", "error", "invalid_token", "scope", "a")}},
		{"case", []string{`bEARER SCOPE="A"`}, []challenge{bearer("scope", "A")}},
		{"quotes", []string{`Bearer realm="a\"b\\c, scope=\"evil\"", scope="s"`}, []challenge{bearer("realm", `a"b\c, scope="evil"`, "scope", "s")}},
		{"spaces around =", []string{"Bearer realm = \"x\" , scope\t=\ty"}, []challenge{bearer("realm", "x", "scope", "y")}},
		{"two in a field", []string{`DPoP algs="ES256", Bearer scope="s"`}, []challenge{{scheme: "dpop", params: map[string]string{"algs": "ES256"}}, bearer("scope", "s")}},
		{"two fields", []string{"Basic realm=x", "Bearer scope=s"}, []challenge{{scheme: "basic", params: map[string]string{"realm": "x"}}, bearer("scope", "s")}},
		{"token68", []string{"Negotiate oRQ/==, Bearer scope=s"}, []challenge{{scheme: "negotiate", token: "oRQ/==", params: map[string]string{}}, bearer("scope", "s")}},
		{"a bare URL", []string{"Bearer resource_metadata=https://h/.well-known/x?a=b"}, []challenge{bearer("resource_metadata", "https://h/.well-known/x?a=b")}},
		{"the first counts", []string{`Bearer scope="a", scope="b"`}, []challenge{bearer("scope", "a")}},
		{"empty value", []string{`Bearer scope="", error="e"`}, []challenge{bearer("scope", "", "error", "e")}},
		{"no scheme", []string{`scope="a", Bearer error="e"`}, []challenge{bearer("error", "e")}},
		{"nonsense between", []string{`Bearer scope="a", "x, y", @@, error="e"`}, []challenge{bearer("scope", "a", "error", "e")}},
		{"nonsense after a value", []string{`Bearer scope="a"b, error="e"`}, []challenge{bearer("scope", "a", "error", "e")}},
		{"an open quote", []string{`Bearer scope="a, error="e`}, []challenge{bearer("scope", "a, error=")}},
		{"a quote without end", []string{`Bearer error="e", scope="a`}, []challenge{bearer("error", "e")}},
		{"only commas between", []string{`Bearer,Basic`}, []challenge{bearer(), {scheme: "basic", params: map[string]string{}}}},
	} {
		if got := parseChallenges(tt.fields); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q\ngot  %+v\nwant %+v", tt.name, tt.fields, got, tt.want)
		}
	}
}

func TestReadWants(t *testing.T) {
	w := readWants(parseChallenges([]string{
		`Basic scope="theirs"`, `DPoP algs="ES256"`, `Bearer scope="a", resource_metadata="https://h/m"`, `Bearer scope="b"`,
	}))
	if w.scope != "a" || w.metadata != "https://h/m" || !w.has("dpop") || !w.has("bearer") || w.has("basic") {
		t.Errorf("wants %+v", w)
	}
}

func FuzzChallenges(f *testing.F) {
	for _, seed := range []string{
		`Bearer scope="a b", DPoP algs="ES256"`, `Negotiate abc==`, `Bearer realm="a\"b", x=y z`, `=,"`, `a b c`, `Bearer scope="`, "Bearer é=ü",
		`A a=b,c=d,E f="\`, `Bearer,,, ,x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		found := parseChallenges([]string{field, field})
		if len(found) > maxChallenges {
			t.Fatalf("%d challenges", len(found))
		}
		size := 0
		for _, c := range found {
			if c.scheme == "" || c.scheme != strings.ToLower(c.scheme) || len(c.params) > maxParams {
				t.Fatalf("%+v", c)
			}
			size += len(c.scheme) + len(c.token)
			for name, value := range c.params {
				size += len(name) + len(value)
			}
		}
		if size > 2*len(field) {
			t.Fatalf("%d bytes of %d", size, len(field))
		}
		_ = readWants(found)
		_ = parseScopes(field)
	})
}

func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		`{"issuer":"https://as.example","token_endpoint":"https://as.example/token"}`, `{"expires_in":"1e400","scope":[1]}`,
		`{"expires_in":1e999}`, `{"a":[[[[]]]]}`, `{"expires_in":null}`, "[", `{"expires_in":"0x10p1"}`, "{\"error\":\"\xff\"}",
	} {
		f.Add(seed)
	}
	l := &login{server: parse("https://mcp.example/mcp")}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDocument(text)
		if err != nil {
			return
		}
		_, _ = l.readServer(d, "")
		_, _ = l.readDeviceCode(d)
		_, _ = d.texts("scope"), d.flag("scope")
		if n, ok := d.seconds("expires_in"); ok && (n < 0 || n > maxSeconds) {
			t.Fatalf("%d seconds", n)
		}
		if s := brief(text); len(s) > maxBrief+len("…") || strings.ContainsAny(s, "\n\r\x1b\x00") {
			t.Fatalf("brief is %q", s)
		}
	})
}

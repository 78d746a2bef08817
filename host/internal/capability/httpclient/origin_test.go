//go:build unix

package httpclient

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

func TestParseOrigin(t *testing.T) {
	good := map[string]string{
		"https://h.example/mcp":            "https://h.example/mcp",
		"HTTPS://H.Example:8443/mcp":       "https://h.example:8443/mcp",
		"http://[::1]:80/":                 "http://[::1]:80/",
		"https://h.example/mcp?key=secret": "https://h.example/mcp",
		"https://h.example":                "https://h.example",
		"unix:///run/x.sock#/mcp":          "unix:///run/x.sock#/mcp",
		"unix:/run/x.sock":                 "unix:///run/x.sock#/",
		"unix:@name#mcp":                   "unix://@name#/mcp",
	}
	for s, want := range good {
		o, err := ParseOrigin(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
		} else if o.String() != want {
			t.Errorf("%s: %s", s, o)
		}
	}
	bad := map[string]string{
		"":                             "want https://host/path",
		"h.example/mcp":                "want https://host/path",
		"ftp://h.example/":             "want https://host/path",
		"https:///mcp":                 "want https://host/path",
		"https://user:pw@h.example/":   "put them into a header",
		"https://user:pw/x@h.example/": "goes into a header",
		"https://hé.example/":          "ASCII form",
		"https://h.example/a/%2e%2e":   "the folder above",
		"https://h.example/\x00":       "control character",
		"unix://run/x.sock#/mcp":       "must be absolute",
		"unix:///x?#/../y":             "the folder above",
	}
	for s, want := range bad {
		if _, err := ParseOrigin(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %v, want …%s", s, err, want)
		}
	}
}

// targets are URI references and what becomes of them under https://h.example/a/mcp.
var targets = []struct {
	target string
	want   string // the URL, or empty for none
	status abi.Status
}{
	{"", "https://h.example/a/mcp?k=1", abi.OK},
	{"?s=2", "https://h.example/a/mcp?s=2", abi.OK},
	{"mcp/x", "https://h.example/a/mcp/x", abi.OK},
	{"/a/mcp", "https://h.example/a/mcp", abi.OK},
	{"/a/mcp/", "https://h.example/a/mcp/", abi.OK},
	{"/a/mcp/../mcp/y#f", "https://h.example/a/mcp/y", abi.OK},
	{"https://h.example/a/mcp/x", "https://h.example/a/mcp/x", abi.OK},
	{"https://H.Example:443/a/mcp/x", "https://H.Example:443/a/mcp/x", abi.OK},
	{"//h.example/a/mcp", "https://h.example/a/mcp", abi.OK},
	{"/a/mcpx", "", abi.Denied},
	{"/a", "", abi.Denied},
	{"/", "", abi.Denied},
	{"..", "", abi.Denied},
	{"/a/mcp/../../b", "", abi.Denied},
	{"/a/mcp/%2e%2e/%2e%2e/b", "", abi.Malformed},
	{"/a/mcp/%252e%252e/b", "", abi.Malformed},
	{"/a/mcp/..%2f..%2fb", "", abi.Malformed},
	{"/a/mcp/%25zz/%252e%252e/b", "", abi.Malformed},
	{"/a/mcp/%25252e%25252e/b", "", abi.Malformed},
	{"/a/mcp/%25%32%65%25%32%65/b", "", abi.Malformed},
	{"/a/mcp/..;/b", "", abi.Malformed},
	{"..;/b", "", abi.Malformed},
	{"/a/mcp/..;x=1;y/b", "", abi.Malformed},
	{"/a/mcp/.;/b", "", abi.Malformed},
	{"/a/mcp/..%3b/b", "", abi.Malformed},
	{"/a/mcp/..%253B/b", "", abi.Malformed},
	{"/a/mcp/%2e%2e;/b", "", abi.Malformed},
	{"/a/mcp/x/..;", "", abi.Malformed},
	{"/a/mcp/x;/..;x/..;/b", "", abi.Malformed},
	{"/a/mcp//..;/b", "", abi.Malformed},
	{"/a/mcp/..%3f/b", "", abi.Malformed},
	{"/a/mcp/..%23/b", "", abi.Malformed},
	{"/a/mcp/..%00/b", "", abi.Malformed},
	{"/a/mcp/..%20/b", "", abi.Malformed},
	{"/a/mcp/..%09;/b", "", abi.Malformed},
	{"/a/mcp/.../b", "", abi.Malformed},
	{"/a/mcp/%c0%ae%c0%ae/b", "", abi.Malformed},
	{"/a/mcp/%25c0%25ae%25c0%25ae/b", "", abi.Malformed},
	{"/a/mcp/%e0%80%ae./b", "", abi.Malformed},
	{"/a/mcp/..%c0%af..%c0%afb", "", abi.Malformed},
	{"/a/mcp/．．/b", "", abi.Malformed},
	{"/a/mcp/%ef%bc%8e./b", "", abi.Malformed},
	{"/a/mcp/．．；x/b", "", abi.Malformed},
	{"/a/mcp/..／..／b", "", abi.Malformed},
	{"/a/mcp/..＼b", "", abi.Malformed},
	{"/a/mcp/％2e％２Ｅ/b", "", abi.Malformed},
	{"/a/mcp/％c0％ae./b", "", abi.Malformed},
	{"/a/mcp/..%cd%be/b", "", abi.Malformed},
	{"/a/mcp/‥/b", "", abi.Malformed},
	{"/a/mcp/。。/b", "", abi.Malformed},
	{"/a/mcp/..%e2%80%8b/b", "", abi.Malformed},
	{"/a/mcp/.%e2%80%8b./b", "", abi.Malformed},
	{"/a/mcp/%e2%80%8b../b", "", abi.Malformed},
	{"/a/mcp/..%ef%bb%bf/b", "", abi.Malformed},
	{"/a/mcp/..%ef%b8%8f/b", "", abi.Malformed},
	{"/a/mcp/..%c2%ad/b", "", abi.Malformed},
	{"/a/mcp/..%c2%a0/b", "", abi.Malformed},
	{"/a/mcp/..%e3%80%80/b", "", abi.Malformed},
	{"/a/mcp/%e9", "", abi.Malformed},
	{"/a/mcp/%e6%97%a5%e3%80%82/%e2%80%8bx/%ef%bd%98..", "https://h.example/a/mcp/%e6%97%a5%e3%80%82/%e2%80%8bx/%ef%bd%98..", abi.OK},
	{"/a/mcp;/../b", "", abi.Denied},
	{"/a/mcp;x", "", abi.Denied},
	{"/a/mcp/x;v=1.2/y", "https://h.example/a/mcp/x;v=1.2/y", abi.OK},
	{"/a/mcp/;x/y..z/..y", "https://h.example/a/mcp/;x/y..z/..y", abi.OK},
	{"/a/mcp/100%25", "https://h.example/a/mcp/100%25", abi.OK},
	{"/a/mcp//x", "https://h.example/a/mcp//x", abi.OK},
	{"https://h.example;x/a/mcp", "", abi.Denied},
	{"https://h.example:443;x/a/mcp", "", abi.Malformed},
	{"https://user;h.example/a/mcp", "", abi.Denied},
	{"https://;@h.example/a/mcp", "", abi.Denied},
	{`/a/mcp/..\..\b`, "", abi.Malformed},
	{"/a/mcp/%5c..%5cb", "", abi.Malformed},
	{"http://h.example/a/mcp", "", abi.Denied},
	{"http://h.example:443/a/mcp", "", abi.Denied},
	{"https://h.example:444/a/mcp", "", abi.Denied},
	{"https://h.example:80/a/mcp", "", abi.Denied},
	{"https://evil.example/a/mcp", "", abi.Denied},
	{"//evil.example/a/mcp", "", abi.Denied},
	{"https://h.example.evil.example/a/mcp", "", abi.Denied},
	{"https://h.example./a/mcp", "", abi.Denied},
	{"https://h.example@evil.example/a/mcp", "", abi.Denied},
	{"https://user@h.example/a/mcp", "", abi.Denied},
	{"https://h.example:443@evil.example/a/mcp", "", abi.Denied},
	{`https://evil.example\@h.example/a/mcp`, "", abi.Malformed},
	{"https://127.0.0.1/a/mcp", "", abi.Denied},
	{"https://2130706433/a/mcp", "", abi.Denied},
	{"https:a/mcp", "", abi.Denied},
	{"javascript:alert(1)", "", abi.Denied},
	{"file:///etc/passwd", "", abi.Denied},
	{"unix:///run/x.sock#/mcp", "", abi.Denied},
	{"/a/mcp/\r\nX: y", "", abi.Malformed},
	{"/a/mcp/\x00", "", abi.Malformed},
	{"/a/mcp/%zz", "", abi.Malformed},
	{"https://[::1/a/mcp", "", abi.Malformed},
	{"/a/mcp/" + strings.Repeat("x", MaxURL), "", abi.TooLarge},
}

func TestTargets(t *testing.T) {
	o, _ := origin(t, "https://h.example/a/mcp?k=1")
	for _, tt := range targets {
		u, status, err := o.resolve(o.base, tt.target)
		if status != tt.status || (err == nil) != (status == abi.OK) || err == nil && u.String() != tt.want {
			t.Errorf("%.60q: %v, %v, %v", tt.target, u, status, err)
		}
	}
	o.AnyPath = true
	if u, _, err := o.resolve(o.base, "/messages?id=1"); err != nil || u.Path != "/messages" {
		t.Errorf("any path: %v, %v", u, err)
	}
	if _, status, _ := o.resolve(o.base, "https://evil.example/messages"); status != abi.Denied {
		t.Errorf("any path of another origin: %v", status)
	}
}

func FuzzTarget(f *testing.F) {
	for _, tt := range targets {
		f.Add(tt.target)
	}
	o, _ := origin(f, "https://h.example/a/mcp?k=1")
	f.Fuzz(func(t *testing.T, target string) {
		u, _, err := o.resolve(o.base, target)
		if err != nil {
			return
		}
		path := u.EscapedPath()
		if u.Scheme != "https" || HostPort(u) != "h.example:443" || u.User != nil || path != "/a/mcp" && !strings.HasPrefix(path, "/a/mcp/") {
			t.Errorf("%q leads to %s", target, u)
		}
		for read, more := u.Path, true; more; { // as often as a careless server may
			if !utf8.ValidString(read) {
				t.Errorf("%q may hold a dot of two bytes", target)
			}
			shown := strings.NewReplacer("\u200b", "", "\ufeff", "", "．", ".", "／", "/", "；", ";").Replace(read)
			for segment := range strings.SplitSeq(shown, "/") {
				if name, _, _ := strings.Cut(segment, ";"); name == ".." {
					t.Errorf("%q leads upwards by %q", target, segment)
				}
			}
			again, err := url.PathUnescape(read)
			read, more = again, err == nil && again != read
		}
	})
}

func TestOpenRefusesWhatTheGrantDoesNotHave(t *testing.T) {
	_, grant := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	table := captest.NewTable(t, captest.Patient(grant))
	pair := func(key, value string) []abi.Pair { return []abi.Pair{{Key: key, Value: value}} }
	var many []abi.Pair
	for i := range MaxHeaders + 1 {
		many = append(many, abi.Pair{Key: "mcp-param-" + strings.Repeat("x", i+1)})
	}
	tests := []struct {
		name   string
		r      abi.OpenRequest
		status abi.Status
	}{
		{"another origin", abi.OpenRequest{Method: "POST", Target: "https://evil.example/"}, abi.Denied},
		{"no method", abi.OpenRequest{}, abi.Malformed},
		{"another method", abi.OpenRequest{Method: "PUT"}, abi.Denied},
		{"a method in small letters", abi.OpenRequest{Method: "post"}, abi.Denied},
		{"a flag", abi.OpenRequest{Method: "GET", Flags: 4}, abi.Malformed},
		{"an upgrade of a POST", abi.OpenRequest{Method: "POST", Flags: abi.Upgrade, Headers: pair("upgrade", "x")}, abi.Malformed},
		{"an upgrade to nothing", abi.OpenRequest{Method: "GET", Flags: abi.Upgrade}, abi.Malformed},
		{"authorization", abi.OpenRequest{Method: "GET", Headers: pair("Authorization", "Bearer x")}, abi.Denied},
		{"cookie", abi.OpenRequest{Method: "GET", Headers: pair("cookie", "x")}, abi.Denied},
		{"host", abi.OpenRequest{Method: "GET", Headers: pair("host", "x")}, abi.Denied},
		{"proxy", abi.OpenRequest{Method: "GET", Headers: pair("proxy-authorization", "x")}, abi.Denied},
		{"dpop", abi.OpenRequest{Method: "GET", Headers: pair("dpop", "x")}, abi.Denied},
		{"length", abi.OpenRequest{Method: "POST", Headers: pair("content-length", "5")}, abi.Denied},
		{"encoding", abi.OpenRequest{Method: "POST", Headers: pair("Transfer-Encoding", "chunked")}, abi.Denied},
		{"upgrade unasked", abi.OpenRequest{Method: "GET", Headers: pair("upgrade", "websocket")}, abi.Denied},
		{"user agent", abi.OpenRequest{Method: "GET", Headers: pair("user-agent", "x")}, abi.Denied},
		{"smuggled by value", abi.OpenRequest{Method: "GET", Headers: pair("accept", "x\r\nauthorization: y")}, abi.Malformed},
		{"smuggled by LF", abi.OpenRequest{Method: "GET", Headers: pair("mcp-name", "x\nhost: y")}, abi.Malformed},
		{"smuggled by name", abi.OpenRequest{Method: "GET", Headers: pair("mcp-x: y\r\nhost", "z")}, abi.Malformed},
		{"a NUL", abi.OpenRequest{Method: "GET", Headers: pair("mcp-x", "a\x00b")}, abi.Malformed},
		{"a space in a name", abi.OpenRequest{Method: "GET", Headers: pair("mcp-x ", "z")}, abi.Malformed},
		{"no name", abi.OpenRequest{Method: "GET", Headers: pair("", "z")}, abi.Malformed},
		{"twice", abi.OpenRequest{Method: "GET", Headers: append(pair("accept", "a"), pair("Accept", "b")...)}, abi.Malformed},
		{"too many", abi.OpenRequest{Method: "GET", Headers: many}, abi.TooLarge},
		{"too long", abi.OpenRequest{Method: "GET", Headers: pair("mcp-x", strings.Repeat("x", MaxHeaderBytes))}, abi.TooLarge},
	}
	for _, tt := range tests {
		tt.r.Grant = "main"
		if s, status, err := table.Open(abi.OpenHTTP, &tt.r, captest.NewRecorder()); s != nil || status != tt.status || err == nil {
			t.Errorf("%s: %v, %v", tt.name, status, err)
		}
	}
	if n := table.Usage().Handles; n != 0 {
		t.Errorf("%d handles are left of refused opens", n)
	}
}

func TestConfiguredHeadersGoWithEveryRequest(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, strings.Join([]string{r.Method, r.URL.Path, r.Host, r.Header.Get("X-Key"), r.UserAgent(),
			strings.Join(r.Header.Values("Mcp-Many"), "+"), r.Header.Get("Mcp-Name")}, " "))
		if r.URL.Path == "/mcp/moved" {
			http.Redirect(w, r, "/mcp/here", http.StatusTemporaryRedirect)
		}
	})
	o.Headers = []abi.Pair{{Key: "x-key", Value: "secret"}, {Key: "Host", Value: "virtual"},
		{Key: "mcp-many", Value: "1"}, {Key: "Mcp-Many", Value: "2"}}
	table := captest.NewTable(t, captest.Patient(grant))
	for _, step := range [][2]string{{"POST", ""}, {"POST", "/mcp/moved"}, {"GET", ""}, {"DELETE", ""}} {
		r, _ := ask(t, table, step[0], step[1], "", abi.Pair{Key: "mcp-name", Value: "n"}, abi.Pair{Key: "mcp-many", Value: "the guest's"})
		r.UntilOver()
	}
	want := "POST /mcp virtual secret wharf 1+2 n\nPOST /mcp/moved virtual secret wharf 1+2 n\n" +
		"POST /mcp/here virtual secret wharf 1+2 n\nGET /mcp virtual secret wharf 1+2 n\nDELETE /mcp virtual secret wharf 1+2 n"
	if got := strings.Join(seen, "\n"); got != want {
		t.Errorf("the server saw\n%s\nwant\n%s", got, want)
	}
}

func TestConfiguredHeadersAreChecked(t *testing.T) {
	bad := map[string]abi.Pair{
		"not a valid name":  {Key: "a b", Value: "x"},
		"control character": {Key: "X-A", Value: "x\r\nY: z"},
		"as each request":   {Key: "content-length", Value: "3"},
	}
	for want, pair := range bad {
		o, grant := origin(t, "http://127.0.0.1:1/mcp")
		o.Headers = []abi.Pair{pair}
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", pair, err)
		}
		captest.WantError(t, post(t, captest.NewTable(t, captest.Patient(grant)), ""), abi.Internal, want)
	}
}

// elsewhere is a server that nothing must reach.
func elsewhere(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s %v arrived elsewhere", r.Method, r.URL, r.Header)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestRedirects(t *testing.T) {
	away := elsewhere(t)
	tests := []struct {
		name, method string
		code         int
		to           string
		status       abi.Status
		want         string // what the server sees, or the error says
	}{
		{"within the path", "POST", 307, "/mcp/", abi.OK, "POST /mcp/ {}"},
		{"within the path", "POST", 308, "mcp/x?y=1", abi.OK, "POST /mcp/x?y=1 {}"},
		{"of a GET", "GET", 301, "/mcp/x", abi.OK, "GET /mcp/x "},
		{"of a GET", "GET", 303, "/mcp/x", abi.OK, "GET /mcp/x "},
		{"of a DELETE", "DELETE", 308, "/mcp/x", abi.OK, "DELETE /mcp/x "},
		{"that makes a GET", "POST", 301, "/mcp/x", abi.Denied, "turn it into a GET"},
		{"that makes a GET", "POST", 302, "/mcp/x", abi.Denied, "turn it into a GET"},
		{"that makes a GET", "POST", 303, "/mcp/x", abi.Denied, "turn it into a GET"},
		{"that makes a GET", "DELETE", 303, "/mcp/x", abi.Denied, "turn it into a GET"},
		{"to another path", "POST", 307, "/other", abi.Denied, "/other is not granted"},
		{"to another port", "POST", 307, away + "/mcp", abi.Denied, "is not granted, only"},
		{"to another port", "GET", 302, away + "/mcp", abi.Denied, "is not granted, only"},
		{"to another scheme", "POST", 308, "https://127.0.0.1/mcp", abi.Denied, "is not granted, only"},
		{"to another host", "POST", 307, "http://evil.example/mcp", abi.Denied, "is not granted, only"},
		{"to the metadata service", "GET", 302, "http://169.254.169.254/latest", abi.Denied, "is not granted, only"},
		{"round and round", "POST", 307, "/mcp", abi.ProtocolFailed, "more than 3 times"},
		{"to nonsense", "GET", 302, "http://[::1", abi.Malformed, "no URI reference"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.method, func(t *testing.T) {
			o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/mcp" {
					w.Header().Set("Location", tt.to)
					w.WriteHeader(tt.code)
					return
				}
				body := make([]byte, 10)
				n, _ := r.Body.Read(body)
				w.Write([]byte(r.Method + " " + r.URL.String() + " " + string(body[:n])))
			})
			o.Headers = []abi.Pair{{Key: "x-key", Value: "secret"}}
			body := ""
			if tt.method == "POST" {
				body = "{}"
			}
			r, _ := ask(t, captest.NewTable(t, captest.Patient(grant)), tt.method, "", body)
			r.UntilOver()
			if tt.status == abi.OK && (string(r.Bytes) != tt.want || r.Err != nil) {
				t.Errorf("the server saw %q, %v", r.Bytes, r.Err)
			} else if tt.status != abi.OK {
				captest.WantError(t, r, tt.status, tt.want)
				captest.WantOrder(t, r, "error")
			}
		})
	}
}

//go:build !wasip1

package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// The key, the scope and the time of all vectors.
var (
	vectorKey = accessKey{
		ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", Region: "us-east-1", Service: "service",
	}
	vectorTime = time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
)

const vectorSession = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

// vectors are those of AWS's test suite for Signature Version 4 that a request of
// MCP can look like.
var vectors = []struct {
	name, method, target string
	headers              map[string]string
	body, session        string
	signed, signature    string
}{
	{name: "get-vanilla", method: "GET", target: "/",
		signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{name: "get-vanilla-query", method: "GET", target: "/",
		signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{name: "get-vanilla-empty-query-key", method: "GET", target: "/?Param1=value1",
		signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
	{name: "get-vanilla-query-order-key-case", method: "GET", target: "/?Param2=value2&Param1=value1",
		signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	{name: "get-slash-pointless-dot", method: "GET", target: "/./example",
		signature: "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
	{name: "get-relative-relative", method: "GET", target: "/example1/example2/../..",
		signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{name: "get-slash", method: "GET", target: "//",
		signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{name: "get-space", method: "GET", target: "/example space/",
		signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
	{name: "get-utf8", method: "GET", target: "/ሴ",
		signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
	{name: "get-header-value-trim", method: "GET", target: "/",
		headers: map[string]string{"my-header1": " value1", "my-header2": ` "a   b   c"`}, signed: "host;my-header1;my-header2;x-amz-date",
		signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
	{name: "post-vanilla", method: "POST", target: "/",
		signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{name: "post-vanilla-query", method: "POST", target: "/?Param1=value1",
		signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
	{name: "post-x-www-form-urlencoded", method: "POST", target: "/", body: "Param1=value1",
		headers: map[string]string{"content-type": "application/x-www-form-urlencoded"}, signed: "content-type;host;x-amz-date",
		signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	{name: "post-sts-header-before", method: "POST", target: "/", session: vectorSession, signed: "host;x-amz-date;x-amz-security-token",
		signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		key := vectorKey
		key.Session = v.session
		got, err := key.sign(request(v.method, v.target, v.body, v.headers), vectorTime)
		if err != nil {
			t.Errorf("%s: %v", v.name, err)
			continue
		}
		if v.signed == "" {
			v.signed = "host;x-amz-date"
		}
		want := map[string]string{
			"x-amz-date": "20150830T123600Z",
			"authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" +
				v.signed + ", Signature=" + v.signature,
		}
		if v.session != "" {
			want["x-amz-security-token"] = v.session
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", v.name, got, want)
		}
	}
}

func request(method, target, body string, headers map[string]string) *auth.Request {
	return &auth.Request{
		Method: method, URL: "https://example.amazonaws.com" + target,
		Headers: headers, BodySHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(body))),
	}
}

// What a proxy changes on the way is left out, and the host that is sent counts
// before that of the URL.
func TestSignedHeaders(t *testing.T) {
	r := request("POST", "/", "", map[string]string{
		"authorization": "x", "user-agent": "x", "traceparent": "x", "mcp-session-id": "s", "host": "other.example",
	})
	got, err := vectorKey.sign(r, vectorTime)
	if err != nil || !strings.Contains(got["authorization"], "SignedHeaders=host;mcp-session-id;x-amz-date,") {
		t.Error(got, err)
	}
	delete(r.Headers, "host")
	if other, _ := vectorKey.sign(r, vectorTime); other["authorization"] == got["authorization"] {
		t.Error("the header host is not what is signed")
	}
}

func TestCanonicalURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://h:8443":                        "/ ? h:8443",
		"https://h/a%20b/%2F":                   "/a%2520b/%252F ? h",
		"https://h/a:b@c/":                      "/a%3Ab%40c/ ? h",
		"https://h?b=2&a=%2B+x&a=&a&b=1&&c=a=b": "/ ?a=&a=&a=%2B%20x&b=1&b=2&c=a%3Db h",
		"https://h/?q=a/b":                      "/ ?q=a%2Fb h",
		"https://h/mcp#f?x/y":                   "/mcp ? h",
	} {
		uri, query, host, err := canonicalURL(raw)
		if got := uri + " ?" + query + " " + host; err != nil || got != want {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
	for _, raw := range []string{"", "/mcp", "https://h/?a=%", "https://h/?%zz=1", "https://\x00"} {
		if uri, query, host, err := canonicalURL(raw); err == nil {
			t.Errorf("%q: %q %q %q", raw, uri, query, host)
		}
	}
}

// Whatever is asked for, the text that is signed has exactly the lines that it
// should: nothing in a URL or a header can forge another.
func FuzzSign(f *testing.F) {
	for _, v := range vectors {
		f.Add("https://h"+v.target, "y")
	}
	f.Add("https://h/%?a=%", "c\r\nd:e")
	f.Fuzz(func(t *testing.T, raw, value string) {
		uri, query, host, err := canonicalURL(raw)
		if err != nil {
			return
		}
		if strings.ContainsAny(uri+query+host, "\r\n ") || !strings.HasPrefix(uri, "/") {
			t.Fatalf("%q %q %q", uri, query, host)
		}
		if lines, _ := canonicalHeaders(map[string]string{"x": value}); strings.Count(lines, "\n") != 1 {
			t.Fatalf("%q", lines)
		}
	})
}

package plugintest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

// What a host refuses of an action, the kit refuses for the same reason.
func TestActionsThatAHostRefuses(t *testing.T) {
	o := &authHost{
		profile:  &SignIn{Server: serverURL},
		manifest: &step.Manifest{Wants: step.Wants{Origins: []string{"https://sso.example"}, Browser: true, Prompt: true, Keys: true}},
	}
	for text, says := range map[string]string{
		`{"kind":"http","http":{"method":"POST","url":"https://sso.example/token","headers":{"accept":"*/*"}}}`: "",
		`{"kind":"http","http":{"method":"PUT","url":"https://sso.example/token"}}`:                             "only GET and POST can be asked",
		`{"kind":"http","http":{"method":"GET","url":"https://sso.example/","headers":{"Cookie":"a=b"}}}`:       "the header Cookie is not for providers to send",
		`{"kind":"http","http":{"method":"GET","url":"https://sso.example/","headers":{"x":"a\nb"}}}`:           `the header "x" is not a valid header`,
		`{"kind":"http","http":{"method":"GET","url":"https://sso.example/","redirects":99}}`:                   "it wants to follow 99 redirects",
		`{"kind":"http","http":{"method":"GET","url":"https://sso.example/#x"}}`:                                "has a fragment",
		`{"kind":"http","http":{"method":"GET","url":"https://elsewhere.example/"}}`:                            "which its manifest does not want",
		`{"kind":"run"}`: "it asks for run, which its manifest does not want",
		`{"kind":"listen","listen":{"host":"0.0.0.0"}}`:                                      "and not on 127.0.0.1 or localhost",
		`{"kind":"open_browser","open_browser":{"url":"https://sso.example/?state=x"}}`:      "which is the host's to make",
		`{"kind":"show","show":{"url":"file:///etc/passwd","code":"x"}}`:                     "a host refuses it",
		`{"kind":"load","load":{"key":{"name":"a/b"}}}`:                                      `it names a record "a/b"`,
		`{"kind":"load","load":{"key":{"name":"a","resource":"https://server.example"}}}`:    "",
		`{"kind":"forget","forget":{"key":{"name":"a","resource":"https://other.example"}}}`: "and the server is not there",
		`{"kind":"store","store":{"key":{"name":"a"}}}`:                                      "it stores a record of 0 bytes",
		`{"kind":"wait","wait":{"ms":600001}}`:                                               "it wants to sleep for 600001 ms",
		`{"kind":"key","key":{"name":"k","do":"open","alg":"HS256"}}`:                        `it asks for a key for "HS256"`,
		`{"kind":"credentials","credentials":{"scheme":"Bearer","token":"x"}}`:               "",
		`{"kind":"credentials","credentials":{"token":"x"}}`:                                 "a scheme without a token",
		`{"kind":"credentials","credentials":{"headers":{"x":"a\nb"}}}`:                      "a line end or another control character",
		`{"kind":"credentials","credentials":{"headers":{"Host":"x"}}}`:                      "is not theirs to set",
		`{"kind":"credentials","credentials":{}}`:                                            "expected either a token or headers",
	} {
		var a step.Action
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		o.flow = result{kinds: map[string]int{}}
		if err := o.checks(&a); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

package plugintest

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// A signer that asks a person passes: it is called for requests when it has something
// to sign with, as by a host, and it is signed in by the flow that asked.
func TestASignerThatAsksAPerson(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	module := testenv.Module(t, "./testdata/signer")
	r := tryProvider(t, module, Options{})
	wantOK(t, r)
	for _, id := range []string{"sign-in", "request"} {
		if c := r.Check(id); c.Result != Passed {
			t.Errorf("%+v", c)
		}
	}

	// A signer that never has a key has not signed in.
	for _, profile := range []*Profile{nil, {SignIn: &SignIn{}}} {
		r := tryProvider(t, module, Options{Profile: profile, Settings: map[string]string{"fault": "keeps-nothing"}, Only: []string{"sign-in", "request"}})
		for _, id := range []string{"sign-in", "request"} {
			if c := r.Check(id); c.Result == Passed || !strings.Contains(c.Got, "the kit does not know how one signs in") {
				t.Errorf("%+v", c)
			}
		}
	}
}

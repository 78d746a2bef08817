package auth

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

var tokenKey = step.RecordKey{Name: "token", Issuer: "https://sso.example", Resource: "https://mcp.example/mcp"}

// refresh is a flow that uses most of what there is.
func refresh(f *auth.Flow) error {
	var token string
	if _, err := f.LoadLocked(tokenKey, &token); err != nil {
		return err
	}
	answer, err := f.HTTP(auth.HTTP{Method: "POST", URL: "https://sso.example/token", Body: token})
	if err != nil {
		return err
	}
	if err := f.Store(tokenKey, answer.Body); err != nil {
		return err
	}
	f.Credentials(auth.Credentials{Scheme: "Bearer", Token: answer.Body})
	return nil
}

func TestARefresh(t *testing.T) {
	c := setup(signIn(refresh))
	m := c.Vault.(*memory)
	var sent []string
	c.Fetch = fetcher(func(r egress.FetchRequest) (*egress.FetchResponse, error) {
		sent = append(sent, r.Method+" "+r.URL+" "+string(r.Body))
		return &egress.FetchResponse{Status: 200, Body: []byte("second")}, nil
	})
	key := vault.Key{Provider: "corp", Issuer: tokenKey.Issuer, Resource: tokenKey.Resource, Name: "token"}
	m.Store(t.Context(), key, secret.New(`"first"`))
	o, err := runFlow(t, c, step.Start{Reason: step.ReasonExpired})
	if err != nil {
		t.Fatal(err)
	}
	if got := o.credentials.pairs(); len(got) != 1 || got[0].Key != "Authorization" || got[0].Value != "Bearer second" {
		t.Errorf("the credentials are %v", got)
	}
	if r := m.records[key]; r.Value.Reveal() != `"second"` {
		t.Errorf("stored %q", r.Value.Reveal())
	}
	if want := []string{"POST https://sso.example/token first"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q", sent)
	}
	if unlock, err := m.Lock(t.Context(), key); err != nil {
		t.Error(err)
	} else {
		unlock()
	}
}

// TestWhatIsNotTheirs is a table of actions that go too far. Each ends its flow
// with an error that names the provider.
func TestWhatIsNotTheirs(t *testing.T) {
	load := func(k step.RecordKey) step.Action {
		return step.Action{Kind: step.ActionLoad, Load: &step.Load{Key: k}}
	}
	get := func(u string) step.Action {
		return step.Action{Kind: step.ActionHTTP, HTTP: &step.HTTP{Method: "GET", URL: u}}
	}
	listen := func(l step.Listen) step.Action { return step.Action{Kind: step.ActionListen, Listen: &l} }
	open := func(u string) step.Action {
		return step.Action{Kind: step.ActionOpenBrowser, OpenBrowser: &step.OpenBrowser{URL: u}}
	}
	key := func(k step.Key) step.Action { return step.Action{Kind: step.ActionKey, Key: &k} }
	gives := func(c step.Credentials) step.Action {
		return step.Action{Kind: step.ActionCredentials, Credentials: &c}
	}
	tests := map[string]struct {
		action step.Action
		want   string
	}{
		"record of another server":   {load(step.RecordKey{Name: "token", Resource: "https://other.example/mcp"}), "the server is not there"},
		"record on another port":     {load(step.RecordKey{Name: "token", Resource: "https://mcp.example:444/mcp"}), "the server is not there"},
		"record without a name":      {load(step.RecordKey{}), "names a record"},
		"record of the host":         {load(step.RecordKey{Name: "key/ES256/dpop"}), "names a record"},
		"record by a path":           {load(step.RecordKey{Name: "../token"}), "names a record"},
		"record with a long issuer":  {load(step.RecordKey{Name: "a", Issuer: strings.Repeat("x", 1<<12)}), "in one part"},
		"record too large":           {step.Action{Kind: step.ActionStore, Store: &step.Store{Key: tokenKey, Value: make([]byte, step.MaxRecord+1)}}, "there may be"},
		"another origin":             {get("https://evil.example/"), "does not want"},
		"another port":               {get("https://sso.example:8443/"), "does not want"},
		"another scheme":             {get("http://sso.example/"), "does not want"},
		"a key that is not there":    {step.Action{Kind: step.ActionHTTP, HTTP: &step.HTTP{Method: "GET", URL: "https://sso.example/", DPoP: "k"}}, `no key "k"`},
		"callback for everybody":     {listen(step.Listen{Host: "0.0.0.0"}), "127.0.0.1"},
		"callback that is no path":   {listen(step.Listen{Path: "a"}), "no path"},
		"page without a callback":    {open("https://sso.example/authorize"), "without a callback"},
		"no kind of key":             {key(step.Key{Do: step.KeyOpen, Name: "k", Alg: "none"}), "ES256"},
		"key that is a path":         {key(step.Key{Do: step.KeyOpen, Name: "../k", Alg: "ES256"}), "names a key"},
		"key for no purpose":         {key(step.Key{Do: "show", Name: "k", Alg: "ES256"}), "neither open nor import"},
		"signature without a key":    {step.Action{Kind: step.ActionSign, Sign: &step.Sign{Key: "k", Claims: []byte("{}")}}, `no key "k"`},
		"long sleep":                 {step.Action{Kind: step.ActionWait, Wait: &step.Wait{Milliseconds: 1e12}}, "sleep"},
		"sleep backwards":            {step.Action{Kind: step.ActionWait, Wait: &step.Wait{Milliseconds: -1}}, "sleep"},
		"header Host":                {gives(step.Credentials{Headers: map[string]string{"hOST": "evil"}}), "not theirs to set"},
		"header Cookie":              {gives(step.Credentials{Headers: map[string]string{"Cookie": "a=b"}}), "not theirs to set"},
		"header of the protocol":     {gives(step.Credentials{Headers: map[string]string{"Mcp-Session-Id": "x"}}), "not theirs to set"},
		"header of the body":         {gives(step.Credentials{Headers: map[string]string{"content-type": "x"}}), "not theirs to set"},
		"header of the connection":   {gives(step.Credentials{Headers: map[string]string{"Transfer-Encoding": "x"}}), "not theirs to set"},
		"header with a line end":     {gives(step.Credentials{Headers: map[string]string{"X-A": "canary\r\nHost: evil"}}), "line end"},
		"header twice":               {gives(step.Credentials{Scheme: "Bearer", Token: "t", Headers: map[string]string{"authorization": "x"}}), "twice"},
		"token with a line end":      {gives(step.Credentials{Scheme: "Bearer", Token: "canary\n"}), "line end"},
		"scheme without a token":     {gives(step.Credentials{Scheme: "Bearer"}), "without a token"},
		"proof without a key":        {gives(step.Credentials{Scheme: "DPoP", Token: "t", DPoP: "k"}), `no key "k"`},
		"an unknown class":           {step.Action{Kind: step.ActionFail, Fail: &step.Fail{Class: "fatal"}}, "fatal"},
		"a page that shows no place": {step.Action{Kind: step.ActionShow, Show: &step.Show{URL: "file:///x", Code: "c"}}, "not a web address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := setup(replies([]step.Action{tt.action, done}, []step.Action{done}))
			c.Fetch = fetcher(func(egress.FetchRequest) (*egress.FetchResponse, error) {
				t.Error("it was sent")
				return nil, errors.New("no")
			})
			c.Listen, c.Person = newCallbacks().listen, &signin.Person{}
			_, err := runFlow(t, c, step.Start{Reason: step.ReasonLogin, Interactive: true})
			wantError(t, err, Broken, tt.want)
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("a secret is in the error: %v", err)
			}
		})
	}
}

// TestWhatIsNotWanted asks for everything under a manifest that wants nothing.
func TestWhatIsNotWanted(t *testing.T) {
	for _, a := range []step.Action{
		{Kind: step.ActionHTTP, HTTP: &step.HTTP{}}, {Kind: step.ActionListen, Listen: &step.Listen{}},
		{Kind: step.ActionOpenBrowser, OpenBrowser: &step.OpenBrowser{}}, {Kind: step.ActionPrompt, Prompt: &step.Prompt{}},
		{Kind: step.ActionShow, Show: &step.Show{}}, {Kind: step.ActionRun}, {Kind: step.ActionKey, Key: &step.Key{}},
		{Kind: step.ActionSign, Sign: &step.Sign{}}, {Kind: step.ActionMaterial, Material: &step.Material{}},
	} {
		p := replies([]step.Action{a, done})
		p.manifest.Wants = step.Wants{}
		_, err := runFlow(t, setup(p), step.Start{Reason: step.ReasonLogin})
		wantError(t, err, Broken, a.Kind+", which its manifest does not want")
	}
}

// TestWhatIsNotGranted names the line that grants it.
func TestWhatIsNotGranted(t *testing.T) {
	c := setup(replies([]step.Action{{Kind: step.ActionMaterial, Material: &step.Material{Env: map[string]string{"PATH": "canary"}}}, done}))
	_, err := runFlow(t, c, step.Start{Reason: step.ReasonInitial})
	if e := wantError(t, err, Broken, `"PATH" is not granted`); e.Hint != `to grant it, write in auth of the server: variables = ["PATH"]` {
		t.Errorf("the hint is %q", e.Hint)
	}
	c = setup(signIn(refresh))
	c.Fetch = fetcher(func(egress.FetchRequest) (*egress.FetchResponse, error) {
		return nil, &egress.OriginError{Origin: "https://sso.example"}
	})
	_, err = runFlow(t, c, step.Start{Reason: step.ReasonInitial})
	if e := wantError(t, err, Broken, "is not granted"); !strings.HasSuffix(e.Hint, "\n[plugins.corp]\norigins = [\"https://sso.example\"]") {
		t.Errorf("the hint is %q", e.Hint)
	}
}

func TestMaterial(t *testing.T) {
	c := setup(replies([]step.Action{{Kind: step.ActionMaterial, Material: &step.Material{Env: map[string]string{"TOKEN": "s"}, Blob: []byte("b")}}, done}))
	c.Grant = Grant{Variables: []string{"TOKEN"}, Blob: true}
	a := NewAccount(c)
	defer a.Close()
	m, err := a.Material(t.Context())
	if err != nil || m.Env["TOKEN"].Reveal() != "s" || m.Blob.Reveal() != "b" {
		t.Errorf("got %+v, %v", m, err)
	}
}

// TestNoMaterial tells a provider that has no login from one that never will.
func TestNoMaterial(t *testing.T) {
	for material, class := range map[bool]string{true: step.FailLogin, false: step.FailConfig} {
		p := replies([]step.Action{done})
		p.manifest.Wants.Material = material
		a := NewAccount(setup(p))
		_, err := a.Material(t.Context())
		var e *Error
		if !errors.As(err, &e) || e.Class != class {
			t.Errorf("wants material: %v; %v", material, err)
		}
		a.Close()
	}
}

// TestCaps lets providers go on for ever.
func TestCaps(t *testing.T) {
	again := step.Action{Kind: step.ActionLoad, Load: &step.Load{Key: tokenKey}}
	p := replies()
	p.next = func(context.Context, *step.Call) (*step.Reply, error) {
		return &step.Reply{Actions: []step.Action{again}}, nil
	}
	_, err := runFlow(t, setup(p), step.Start{})
	wantError(t, err, Broken, "more than 512 steps")

	big := json.RawMessage(`"` + strings.Repeat("x", step.MaxState-2) + `"`)
	p.next = func(context.Context, *step.Call) (*step.Reply, error) {
		return &step.Reply{State: big, Actions: []step.Action{again}}, nil
	}
	_, err = runFlow(t, setup(p), step.Start{})
	wantError(t, err, Broken, "bytes")

	synctest.Test(t, func(t *testing.T) {
		p := signIn(func(f *auth.Flow) error {
			for {
				if _, err := f.HTTP(auth.HTTP{Method: "GET", URL: "https://sso.example/"}); err != nil {
					return err
				}
				if err := f.Wait(time.Second); err != nil {
					return err
				}
			}
		})
		begun := time.Now()
		c := setup(p)
		c.Fetch = fetcher(func(egress.FetchRequest) (*egress.FetchResponse, error) {
			return &egress.FetchResponse{Status: 500}, nil
		})
		_, err := runFlow(t, c, step.Start{})
		wantError(t, err, step.FailRetry, "no end of it after 30s")
		if took := time.Since(begun); took != machineTime {
			t.Errorf("it took %v", took)
		}
	})
}

// TestAnAnswerOnItsWay is stored when the time of its flow is over: the server
// has forgotten what it was asked with.
func TestAnAnswerOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := setup(signIn(func(f *auth.Flow) error {
			if err := f.Wait(machineTime - time.Second); err != nil {
				return err
			}
			return refresh(f)
		}))
		c.Fetch = fetcher(func(egress.FetchRequest) (*egress.FetchResponse, error) {
			time.Sleep(9 * time.Second)
			return &egress.FetchResponse{Status: 200, Body: []byte("x")}, nil
		})
		o, err := runFlow(t, c, step.Start{Reason: step.ReasonExpired})
		if err != nil || o.credentials.token.Reveal() != "x" || len(c.Vault.(*memory).records) != 1 {
			t.Errorf("got %v, %v, and %d records", o, err, len(c.Vault.(*memory).records))
		}
	})
}

// TestNothingNewIsBegun when the time of a flow is over.
func TestNothingNewIsBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		c := setup(signIn(func(f *auth.Flow) error {
			for {
				if _, err := f.HTTP(auth.HTTP{Method: "GET", URL: "https://sso.example/"}); err != nil {
					return err
				}
			}
		}))
		c.Fetch = fetcher(func(egress.FetchRequest) (*egress.FetchResponse, error) {
			if time.Since(begun) > machineTime {
				t.Error("a request goes out too late")
			}
			time.Sleep(9 * time.Second)
			return &egress.FetchResponse{Status: 200}, nil
		})
		_, err := runFlow(t, c, step.Start{})
		wantError(t, err, step.FailRetry, "no end of it after 30s")
	})
}

// TestEvents shows that every event has the time and randomness of its own.
func TestEvents(t *testing.T) {
	p := signIn(refresh)
	c := setup(p)
	c.Fetch = fetcher(func(egress.FetchRequest) (*egress.FetchResponse, error) {
		return &egress.FetchResponse{Status: 200, Body: []byte("x")}, nil
	})
	if _, err := runFlow(t, c, step.Start{}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range p.heard {
		if len(e.Entropy) != 32 || seen[string(e.Entropy)] || time.Since(time.UnixMilli(e.Now)).Abs() > time.Hour {
			t.Errorf("an event of %d has the randomness %x", e.Now, e.Entropy)
		}
		seen[string(e.Entropy)] = true
	}
	if len(seen) != 4 {
		t.Errorf("there were %d events", len(seen))
	}
}

// TestProblems is what providers hear of what could not be done.
func TestProblems(t *testing.T) {
	hear := func(c Config, a step.Action, start step.Start) string {
		p := replies([]step.Action{a}, []step.Action{done})
		c.Provider = func(context.Context) (Provider, error) { return p, nil }
		if _, err := runFlow(t, c, start); err != nil {
			t.Errorf("%s: %v", a.Kind, err)
		}
		if last := p.heard[len(p.heard)-1]; last.Problem != nil && last.Kind == step.Awaits(a.Kind) {
			return last.Problem.Code
		}
		return ""
	}
	get := step.Action{Kind: step.ActionHTTP, HTTP: &step.HTTP{Method: "GET", URL: "https://sso.example/"}}
	load := step.Action{Kind: step.ActionLoad, Load: &step.Load{Key: tokenKey}}
	prompt := step.Action{Kind: step.ActionPrompt, Prompt: &step.Prompt{Label: "Token"}}
	listen := step.Action{Kind: step.ActionListen, Listen: &step.Listen{}}
	bad := step.Action{Kind: step.ActionKey, Key: &step.Key{Do: step.KeyImport, Name: "k", Alg: "ES256", PEM: "x"}}
	asked := step.Start{Interactive: true}

	c := setup(nil)
	wantText(t, hear(c, get, step.Start{}), step.ProblemUnavailable)
	wantText(t, hear(c, prompt, asked), step.ProblemUnavailable)
	wantText(t, hear(c, step.Action{Kind: step.ActionRun}, asked), step.ProblemUnavailable)
	wantText(t, hear(c, bad, asked), step.ProblemRefused)
	for _, u := range []string{"file:///etc/passwd", "https://sso.example@evil.example/", "https:///x", "\x00", "javascript:alert(1)"} {
		get := step.Action{Kind: step.ActionHTTP, HTTP: &step.HTTP{Method: "GET", URL: u}}
		wantText(t, hear(c, get, step.Start{}), step.ProblemRefused)
	}
	c.Fetch = fetcher(func(egress.FetchRequest) (*egress.FetchResponse, error) { return nil, errors.New("reset") })
	wantText(t, hear(c, get, step.Start{}), step.ProblemNetwork)
	c.Fetch = fetcher(func(egress.FetchRequest) (*egress.FetchResponse, error) { return nil, &egress.RuleError{} })
	wantText(t, hear(c, get, step.Start{}), step.ProblemRefused)
	c.Person = &signin.Person{Ask: func(context.Context, signin.Question) (string, error) { return "", signin.ErrDeclined }}
	wantText(t, hear(c, prompt, asked), step.ProblemCancelled)
	c.Person = &signin.Person{}
	wantText(t, hear(c, prompt, asked), step.ProblemUnavailable)
	wantText(t, hear(c, prompt, step.Start{}), step.ProblemUnavailable)
	taken := newCallbacks()
	taken.err = errors.New("the port is taken")
	c.Listen = taken.listen
	wantText(t, hear(c, listen, asked), step.ProblemRefused)
	wantText(t, hear(c, listen, step.Start{}), step.ProblemUnavailable)
	c.Vault = &memory{broken: errors.New("no keyring")}
	wantText(t, hear(c, load, step.Start{}), step.ProblemUnavailable)
	c.Vault = nil
	wantText(t, hear(c, load, step.Start{}), step.ProblemUnavailable)
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLocksEndWithTheFlow that has them, however it ends.
func TestLocksEndWithTheFlow(t *testing.T) {
	for _, end := range []error{nil, errors.New("at the end of its wits")} {
		c := setup(signIn(func(f *auth.Flow) error {
			if _, err := f.LoadLocked(tokenKey, new(string)); err != nil {
				return err
			}
			if _, err := f.LoadLocked(tokenKey, new(string)); err != nil { // it has it already
				return err
			}
			return end
		}))
		if _, err := runFlow(t, c, step.Start{}); (err != nil) != (end != nil) {
			t.Fatal(err)
		}
		for key, locked := range c.Vault.(*memory).locks {
			if len(locked) != 0 {
				t.Errorf("%v is still locked", key)
			}
		}
	}
}

// TestForget keeps what another process has stored in the meantime.
func TestForget(t *testing.T) {
	for _, fresher := range []bool{false, true} {
		m := newMemory()
		key := vault.Key{Provider: "corp", Issuer: tokenKey.Issuer, Resource: tokenKey.Resource, Name: "token"}
		m.Store(t.Context(), key, secret.New(`"old"`))
		renew := sync.OnceFunc(func() { m.Store(t.Context(), key, secret.New(`"new"`)) })
		c := setup(signIn(func(f *auth.Flow) error {
			var token string
			if _, err := f.Load(tokenKey, &token); err != nil {
				return err
			}
			if fresher {
				renew()
			}
			return f.Forget(tokenKey)
		}))
		c.Vault = m
		if _, err := runFlow(t, c, step.Start{}); err != nil {
			t.Fatal(err)
		}
		if _, found := m.records[key]; found != fresher {
			t.Errorf("fresher %v: found %v", fresher, found)
		}
	}
}

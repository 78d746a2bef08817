//go:build unix

package httpclient

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

// static is a credential that is always there and knows no other.
type static []abi.Pair

func (s static) Apply(context.Context, *Request) ([]abi.Pair, error) { return s, nil }
func (static) Challenge(context.Context, *Challenge) (bool, error)   { return false, nil }
func (static) Nonce(string)                                          {}

var bearer = static{{Key: "Authorization", Value: "Bearer good"}}

// token is a credential that is got by asking for it.
type token struct {
	got   atomic.Bool
	asked atomic.Int32
	ask   func(ctx context.Context, c *Challenge) (bool, error)
}

func (s *token) Apply(context.Context, *Request) ([]abi.Pair, error) {
	if s.got.Load() {
		return bearer, nil
	}
	return nil, nil
}

func (s *token) Challenge(ctx context.Context, c *Challenge) (bool, error) {
	s.asked.Add(1)
	if s.ask != nil {
		return s.ask(ctx, c)
	}
	s.got.Store(true)
	return true, nil
}

func (s *token) Nonce(string) {}

// counter signs each attempt in with its number, and counts what it hears.
type counter struct {
	mu         sync.Mutex
	applied    int
	challenges []Challenge
	nonces     []string
}

func (c *counter) Apply(context.Context, *Request) ([]abi.Pair, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applied++
	return []abi.Pair{{Key: "authorization", Value: fmt.Sprintf("Attempt %d", c.applied)}}, nil
}

func (c *counter) Challenge(_ context.Context, ch *Challenge) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.challenges = append(c.challenges, *ch)
	return true, nil
}

func (c *counter) Nonce(nonce string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nonces = append(c.nonces, nonce)
}

// apply are credentials that have nothing but an Apply.
type apply func(ctx context.Context, r *Request) ([]abi.Pair, error)

func (a apply) Apply(ctx context.Context, r *Request) ([]abi.Pair, error) { return a(ctx, r) }
func (apply) Challenge(context.Context, *Challenge) (bool, error)         { return false, nil }
func (apply) Nonce(string)                                                {}

// guarded answers those who are signed in and no others.
func guarded(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") == "Bearer good" {
			w.Write(body)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="https://h/x"`)
		w.Header().Set("Mcp-Auth-Server", "https://auth.example/\u202e")
		w.WriteHeader(status)
		io.WriteString(w, "sign\x1b[31m in\nfirst")
	}
}

func TestAChallengeIsHeldAndTheBodySentAgain(t *testing.T) {
	for _, status := range []int{401, 403} {
		o, grant := serve(t, guarded(status))
		creds := &token{}
		o.Credentials = creds
		table := captest.NewTable(t, captest.Patient(grant))
		for range 3 {
			if r := post(t, table, "the body"); string(r.Bytes) != "the body" || r.HTTPStatus != 200 {
				t.Errorf("%d: HEAD %d, %q, %v", status, r.HTTPStatus, r.Bytes, r.Err)
			}
		}
		if n := creds.asked.Load(); n != 1 {
			t.Errorf("%d: the credentials were asked %d times", status, n)
		}
	}
}

// The table of rounds: what a server says one after the other, and what the
// credentials hear of it.
func TestRounds(t *testing.T) {
	tests := []struct {
		says       string // statuses; a letter after one is the nonce that comes with it
		applied    int
		challenges string
		nonces     string
		guest      string
	}{
		{"200", 1, "", "", "head 200"},
		{"200a", 1, "", "a", "head 200"},
		{"404a", 1, "", "a", "head 404"},
		{"500a", 1, "", "a", "head 500"},
		{"401 200", 2, "401/1", "", "head 200"},
		{"403 200", 2, "403/1", "", "head 200"},
		{"401a 200b", 2, "401/1a", "b", "head 200"},
		{"401a 403b 200c", 3, "401/1a 403/2b", "c", "head 200"},
		{"401 401 401 200", 4, "401/1 401/2 401/3", "", "head 200"},
		{"401 401 401 401 200", 4, "401/1 401/2 401/3", "", "error HTTP 401"},
		{"307a 401b 200c", 3, "401/1b", "a c", "head 200"},
		{"401 307 401 307 200", 5, "401/1 401/2", "", "head 200"},
		{"307 307 307 307 200", 4, "", "", "error more than 3 times"},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			var n atomic.Int32
			o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
				i := int(n.Add(1))
				if got, want := r.Header.Values("Authorization"), fmt.Sprintf("Attempt %d", i); len(got) != 1 || got[0] != want {
					t.Errorf("request %d is signed by %q", i, got)
				}
				word := strings.Fields(tt.says)[i-1]
				if nonce := word[3:]; nonce != "" {
					w.Header().Set("DPoP-Nonce", nonce)
				}
				w.Header().Set("Location", "/mcp")
				w.Header().Add("WWW-Authenticate", "Bearer")
				w.Header().Add("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
				status, _ := strconv.Atoi(word[:3])
				w.WriteHeader(status)
				io.WriteString(w, "body "+word)
			})
			creds := &counter{}
			o.Credentials = creds
			r := post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
			var challenges []string
			for _, c := range creds.challenges {
				challenges = append(challenges, fmt.Sprintf("%d/%d%s", c.Status, c.Number, c.DPoPNonce))
				if len(c.Authenticate) != 2 || !strings.HasPrefix(string(c.Body), "body 4") || c.Method != "POST" || c.URL != o.base.String() {
					t.Errorf("challenge %+v", c)
				}
				if !strings.HasPrefix(c.Sent[0].Value, "Attempt ") {
					t.Errorf("sent %v", c.Sent)
				}
			}
			heard := fmt.Sprintf("head %d", r.HTTPStatus)
			if r.Err != nil {
				heard = "error " + r.Err.Error()
			}
			if creds.applied != tt.applied || strings.Join(challenges, " ") != tt.challenges || strings.Join(creds.nonces, " ") != tt.nonces {
				t.Errorf("applied %d, challenges %q, nonces %q", creds.applied, challenges, creds.nonces)
			}
			if kind, part, _ := strings.Cut(tt.guest, " "); !strings.HasPrefix(heard, kind) || !strings.Contains(heard, part) || strings.Contains(string(r.Bytes), "401") {
				t.Errorf("the sink heard %q, %q", heard, r.Bytes)
			}
		})
	}
}

// What a signer of requests has to know, and what it must not.
func TestWhatCredentialsSee(t *testing.T) {
	var header http.Header
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { header = r.Header.Clone() })
	o.Headers = []abi.Pair{{Key: "X-Tenant", Value: "a"}, {Key: "X-Tenant", Value: "b"}, {Key: "Host", Value: "mcp.example"}}
	var seen []string
	o.Credentials = apply(func(_ context.Context, r *Request) ([]abi.Pair, error) {
		seen = append(seen, fmt.Sprintf("%s %s %s %v %t", r.HTTP.Method, r.URL(), r.Host(), r.Headers(), r.BodyHash() == sha256.Sum256([]byte("{}"))))
		return []abi.Pair{{Key: "Authorization", Value: "AWS4 x"}, {Key: "x-amz-date", Value: "now"}, {Key: "MCP-Tenant", Value: "mine"}, {Key: "Cookie", Value: "a=1"}, {Key: "cookie", Value: "b=2"}}, nil
	})
	r := captest.NewRecorder()
	s, _, err := captest.NewTable(t, captest.Patient(grant)).Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST", Target: "mcp/x%2Fy?z=1",
		Headers: []abi.Pair{{Key: "mcp-tenant", Value: "the guest's"}, {Key: "accept", Value: "*/*"}}}, r)
	if err != nil {
		t.Fatal(err)
	}
	s.Write([]byte("{}"), true)
	s.Flush()
	r.UntilOver()
	want := "POST " + o.base.String() + "/x%2Fy?z=1 mcp.example [{accept */*} {mcp-tenant the guest's} {user-agent wharf} {x-tenant a} {x-tenant b}] true"
	if len(seen) != 1 || seen[0] != want {
		t.Errorf("seen %q\nwant %q", seen, want)
	}
	if header.Get("Authorization") != "AWS4 x" || header.Get("X-Amz-Date") != "now" ||
		!slices.Equal(header["Mcp-Tenant"], []string{"mine"}) || !slices.Equal(header["Cookie"], []string{"a=1", "b=2"}) {
		t.Errorf("the server saw %v", header)
	}
}

// Where credentials go: every kind of request under their path, and no other.
func TestWhereCredentialsGo(t *testing.T) {
	tests := []struct {
		name, method, target string
		change               func(o *Origin)
		signed               bool
	}{
		{"a POST", "POST", "", nil, true},
		{"a GET", "GET", "", nil, true},
		{"a DELETE", "DELETE", "", nil, true},
		{"below the path", "POST", "/mcp/x", nil, true},
		{"another path", "POST", "/messages", func(o *Origin) { o.AnyPath = true }, false},
		{"a path that begins alike", "POST", "/mcpx", func(o *Origin) { o.AnyPath = true }, false},
		{"a declared path", "POST", "/messages/1", func(o *Origin) { o.AnyPath, o.SignedPath = true, "/messages" }, true},
		{"beside a declared path", "POST", "/mcp", func(o *Origin) { o.AnyPath, o.SignedPath = true, "/messages" }, false},
		{"all paths", "POST", "/messages", func(o *Origin) { o.AnyPath, o.SignedPath = true, "/" }, true},
		{"a method", "POST", "", func(o *Origin) { o.SignedMethods = []string{"POST"} }, true},
		{"another method", "DELETE", "", func(o *Origin) { o.SignedMethods = []string{"POST"} }, false},
		{"a redirect to another path", "POST", "/mcp/away", func(o *Origin) { o.AnyPath = true }, false},
		{"a redirect back", "POST", "/back", func(o *Origin) { o.AnyPath = true }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var last string
			o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
				to := map[string]string{"/mcp/away": "/messages", "/back": "/mcp"}[r.URL.Path]
				last = r.Header.Get("Authorization")
				w.Header().Set("DPoP-Nonce", "n")
				if to != "" {
					w.Header().Set("Location", to)
					w.WriteHeader(307)
				} else if last == "" {
					w.WriteHeader(401)
				}
			})
			creds := &counter{}
			o.Credentials = creds
			if tt.change != nil {
				tt.change(o)
			}
			r, _ := ask(t, captest.NewTable(t, captest.Patient(grant)), tt.method, tt.target, "")
			r.UntilOver()
			if signed := last != ""; signed != tt.signed || (r.Err == nil) != tt.signed || len(creds.challenges) != 0 {
				t.Errorf("signed %v, %v, %d challenges", signed, r.Err, len(creds.challenges))
			}
			if strings.Contains(fmt.Sprint(r.Headers, r.Err), "nonce") || len(creds.nonces) > creds.applied {
				t.Errorf("the guest saw %v, %v; nonces %v", r.Headers, r.Err, creds.nonces)
			}
		})
	}
}

func TestAnEventStreamAndAnUpgradeAreSigned(t *testing.T) {
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, r.Header.Get("Upgrade")+" "+r.Header.Get("Authorization"))
	})
	o.Credentials = bearer
	table := captest.NewTable(t, captest.Patient(grant))
	r, _ := ask(t, table, "GET", "", "")
	if r.UntilOver(); string(r.Bytes) != " Bearer good" {
		t.Errorf("the stream: %q, %v", r.Bytes, r.Err)
	}
	if r, _ = openUpgrade(t, table, "websocket"); !holds(r, "websocket Bearer good") {
		t.Errorf("the upgrade: %q, %v", r.Bytes, r.Err)
	}
}

func holds(r *captest.Recorder, want string) bool {
	r.UntilOver()
	return string(r.Bytes) == want
}

func TestCredentialsStayOnTheOrigin(t *testing.T) {
	away := elsewhere(t)
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, away, http.StatusTemporaryRedirect)
	})
	o.Credentials = bearer
	captest.WantError(t, post(t, captest.NewTable(t, captest.Patient(grant)), "{}"), abi.Denied, "is not granted")
}

// What credentials say is checked, and nothing is sent when it is wrong.
func TestCredentialsFailClosed(t *testing.T) {
	locked := errors.New("the keyring is locked; unlock it")
	many := make([]abi.Pair, MaxHeaders+1)
	for i := range many {
		many[i] = abi.Pair{Key: fmt.Sprintf("x-%d", i)}
	}
	tests := []struct {
		name  string
		given []abi.Pair
		err   error
		want  string
	}{
		{"an error", bearer, locked, "sign in: the keyring is locked; unlock it"},
		{"no name", []abi.Pair{{Key: "canary b"}}, nil, "whose name is not valid"},
		{"a line end", []abi.Pair{{Key: "Authorization", Value: "canary\r\nHost: x"}}, nil, "to a value with a line end"},
		{"the host", []abi.Pair{{Key: "host", Value: "canary"}}, nil, "Host, which is not theirs"},
		{"framing", []abi.Pair{{Key: "transfer-encoding", Value: "canary"}}, nil, "Transfer-Encoding, which is not theirs"},
		{"the session", []abi.Pair{{Key: "MCP-Session-ID", Value: "canary"}}, nil, "a header of the protocol"},
		{"a parameter", []abi.Pair{{Key: "mcp-param-canary", Value: "x"}}, nil, "a header of the protocol"},
		{"a handshake", []abi.Pair{{Key: "Sec-WebSocket-Key", Value: "canary"}}, nil, "a header of the protocol"},
		{"what the user configured", []abi.Pair{{Key: "x-api-key", Value: "canary"}}, nil, "X-Api-Key, and so do the headers"},
		{"many", many, nil, "set 65 headers"},
		{"long", []abi.Pair{{Key: "Authorization", Value: strings.Repeat("canary", 10000)}}, nil, "of 60013 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, grant := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
			o.Headers = []abi.Pair{{Key: "X-API-Key", Value: "mine"}}
			o.Credentials = apply(func(context.Context, *Request) ([]abi.Pair, error) { return tt.given, tt.err })
			r := post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
			captest.WantError(t, r, abi.Denied, tt.want)
			var refusal *Refusal
			if !errors.As(r.Err, &refusal) || refusal.HTTP != 0 || !errors.Is(r.Err, tt.err) && tt.err != nil {
				t.Errorf("%v is no refusal", r.Err)
			}
			if strings.Contains(r.Err.Error(), "canary") {
				t.Errorf("%v tells a secret", r.Err)
			}
		})
	}
}

// The headers that the user configured are no reason to fail beside others.
func TestCredentialsStandBesideConfiguredHeaders(t *testing.T) {
	var header http.Header
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { header = r.Header.Clone() })
	o.Headers, o.Credentials = []abi.Pair{{Key: "X-API-Key", Value: "mine"}}, static{{Key: "User-Agent", Value: "helper"}}
	post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
	if header.Get("X-Api-Key") != "mine" || header.Get("User-Agent") != "helper" {
		t.Errorf("the server saw %v", header)
	}
}

// Where the origin says so, a header of the credentials takes the place of a configured one, and leaves the others.
func TestCredentialsWin(t *testing.T) {
	var header http.Header
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { header = r.Header.Clone() })
	o.Headers = []abi.Pair{{Key: "X-API-Key", Value: "mine"}, {Key: "Authorization", Value: "Bearer mine"}}
	o.Credentials, o.CredentialsWin = static{{Key: "x-api-key", Value: "given"}}, true
	post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
	if !slices.Equal(header.Values("X-Api-Key"), []string{"given"}) || header.Get("Authorization") != "Bearer mine" {
		t.Errorf("the server saw %v", header)
	}
}

// A server may repeat what it does not like, in any encoding. The error does not.
func TestARefusalDoesNotRepeatTheSecret(t *testing.T) {
	const secret = "canary/01234567890"
	for name, encode := range map[string]func(string) string{
		"as it is":      func(s string) string { return s },
		"percent forms": url.QueryEscape,
		"JSON":          func(s string) string { return strings.ReplaceAll(s, "/", `\u002f`) },
		"base64":        func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"hexadecimal":   func(s string) string { return hex.EncodeToString([]byte(s)) },
	} {
		o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", "Bearer error_description="+encode(secret))
			w.Header().Set("Mcp-Auth-Server", "https://auth.example/?"+encode(secret))
			w.WriteHeader(401)
			fmt.Fprintf(w, "I do not like %s, %s", r.Header.Get("Authorization"), encode(secret))
		})
		o.Credentials = static{{Key: "Authorization", Value: "Bearer " + secret}}
		r := post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
		captest.WantError(t, r, abi.Denied, "I do not like [secret], [secret]; WWW-Authenticate: Bearer error_description=[secret]; Mcp-Auth-Server: https://auth.example/?[secret]")
		if told := r.Err.Error(); strings.Contains(told, "canary") || strings.Contains(told, encode(secret)) {
			t.Errorf("%s: %s", name, told)
		}
	}
}

// What a person does takes time, and the server's time does not run meanwhile.
func TestSignInHasNoTimer(t *testing.T) {
	o, grant := serve(t, guarded(401))
	asked, stream := make(chan struct{}), make(chan *exchange)
	creds := &token{}
	creds.ask = func(context.Context, *Challenge) (bool, error) {
		close(asked)
		if (<-stream).clock.timer.Stop() {
			t.Error("the clock runs")
		}
		creds.got.Store(true)
		return true, nil
	}
	o.Credentials = creds
	r, s := ask(t, captest.NewTable(t, captest.Patient(grant)), "POST", "", "{}")
	<-asked
	stream <- s.(*exchange)
	if r.UntilOver(); r.HTTPStatus != 200 {
		t.Errorf("%v, %v", r.Status, r.Err)
	}
}

// Nor does it run while a token is got, here after a redirect started it.
func TestApplyHasNoTimer(t *testing.T) {
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/mcp/x", http.StatusTemporaryRedirect)
	})
	stream, again := make(chan *exchange, 1), false
	o.Credentials = apply(func(context.Context, *Request) ([]abi.Pair, error) {
		if !again {
			again = true
			return nil, nil
		}
		if (<-stream).clock.timer.Stop() {
			t.Error("the clock runs")
		}
		return nil, errors.New("enough")
	})
	r, s := ask(t, captest.NewTable(t, captest.Patient(grant)), "POST", "", "{}")
	stream <- s.(*exchange)
	captest.WantError(t, r, abi.Denied, "enough")
}

func TestCloseEndsASignIn(t *testing.T) {
	asked := make(chan struct{})
	wait := func(ctx context.Context) error {
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	}
	for name, creds := range map[string]Credentials{
		"challenge": &token{ask: func(ctx context.Context, _ *Challenge) (bool, error) { return false, wait(ctx) }},
		"apply":     apply(func(ctx context.Context, _ *Request) ([]abi.Pair, error) { return bearer, wait(ctx) }),
		// What comes too late is not sent any more.
		"late": apply(func(ctx context.Context, _ *Request) ([]abi.Pair, error) { wait(ctx); return bearer, nil }),
	} {
		asked = make(chan struct{})
		o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if name != "challenge" {
				t.Errorf("%s: a request was sent", name)
			}
			w.WriteHeader(401)
		})
		o.Credentials = creds
		table := captest.NewTable(t, captest.Patient(grant))
		r, s := ask(t, table, "POST", "", "{}")
		<-asked
		s.Close()
		captest.CloseTable(t, table)
		captest.WantOrder(t, r, "")
	}
}

// A refusal that never ends is one of its server, and no person is asked to sign in.
func TestAChallengeThatDripsIsGivenUp(t *testing.T) {
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	creds := &counter{}
	o.Credentials = creds
	c := captest.Patient(grant)
	c.Limits.Head, c.Limits.Body = time.Hour, 50*time.Millisecond
	captest.WantError(t, post(t, captest.NewTable(t, c), "{}"), abi.TimedOut, "not complete after 50ms")
	if len(creds.challenges) != 0 {
		t.Error("the credentials were asked")
	}
}

func TestASignedPathIsAPath(t *testing.T) {
	o, _ := origin(t, "https://h.example/mcp")
	o.SignedPath = "messages"
	if err := o.Check(); err == nil || !strings.Contains(err.Error(), "does not begin with a slash") {
		t.Error(err)
	}
}

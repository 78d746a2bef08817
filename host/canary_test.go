package host_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// recordingHost is a host whose every word is kept: traces, warnings, errors, hints,
// the stderr of servers, and what %+v makes of it all.
type recordingHost struct {
	*host.Host
	visitor
	said lockedBuffer
	home string // all its files
}

func newRecordingHost(t *testing.T) *recordingHost {
	c := &recordingHost{home: t.TempDir()}
	tr, err := trace.NewPrinter("rpc,abi,io", &c.said)
	if err != nil {
		t.Fatal(err)
	}
	c.Host = newHost(t, host.Config{
		VaultDir: c.vaultDir(), Print: tr, Stderr: &c.said, Person: &signin.Person{OpenURL: c.open},
		Event: func(e host.Event) { fmt.Fprintf(&c.said, "%+v\n", e) },
	})
	return c
}

func (c *recordingHost) vaultDir() string { return filepath.Join(c.home, "vault") }

func (c *recordingHost) vault() *vault.Vault { return vault.Open(vault.Config{Dir: c.vaultDir()}) }

// hear keeps what an error says.
func (c *recordingHost) hear(err error) {
	for e := err; e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(&c.said, "%v\n%+v\n%#v\n", e, e, e)
	}
	fmt.Fprintf(&c.said, "%s\n%s\n", host.Hint(err), host.SignInURL(err))
}

// keeps fails the test if one of the secrets is in what was said or in a file, as
// it is or as it is written on the way.
func (c *recordingHost) keeps(t *testing.T, secrets []string) {
	t.Helper()
	logins, err := c.vault().Entries(t.Context())
	fmt.Fprintf(&c.said, "%+v %v", logins, err)
	places := map[string][]byte{"what was said": []byte(c.said.String())}
	err = filepath.WalkDir(c.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			places[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(places) < 3 || c.said.String() == "" {
		t.Fatalf("searched %d places: %v", len(places), err)
	}
	for where, text := range places {
		for _, secret := range secrets {
			for _, form := range []string{secret, url.QueryEscape(secret), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="), fmt.Sprintf("%x", secret)} {
				if bytes.Contains(text, []byte(form)) {
					at := bytes.Index(text, []byte(form))
					t.Errorf("%s is in %s: %q", secret, where, text[max(0, at-200):at])
				}
			}
		}
	}
}

// A login from its beginning to its end, with everything that goes wrong on the
// way, at servers that repeat what they are told: no token, code, verifier or
// client secret is anywhere but in the vault, and not in clear there.
func TestNothingShowsASecret(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	w.tools = map[string]answer{
		"refuse": func(rw http.ResponseWriter, r *http.Request, _ string) {
			given := r.Header.Get("Authorization")
			rw.Header().Set("WWW-Authenticate", w.Challenge(`, error_description="`+given+`"`))
			http.Error(rw, "not with "+given, http.StatusUnauthorized)
		},
		"forbid": func(rw http.ResponseWriter, r *http.Request, _ string) {
			http.Error(rw, "not with "+r.Header.Get("Authorization"), http.StatusForbidden)
		},
		"away": func(rw http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(rw, r, "http://elsewhere.example/?t="+url.QueryEscape(r.Header.Get("Authorization")), http.StatusTemporaryRedirect)
		},
	}
	c := newRecordingHost(t)
	entry := w.entry("protectedServer")
	entry.Auth = config.Auth{Provider: "oauth", Settings: map[string]any{"client_id": "mine", "client_secret": oauthtest.Canary + "own"}}
	for _, e := range []host.Server{w.entry("protectedServer"), entry} {
		s := connect(t, c.Host, e)
		say(t, s)
		for _, tool := range []string{"refuse", "forbid", "away"} {
			_, err := s.CallTool(host.WithOptions(t.Context(), host.RequestOptions{Unattended: true}), tool, nil)
			if err == nil {
				t.Errorf("%s: no error", tool)
			}
			c.hear(err)
		}
		o.Expire()
		o.Answer("/token", func(rw http.ResponseWriter, r *http.Request) {
			last := o.Requests("/token")
			e := last[len(last)-1]
			oauthtest.Reply(rw, 400, map[string]any{"error": "invalid_grant", "error_description": e.Body + e.Authorization + e.Form.Get("refresh_token")})
		})
		_, err := s.CallTool(t.Context(), "echo", nil) // asks the person, whose code is refused in the same words
		c.hear(err)
		if !errors.Is(err, host.ErrAuthRequired) {
			t.Errorf("error %v", err)
		}
		o.Answer("/token", nil)
		say(t, s)
		c.hear(s.Close())
	}
	if err := c.Logout(t.Context(), entry); err != nil {
		t.Error(err)
	}
	if len(o.Requests("/revoke")) == 0 || len(o.Secrets()) < 20 {
		t.Errorf("%d revocations, %d secrets", len(o.Requests("/revoke")), len(o.Secrets()))
	}
	c.keeps(t, append(o.Secrets(), oauthtest.Canary))
}

// What the user has written down for a server is kept alike, and so is what their
// own program prints.
func TestNothingShowsAWrittenSecret(t *testing.T) {
	_, address := newGuarded(t, oauthtest.Canary+"good")
	c := newRecordingHost(t)
	if err := c.vault().StoreSecret(t.Context(), "mine", oauthtest.Canary+"good"); err != nil {
		t.Fatal(err)
	}
	s := connect(t, c.Host, signed(address, "bearer", map[string]any{"token": config.Reference{Secret: "mine"}}))
	say(t, s)
	helper := func(script string) host.Server {
		e := signed(address, "helper", nil)
		e.Auth.Command = []string{"/bin/sh", "-c", script, "sh", oauthtest.Canary + "helped"}
		return e
	}
	for _, entry := range []host.Server{
		signed(address, "bearer", map[string]any{"token": oauthtest.Canary + "wrong"}),
		signed(address, "bearer", map[string]any{"token": []string{oauthtest.Canary + "list"}}),
		signed(address, "bearer", map[string]any{"token": oauthtest.Canary + "with a space\r\nand: more"}),
		signed(address, "bearer", map[string]any{"tokn": oauthtest.Canary + "elsewhere"}),
		signed(address, "oauth", map[string]any{"private_key": oauthtest.Canary + "key", "client_id": "me", "grant": "client_credentials"}),
		helper(`printf '{"Authorization": "Bearer %s"}' "$1"`),
		helper(`printf '{"Authorization": "Bearer %s", ' "$1"`),
		helper(`printf '{"Host": "%s"}' "$1"`),
		helper(`printf '{"Authorization": "Bearer %s"}' "$1"; exit 1`),
	} {
		_, err := c.Connect(t.Context(), entry)
		if err == nil {
			t.Errorf("%v: no error", entry.Auth)
		}
		c.hear(err)
	}
	c.keeps(t, []string{oauthtest.Canary})
}

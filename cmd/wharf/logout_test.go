package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// A sign-out forgets the client that was registered for the sign-in, unless another server's
// sign-in has the same.
func TestLogoutForgetsTheRegistration(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	issuer := oauthtest.New(t.Cleanup)
	one, two := oauthtest.NewResource(t.Cleanup, issuer, handler).URL, oauthtest.NewResource(t.Cleanup, issuer, handler).URL
	dir := t.TempDir()
	wharf := func(args ...string) *exec.Cmd {
		cmd := exec.Command("wharf", args...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir)
		return cmd
	}
	for _, url := range []string{one, two} {
		login := wharf("login", "--no-browser", url)
		keyboard, err := login.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer keyboard.Close()
		said, err := login.StderrPipe()
		if err == nil {
			err = login.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if page := regexp.MustCompile(`http://\S+state=\S+`).FindString(lines.Text()); page != "" {
				answer, err := http.Get(page)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
			}
		}
		if err := login.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		url  string
		left int
	}{{one, 1}, {two, 0}} {
		// A warning may precede it: on a busy machine the plugin takes long to load.
		if text, err := wharf("logout", step.url).CombinedOutput(); err != nil || !strings.HasSuffix(string(text), "Signed out of 127.0.0.1.\n") {
			t.Errorf("%v: %s", err, text)
		}
		saved, err := vault.Open(vault.Config{Dir: filepath.Join(dir, "wharf", "vault")}).Entries(t.Context())
		clients := slices.DeleteFunc(slices.Clone(saved), func(e vault.Entry) bool { return e.Name != "registration" })
		if err != nil || len(clients) != step.left {
			t.Errorf("after the logout from %s, %d registrations are expected: %v, %v", step.url, step.left, err, saved)
		}
	}
}

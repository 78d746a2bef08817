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
	wharf := func(args ...string) *exec.Cmd { return commandIn(dir, args...) }
	for _, url := range []string{one, two} {
		visitPage(t, wharf("login", "--no-browser", url))
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

// The client that was registered for a login which was broken off is forgotten with that server, and not with a program,
// which has nothing to sign out of.
func TestLogoutOfAProgram(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	url := oauthtest.NewResource(t.Cleanup, oauthtest.New(t.Cleanup), handler).URL
	dir := t.TempDir()
	wharf := func(args ...string) *exec.Cmd { return commandIn(dir, args...) }
	login := wharf("login", "--no-browser", url)
	said, err := login.StderrPipe()
	if err == nil {
		err = login.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(said); lines.Scan() && !strings.Contains(lines.Text(), "state="); {
	}
	login.Process.Kill()
	login.Wait()
	for _, step := range []struct {
		server string
		left   int
	}{{"demo", 1}, {url, 0}} {
		text, err := wharf("logout", step.server).CombinedOutput()
		if err != nil || !strings.Contains(string(text), "Nothing was saved of a sign-in to ") {
			t.Errorf("%v: %s", err, text)
		}
		saved, err := vault.Open(vault.Config{Dir: filepath.Join(dir, "wharf", "vault")}).Entries(t.Context())
		if err != nil || len(saved) != step.left {
			t.Errorf("after the logout from %s there should be %d: %v, %v", step.server, step.left, saved, err)
		}
	}
}

// commandIn is a command line of wharf that keeps all it keeps in one folder.
func commandIn(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("wharf", args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir)
	return cmd
}

// visitPage runs a login, and visits the page that it prints.
func visitPage(t *testing.T, login *exec.Cmd) {
	t.Helper()
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

// A person can have two accounts at one url. A sign-out of one leaves the other, the list tells them
// apart, and --all ends what no entry leads to any more.
func TestTwoAccounts(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	url := oauthtest.NewResource(t.Cleanup, oauthtest.New(t.Cleanup), handler).URL
	dir := t.TempDir()
	file := filepath.Join(dir, "wharf.toml")
	entries := "[servers.home]\nurl = \"${GUARDED}\"\n[servers.work]\nurl = \"" + url + "\"\nauth = { account = \"work\" }\n"
	if err := os.WriteFile(file, []byte(entries), 0o600); err != nil {
		t.Fatal(err)
	}
	wharf := func(args ...string) *exec.Cmd {
		cmd := commandIn(dir, append(args, "--config", file)...)
		cmd.Env = append(cmd.Env, "GUARDED="+url)
		return cmd
	}
	says := func(want string, args ...string) string {
		t.Helper()
		text, err := wharf(args...).CombinedOutput()
		if !strings.Contains(string(text), want) {
			t.Errorf("%q: %v: %s", args, err, text)
		}
		return string(text)
	}
	visitPage(t, wharf("login", "--no-browser", "home"))
	says("work wants a sign-in", "tools", "work")
	visitPage(t, wharf("login", "--no-browser", "work"))
	if text := says("", "tools", "home"); strings.Contains(text, "wants a sign-in") {
		t.Errorf("home was signed out: %s", text)
	}
	if text := says(url+" (account=work)", "auth", "status", "-o", "text"); strings.Count(text, "sign-in ") != 2 {
		t.Errorf("not two sign-ins: %s", text)
	}
	says("Signed out of home.\n", "logout", "home")
	says("home wants a sign-in", "tools", "home")
	if text := says("", "tools", "work"); strings.Contains(text, "wants a sign-in") {
		t.Errorf("work was signed out: %s", text)
	}
	says("Signed out of home.\n", "logout", "home", "--all")
	says("work wants a sign-in", "tools", "work")
	says(`"logins":[]`, "auth", "status")
}

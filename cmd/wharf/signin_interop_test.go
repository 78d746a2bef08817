package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// TestInteropSignIn signs in to an MCP server in the way people do: with the
// wharf command and a real browser, at an authorization server from a package,
// see testdata/signin. It wants what [TestInterop] wants, and chromium:
//
//	npm install --prefix servers oidc-provider @modelcontextprotocol/sdk playwright-core
//	WHARF_INTEROP=$PWD/servers go test -run InteropSignIn ./cmd/wharf
//
// It is one story: each scene goes on where the one before has ended.
func TestInteropSignIn(t *testing.T) {
	s := newSignIn(t)
	for _, scene := range []struct {
		name string
		play func(*signIn, *testing.T)
	}{
		{"no person is there", (*signIn).noPerson},
		{"the person says no", (*signIn).saysNo},
		{"the person signs in", (*signIn).signsIn},
		{"the login is listed", (*signIn).isListed},
		{"expired tokens are renewed", (*signIn).renews},
		{"a tool wants more", (*signIn).stepsUp},
		{"the person signs out", (*signIn).signsOut},
		{"the browser is elsewhere", (*signIn).signsInElsewhere},
		{"the authorization server has forgotten all", (*signIn).isForgotten},
		{"nothing shows a token", (*signIn).showsNoToken},
	} {
		if !t.Run(scene.name, func(t *testing.T) { scene.play(s, t) }) {
			return
		}
	}
}

// words returns the command line for each thing that the scenes do. Nothing
// else in this file knows how wharf is asked for it.
func (s *signIn) words(do string) []string {
	return map[string][]string{
		"tools":             {"tools", s.MCP, "--json"},
		"whoami":            {"call", s.MCP, "whoami", "--json"},
		"publish":           {"call", s.MCP, "publish", "--json"},
		"publish, asking":   {"call", s.MCP, "publish", "--browser"},
		"login":             {"login", s.MCP, "--browser"},
		"login, no browser": {"login", s.MCP, "--no-browser"},
		"login, no person":  {"login", s.MCP, "--json"},
		"logout":            {"logout", s.MCP},
		"status":            {"auth", "status", "--json"},
	}[do]
}

// Without a person nothing is asked and nothing opened: the command says where
// they would sign in, and how.
func (s *signIn) noPerson(t *testing.T) {
	s.isRefused(t, "tools")
	s.isRefused(t, "whoami")
	if got := s.wharf(t, "login, no person"); got.code != exit.CodeSignIn {
		t.Errorf("exit %d, stderr: %s", got.code, got.stderr)
	}
	s.did(t) // not even a registration
}

func (s *signIn) saysNo(t *testing.T) {
	got := s.wharf(t, "login", "SIGNIN_ANSWER=no")
	if got.code != exit.CodeSignIn || !strings.Contains(got.stderr, "access_denied") {
		t.Errorf("exit %d, stderr: %s", got.code, got.stderr)
	}
	s.sees(t, "login", "consent")
	s.isRefused(t, "whoami")
	s.did(t, "register", "login", "consent", "authorization.error")
}

// The profile of the browser remembers the person, so from here on there is one
// page: for consent. The client is registered already.
func (s *signIn) signsIn(t *testing.T) {
	s.works(t, "login")
	s.sees(t, "consent")
	s.did(t, "consent", "authorization_code")
	s.works(t, "tools", `"name":"publish"`)
	s.works(t, "whoami", "ada may notes:read")
	if got := s.wharf(t, "whoami", "WHARF_TRACE=abi"); !strings.Contains(got.stderr, "-->") {
		t.Errorf("no trace to search later: %s", got.stderr)
	}
	s.did(t)
}

func (s *signIn) isListed(t *testing.T) {
	if got := s.works(t, "status"); !strings.Contains(got.stdout, s.MCP) {
		t.Errorf("the status does not name %s: %s", s.MCP, got.stdout)
	}
	s.did(t)
}

// An hour later the token is over. Several commands find that out at once: the
// refresh token may be used once, with the second time the login would be gone.
// Another hour later its successor has to have been kept.
func (s *signIn) renews(t *testing.T) {
	for range 2 {
		s.order(t, `{"ahead": 3700}`)
		var crowd sync.WaitGroup
		for range 4 {
			crowd.Go(func() { s.works(t, "whoami", "ada may notes:read") })
		}
		crowd.Wait()
		s.did(t, "refresh_token")
	}
}

// What is asked for then is what was granted before and what the tool wants.
func (s *signIn) stepsUp(t *testing.T) {
	s.isRefused(t, "publish")
	s.works(t, "whoami", "ada may notes:read")
	s.did(t)
	s.works(t, "publish, asking", "published for ada")
	s.sees(t, "consent")
	s.did(t, "consent", "authorization_code")
	s.works(t, "publish", "published for ada")
	s.works(t, "whoami", "ada may notes:read and notes:write")
	s.order(t, `{"ahead": 3700}`)
	s.works(t, "publish", "published for ada")
	s.did(t, "refresh_token")
}

// The logout reaches the authorization server: a copy of the token that someone
// has made is worth nothing.
func (s *signIn) signsOut(t *testing.T) {
	s.works(t, "logout")
	s.did(t, "revoke")
	if got := s.works(t, "status"); strings.Contains(got.stdout, s.MCP) {
		t.Errorf("the status still names %s: %s", s.MCP, got.stdout)
	}
	for _, token := range s.tokens {
		if status := s.knock(t, token); status != http.StatusUnauthorized {
			t.Errorf("the old token gets status %d", status)
		}
	}
	s.isRefused(t, "whoami")
	s.did(t)
}

// The browser on another machine ends at an address that is not there. The
// person pastes it.
func (s *signIn) signsInElsewhere(t *testing.T) {
	in, line, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer line.Close()
	shown := &watcher{want: regexp.MustCompile(`(http://\S+)\s`), found: make(chan string, 1)}
	done := make(chan outcome, 1)
	go func() { done <- s.run(t.Context(), in, shown, "login, no browser") }()
	select {
	case page := <-shown.found:
		browser := exec.CommandContext(t.Context(), s.browser, page)
		browser.Env = append(s.env[:len(s.env):len(s.env)], "SIGNIN_ANSWER=away")
		if err := browser.Run(); err != nil {
			t.Error(err)
		}
		fmt.Fprintln(line, s.sees(t, "consent").End)
	case got := <-done:
		t.Fatalf("exit %d without a page: %s", got.code, got.stderr)
	}
	if got := <-done; got.code != exit.CodeOK {
		t.Fatalf("exit %d, stderr: %s", got.code, got.stderr)
	}
	s.works(t, "whoami", "ada may notes:read")
	s.did(t, "register", "consent", "authorization_code") // signing out has forgotten the registration
}

// An authorization server that keeps its state in memory knows neither the login nor the client after a restart.
// The next login registers anew; its pages ask for the person as well.
func (s *signIn) isForgotten(t *testing.T) {
	s.restart(t)
	s.isRefused(t, "whoami")
	s.did(t, "grant.error")
	s.works(t, "login")
	s.sees(t, "login", "consent")
	s.did(t, "register", "login", "consent", "authorization_code")
	s.works(t, "whoami", "ada may notes:read")
	s.did(t)
}

// Tokens are in no output and no trace, and in no file as they are.
func (s *signIn) showsNoToken(t *testing.T) {
	if len(s.tokens) < 10 {
		t.Errorf("there have been %d tokens only", len(s.tokens))
	}
	s.search(t, "the output", s.said.Bytes())
	files := 0
	err := filepath.WalkDir(s.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		s.search(t, path, content)
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("searched %d files: %v", files, err)
	}
}

func (s *signIn) search(t *testing.T, where string, content []byte) {
	t.Helper()
	for _, token := range s.tokens {
		if bytes.Contains(content, []byte(token)) {
			t.Errorf("a token is in %s", where)
		}
	}
}

// signIn is the stage of the test: the servers, the browser, and a person with
// an empty home.
type signIn struct {
	MCP    string `json:"mcp"`
	Issuer string `json:"issuer"`

	orders  io.Writer
	answers *json.Decoder
	stop    func()   // ends the servers
	earlier []string // the tokens that were issued before the last restart
	tokens  []string // all that the authorization server has issued

	packages string // the folder with what the servers are made of
	browser  string
	visits   chan visit
	home     string
	person   []string // the variables by which the person is there
	env      []string // those, and the home
	mu       sync.Mutex
	said     bytes.Buffer // all that wharf has said
}

// visit is what the browser has seen of a sign-in.
type visit struct {
	Pages            []string
	End, Text, Error string
}

// outcome is how a command has ended.
type outcome struct {
	code           int
	stdout, stderr string
}

func newSignIn(t *testing.T) *signIn {
	packages := os.Getenv("WHARF_INTEROP")
	if packages == "" {
		t.Skip("WHARF_INTEROP names no folder with servers")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip(err)
	}
	packages, err = filepath.Abs(packages)
	if err != nil {
		t.Fatal(err)
	}
	browser, err := filepath.Abs(filepath.Join("testdata", "signin", "browser"))
	if err != nil {
		t.Fatal(err)
	}
	s := &signIn{packages: packages, browser: browser, visits: make(chan visit, 10), home: t.TempDir()}
	s.person = []string{
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + filepath.Join(s.home, "nowhere"), // the keyring is not ours
		"BROWSER=" + browser, "WHARF_INTEROP=" + packages, "SIGNIN_CHROMIUM=" + chromium,
		"SIGNIN_REPORT=" + s.listen(t), "SIGNIN_PROFILE=" + t.TempDir(),
	}
	s.env = append(append(os.Environ(), s.person...),
		"HOME="+s.home, "XDG_CONFIG_HOME="+s.home, "XDG_DATA_HOME="+s.home, "XDG_STATE_HOME="+s.home)
	s.start(t)
	return s
}

// listen returns the address that the browser sends its reports to.
func (s *signIn) listen(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var v visit
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			v.Error = err.Error()
		}
		s.visits <- v
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// start starts both servers, on the given ports or on free ones. The cleanup of the test ends them.
func (s *signIn) start(t *testing.T, ports ...string) {
	orders, answers, stop := startSignInScript(t, "server.mjs", append([]string{s.packages}, ports...)...)
	s.orders, s.answers, s.stop = orders, json.NewDecoder(answers), stop
	if err := s.answers.Decode(s); err != nil {
		t.Fatal(err)
	}
}

// restart ends the two servers and starts them anew, at the same addresses.
func (s *signIn) restart(t *testing.T) {
	t.Helper()
	s.stop()
	s.earlier = s.tokens
	var ports []string
	for _, address := range []string{s.Issuer, s.MCP} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, u.Port())
	}
	s.start(t, ports...)
}

// startSignInScript starts a script of testdata/signin, which takes orders on its stdin and answers on its
// stdout. It ends with stop or with the test, and what it wrote to stderr is told if the test has failed by then.
func startSignInScript(t *testing.T, script string, args ...string) (orders io.Writer, answers io.Reader, stop func()) {
	t.Helper()
	cmd := exec.Command("node", append([]string{filepath.Join("testdata", "signin", script)}, args...)...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		stdin.Close()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s says: %s", script, complaints.String())
		}
	})
	t.Cleanup(stop)
	return stdin, stdout, stop
}

// order gives the servers an order, and returns what they did since the last.
func (s *signIn) order(t *testing.T, order string) map[string]int {
	t.Helper()
	if _, err := io.WriteString(s.orders, order+"\n"); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Did    map[string]int
		Tokens []string
	}
	if err := s.answers.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	s.tokens = slices.Concat(s.earlier, answer.Tokens)
	return answer.Did
}

// did checks what the servers did since the last order, each thing once, beside
// refusing requests.
func (s *signIn) did(t *testing.T, want ...string) {
	t.Helper()
	got := s.order(t, `{}`)
	delete(got, "401")
	delete(got, "403")
	once := map[string]int{}
	for _, what := range want {
		once[what] = 1
	}
	if !maps.Equal(got, once) {
		t.Errorf("the servers did %v, want once each of %q", got, want)
	}
}

// wharf runs the command for something that a scene does. Its stdin is empty
// and its stderr is no terminal.
func (s *signIn) wharf(t *testing.T, do string, env ...string) outcome {
	return s.run(t.Context(), nil, io.Discard, do, env...)
}

// run is wharf with a stdin, and a second reader of stderr.
func (s *signIn) run(ctx context.Context, stdin io.Reader, shown io.Writer, do string, env ...string) outcome {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // a command that waits for ever
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "wharf", s.words(do)...)
	cmd.Env = append(s.env[:len(s.env):len(s.env)], env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, io.MultiWriter(&stderr, shown)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return outcome{-1, "", err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.Write(stdout.Bytes())
	s.said.Write(stderr.Bytes())
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// watcher finds the first of something in what is written.
type watcher struct {
	want  *regexp.Regexp // what it finds is the first group
	seen  []byte
	found chan string // holds one
}

func (w *watcher) Write(p []byte) (int, error) {
	if w.want == nil {
		return len(p), nil
	}
	w.seen = append(w.seen, p...)
	if match := w.want.FindSubmatch(w.seen); match != nil {
		w.want = nil
		w.found <- string(match[1])
	}
	return len(p), nil
}

// works runs a command that has to succeed and to say something.
func (s *signIn) works(t *testing.T, do string, says ...string) outcome {
	t.Helper()
	got := s.wharf(t, do)
	if got.code != exit.CodeOK || !hasAll(got.stdout, says...) {
		t.Errorf("%s: exit %d, want 0 and %q\nstdout: %s\nstderr: %s", do, got.code, says, got.stdout, got.stderr)
	}
	return got
}

func hasAll(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// isRefused runs a command that needs a person. The error names where they would
// sign in, and the command that takes them there.
func (s *signIn) isRefused(t *testing.T, do string) {
	t.Helper()
	got := s.wharf(t, do)
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	var last struct {
		Error struct{ Code, URL, Hint string }
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatalf("%s: exit %d, stderr: %s", do, got.code, got.stderr)
	}
	if got.code != exit.CodeSignIn || last.Error.Code != "sign_in_needed" || got.stdout != "" {
		t.Fatalf("%s: exit %d, stdout: %s, stderr: %s", do, got.code, got.stdout, got.stderr)
	}
	if last.Error.URL != s.Issuer {
		t.Errorf("%s: the place to sign in at is %q", do, last.Error.URL)
	}
	if want := "wharf login " + s.MCP; !strings.Contains(last.Error.Hint, want) {
		t.Errorf("%s: the hint is %q, want %q", do, last.Error.Hint, want)
	}
}

// sees waits until the browser has gone through a sign-in, and checks the pages
// of the authorization server on the way.
func (s *signIn) sees(t *testing.T, pages ...string) visit {
	t.Helper()
	if t.Failed() {
		t.FailNow() // there may be none
	}
	select {
	case v := <-s.visits:
		if v.Error != "" || strings.Join(v.Pages, " ") != strings.Join(pages, " ") || v.Text == "" {
			t.Errorf("the browser saw %+v, want the pages %q", v, pages)
		}
		return v
	case <-time.After(4 * time.Minute):
		t.Fatal("no browser has come to an end")
		return visit{}
	}
}

// knock asks the MCP server with a token, and returns the status.
func (s *signIn) knock(t *testing.T, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "POST", s.MCP, strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

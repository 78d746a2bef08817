package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestConformanceOfServers runs the official conformance suite for servers against a server of each
// era on the official SDKs for Go and TypeScript, directly and through `wharf serve`, and across the
// eras through `wharf serve`. What a client of an era gets through the gateway is to be what the
// SDK's server of that era gives it directly, check by check; testdata/conformance/exceptions.txt has
// what differs, and why. The test wants a folder with the suite and both SDKs for TypeScript, which
// `make conformance` fills.
func TestConformanceOfServers(t *testing.T) {
	dir := os.Getenv("WHARF_CONFORMANCE")
	if dir == "" {
		t.Skip("WHARF_CONFORMANCE names no folder with the conformance suite")
	}
	suite := officialSuite(t, dir)
	scripts := besideModules(t, dir, filepath.Join("testdata", "conformance"))
	goServer := filepath.Join(t.TempDir(), "everything-server")
	if out, err := exec.Command("go", "build", "-o", goServer, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	direct := map[string]string{
		"go-legacy": startGoServer(t, goServer, "-stateless=false"),
		"go-modern": startGoServer(t, goServer, "-stateless=true"),
		"ts-legacy": startServer(t, (*exec.Cmd).StdoutPipe, suite[0], filepath.Join(scripts, "legacy.mjs")).await("http"),
		"ts-modern": startServer(t, (*exec.Cmd).StdoutPipe, suite[0], filepath.Join(scripts, "modern.mjs")).await("http"),
	}
	file, config := filepath.Join(t.TempDir(), "wharf.toml"), ""
	for name, url := range direct {
		config += fmt.Sprintf("[servers.%s]\nurl = %q\n", name, url)
	}
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	gateway := startServe(t, "--config", file)
	through := withToken(t, gateway)

	exceptions := readExceptions(t)
	for _, sdk := range []string{"go", "ts"} {
		for _, era := range [][2]string{{"legacy", "2025-11-25"}, {"modern", "2026-07-28"}} {
			want := judge(t, suite, direct[sdk+"-"+era[0]], era[1])
			for _, server := range []string{sdk + "-legacy", sdk + "-modern"} {
				run := server + "/" + era[1]
				t.Run(run, func(t *testing.T) {
					differ := exceptions.without(run, disagreements(want, judge(t, suite, through+"/"+server, era[1])))
					if len(differ) > 0 {
						t.Errorf("through the gateway it is not as directly:\n%s", strings.Join(differ, "\n"))
					}
				})
			}
		}
	}
	for _, e := range exceptions {
		if !e.used {
			t.Errorf("nothing differs for the exception %s", e.pattern)
		}
	}
}

// officialSuite returns the command that runs the suite: node, as a package of it, and a script.
func officialSuite(t *testing.T, dir string) []string {
	t.Helper()
	return []string{packagedNode(t, dir), filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")}
}

// startServer is like start, for a process that runs until the test ends.
func startServer(t *testing.T, choose func(*exec.Cmd) (io.ReadCloser, error), name string, args ...string) *process {
	t.Helper()
	p := start(t, choose, name, args...)
	t.Cleanup(func() { p.Wait() }) // the test's context has ended, and with it the process
	return p
}

// startGoServer starts the server of the Go SDK at a free port, and returns its URL when it listens.
func startGoServer(t *testing.T, program, mode string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	startServer(t, (*exec.Cmd).StderrPipe, program, "-http", address, mode).await("listening") // is about to
	for range time.Tick(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			break
		}
	}
	return "http://" + address
}

// startServe starts `wharf serve` at a free port, and returns what it serves. It ends with the test.
func startServe(t *testing.T, args ...string) (all []served) {
	t.Helper()
	p := startServer(t, (*exec.Cmd).StdoutPipe, "wharf", append([]string{"serve", "--http", "0"}, args...)...)
	if line := p.await("url"); json.Unmarshal([]byte(line), &all) != nil || len(all) == 0 {
		t.Fatal(line)
	}
	return all
}

// withToken is in front of a gateway, for clients that send no token. It returns the URL of all
// servers as one.
func withToken(t *testing.T, all []served) string {
	t.Helper()
	token, err := os.ReadFile(all[0].Token)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(all[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		// A response that comes before the transport has seen the end of the body, which it reads from
		// the client, may be cut: so the body is read first.
		body, _ := io.ReadAll(r.In.Body)
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host // and the Host that the client has sent
		r.Out.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}})
	t.Cleanup(s.Close)
	return s.URL + target.Path
}

// verdicts are the statuses of the checks of one run of the suite, sorted, by scenario/check.
type verdicts map[string][]string

// judge runs the suite against a server. What it wrote is in the log of a test that fails.
func judge(t *testing.T, suite []string, url, revision string) verdicts {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), suite[0], suite[1], "server", "--url", url, "--requirements", revision, "--output-dir", dir)
	out, _ := cmd.CombinedOutput() // it ends with an error if a scenario fails
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d scenarios, %v\n%s", len(files), err, out)
	}
	found := make(verdicts)
	for _, file := range files {
		text, err := os.ReadFile(file)
		var checks []struct{ ID, Status string }
		if err == nil {
			err = json.Unmarshal(text, &checks)
		}
		if err != nil {
			t.Fatal(err)
		}
		scenario := strings.TrimPrefix(stamp.ReplaceAllString(filepath.Base(filepath.Dir(file)), ""), "server-")
		for _, c := range checks {
			found[scenario+"/"+c.ID] = append(found[scenario+"/"+c.ID], c.Status)
		}
	}
	for _, statuses := range found {
		slices.Sort(statuses)
	}
	return found
}

// stamp is the time in the name of a scenario's folder.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[-\dZ]*$`)

// disagreements returns the checks that two runs do not agree about: "scenario/check: …".
func disagreements(directly, through verdicts) (all []string) {
	both := maps.Clone(directly)
	maps.Copy(both, through)
	for _, check := range slices.Sorted(maps.Keys(both)) {
		if !slices.Equal(directly[check], through[check]) {
			all = append(all, fmt.Sprintf("%s: directly %v, through the gateway %v", check, directly[check], through[check]))
		}
	}
	return all
}

// exception is a line of exceptions.txt: the pattern of a server/revision/scenario/check that may
// differ, as in [path.Match], and why.
type exception struct {
	pattern string
	used    bool
}

type exceptions []*exception

func readExceptions(t *testing.T) (all exceptions) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "conformance", "exceptions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		pattern, why, _ := strings.Cut(line, " ")
		if _, err := path.Match(pattern, ""); err != nil || strings.Count(pattern, "/") != 3 || strings.TrimSpace(why) == "" {
			t.Fatalf("%q is not server/revision/scenario/check and a reason", line)
		}
		all = append(all, &exception{pattern: pattern})
	}
	return all
}

// without returns the differences of a run that no exception is about.
func (all exceptions) without(run string, differ []string) []string {
	return slices.DeleteFunc(differ, func(d string) bool {
		check, _, _ := strings.Cut(d, ":")
		excepted := false
		for _, e := range all {
			if matches, _ := path.Match(e.pattern, run+"/"+check); matches {
				e.used, excepted = true, true
			}
		}
		return excepted
	})
}

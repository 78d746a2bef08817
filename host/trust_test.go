//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trust"
)

// a repo is a project with one server, in a script of its own, which leaves a mark
// when it is started.
type repo struct {
	t     *testing.T
	dir   string
	trust string // where the user keeps decisions
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &repo{t, dir, filepath.Join(t.TempDir(), "wharf", "trust")}
	r.write("server.sh", "#!/bin/sh\nprintf '%s\\n' started \"$@\" \"env=$FIRST\" >> \"$MARK\"\nexec '"+self+"'\n")
	r.entry(`{"command": "./server.sh"}`)
	return r
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// entry writes the file of the project. What the script needs is added.
func (r *repo) entry(text string) {
	r.t.Helper()
	var e map[string]any
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		r.t.Fatal(err)
	}
	env, _ := e["env"].(map[string]any)
	if env == nil {
		env = make(map[string]any)
	}
	if e["command"] != nil {
		env["MARK"], env[serverVariable] = r.dir+"/mark", "modern"
		e["env"] = env
	}
	file, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"files": e}})
	r.write(".mcp.json", string(file))
}

// server returns the server as it stands in the file.
func (r *repo) server() host.Server {
	r.t.Helper()
	d := config.Discover(r.dir)
	if len(d.Servers) != 1 {
		r.t.Fatalf("%d servers, warnings %q", len(d.Servers), d.Warnings)
	}
	return d.Servers[0]
}

// mark is what the server left when it was started, or "".
func (r *repo) mark() string {
	text, _ := os.ReadFile(r.dir + "/mark")
	return string(text)
}

// host returns a host whose person decides as told; with nil it cannot ask.
func (r *repo) host(decide func(trust.Approval) trust.Decision) *host.Host {
	c := host.Config{TrustDir: r.trust}
	if decide != nil {
		c.Approve = func(_ context.Context, a trust.Approval) (trust.Decision, error) { return decide(a), nil }
	}
	return newHost(r.t, c)
}

func always(trust.Approval) trust.Decision { return trust.Always }

func (r *repo) look() trust.Approval {
	r.t.Helper()
	a, err := trust.Open(r.trust, nil).Look(r.t.Context(), r.server())
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// approve has the user approve of the server as it is.
func (r *repo) approve() {
	r.t.Helper()
	if err := r.host(always).Approve(r.t.Context(), r.server()); err != nil {
		r.t.Fatal(err)
	}
}

// refused fails unless a connect is denied, for a reason, and nothing ran.
func (r *repo) refused(h *host.Host, s host.Server, says string) {
	r.t.Helper()
	_, err := h.Connect(r.t.Context(), s)
	var unapproved *trust.UnapprovedError
	if !errors.Is(err, host.ErrDenied) || !errors.As(err, &unapproved) || !strings.Contains(err.Error(), says) ||
		!strings.Contains(host.Hint(err), unapproved.Approval.Pin) {
		r.t.Errorf("error %v, hint %q; want one that says %q", err, host.Hint(err), says)
	}
	if m := r.mark(); m != "" {
		r.t.Errorf("it was started: %q", m)
	}
}

func TestProjectServerNeedsApproval(t *testing.T) {
	r := newRepo(t)
	r.refused(r.host(nil), r.server(), "came with the project")
	r.refused(r.host(func(trust.Approval) trust.Decision { return trust.NotNow }), r.server(), "came with the project")
	if _, err := newHost(t, host.Config{}).Connect(t.Context(), r.server()); !errors.Is(err, host.ErrDenied) || r.mark() != "" {
		t.Errorf("without a folder for approvals: %v", err)
	}
	asked := 0
	h := r.host(func(a trust.Approval) trust.Decision {
		asked++
		if text := strings.Join(a.Lines(), "\n"); !strings.Contains(text, r.dir+"/server.sh") || !strings.Contains(text, a.Pin) {
			t.Error(text)
		}
		return trust.Always
	})
	say(t, connect(t, h, r.server()))
	say(t, connect(t, h, r.server()))
	say(t, connect(t, r.host(nil), r.server()))
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestProjectServerIsDeniedForGood(t *testing.T) {
	r := newRepo(t)
	r.refused(r.host(func(trust.Approval) trust.Decision { return trust.Never }), r.server(), "not approved")
	r.refused(r.host(func(trust.Approval) trust.Decision { t.Error("asked again"); return trust.Always }), r.server(), "denied by you")
	r.entry(`{"command": "./server.sh", "args": ["more"]}`)
	say(t, connect(t, r.host(always), r.server()))
}

func TestProjectServerIsApprovedJustOnce(t *testing.T) {
	r := newRepo(t)
	h := r.host(func(trust.Approval) trust.Decision { return trust.JustOnce })
	say(t, connect(t, h, r.server()))
	say(t, connect(t, h, r.server()))
	if records, err := trust.Open(r.trust, nil).Records(); len(records) > 0 || err != nil {
		t.Errorf("%v, %v", records, err)
	}
	os.Remove(r.dir + "/mark")
	r.refused(r.host(nil), r.server(), "came with the project")
}

// What is otherwise than it was shown is asked about again, and the question says
// what it is.
func TestEachChangeAsksAgain(t *testing.T) {
	t.Parallel()
	const whole = `{"command": "./server.sh", "args": ["a", "${B}"], "cwd": ".", "env": {"C": "c", "D": "${D}"}, "protocolVersion": "auto"}`
	const remote = `{"url": "https://a.example/${P}", "headers": {"H": "h", "A": "Bearer ${T}"}, "oauth": {"clientId": "c", "scopes": ["s"]}}`
	for name, tc := range map[string]struct{ was, is, changes string }{
		"nothing":           {whole, whole, ""},
		"command":           {whole, strings.Replace(whole, "./server.sh", "./other.sh", 1), "command, files, contents of other.sh, contents of server.sh"},
		"argument":          {whole, strings.Replace(whole, `"a"`, `"b"`, 1), "arguments"},
		"arguments joined":  {whole, strings.Replace(whole, `"a", "${B}"`, `"a ${B}"`, 1), "arguments"},
		"variable":          {whole, strings.Replace(whole, "${B}", "${SECRET}", 1), "arguments, variables"},
		"default":           {whole, strings.Replace(whole, "${B}", "${B:-b}", 1), "arguments"},
		"folder":            {strings.Replace(whole, "./server.sh", r0, 1), strings.NewReplacer("./server.sh", r0, `"cwd": "."`, `"cwd": "sub"`).Replace(whole), "folder"},
		"value":             {whole, strings.Replace(whole, `"c"`, `"d"`, 1), "environment C"},
		"value of variable": {whole, strings.Replace(whole, "${D}", "${B}", 1), "environment D, variables"},
		"one more":          {whole, strings.Replace(whole, `"C": `, `"NODE_OPTIONS": "x", "C": `, 1), "environment, environment NODE_OPTIONS"},
		"protocol":          {whole, strings.Replace(whole, `"auto"`, `"legacy"`, 1), "options"},
		"url":               {remote, strings.Replace(remote, "a.example", "b.example", 1), "url"},
		"path":              {remote, strings.Replace(remote, "/${P}", "/${Q}", 1), "url, variables"},
		"header":            {remote, strings.Replace(remote, `"h"`, `"i"`, 1), "header H"},
		"header more":       {remote, strings.Replace(remote, `"H": `, `"I": "", "H": `, 1), "headers, header I"},
		"client":            {remote, strings.Replace(remote, `"c"`, `"d"`, 1), "sign-in client_id"},
		"scopes":            {remote, strings.Replace(remote, `["s"]`, `["s", "admin"]`, 1), "sign-in scopes"},
		"more tools":        {strings.Replace(remote, `"url": `, `"enabledTools": ["read"], "url": `, 1), remote, "enabled tools"},
		"a tool permitted":  {strings.Replace(whole, `"args": `, `"disabledTools": ["rm"], "args": `, 1), whole, "disabled tools"},
		"process for url":   {remote, whole, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			os.Mkdir(r.dir+"/sub", 0o755)
			r.write("other.sh", "#!/bin/sh\n")
			r.entry(strings.ReplaceAll(tc.was, r0, r.dir+"/server.sh"))
			r.approve()
			r.entry(strings.ReplaceAll(tc.is, r0, r.dir+"/server.sh"))
			a := r.look()
			if want := tc.was == tc.is; (a.State == trust.Approved) != want || !want && a.State != trust.Changed {
				t.Errorf("it is %s", a.State)
			}
			var changes []string
			for _, d := range a.Changes {
				changes = append(changes, d.Name())
			}
			if got := strings.Join(changes, ", "); got != tc.changes && tc.changes != "" {
				t.Errorf("what changed is %s; want %s", got, tc.changes)
			}
		})
	}
}

// r0 stands for the whole path of the script.
const r0 = "SCRIPT"

func TestChangedScriptAsksAgain(t *testing.T) {
	r := newRepo(t)
	r.approve()
	script, _ := os.ReadFile(r.dir + "/server.sh")
	r.write("server.sh", string(script)+"#")
	r.refused(r.host(nil), r.server(), "contents of server.sh")
	r.write("server.sh", string(script))
	say(t, connect(t, r.host(nil), r.server()))
}

func TestScriptThatChangesUnderTheQuestion(t *testing.T) {
	r := newRepo(t)
	r.refused(r.host(func(trust.Approval) trust.Decision {
		r.write("server.sh", "#!/bin/sh\ntouch \"$MARK\"\n")
		return trust.Always
	}), r.server(), "contents of server.sh")
}

// A session that lasts does not come back with a script that the person has not seen.
func TestChangedScriptIsNotReconnected(t *testing.T) {
	r := newRepo(t)
	r.approve()
	s := connect(t, r.host(nil), r.server())
	r.write("server.sh", "#!/bin/sh\nexit 1\n")
	if err := s.Reload(r.server()); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, host.ErrDenied) {
		t.Error(err)
	}
}

func TestCommandOfTheSameNameAsksAgain(t *testing.T) {
	r := newRepo(t)
	bin := t.TempDir()
	for _, name := range []string{"first", "second", "third"} {
		os.Mkdir(filepath.Join(bin, name), 0o755)
	}
	tool := filepath.Join(bin, "second", "tool")
	if err := errors.Join(os.WriteFile(bin+"/a", []byte("#!/bin/sh\necho ours >\"$MARK\"\nexec "+r.dir+"/server.sh\n"), 0o755), os.WriteFile(bin+"/b", []byte("#!/bin/sh\n"), 0o755),
		os.Symlink(bin+"/a", tool)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+"/first:"+bin+"/second:"+os.Getenv("PATH"))
	r.entry(`{"command": "tool", "env": {"PATH": "` + r.dir + `"}}`)
	r.write("tool", "#!/bin/sh\necho theirs >\"$MARK\"\n") // a PATH of the project's counts for nothing
	r.approve()
	say(t, connect(t, r.host(nil), r.server()))
	if !strings.HasPrefix(r.mark(), "ours\n") {
		t.Errorf("what runs is %q", r.mark())
	}
	changes := func() (names string) {
		for _, d := range r.look().Changes {
			names += d.Name() + " "
		}
		return names
	}
	if a := r.look(); a.State != trust.Approved {
		t.Errorf("%s: %v", a.State, a.Changes)
	}
	os.Remove(tool)
	if err := os.Symlink(bin+"/b", tool); err != nil {
		t.Fatal(err)
	}
	if got := changes(); got != "which is " {
		t.Errorf("another target: %q", got)
	}
	if err := os.WriteFile(bin+"/first/tool", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := changes(); got != "command which is " {
		t.Errorf("another one earlier in PATH: %q", got)
	}
}

func TestOnlyVariablesThatWereShown(t *testing.T) {
	r := newRepo(t)
	t.Setenv("SHOWN", "one")
	t.Setenv("UNSHOWN", "two")
	r.entry(`{"command": "./server.sh", "args": ["${SHOWN}", "$UNSHOWN", "$$UNSHOWN", "${NOT_SET:-three}"], "env": {"FIRST": "${SHOWN}"}}`)
	r.approve()
	for _, line := range r.look().Lines() {
		if strings.Contains(line, "one") && !strings.Contains(line, "arguments") {
			t.Errorf("a value is shown: %s", line)
		}
	}
	say(t, connect(t, r.host(nil), r.server()))
	if got, want := r.mark(), "started\none\n$UNSHOWN\n$$UNSHOWN\nthree\nenv=one\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.entry(`{"command": "./server.sh", "args": ["${UNSET_VARIABLE}"]}`)
	r.approve()
	if _, err := r.host(nil).Connect(t.Context(), r.server()); !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), "UNSET_VARIABLE is not set") {
		t.Error(err)
	}
}

// Whatever is wrong with what was decided, the answer is no.
func TestDamagedDecisions(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"open to others": func(path string) error { return os.Chmod(path, 0o644) },
		"edited":         func(path string) error { return os.WriteFile(path, []byte(`{"version":1,"records":[{}]}`), 0o600) },
		"empty":          func(path string) error { return os.Truncate(path, 0) },
	} {
		r := newRepo(t)
		r.approve()
		path := trust.Open(r.trust, nil).Path()
		if err := damage(path); err != nil {
			t.Fatal(err)
		}
		if _, err := r.host(always).Connect(t.Context(), r.server()); err == nil || !strings.Contains(err.Error(), path) || r.mark() != "" {
			t.Errorf("%s: %v; started: %q", name, err, r.mark())
		}
	}
}

// The user's own servers are none of this.
func TestOwnServersNeedNoApproval(t *testing.T) {
	h := newHost(t, host.Config{})
	say(t, connect(t, h, server("modern")))
	if err := h.Approve(t.Context(), server("modern")); err != nil {
		t.Error(err)
	}
	decisions := trust.Open(t.TempDir(), nil)
	if _, err := decisions.Look(t.Context(), server("modern")); err == nil || stateIn(decisions, server("modern")) != trust.Approved {
		t.Errorf("error %v, state %s", err, stateIn(decisions, server("modern")))
	}
}

// A list of servers does not read the project for those without a decision.
func TestStateOfTheUndecided(t *testing.T) {
	r := newRepo(t)
	r.entry(`{"command": "./server.sh", "args": ["huge"]}`)
	decisions := trust.Open(r.trust, nil)
	if state := stateIn(decisions, r.server()); state != trust.New {
		t.Errorf("it is not decided about, and is %s", state)
	}
	r.approve()
	if state := stateIn(decisions, r.server()); state != trust.Approved {
		t.Errorf("it was approved, and is %s", state)
	}
	r.write("huge", "")
	if state := stateIn(decisions, r.server()); state != trust.Changed {
		t.Errorf("a file came, and it is %s", state)
	}
	if err := os.Truncate(filepath.Join(r.dir, "huge"), 1<<40); err != nil {
		t.Skip(err)
	}
	if state := stateIn(decisions, r.server()); state != trust.Unseen {
		t.Errorf("a file is too large, and it is %s", state)
	}
}

// stateIn returns the state of a server in the list of a store.
func stateIn(decisions *trust.Store, s host.Server) trust.State {
	return decisions.List(context.Background(), []host.Server{s})[0].Approval.State
}

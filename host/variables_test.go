package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

func init() { servers["member"] = serveMember }

// serveMember serves those that gave it the right variable when it was started.
func serveMember() {
	if os.Getenv("PASS") != strings.TrimSpace(pass) {
		fmt.Fprintln(os.Stderr, "PASS is not set, or wrong")
		os.Exit(1)
	}
	serveConn(bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout), true)
}

// What a provider gives reaches a process as a variable of it, each time that it
// is started, if the entry names that variable; no trace shows it.
func TestVariablesOfAProcess(t *testing.T) {
	t.Parallel()
	shown := &lockedBuffer{}
	tr, err := trace.NewPrinter("rpc,abi,io", shown)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{
		Files: map[string]config.Plugin{"sealer": {Name: "sealer", File: testenv.Plugin(t, sealerPackage)}},
		Print: tr,
	})
	entry := server("member")
	entry.Auth = config.Auth{
		Provider: "sealer", Variables: []string{"PASS"},
		Settings: map[string]any{"env": map[string]string{"PASS": strings.TrimSpace(pass)}},
	}
	s := connect(t, h, entry)
	say(t, s)
	if _, err := s.CallTool(t.Context(), "dies", nil); err == nil {
		t.Error("the process did not die")
	}
	say(t, s) // to the next process
	entry.Auth.Variables = []string{"OTHER"}
	_, err = h.Connect(t.Context(), entry)
	if err == nil || !strings.Contains(err.Error(), `the variable "PASS"`) {
		t.Errorf("connecting ended with %v", err)
	}
	if text := fmt.Sprint(shown, err, host.Hint(err)); strings.Contains(text, strings.TrimSpace(pass)) {
		t.Errorf("it is shown: %s", text)
	}
}

// The account is asked at each start: a process that is started again gets what signs in then.
func TestAccountAtEachStart(t *testing.T) {
	dir := vaultDir(t)
	v := vault.Open(vault.Config{Dir: dir})
	store := func(secret string) {
		if err := v.StoreSecret(t.Context(), "pass", secret); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(t, host.Config{
		VaultDir: dir, Reconnect: config.Reconnect{Backoff: slices.Repeat([]time.Duration{time.Millisecond}, 1000), Failures: 1000},
		Files: map[string]config.Plugin{"sealer": {Name: "sealer", File: testenv.Plugin(t, sealerPackage)}},
	})
	w := watch(t, h)
	entry := server("member")
	entry.Auth = config.Auth{
		Provider: "sealer", Variables: []string{"PASS"},
		Settings: map[string]any{"env": map[string]string{"PASS": "${secret:pass}"}},
	}
	store(strings.TrimSpace(pass))
	s := connect(t, h, entry)
	until(t, w, "member", status.Connected)
	store("not it")
	if _, err := s.CallTool(t.Context(), "dies", nil); err == nil {
		t.Error("the process did not die")
	}
	for said := ""; !strings.Contains(said, "PASS is not set, or wrong"); {
		n, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		said = fmt.Sprint(n.Err)
	}
	store(strings.TrimSpace(pass))
	until(t, w, "member", status.Connected)
	say(t, s)
}

// A secret of the vault reaches the process where the entry says ${secret:NAME}. It is
// looked up each time that the process is started, and no trace and no error shows it.
func TestSecretsOfTheVault(t *testing.T) {
	shown := &lockedBuffer{}
	tr, err := trace.NewPrinter("rpc,abi,io", shown)
	if err != nil {
		t.Fatal(err)
	}
	dir := vaultDir(t)
	h := newHost(t, host.Config{VaultDir: dir, Print: tr})
	entry := server("member")
	entry.Env["PASS"] = "${secret:pass}"
	_, err = h.Connect(t.Context(), entry)
	if !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), `there is no secret "pass"`) || host.Hint(err) != "store it with: wharf auth secret pass" {
		t.Errorf("without the secret: %v, hint %q", err, host.Hint(err))
	}
	v := vault.Open(vault.Config{Dir: dir})
	if err := v.StoreSecret(t.Context(), "pass", "not it: seven"); err != nil {
		t.Fatal(err)
	}
	if _, err = h.Connect(t.Context(), entry); err == nil {
		t.Error("connected with a wrong secret")
	}
	if err := v.StoreSecret(t.Context(), "pass", strings.TrimSpace(pass)); err != nil {
		t.Fatal(err)
	}
	say(t, connect(t, h, entry))
	if text := fmt.Sprint(shown, err, h.Redact(strings.TrimSpace(pass))); strings.Contains(text, strings.TrimSpace(pass)) {
		t.Errorf("it is shown: %s", text)
	}
}

// The questions of a file are asked when a server is first connected, and their answers
// are kept; without a person the error says how to give them.
func TestInputs(t *testing.T) {
	self := server("member")
	text, err := json.Marshal(map[string]any{
		"inputs": []any{map[string]any{"type": "promptString", "id": "pass", "description": "the pass", "password": true}},
		"servers": map[string]any{"member": map[string]any{
			"command": self.Command, "args": []string{"--flag=${input:other}"},
			"env": map[string]string{"PASS": "${input:pass}", serverVariable: "member"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := config.Parse(filepath.Join(t.TempDir(), ".vscode", "mcp.json"), text)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := file.Servers[0].Expand(os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	dir := vaultDir(t)
	_, err = newHost(t, host.Config{VaultDir: dir}).Connect(t.Context(), entry)
	if !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), "is asked for on a terminal, once") || !strings.Contains(host.Hint(err), "wharf auth secret input/") {
		t.Errorf("without a person: %v, hint %q", err, host.Hint(err))
	}
	var asked []string
	ask := func(_ context.Context, server string, q config.Input) (string, error) {
		asked = append(asked, fmt.Sprint(server, " ", q.ID, " ", q.Description, " ", q.Password))
		return map[string]string{"pass": strings.TrimSpace(pass), "other": "x"}[q.ID], nil
	}
	h := newHost(t, host.Config{VaultDir: dir, Input: ask})
	say(t, connect(t, h, entry))
	say(t, connect(t, newHost(t, host.Config{VaultDir: dir, Input: ask}), entry)) // from the vault
	slices.Sort(asked)
	if want := []string{"member other  true", "member pass the pass true"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if strings.Contains(h.Redact(pass), strings.TrimSpace(pass)) {
		t.Error("an answer is shown")
	}
	no := host.Config{VaultDir: vaultDir(t), Input: func(context.Context, string, config.Input) (string, error) { return "", errors.New("no answer") }}
	if _, err := newHost(t, no).Connect(t.Context(), entry); !errors.Is(err, host.ErrConfig) {
		t.Errorf("without an answer: %v", err)
	}
}

// The vault gets the answers of a start that has succeeded, all of them, and those of no other: what was typed for a
// start that failed or was cancelled is asked for again. Servers of one file share an answer.
func TestInputsAreKeptByAStart(t *testing.T) {
	entries := make(map[string]host.Server)
	const inputs = `"inputs": [{"id": "key", "type": "promptString", "password": true}, {"id": "zone", "type": "promptString"}]`
	const env = `"env": {"KEY": "${input:key}", "ZONE": "${input:zone}"}`
	file, err := config.Parse(filepath.Join(t.TempDir(), ".vscode", "mcp.json"),
		[]byte(`{`+inputs+`, "servers": {"exits": {"command": "x", `+env+`}, "sdk": {"command": "x", `+env+`}, "twin": {"command": "x", `+env+`}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range file.Servers {
		s.Command = server("").Command
		s.Env[serverVariable] = map[string]string{"exits": "exits", "sdk": "sdk", "twin": "sdk"}[s.Name]
		if entries[s.Name], err = s.Expand(os.LookupEnv); err != nil {
			t.Fatal(err)
		}
	}
	dir := vaultDir(t)
	kept := vault.Open(vault.Config{Dir: dir, Keyring: noKeyring{}})
	var asked int
	ctx, cancel := context.WithCancel(t.Context())
	leave := false
	h := newHost(t, host.Config{VaultDir: dir, Input: func(_ context.Context, _ string, q config.Input) (string, error) {
		if asked++; leave && q.ID == "zone" {
			cancel()
		}
		return "the " + q.ID, nil
	}})
	check := func(what string, questions, secrets int) {
		t.Helper()
		names, err := kept.Secrets()
		if asked != questions || len(names) != secrets || err != nil {
			t.Errorf("%s: asked %d times, the vault has %q, %v; want %d and %d", what, asked, names, err, questions, secrets)
		}
		asked = 0
	}
	for range 2 {
		if _, err := h.Connect(t.Context(), entries["exits"]); !errors.Is(err, host.ErrUnreachable) {
			t.Errorf("a server that does not start: %v", err)
		}
		check("failed", 2, 0)
	}
	leave = true
	if _, err := h.Connect(ctx, entries["sdk"]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	check("cancelled", 2, 0)
	leave = false
	var both sync.WaitGroup
	sessions := make([]*host.Session, 2)
	for i, name := range []string{"sdk", "twin"} {
		both.Go(func() {
			var err error
			if sessions[i], err = h.Connect(t.Context(), entries[name]); err != nil {
				t.Error(err)
			}
		})
	}
	if both.Wait(); t.Failed() {
		return
	}
	check("two starts", 2, 2)
	if _, err := h.Connect(t.Context(), entries["exits"]); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("with the answers of another: %v", err)
	}
	check("shared", 0, 2)
	for _, in := range entries["sdk"].Inputs {
		if err := kept.ForgetSecret(t.Context(), in.Secret); err != nil {
			t.Fatal(err)
		}
	}
	if err := sessions[0].Reload(entries["sdk"]); err != nil {
		t.Fatal(err)
	}
	say(t, sessions[0])
	check("connected again", 2, 2)
}

// The variables of an env_file reach the process, those of env before them.
func TestEnvFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".env")
	if err := os.WriteFile(path, []byte("# mine\nexport PASS='"+strings.TrimSpace(pass)+"'\n"+serverVariable+"=exits\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{})
	entry := server("member")
	entry.EnvFile, entry.Dir = ".env", dir
	say(t, connect(t, h, entry))
	for text, want := range map[string]string{"PASS": "env_file: " + path + ":1: expected NAME=value", "\nA=\"b": ".env:2: a quote is not closed"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Connect(t.Context(), entry); !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A relative env_file counts from the folder of the file that has the entry: the .env of
// the folder that one stands in is not read.
func TestEnvFileOfAnotherFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"wharf.toml": "[servers.member]\ncommand = '" + server("member").Command + "'\nenv_file = '.env'\nenv = {" + serverVariable + " = 'member'}\n",
		".env":       "PASS='" + strings.TrimSpace(pass) + "'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile(".env", []byte("LD_PRELOAD=./evil.so\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := config.Read(filepath.Join(dir, "wharf.toml"))
	if err != nil {
		t.Fatal(err)
	}
	say(t, connect(t, newHost(t, host.Config{}), file.Servers[0]))
}

// Variables are looked up each time that a server is started. One that is gone by then is a
// mistake of that start, until the entry changes. What is literal is left alone, and so is
// what comes in with a variable.
func TestVariablesAtEachStart(t *testing.T) {
	var now atomic.Pointer[string]
	lookup := func(name string) (string, bool) {
		if text := now.Load(); name == "PASS_NOW" && text != nil {
			return *text, true
		}
		return "", false
	}
	h := newHost(t, host.Config{LookupEnv: lookup, Reconnect: brisk})
	w := watch(t, h)
	entry := server("member")
	entry.Env["PASS"] = "${PASS_NOW}"
	first := entry
	first.Name = "first"
	if _, err := h.Connect(t.Context(), first); !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), "the variable PASS_NOW is not set") {
		t.Errorf("without the variable: %v", err)
	}
	secret := strings.TrimSpace(pass)
	now.Store(&secret)
	s := connect(t, h, entry)
	say(t, s)
	if text := h.Redact(secret); strings.Contains(text, secret) {
		t.Errorf("it is shown: %s", text)
	}
	now.Store(nil)
	s.Disable()
	s.Enable()
	if n := until(t, w, "member", status.Failed); n.Reason != status.BadConfig || !strings.Contains(fmt.Sprint(n.Err), "PASS_NOW") {
		t.Errorf("%+v", n)
	}
	now.Store(&secret)
	if err := s.Reload(entry); err != nil {
		t.Fatal(err)
	}
	until(t, w, "member", status.Connected)
	say(t, s)

	odd := "${PASS_NOW}"
	now.Store(&odd)
	if _, err := h.Connect(t.Context(), entry); err == nil || errors.Is(err, host.ErrConfig) {
		t.Errorf("what a variable brings in: %v", err)
	}
	now.Store(&secret)
	if _, err := h.Connect(t.Context(), entry.Literal()); err == nil || errors.Is(err, host.ErrConfig) {
		t.Errorf("a literal entry: %v", err)
	}
}

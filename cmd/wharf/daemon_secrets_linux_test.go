package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A secret that is stored anew or forgotten, and a file that is written anew, are seen beside a daemon by the next
// command, which has the server of the daemon then.
func TestSecretsBesideADaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	file := filepath.Join(t.TempDir(), "file")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := func(text string) {
		t.Helper()
		cmd := u.command("auth", "secret", "s")
		cmd.Stdin = strings.NewReader(text + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write("a")
	store("one")
	text, err := os.ReadFile(u.config)
	if err != nil {
		t.Fatal(err)
	}
	entry := strings.Replace(string(text), `"${LEDGER}"`, strconv.Quote("${secret:s}-${file:"+file+"}"), 1)
	if err := os.WriteFile(u.config, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	u.must("control", "--socket")
	var values []string
	for _, vary := range []func(){
		func() {},
		func() { store("two") },
		func() { write("bee") },
		func() { store("three"); write("c") },
	} {
		vary()
		u.must("call", "ledger", "note", "text=x")
		u.must("call", "ledger", "note", "text=x") // in the process of the first
		for _, start := range ledger(t, u.ledger, "start") {
			_, value, _ := strings.Cut(start, " with ")
			values = append(values, value)
		}
		os.Truncate(u.ledger, 0)
	}
	if want := []string{"one-a", "two-a", "two-bee", "three-c"}; !slices.Equal(values, want) {
		t.Errorf("it was started with %q, want %q", values, want)
	}
	u.must("auth", "secret", "s", "--forget")
	if out, err := u.run("call", "ledger", "note", "text=x"); err == nil || !strings.Contains(err.Error(), `there is no secret "s"`) {
		t.Errorf("without the secret: %s, %v", out, err)
	}
	if n := len(u.daemons()); n != 1 {
		t.Errorf("%d daemons", n)
	}
}

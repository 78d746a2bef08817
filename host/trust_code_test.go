//go:build unix

package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trust"
)

// Whatever leads to the code that runs, code that has changed is asked about again.
func TestChangedCodeAsksAgain(t *testing.T) {
	for name, tc := range map[string]struct{ entry, file string }{
		"a name without its ending":   {`{"command": "NODE", "args": ["main"]}`, "main.js"},
		"a folder":                    {`{"command": "NODE", "args": ["."]}`, "index.js"},
		"a default":                   {`{"command": "NODE", "args": ["${NOPE_NOT_SET:-main.js}"]}`, "main.js"},
		"a variable":                  {`{"command": "NODE", "args": ["${MAIN_OF_TEST}"]}`, "main.js"},
		"a default that is no ending": {`{"command": "NODE", "args": ["${NOPE_NOT_SET:-main}"]}`, "main.js"},
		"a word of a line of shell":   {`{"command": "/bin/sh", "args": ["-c", "cd . && ./main.js"]}`, "main.js"},
		"a registry":                  {`{"command": "NPX", "args": ["-y", "server@1.2.3"]}`, ".npmrc"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			t.Setenv("MAIN_OF_TEST", "main.js")
			bin := t.TempDir()
			for _, program := range []string{"node", "npx"} {
				if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			r.write(tc.file, "one")
			r.entry(strings.NewReplacer("NODE", bin+"/node", "NPX", bin+"/npx").Replace(tc.entry))
			r.approve()
			if a := r.look(); a.State != trust.Approved || slices.ContainsFunc(a.Warnings, isUncompared) {
				t.Errorf("%s, warnings %q", a.State, a.Warnings)
			}
			r.write(tc.file, "two")
			if a := r.look(); a.State != trust.Changed {
				t.Errorf("it is %s: %q", a.State, a.Lines())
			}
		})
	}
}

func isUncompared(warning string) bool {
	return strings.Contains(warning, "the code that this runs is not pinned")
}

// What a server may ask for is shown, as what it is.
func TestScopesAreShown(t *testing.T) {
	r := newRepo(t)
	r.entry(`{"url": "https://a.example/mcp", "oauth": {"clientId": "their-client", "clientSecret": "hush", "scopes": ["mail.read", "admin\u001b"]}}`)
	text := strings.Join(r.look().Lines(), "\n")
	for _, want := range []string{"sign-in client_id  their-client", `sign-in scopes     mail.read "admin\x1b"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "hush") {
		t.Error(text)
	}
}

// A list of servers looks at next to nothing, and says what it has not seen. What a
// person asks about is looked at whole.
func TestListOfAHostileFolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, listOfAHostileFolder) // where no time passes: a slow machine reaches the bounds of bytes all the same
}

func listOfAHostileFolder(t *testing.T) {
	r := newRepo(t)
	const each, servers = 40 << 20, 50
	entries := make([]string, servers)
	for i := range entries {
		name := fmt.Sprintf("huge%d.js", i)
		r.write(name, "")
		entries[i] = fmt.Sprintf(`"s%02d": {"command": "/bin/sh", "args": [%q]}`, i, name)
	}
	r.write(".mcp.json", `{"mcpServers": {`+strings.Join(entries, ",")+`}}`)
	all := config.Discover(r.dir).Servers
	trusted := trust.Open(r.trust, nil)
	for _, l := range trusted.LookAll(t.Context(), all) {
		if err := errors.Join(l.Err, trusted.Decide(t.Context(), l.Approval, trust.Always)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range entries {
		if err := os.Truncate(filepath.Join(r.dir, fmt.Sprintf("huge%d.js", i)), each); err != nil {
			t.Skip(err)
		}
	}
	counts := make(map[trust.State]int)
	for _, l := range trusted.List(t.Context(), all) {
		counts[l.Approval.State]++
		if (l.Err != nil) != (l.Approval.State == trust.Unseen) {
			t.Errorf("%s: %v", l.Approval.State, l.Err)
		}
	}
	if counts[trust.Changed] != 1 || counts[trust.Unseen] != servers-1 {
		t.Errorf("%v", counts)
	}
	asked := 0
	for _, l := range trusted.LookAll(t.Context(), all) {
		if l.Err == nil {
			asked++
		} else if !strings.Contains(l.Err.Error(), "at most 256 MiB are") {
			t.Error(l.Err)
		}
	}
	if asked != 256/40 {
		t.Errorf("%d were looked at", asked)
	}
	if a, err := trusted.Look(t.Context(), all[servers-1]); err != nil || a.State != trust.Changed {
		t.Errorf("%s, %v", a.State, err)
	}
}

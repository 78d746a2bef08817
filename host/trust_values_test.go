//go:build unix

package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trust"
)

// What a project's file asks the person for is asked once it is approved, and the server
// gets the answer.
func TestInputsOfAProject(t *testing.T) {
	r := newRepo(t)
	r.entry(`{"command": "./server.sh", "args": ["--token=${input:token}"], "env": {"FIRST": "${input:token}"}}`)
	var asked []string
	c := host.Config{TrustDir: r.trust, VaultDir: vaultDir(t)}
	c.Approve = func(_ context.Context, a trust.Approval) (trust.Decision, error) {
		asked = append(asked, "approval")
		return trust.Always, nil
	}
	c.Input = func(_ context.Context, _ string, q config.Input) (string, error) {
		asked = append(asked, q.ID)
		return "t0p-s3cret", nil
	}
	say(t, connect(t, newHost(t, c), r.server()))
	if got, want := r.mark(), "started\n--token=t0p-s3cret\nenv=t0p-s3cret\n"; got != want || strings.Join(asked, " ") != "approval token" {
		t.Errorf("got %q after %q, want %q", got, asked, want)
	}
}

// The variables of a project's env_file reach its server, those of env before them, and
// as they were approved: another content is asked about.
func TestEnvFileOfAProject(t *testing.T) {
	r := newRepo(t)
	r.write(".env", "FIRST=from-the-file\n"+serverVariable+"=exits\n")
	r.entry(`{"command": "./server.sh", "envFile": ".env"}`)
	r.approve()
	say(t, connect(t, r.host(nil), r.server()))
	if got, want := r.mark(), "started\nenv=from-the-file\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	os.Remove(filepath.Join(r.dir, "mark"))
	r.write(".env", "FIRST=another\n")
	r.refused(r.host(nil), r.server(), "has changed since you decided")
}

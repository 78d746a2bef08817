package trust

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

// A server of which something is missing can be denied and not approved. When what was missing is
// there, or its entry is another, it is not what was denied.
func TestIncompleteServer(t *testing.T) {
	dir := repo(t)
	server := config.Server{
		Name: "half", Command: "/bin/sh", EnvFile: filepath.Join(dir, ".env"), Dir: dir,
		Project: &config.Project{Folder: dir, File: ".mcp.json"},
	}
	s := open(t)
	looked := func(server config.Server) Looked {
		t.Helper()
		l := s.LookAll(t.Context(), []config.Server{server})[0]
		if listed := s.List(t.Context(), []config.Server{server})[0]; l.Approval.State != New && listed.Approval.State != l.Approval.State {
			t.Errorf("it is listed as %s, and is %s", listed.Approval.State, l.Approval.State)
		}
		return l
	}
	l := looked(server)
	if l.Err == nil || l.Approval.State != New || l.Approval.Hash == "" {
		t.Fatalf("%+v", l)
	}
	if err := s.Decide(t.Context(), l.Approval, Always); err == nil {
		t.Error("it can be approved")
	}
	if err := s.Decide(t.Context(), l.Approval, Never); err != nil {
		t.Fatal(err)
	}
	if l := looked(server); l.Approval.State != Denied || l.Err == nil {
		t.Errorf("%+v", l)
	}
	if a, err := s.Look(t.Context(), server); a.State != Denied || err != nil {
		t.Errorf("%s, %v", a.State, err)
	}
	other := server
	other.Args = []string{"-c", "true"}
	if l := looked(other); l.Approval.State != Changed || l.Err == nil {
		t.Errorf("with another argument: %+v", l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l := s.LookAll(ctx, []config.Server{server})[0]; l.Approval.Hash != "" || !errors.Is(l.Err, context.Canceled) {
		t.Errorf("called off: %+v", l)
	}
	if err := os.WriteFile(server.EnvFile, []byte("A=a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := looked(server); l.Approval.State != Changed || l.Err != nil {
		t.Errorf("complete: %+v", l)
	}
}

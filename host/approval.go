package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/host/trust"
)

// unapproved returns the error of a server that is not approved, with a hint.
func unapproved(a trust.Approval) error {
	hint := fmt.Sprintf("`wharf trust approve %s` shows what it is and asks you; where there is no terminal, add --trust-hash %s", a.Server, a.Pin)
	if a.State == trust.Denied { // with the hash a call is still denied: only trust approve takes the denial back
		hint = fmt.Sprintf("`wharf trust approve %s` shows what it is and asks you again; where there is no terminal: `wharf trust approve %[1]s --trust-hash %s`", a.Server, a.Pin)
	}
	if a.Incomplete() {
		hint = fmt.Sprintf("`wharf trust show %s` says what it lacks; `wharf trust revoke %[1]s` forgets that you denied it", a.Server)
	}
	return &hosterr.Error{Kind: ErrDenied, Err: &trust.UnapprovedError{Approval: a}, Hint: hint}
}

// approvals remembers what the person answered about servers of projects.
type approvals struct {
	asking ctxmutex.Mutex // held while the person is asked

	mu   sync.Mutex
	once []string // the hashes approved as long as the host is open
}

func (p *approvals) remember(hash string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.once = append(p.once, hash)
}

func (p *approvals) has(hash string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.once, hash)
}

var errNoTrust = &hosterr.Error{Kind: ErrDenied, Err: errors.New("this program uses no servers of projects: it set no folder for approvals")}

// look compares a server of a project with what the person has approved. An approval for once
// counts as long as the host is open, or until the person denies the server.
func (h *Host) look(ctx context.Context, s Server) (trust.Approval, error) {
	if h.config.TrustDir == "" {
		return trust.Approval{}, fmt.Errorf("server %s of %s: %w", s.Name, s.Project.Path(), errNoTrust)
	}
	a, err := trust.Open(h.config.TrustDir, h.modules.Files()).Look(ctx, s)
	if err == nil && a.State != trust.Denied && h.approvals.has(a.Hash) {
		a.State = trust.Approved
	}
	return a, err
}

// admit returns an entry that may be used, with its secrets from the vault. It is called for each
// connection and asks no one. In an entry of the user's own, it replaces the variables, and sets the folder. An entry of
// a project must be approved exactly as it is now, or else admit returns a [trust.UnapprovedError].
// A server of a project runs the command path and gets the variables that the person was shown. The
// variables of its env_file are those that look has read: the file is not opened again.
func (h *Host) admit(ctx context.Context, s Server) (Server, error) {
	if s.Project == nil {
		s, err := s.Expand(h.config.LookupEnv)
		if err != nil {
			return s, hosterr.Configf("%w", err)
		}
		if s.Command != "" {
			s.Dir = cmp.Or(s.Dir, h.config.Folder)
		}
		return h.dialer.Resolve(ctx, s)
	}
	a, err := h.look(ctx, s)
	switch {
	case err != nil:
		return s, err
	case a.State != trust.Approved:
		return s, unapproved(a)
	}
	s, err = s.Release(s.Variables(), os.LookupEnv)
	if err != nil {
		return s, hosterr.Configf("%w", err)
	}
	if env := maps.Clone(a.FileEnv); env != nil {
		maps.Copy(env, s.Env)
		s.Env = env
	}
	s.Command, s.EnvFile = a.Command, ""
	return h.dialer.Resolve(ctx, s)
}

// Approve asks the person about a server of a project, unless they have approved it as it is
// now. It returns nil once they have, and at once for one of the user's own servers. Connecting
// and calling ask by themselves: Approve is for programs that want to ask earlier.
func (h *Host) Approve(ctx context.Context, s Server) error {
	if s.Project == nil {
		return nil
	}
	if err := h.approvals.asking.Lock(ctx); err != nil {
		return fmt.Errorf("approve %s: %w", s.Name, err)
	}
	defer h.approvals.asking.Unlock()
	return h.approve(ctx, s)
}

// approve looks at a server, and asks the person if need be. The caller holds approvals.asking.
// approve looks again because another call may have had the answer while this one waited.
func (h *Host) approve(ctx context.Context, s Server) error {
	a, err := h.look(ctx, s)
	switch {
	case err != nil || a.State == trust.Approved:
		return err
	case a.State == trust.Denied || h.config.Approve == nil || ctx.Err() != nil:
		return unapproved(a)
	}
	d, err := h.config.Approve(ctx, a)
	if err != nil {
		return fmt.Errorf("approve %s: %w", s.Name, err)
	}
	if d == trust.JustOnce || d == trust.Always {
		h.approvals.remember(a.Hash) // also if it cannot be stored below
	}
	if err := trust.Open(h.config.TrustDir, nil).Decide(ctx, a, d); err != nil {
		h.warn(s.Name, err.Error())
	}
	if h.approvals.has(a.Hash) {
		return nil
	}
	if d == trust.Never {
		a.State = trust.Denied
	}
	return unapproved(a)
}

// account returns the account with which a server is signed in to, or nil if it needs none.
func (h *Host) account(ctx context.Context, s Server) (*connect.SharedAccount, error) {
	s, err := h.admit(ctx, s)
	if err != nil {
		return nil, err
	}
	return h.dialer.Accounts.Of(s)
}

// approves asks the person about the server if a call failed for lack of their approval. It reports
// whether the call may be made again. The time that the person takes does not count against the
// call, which has started nothing yet.
func (s *Session) approves(ctx context.Context, err error) (again bool) {
	var refused *trust.UnapprovedError
	if !errors.As(err, &refused) || session.Unattended(ctx) {
		return false
	}
	ctx, over := within(ctx, s.inner.Lifetime())
	defer over()
	if s.host.approvals.asking.Lock(ctx) != nil {
		return false
	}
	defer s.host.approvals.asking.Unlock()
	if s.host.approve(ctx, *s.entry.Load()) != nil {
		return false
	}
	if s.driver.Status().State == status.Failed { // unless another call was faster
		s.driver.Change(manager.Change{SameEntry: true})
	}
	return true
}

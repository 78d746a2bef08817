package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/status"
)

// answers asks the person a question of the entry if a call failed because there is no answer to it yet. It reports
// whether the call may be made again. The answer is held until letGo is called.
func (s *Session) answers(ctx context.Context, err error) (again bool, letGo func()) {
	var open *connect.InputError
	h := s.host
	if !errors.As(err, &open) || h.config.Input == nil || h.vault == nil || session.Unattended(ctx) {
		return false, func() {}
	}
	letGo = h.dialer.Accounts.Answers.Hold(open.Input)
	ctx, over := within(ctx, s.inner.Lifetime())
	defer over()
	if h.approvals.asking.Lock(ctx) != nil {
		return false, letGo
	}
	defer h.approvals.asking.Unlock()
	if err := h.ask(ctx, s.Name(), open.Input); err != nil {
		h.warn(s.Name(), fmt.Sprintf("the input %q has no answer: %v", open.Input.ID, err))
		return false, letGo
	}
	if s.driver.Status().State == status.Failed {
		s.driver.Change(manager.Change{SameEntry: true})
	}
	return true, letGo
}

// ask asks the person a question, unless another call was faster. The caller holds the answer, and approvals.asking.
func (h *Host) ask(ctx context.Context, server string, q config.Input) error {
	held := &h.dialer.Accounts.Answers
	if _, given := held.Get(q.Secret); given {
		return nil
	}
	_, known, err := h.vault.LoadSecret(ctx, q.Secret)
	if err != nil || known {
		return err
	}
	text, err := h.config.Input(ctx, server, q)
	if err == nil {
		held.Set(q, text)
	}
	return err
}

// keepAnswers stores the answers with which a server has started. A secret that the vault has got in the meantime
// stays.
func (s *Session) keepAnswers(ctx context.Context, entry *Server) {
	h := s.host
	held := &h.dialer.Accounts.Answers
	for _, q := range entry.Inputs {
		text, given := held.Get(q.Secret)
		if !given {
			continue
		}
		_, known, err := h.vault.LoadSecret(ctx, q.Secret)
		if err == nil && !known {
			err = h.vault.StoreSecret(ctx, q.Secret, text)
		}
		if err != nil {
			h.warn(s.Name(), fmt.Sprintf("the input %q is not kept: %v", q.ID, err))
			continue
		}
		held.Drop(q)
	}
}

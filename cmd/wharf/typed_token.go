package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

// forgetRefused returns the error of a server that the person has just typed a secret for. If
// the server refuses the token that was kept of it, the error says so, and the token is
// removed.
func (a *app) forgetRefused(ctx context.Context, h *host.Host, server host.Server, err error) error {
	if !errors.Is(err, host.ErrLogin) {
		return err
	}
	before, unread := a.vaultEntries(ctx)
	if unread != nil || h.Logout(ctx, server) != nil {
		return err
	}
	if after, unread := a.vaultEntries(ctx); unread != nil || slices.Equal(before, after) {
		return err // it was no token, and not sent
	}
	return exit.WithHint(&tokenRefused{server.Name, err}, fmt.Sprintf("`wharf login %s` asks for another", plain.Word(server.Name)))
}

// tokenRefused stands for the error of a server that refuses what the person typed.
type tokenRefused struct {
	server string
	err    error
}

func (e *tokenRefused) Error() string {
	return fmt.Sprintf("%s refuses the API key or token that you typed; it is not kept", e.server)
}

func (e *tokenRefused) Unwrap() error { return e.err }

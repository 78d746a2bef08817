package vault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// ErrNotFound is the error of a [Keyring] for a secret that it does not have.
var ErrNotFound = keyring.ErrNotFound

// service is the name under which the keyring shows the secrets of this program.
const service = "wharf"

// patience bounds one call of a keyring. A locked keyring asks the person, who may not be at the
// screen.
const patience = 3 * time.Second

var errSilent = fmt.Errorf("no answer in %v", patience)

// Keyring keeps small secrets for the user. Its methods may hang while a dialog is open, or
// forever. So the vault calls them on a goroutine of their own and waits a bounded time. Get
// returns [ErrNotFound] for a secret that the keyring does not have.
type Keyring interface {
	Get(service, user string) (string, error)
	Set(service, user, text string) error
}

// platform is the keyring of the operating system.
type platform struct{}

func (platform) Get(service, user string) (string, error) {
	if err := reachable(); err != nil {
		return "", err
	}
	return keyring.Get(service, user)
}

func (platform) Set(service, user, text string) error {
	if err := reachable(); err != nil {
		return err
	}
	return keyring.Set(service, user, text)
}

// keyringClient calls a keyring without being blocked by it. It makes one call at a time, so
// that a keyring that never answers costs only one goroutine.
type keyringClient struct {
	keyring Keyring
	busy    ctxmutex.Mutex // held during a call
}

func (r *keyringClient) get(ctx context.Context, user string) (secret.Secret, error) {
	return r.ask(ctx, func() (string, error) { return r.keyring.Get(service, user) })
}

// keep stores a text and reads it back, since some keyrings accept a text and do not keep it.
func (r *keyringClient) keep(ctx context.Context, user string, text secret.Secret) error {
	_, err := r.ask(ctx, func() (string, error) { return "", r.keyring.Set(service, user, text.Reveal()) })
	if err != nil {
		return err
	}
	kept, err := r.get(ctx, user)
	if err == nil && !kept.Equal(text) {
		err = errors.New("it does not return what it was given")
	}
	return err
}

// ask makes a call on a goroutine of its own, and stops waiting when it takes too long.
// context.Cause tells the caller whether their own context ended.
func (r *keyringClient) ask(ctx context.Context, call func() (string, error)) (secret.Secret, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	if err := r.busy.Lock(ctx); err != nil {
		return secret.Secret{}, err
	}
	type answer struct {
		text secret.Secret
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := call()
		r.busy.Unlock()
		answers <- answer{secret.New(text), err}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return secret.Secret{}, context.Cause(ctx)
	}
}

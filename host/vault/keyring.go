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

// ErrNotFound is what a [Keyring] says of a secret that it does not have.
var ErrNotFound = keyring.ErrNotFound

// service is the name under which the keyring shows what is of this program.
const service = "wharf"

// patience is how long one call of a keyring may take. A keyring that is locked
// asks the person, who may not be at the screen.
const patience = 3 * time.Second

var errSilent = fmt.Errorf("no answer in %v", patience)

// Keyring keeps small secrets for the user. Its methods may hang, for as long as
// a dialog is open, or forever: the vault calls them on a goroutine of their own
// and waits a bounded time. Get says [ErrNotFound] for what it does not have.
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

// keyringClient asks a keyring without being blocked by it. One call is under way at a
// time, so a keyring that never answers costs one goroutine and not one for each
// time it is asked.
type keyringClient struct {
	keyring Keyring
	busy    ctxmutex.Mutex // held during a call
}

func newKeyringClient(k Keyring) *keyringClient {
	if k == nil {
		k = platform{}
	}
	return &keyringClient{keyring: k, busy: ctxmutex.New()}
}

func (r *keyringClient) get(ctx context.Context, user string) (secret.Secret, error) {
	return r.ask(ctx, func() (string, error) { return r.keyring.Get(service, user) })
}

// keep stores a text and reads it back: there are keyrings that take what they
// do not keep.
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

// ask runs a call on its own, and leaves it behind when it takes too long. Who
// calls finds out by context.Cause whether it was the caller that gave up.
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

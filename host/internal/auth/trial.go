package auth

import (
	"context"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/vault"
)

// trialVault is the vault of an account. Once the person has typed a secret, it holds back the
// changes of flows until [Account.Keep] or [Account.Drop]. Flows load the changed records. The
// vault below keeps what was saved before, also if the process is killed.
type trialVault struct {
	Vault

	mu   sync.Mutex
	on   bool
	held []change // in the order in which flows made them
}

// change is a record that is stored or, without a value, forgotten.
type change struct {
	key        vault.Key
	value      *secret.Secret
	generation uint64 // of the forgotten record; 0 for any
}

// heldGeneration is the generation of each record that is held back. A record of a vault never
// reaches it.
const heldGeneration = 1<<64 - 1

// begin makes the vault hold changes back. v is nil if there is no vault.
func (v *trialVault) begin() {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.on = true
}

// end stops holding back. It returns the changes, and whether a trial was on.
func (v *trialVault) end() (held []change, on bool) {
	if v == nil {
		return nil, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	held, on = v.held, v.on
	v.held, v.on = nil, false
	return held, on
}

// Load is [Vault.Load].
func (v *trialVault) Load(ctx context.Context, key vault.Key) (vault.Record, bool, error) {
	v.mu.Lock()
	var last *change
	for i := range v.held {
		if v.held[i].key == key {
			last = &v.held[i]
		}
	}
	v.mu.Unlock()
	switch {
	case last == nil:
		return v.Vault.Load(ctx, key)
	case last.value == nil:
		return vault.Record{}, false, nil
	}
	return vault.Record{Value: *last.value, Generation: heldGeneration}, true, nil
}

// Store is [Vault.Store].
func (v *trialVault) Store(ctx context.Context, key vault.Key, value secret.Secret) (generation uint64, err error) {
	if v.hold(change{key: key, value: &value}) {
		return heldGeneration, nil
	}
	return v.Vault.Store(ctx, key, value)
}

// Forget is [Vault.Forget].
func (v *trialVault) Forget(ctx context.Context, key vault.Key, generation uint64) error {
	at := generation
	if at == heldGeneration {
		at = 0 // the record of the trial would have replaced any other
	}
	if v.hold(change{key: key, generation: at}) {
		return nil
	}
	return v.Vault.Forget(ctx, key, generation)
}

// hold holds a change back, unless no trial is on.
func (v *trialVault) hold(c change) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.on {
		v.held = append(v.held, c)
	}
	return v.on
}

package auth

import "time"

// Prompt reports whether Apply would answer at once, from what is held: no flow
// to wait for, no provider to ask. It is what package capability asks before a
// caller carries an exchange, whom a provider must not hold up.
func (a *Account) Prompt() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.held
	return h != nil && (h.renew.IsZero() || time.Now().Before(h.renew)) &&
		(h.from == "" || !a.provider.Manifest().Wants.Requests)
}

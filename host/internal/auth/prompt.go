package auth

import "time"

// Prompt reports whether Apply would return at once, without a flow or a call of the
// provider. Package capability asks before a caller performs an exchange inline, which must
// not block.
func (a *Account) Prompt() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.current
	return h != nil && (h.renew.IsZero() || time.Now().Before(h.renew)) &&
		(h.from == "" || !a.provider.Manifest().Wants.Requests)
}

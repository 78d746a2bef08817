package control

import (
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trust"
	"github.com/wharf-mcp/wharf/host/vault"
)

// kept is where a host keeps decisions and sign-ins, "" for nowhere, and the plugins that are part of the
// program. [Control.Install] sets it.
type kept struct {
	trustDir, vaultDir string
	builtin            map[string]func() []byte
}

func keptBy(c *host.Config) kept { return kept{c.TrustDir, c.VaultDir, c.Plugins} }

// trust returns the decisions about servers of projects, or nil.
func (c *Control) trust(now *Configuration) *trust.Store {
	if c.kept.trustDir == "" {
		return nil
	}
	return trust.Open(c.kept.trustDir, now.Plugins)
}

// vault returns the vault of sign-ins and secrets.
func (c *Control) vault() (*vault.Vault, error) {
	if c.kept.vaultDir == "" {
		return nil, &fault{CodeFailed, "this program keeps no sign-ins and no secrets", ErrorData{Kind: KindUnsupported}}
	}
	warn := func(text string) { c.events.add(Event{Kind: Warning, Text: text}) }
	return vault.Open(vault.Config{Dir: c.kept.vaultDir, Warn: warn}), nil
}

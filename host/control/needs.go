package control

import (
	"os"
	"slices"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/amend"
)

// needs are what a person has to do or to agree to before an entry can be used.
func (c *Control) needs(s host.Server) []Need {
	files := c.now().Plugins
	needs := []Need{{Kind: NeedTrust, Name: s.Name}}
	for _, name := range []string{s.Via(), s.Auth.Provider} {
		switch {
		case name == "" || name == config.AuthNone || c.kept.builtin[name] != nil:
		case files[name].File == "":
			needs = append(needs, Need{Kind: NeedPlugin, Name: name})
		case name == s.Via():
			needs = append(needs, Need{Kind: NeedGrant, Name: name, Grant: grantOf(s)})
		default:
			needs = append(needs, Need{Kind: NeedGrant, Name: name, Grant: "sign-in"})
		}
	}
	for _, name := range amend.Unset(s, os.LookupEnv) {
		needs = append(needs, Need{Kind: NeedVariable, Name: name})
	}
	kept := c.secrets()
	for _, r := range s.References() {
		if need := (Need{Kind: NeedSecret, Name: r.Secret}); r.Secret != "" && !slices.Contains(kept, r.Secret) && !slices.Contains(needs, need) {
			needs = append(needs, need)
		}
	}
	return needs
}

// grantOf names what an entry lets its transport open.
func grantOf(s host.Server) string {
	switch {
	case s.Command != "":
		return "process"
	case s.URL != "":
		return "http"
	}
	return "stream"
}

// secrets returns the names of the secrets that are kept.
func (c *Control) secrets() []string {
	v, err := c.vault()
	if err != nil {
		return nil
	}
	names, _ := v.Secrets() // what is wrong with the vault, auth/status tells
	return names
}

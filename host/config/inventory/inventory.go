// Package inventory lists the servers of a configuration: what each of them is reached by, without secrets,
// and what it lacks. It starts nothing.
package inventory

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trust"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Entry is a server in the list.
type Entry struct {
	Name      string `json:"name"`
	Transport string `json:"transport"`
	Target    string `json:"target"`
	Enabled   bool   `json:"enabled"`
	Problem   string `json:"problem,omitempty"` // why it cannot start as it stands, such as a value that is not set

	// Of a server that came with a project: the file, and whether it is approved.
	Project string      `json:"project,omitempty"`
	Trust   trust.State `json:"trust,omitempty"`
}

// Keepers know what is kept of servers beside the configuration.
type Keepers struct {
	Trust *trust.Store                 // nil has approved of none
	Vault func() (*vault.Vault, error) // called if an entry means a secret
	Asks  bool                         // the person can be asked the questions of an entry
}

// List lists servers in their order.
func (k Keepers) List(ctx context.Context, servers []config.Server) ([]Entry, error) {
	looked := make([]trust.Looked, len(servers))
	if k.Trust != nil {
		looked = k.Trust.List(ctx, servers)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries := make([]Entry, len(servers))
	for i, s := range servers {
		e := Entry{Name: s.Name, Transport: s.Via(), Target: s.Target(), Enabled: !s.Disabled}
		switch {
		case s.Project != nil:
			e.Project, e.Trust = s.Project.Path(), cmp.Or(looked[i].Approval.State, trust.New)
		case e.Enabled:
			e.Problem = k.problem(s)
		}
		entries[i] = e
	}
	return entries, nil
}

// problem says why an entry of the user's own cannot start, such as for a value that is not set, or returns "".
func (k Keepers) problem(s config.Server) string {
	if err := s.CheckVariables(os.LookupEnv); err != nil {
		return err.Error()
	}
	return cmp.Or(MissingFile(s), k.MissingSecret(s))
}

// MissingFile names the first ${file:PATH} of an entry that does not exist, or returns "".
func MissingFile(s config.Server) string {
	for _, r := range s.References() {
		if r.File == "" {
			continue
		}
		if _, err := os.Stat(r.File); err != nil {
			return fmt.Sprintf("${file:%s}: %v", r.File, err)
		}
	}
	return ""
}

// MissingSecret says which secret of an entry is the first that the vault lacks, or returns "". It leaves
// out answers that the person is asked for.
func (k Keepers) MissingSecret(s config.Server) string {
	for _, r := range s.References() {
		input := slices.IndexFunc(s.Inputs, func(in config.Input) bool { return r.Secret != "" && in.Secret == r.Secret })
		if r.Secret == "" || input >= 0 && k.Asks {
			continue
		}
		v, err := k.Vault()
		if err != nil {
			return err.Error()
		}
		kept, err := v.Secrets()
		switch {
		case err != nil || slices.Contains(kept, r.Secret): // what is wrong with the vault is not the entry's
		case input >= 0:
			return fmt.Sprintf("the input %q is asked for on a terminal, once; without one, store it with: wharf auth secret %s", s.Inputs[input].ID, config.Quoted(r.Secret))
		default:
			return fmt.Sprintf("there is no secret %q; store it with: wharf auth secret %s", r.Secret, config.Quoted(r.Secret))
		}
	}
	return ""
}

package inventory

import (
	"context"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trust"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Decision is a server of a project, and what the person decided about it.
type Decision struct {
	Project string      `json:"project"`
	File    string      `json:"file"`
	Server  string      `json:"server"`
	State   trust.State `json:"state"`
	Decided *time.Time  `json:"decided,omitempty"`
	Hash    string      `json:"hash,omitempty"` // of the server as it is now, if it was decided on; of another project, the one that is stored, which has its folder in it
	Problem string      `json:"problem,omitempty"`
}

// Decisions lists the servers of a project, and then the decisions about those of others.
func Decisions(ctx context.Context, t *trust.Store, servers []config.Server) ([]Decision, error) {
	records, err := t.Records()
	if err != nil {
		return nil, err
	}
	list := []Decision{}
	for _, l := range t.List(ctx, servers) {
		list = append(list, decisionOf(l))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, r := range records {
		same := func(d Decision) bool { return d.Project == r.Project && d.File == r.File && d.Server == r.Server }
		if !slices.ContainsFunc(list, same) {
			list = append(list, Decision{r.Project, r.File, r.Server, r.State, &r.Decided, r.Hash, ""})
		}
	}
	return list, nil
}

// decisionOf is the line of a server of this project.
func decisionOf(l trust.Looked) Decision {
	p := l.Approval
	d := Decision{Project: p.Project, File: p.File, Server: p.Server, State: p.State, Hash: p.Pin}
	if l.Err != nil {
		d.Problem = l.Err.Error()
	}
	if !p.Decided.IsZero() {
		d.Decided = &p.Decided
	}
	return d
}

// SignIns are the saved sign-ins and secrets of the person, without their values.
type SignIns struct {
	Vault   Vault         `json:"vault"`
	Logins  []SavedSignIn `json:"logins"`
	Secrets []Secret      `json:"secrets,omitempty"`
}

// Vault says where sign-ins are saved.
type Vault struct {
	Path    string `json:"path"`
	Keeper  string `json:"keeper"`
	Problem string `json:"problem,omitempty"`
}

// SavedSignIn is a saved sign-in.
type SavedSignIn struct {
	Provider string    `json:"provider"`
	Resource string    `json:"resource,omitempty"`
	Issuer   string    `json:"issuer,omitempty"`
	Client   string    `json:"client,omitempty"`
	Record   string    `json:"record"`
	Stored   time.Time `json:"stored"`
}

// Secret is a secret of the person.
type Secret struct {
	Name    string   `json:"name"`    // entries refer to it as ${secret:NAME}
	Servers []string `json:"servers"` // those of the configuration that use it
}

// SignedIn lists what a vault has. servers are those that may use it.
func SignedIn(ctx context.Context, v *vault.Vault, servers []config.Server) (*SignIns, error) {
	status := v.Status()
	logins, err := v.Entries(ctx)
	if err != nil {
		return nil, err
	}
	names, err := v.Secrets()
	if err != nil {
		return nil, err
	}
	out := &SignIns{Vault{status.Path, status.KeySource, status.Problem}, make([]SavedSignIn, len(logins)), make([]Secret, len(names))}
	for i, l := range logins {
		out.Logins[i] = SavedSignIn{l.Provider, l.Resource, l.Issuer, l.Client, l.Name, l.Stored}
	}
	for i, name := range names {
		out.Secrets[i] = Secret{name, []string{}} // [] and not null
		for _, server := range servers {
			if server.MeansSecret(name) {
				out.Secrets[i].Servers = append(out.Secrets[i].Servers, server.Name)
			}
		}
	}
	return out, nil
}

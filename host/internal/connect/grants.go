package connect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/modules"
	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// grants returns what the plugin of a server entry may open.
func (d *Dialer) grants(s config.Server, via string, a *SharedAccount) ([]capability.Grant, error) {
	var gs []capability.Grant
	if s.Command != "" {
		gs = append(gs, capability.Grant{Name: modules.MainGrant, To: process.Process{
			Command: s.Command, Args: s.Args, Env: environ(s.Env), Dir: s.Dir,
		}})
	}
	if s.Address != "" {
		to, err := d.stream(s, a)
		if err != nil {
			return nil, err
		}
		gs = append(gs, capability.Grant{Name: modules.MainGrant, To: to})
	}
	if s.URL != "" {
		o, err := origin(s)
		if err != nil {
			return nil, err
		}
		o.AnyPath = via == transportSSE
		if a != nil {
			o.Credentials = a // for requests under the path of the url
			// The entry names the command, so its output may say more than the headers beside it, as Claude Code has it.
			o.CredentialsWin = s.Auth.Provider == config.AuthHelper
			if via == transportSSE && o.Path() != "" { // its server names the path to send to, in the same folder
				o.SignedPath = strings.TrimSuffix(path.Dir(o.Path()), "/") + "/"
			}
		}
		gs = append(gs, capability.Grant{Name: modules.MainGrant, To: o})
	}
	return gs, nil
}

// origin returns the origin of the url of an entry.
func origin(s config.Server) (*httpclient.Origin, error) {
	o, err := httpclient.ParseOrigin(s.URL)
	if err != nil {
		return nil, hosterr.Configf("%w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if !config.OfProtocol(name) && (!isAuthorization(name) || hasCredentials(s.Headers[name])) {
			o.Headers = append(o.Headers, abi.Pair{Key: name, Value: s.Headers[name]})
			if secret.Flag(name) && s.Headers[name] != "" {
				o.Keys = append(o.Keys, name)
			}
		}
	}
	o.Proxy, o.TLS = s.Proxy, secure(s)
	if err := o.Check(); err != nil {
		return nil, hosterr.Configf("%w", err)
	}
	return o, nil
}

func isAuthorization(header string) bool { return strings.EqualFold(header, "Authorization") }

// hasCredentials reports whether an Authorization has credentials, and is not one in which a
// variable was empty, such as "Bearer ${TOKEN:-}". A word without a scheme counts as credentials,
// because some servers take that.
func hasCredentials(value string) bool {
	word, rest, spaced := strings.Cut(strings.TrimLeft(value, " \t"), " ")
	return word != "" && (strings.TrimSpace(rest) != "" || !spaced && !strings.EqualFold(word, "Bearer"))
}

// secure returns the TLS settings of an entry.
func secure(s config.Server) dial.TLS {
	return dial.TLS{CAFile: s.TLS.CA, CertFile: s.TLS.Cert, KeyFile: s.TLS.Key, Name: s.TLS.Name}
}

// CheckTLS returns what is wrong with the files of TLS that an entry names.
func CheckTLS(s config.Server) error { return secure(s).Check() }

// environ returns variables as NAME=value, sorted.
func environ(vars map[string]string) []string {
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// inside is the prefix of the address of a stream within the program.
const inside = "memory:"

// stream returns the target for the address of an entry.
func (d *Dialer) stream(s config.Server, a *SharedAccount) (capability.Target, error) {
	if name, ok := strings.CutPrefix(s.Address, inside); ok {
		open := d.config.Streams[name]
		if open == nil {
			have := "it has none"
			if names := slices.Sorted(maps.Keys(d.config.Streams)); len(names) > 0 {
				have = "it has " + strings.Join(names, ", ")
			}
			return nil, hosterr.Errorf(hosterr.ErrConfig, "a memory address is for programs that embed a server and name it in host.Config.Streams",
				"address %q: this program has no such stream (%s)", s.Address, have)
		}
		if s.Auth.Blob { // the program made the stream, and knows its reader
			return nil, hosterr.Configf("auth.blob: there is no sign-in on %s, which is within this program; leave it out", s.Address)
		}
		return stream.Memory{Name: name, Dial: open}, nil
	}
	to, err := stream.ParseAddress(s.Address)
	if err != nil {
		return nil, hosterr.Configf("address: %w", err)
	}
	to.TLS = secure(s)
	if a == nil || !s.Auth.Blob {
		return to, nil
	}
	// The credentials go ahead of all other bytes, and are looked up each time that a stream is
	// opened.
	return stream.Sealed{Address: to, Blob: func(ctx context.Context) ([]byte, error) {
		m, err := a.Material(ctx)
		if err != nil {
			return nil, err
		}
		return []byte(m.Blob.Reveal()), nil
	}}, nil
}

// granted returns an error if an installed plugin would get a grant that the user has not approved,
// whatever the server entry says.
func (d *Dialer) granted(via string, gs []capability.Grant) error {
	i := d.config.Modules.Files()[via].Installed
	if i == nil {
		return nil
	}
	for _, g := range gs {
		kind := g.To.Kind()
		if slices.Contains(i.Kinds, kind.String()) {
			continue
		}
		if err := d.config.Modules.CheckTransport(via); err != nil {
			return err // a plugin of another kind asks for nothing
		}
		lacks, hint := "is not granted", fmt.Sprintf("to grant it: wharf plugin grant %s %s", via, kind)
		if !slices.Contains(i.Asked, kind.String()) {
			var keys []string
			for _, asked := range []abi.OpenKind{abi.OpenProcess, abi.OpenStream, abi.OpenHTTP} {
				if slices.Contains(i.Asked, asked.String()) {
					keys = append(keys, entryKey(asked))
				}
			}
			lacks = "does not ask for"
			hint = fmt.Sprintf("write %s in the entry in place of %s", cmp.Or(strings.Join(keys, " or "), "nothing"), entryKey(kind))
		}
		err := fmt.Errorf("the entry has %s, and the plugin %s %s %s", entryKey(kind), via, lacks, kind)
		return &hosterr.Error{Kind: hosterr.ErrDenied, Err: err, Hint: hint}
	}
	return nil
}

// entryKey returns the key of a server entry that grants a kind of access.
func entryKey(kind abi.OpenKind) string { return (&capability.Denial{Kind: kind}).Key() }

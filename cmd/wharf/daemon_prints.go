package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host"
)

// prints are the fingerprints of the servers that a program in a folder would use. Two programs with
// the same fingerprint for a server may share it.
type prints struct {
	servers map[string]string
	errs    map[string]error  // of servers that are not shared
	all     string            // of all
	process map[string]string // of servers, without who may call what, which follows the configuration
	fixed   string            // of all, in the same way
}

// prints returns the fingerprints of servers, as their secrets are now. They cover what else the settings say:
// plugins, how to connect, who may call what, and where calls are kept.
func (a *app) prints(s *settings, folder string) prints {
	p := prints{servers: make(map[string]string), errs: make(map[string]error), process: make(map[string]string)}
	servers := s.wanted() // first: a project says how plugins run
	fixed, err := json.Marshal([]any{s.plugins, s.reconnect, s.maxTimeout, s.audit, s.policies})
	narrowed, wrong := s.narrowed() // if it fails, no server is shared, and each command says why
	access, unwritten := json.Marshal([]any{s.access, narrowed})
	err = errors.Join(err, wrong, unwritten)
	rest := string(fixed) + string(access)
	secrets, _ := a.openVault() // without a folder for it no server has any
	var every, everyFixed strings.Builder
	for _, server := range servers {
		print, wrong := host.Fingerprint(server, folder, secrets)
		if wrong = errors.Join(err, wrong); wrong != nil {
			p.errs[server.Name] = wrong
		}
		p.servers[server.Name] = hashed(print + rest)
		every.WriteString(p.servers[server.Name])
		p.process[server.Name] = hashed(print + string(fixed))
		everyFixed.WriteString(p.process[server.Name])
	}
	p.all, p.fixed = hashed(every.String()), hashed(everyFixed.String())
	return p
}

// of returns the fingerprint of a server, or of all for the name "".
func (p *prints) of(server string) (string, error) {
	if server != "" {
		if p.servers[server] == "" {
			return "", fmt.Errorf("it has no server %q", server)
		}
		return p.servers[server], p.errs[server]
	}
	var errs []error
	for name, err := range p.errs {
		errs = append(errs, fmt.Errorf("%s: %w", name, err))
	}
	return p.all, errors.Join(errs...)
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

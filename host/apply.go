package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/manager"
)

// Apply gives the host the servers and the plugin files of a configuration. It adds a new server
// without connecting it, closes a server that the configuration no longer has, and reloads a server
// whose entry or plugin changed, see [Session.Reload]. If only the transport changed, the new
// transport continues the session that the server keeps, if it can. All other servers keep their
// connections and their calls in flight, even if their Ping, PingTimeout or IdleStop changed. So do
// all sessions that [Host.Add] or [Host.Connect] has made.
//
// reconnect takes the place of [Config.Reconnect] for all sessions of the host. A wait that has
// begun keeps its length.
//
// A plugin counts as changed if its file was replaced by one that can be loaded. If the new file
// cannot be loaded, the host warns of it and goes on with the old plugin. Logins of a provider
// that changed are loaded again from the vault.
//
// A configuration that names a server twice is an error and changes nothing. Apply returns when
// the connections of closed servers are gone. It does not wait for those of reloaded servers.
// Callbacks may call it.
func (h *Host) Apply(servers []Server, files map[string]config.Plugin, reconnect config.Reconnect) error {
	return h.ApplyClient(h.config.Client, servers, files, reconnect)
}

// ApplyClient is [Host.Apply] with a client of its own in place of [Config.Client], for the servers that it
// adds.
func (h *Host) ApplyClient(c Client, servers []Server, files map[string]config.Plugin, reconnect config.Reconnect) error {
	h.applying.Lock()
	defer h.applying.Unlock()
	wanted := make(map[string]Server)
	for _, entry := range servers {
		if _, twice := wanted[entry.Name]; twice {
			return hosterr.Configf("apply: two servers are called %q", entry.Name)
		}
		wanted[entry.Name] = entry
	}
	changed, err := h.modules.Replace(h.open, files)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	h.dialer.Accounts.Dismiss(changed)
	errs := []error{h.drop(wanted)}
	h.mu.Lock()
	h.reconnect = reconnect
	h.mu.Unlock()
	for _, entry := range servers {
		errs = append(errs, h.update(c, entry, changed))
	}
	for _, s := range h.all() {
		s.driver.SetPolicy(manager.Policy(reconnect))
	}
	return errors.Join(errs...)
}

// Session returns the session of the server that [Host.Apply] added under that name, or nil.
func (h *Host) Session(name string) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers[name]
}

// drop closes the sessions whose names are not in wanted, at the same time.
func (h *Host) drop(wanted map[string]Server) error {
	var unwanted []*Session
	h.mu.Lock()
	for name, s := range h.servers {
		if _, ok := wanted[name]; !ok {
			unwanted = append(unwanted, s)
			delete(h.servers, name)
		}
	}
	h.mu.Unlock()
	return onAll(unwanted, (*Session).Close)
}

// update adds a server, or reloads it if its entry, its provider or its transport changed. Where
// only the transport changed, the new transport continues the session.
func (h *Host) update(c Client, entry Server, plugins map[string]bool) error {
	s := h.Session(entry.Name)
	if s == nil {
		s, err := h.AddClient(entry, c)
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.servers[entry.Name] = s
		return nil
	}
	was := *s.entry.Load()
	rhythm := was.Ping != entry.Ping || was.PingTimeout != entry.PingTimeout || was.IdleStop != entry.IdleStop
	was.Ping, was.PingTimeout, was.IdleStop = entry.Ping, entry.PingTimeout, entry.IdleStop
	old, errOld := json.Marshal(was) // compares what the entry says, and not where it is written
	now, errNow := json.Marshal(entry)
	same := errOld == nil && errNow == nil && bytes.Equal(old, now)
	if !same || plugins[h.dialer.Accounts.Provider(entry)] {
		return s.Reload(entry)
	}
	if slices.ContainsFunc(h.dialer.Routes(entry), func(via string) bool { return plugins[via] }) {
		s.replaceEntry(entry, manager.Change{SameEntry: true})
	} else if rhythm {
		s.savedLists.Lock()
		before := s.entry.Swap(&entry)
		if known := s.harmless.Load(); known != nil && known.of == before {
			s.harmless.Store(&harmlessTools{&entry, known.names})
		}
		s.savedLists.Unlock()
	}
	return nil
}

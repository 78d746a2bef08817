package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/modules"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// DefaultMessageCap is the longest inbound message, in bytes, unless the entry says otherwise.
const DefaultMessageCap = 16 << 20

// attempt makes one connection of a session to a server, over one transport.
type attempt struct {
	dialer    *Dialer
	server    config.Server
	via       string // the name of the plugin
	transport *modules.Transport
	grants    []capability.Grant
	account   *SharedAccount // nil if the server needs no sign-in
}

// attempt returns the attempt to connect a server over the transport via. It checks the entry as
// far as that is possible before anything is started.
func (d *Dialer) attempt(ctx context.Context, s config.Server, via string) (*attempt, error) {
	if via == "" {
		return nil, hosterr.Configf("it has no command, url or transport")
	}
	if !d.config.Modules.Has(via) {
		known, have := d.config.Modules.Transports(), "no plugins are loaded"
		if len(known) > 0 {
			have = "there is " + strings.Join(known, ", ")
		}
		hint := hosterr.AddPlugin(via)
		if ours := config.TransportOf(via); d.config.Modules.Has(ours) {
			hint = fmt.Sprintf("write transport = %q", ours)
		} else if meant := config.TransportMeant(via); ours == "" && d.config.Modules.Has(meant) {
			hint = fmt.Sprintf("did you mean transport = %q?", meant)
		}
		return nil, hosterr.Errorf(hosterr.ErrUnknownTransport, hint, "no transport is called %q (%s)", via, have)
	}
	if s.MessageCap <= 0 {
		s.MessageCap = DefaultMessageCap
	}
	account, err := d.Accounts.Of(s)
	if err != nil {
		return nil, err
	}
	gs, err := d.grants(s, via, account)
	if err == nil {
		err = d.granted(via, gs)
	}
	if err != nil {
		return nil, err
	}
	t, err := d.transport(ctx, via, account)
	if err != nil {
		return nil, err
	}
	d.secrets.entry(s)
	return &attempt{dialer: d, server: s, via: via, transport: t, grants: gs, account: account}, nil
}

// Reread returns a server entry with its secrets as they are now.
type Reread func(context.Context) (config.Server, error)

// reread has the headers read anew when the server refuses them. It is nil if they cannot change.
func (a *attempt) reread(entry Reread) {
	for _, g := range a.grants {
		o, ok := g.To.(*httpclient.Origin)
		if !ok || entry == nil || len(a.server.Headers) == 0 {
			continue
		}
		o.Reread = func(ctx context.Context) ([]abi.Pair, error) {
			s, err := entry(ctx)
			if err != nil {
				return nil, err
			}
			now, err := origin(s)
			if err != nil {
				return nil, err
			}
			a.dialer.secrets.entry(s)
			return now.Headers, nil
		}
	}
}

// dial starts a guest with a table of capabilities and a peer of its own. The connection may be
// used at once. If it cannot be made, it ends and its error says why. If old is not nil, the guest
// goes on where the guest of old stopped; if the plugin has another name now, dial returns no
// connection.
func (a *attempt) dial(ctx context.Context, handler rpc.Handler, old *connection) (*session.Dialed, error) {
	var given []byte
	var last uint64 // the number of the last message of the session so far
	if old != nil {
		given, last = old.saved.read(), old.peer.Last()
	}
	c, err := a.start(ctx, given)
	if err != nil {
		return nil, err
	}
	manifest := c.inst.Manifest()
	if old != nil && manifest.Name != old.inst.Manifest().Name {
		return nil, c.inst.Close(ctx)
	}
	set, err := a.settings(&manifest)
	if err == nil {
		a.openMemoryAs(&manifest)
		c.table, err = a.table(ctx, c.stderr)
	}
	if err != nil {
		c.inst.Close(ctx)
		return nil, err
	}
	c.trace = a.dialer.config.Trace.Connect(a.server.Name, a.via)
	message, dropped := a.observers(c)
	c.peer = rpc.NewPeer(rpc.Config{
		Link: link{c}, Handler: handler, After: last, Timeout: a.dialer.timeout(a.server), Aside: a.dialer.config.Modules.LoadTime,
		Trace: message, Dropped: dropped, Broken: c.breakOff, Status: c.inst.Status, ReadFor: c.inst.ReadFor,
	})
	c.inst.Open(set, given, c.table, receiver{c.peer, c})
	return &session.Dialed{
		Peer: c.peer, Transport: c,
		StreamCancel: manifest.Cancel == abi.CancelByStream, Probe: manifest.Probe,
	}, nil
}

// openMemoryAs lets a plugin that opens a process, such as stdio, carry a stream within the program.
func (a *attempt) openMemoryAs(m *abi.Manifest) {
	for i, g := range a.grants {
		memory, ok := g.To.(stream.Memory)
		if kind, err := streamOf(m, a.via); ok && err == nil { // else what the plugin opens is denied
			memory.As = kind
			a.grants[i].To = memory
		}
	}
}

// start starts the guest of a connection. The caller gives it a table and a peer, and opens it. given
// is the state that the guest of an earlier connection saved, or nil.
func (a *attempt) start(ctx context.Context, given []byte) (*connection, error) {
	d, name := a.dialer, a.server.Name
	c := &connection{secrets: d.secrets.shown, warn: d.config.Warn, server: &a.server, account: a.account, saved: &savedState{text: given}, key: a.resumeKey()}
	c.ended, c.end = context.WithCancel(context.Background())
	if d.stderr.to != nil {
		c.stderr = newStderrWriter(&d.stderr, name, d.secrets.shown.Stream())
	}
	config := guest.Config{
		Plugin: a.via, Module: a.transport.Module, Remote: a.transport.Apart,
		Limits: guest.Limits{MessageCap: a.server.MessageCap},
		Trace:  d.config.Print.ABI(name), Log: a.log, Save: c.saved.write,
	}
	if recorder := d.config.Record; recorder != nil {
		c.recording = recorder.Connect(name, a.via, a.transport.Hash)
		config.Observer, config.Now, config.Random = c.recording, c.recording.Now, c.recording
	}
	var err error
	c.inst, err = guest.New(ctx, config)
	switch {
	case errors.As(err, new(*worker.RefusedError)): // a load in this process would have found the same error
		return nil, &hosterr.Error{Kind: hosterr.ErrPluginRefused, Err: err}
	case err != nil:
		return nil, err
	}
	return c, nil
}

// observers returns two functions for a connection. The first gets its messages, for the printer
// and the trace, and is nil if there is neither. The second gets input that is no message, and tells
// [connection.dropped], the printer and the trace.
func (a *attempt) observers(c *connection) (message func(sent bool, msg []byte), dropped func(why error, msg []byte)) {
	print, printDropped := a.dialer.config.Print.RPC(a.server.Name), a.dialer.config.Print.Dropped(a.server.Name)
	message = print
	if c.trace != nil {
		message = func(sent bool, msg []byte) {
			if print != nil {
				print(sent, msg)
			}
			c.trace.Message(sent, c.peer.Version(), msg)
		}
	}
	dropped = func(why error, msg []byte) {
		c.dropped(why, msg)
		if printDropped != nil {
			printDropped(why, msg)
		}
		if c.trace != nil {
			c.trace.Dropped(c.peer.Version(), why, msg)
		}
	}
	return message, dropped
}

// settings returns the settings of the entry that the plugin reads. A setting that the plugin does
// not read is an error, because it would silently do nothing.
func (a *attempt) settings(m *abi.Manifest) (*abi.Settings, error) {
	given := maps.Clone(a.server.Settings)
	if given == nil {
		given = make(map[string]string)
	}
	if a.server.Framing != "" {
		given["framing"] = a.server.Framing
	}
	out := &abi.Settings{Server: a.server.Name, MessageCap: uint32(a.server.MessageCap)}
	var known []string
	for _, want := range m.Settings {
		known = append(known, want.Key)
		if value, ok := given[want.Key]; ok {
			out.Values = append(out.Values, abi.Pair{Key: want.Key, Value: value})
			delete(given, want.Key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		return nil, hosterr.Configf("transport %s has no setting %q; it has %s",
			a.via, key, cmp.Or(strings.Join(known, ", "), "none: take it out of the entry"))
	}
	for _, g := range a.grants {
		out.Grants = append(out.Grants, abi.Grant{Kind: g.To.Kind(), Name: g.Name})
	}
	return out, nil
}

// table makes the table of a connection. A process gets the variables that sign it in.
func (a *attempt) table(ctx context.Context, stderr *stderrWriter) (*capability.Table, error) {
	c := capability.Config{Grants: slices.Clone(a.grants), Grace: a.dialer.config.grace()}
	if a.account != nil && len(a.server.Auth.Variables) > 0 {
		m, err := a.account.Material(ctx) // each time that the process is started
		if err != nil {
			return nil, err
		}
		for i, g := range c.Grants {
			if p, ok := g.To.(process.Process); ok {
				p.Env = slices.Clone(p.Env)
				for _, name := range slices.Sorted(maps.Keys(m.Env)) {
					p.Env = append(p.Env, name+"="+m.Env[name].Reveal())
				}
				c.Grants[i].To = p
			}
		}
	}
	c.Limits.Answer = max(2*int64(a.server.MessageCap), 1<<20) // room for bytes that are no message
	if stderr != nil {
		c.Stderr = stderr
	}
	return capability.NewTable(c), nil
}

// log passes on a plugin's log lines, from warnings up. The plugin is running while log is called.
func (a *attempt) log(level abi.Level, text string) {
	if level >= abi.LevelWarn {
		a.dialer.config.Warn(a.server.Name, "plugin "+a.via+": "+text)
	}
}

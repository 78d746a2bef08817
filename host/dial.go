package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
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

// defaultMessageCap is how long an inbound message may be unless the entry
// says otherwise, in bytes.
const defaultMessageCap = 16 << 20

// dialer makes a connection of a session.
type dialer struct {
	host   *Host
	server Server
	via    string // the plugin's name
	module *modules.Transport
	grants []capability.Grant

	account *account // nil where nothing signs in
}

// dialer checks what can be known of an entry before anything is started.
func (h *Host) dialer(ctx context.Context, s Server, via string) (*dialer, error) {
	if via == "" {
		return nil, hosterr.Configf("it has no command, url or transport")
	}
	if known := h.Transports(); !slices.Contains(known, via) {
		return nil, unknownTransport(via, known)
	}
	if s.MessageCap <= 0 {
		s.MessageCap = defaultMessageCap
	}
	a, err := h.account(s)
	if err != nil {
		return nil, err
	}
	gs, err := h.grants(s, via, a)
	if err == nil {
		err = h.bounded(s, via, gs)
	}
	if err != nil {
		return nil, err
	}
	m, err := h.modules.Transport(ctx, via)
	if err == nil {
		err = m.Compile(ctx, via)
	}
	if err != nil {
		return nil, err
	}
	if a != nil {
		a.Prepare(ctx)
	}
	h.secrets.entry(s)
	return &dialer{host: h, server: s, via: via, module: m, grants: gs, account: a}, nil
}

// grants turns a server entry into what its plugin may open.
func (h *Host) grants(s Server, via string, a *account) ([]capability.Grant, error) {
	var gs []capability.Grant
	if s.Command != "" {
		gs = append(gs, capability.Grant{Name: modules.MainGrant, To: process.Process{
			Command: s.Command, Args: s.Args, Env: environ(s.Env), Dir: s.Dir,
		}})
	}
	if s.Address != "" {
		to, err := h.stream(s, a)
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
			o.Credentials, o.SignedPath = a, signedPath(o, via)
		}
		gs = append(gs, capability.Grant{Name: modules.MainGrant, To: o})
	}
	return gs, nil
}

// sealed puts what signs in before the streams of an address, where the entry
// says so. It is asked for each time that one is opened.
func sealed(s Server, to stream.Address, a *account) capability.Target {
	if a == nil || !s.Auth.Blob {
		return to
	}
	return stream.Sealed{Address: to, Blob: func(ctx context.Context) ([]byte, error) {
		m, err := a.Material(ctx)
		if err != nil {
			return nil, err
		}
		return []byte(m.Blob.Reveal()), nil
	}}
}

// origin returns where the url of an entry leads.
func origin(s Server) (*httpclient.Origin, error) {
	o, err := httpclient.ParseOrigin(s.URL)
	if err != nil {
		return nil, hosterr.Configf("%w", err)
	}
	o.Headers, o.Proxy = headers(s.Headers), s.Proxy
	o.TLS = secure(s)
	if err := o.Check(); err != nil {
		return nil, hosterr.Configf("%w", err)
	}
	return o, nil
}

// secure returns how a server over TLS is known, and what it is shown.
func secure(s Server) dial.TLS {
	return dial.TLS{CAFile: s.TLS.CA, CertFile: s.TLS.Cert, KeyFile: s.TLS.Key, Name: s.TLS.Name}
}

// headers returns the configured headers, sorted by name.
func headers(fields map[string]string) []abi.Pair {
	pairs := make([]abi.Pair, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		pairs = append(pairs, abi.Pair{Key: name, Value: fields[name]})
	}
	return pairs
}

// environ returns variables as NAME=value, sorted.
func environ(vars map[string]string) []string {
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// dial starts a guest with a world and a peer of its own. The connection may be
// used at once; if it cannot be made, it ends and says why.
func (d *dialer) dial(ctx context.Context, handler rpc.Handler) (*session.Dialed, error) {
	return d.launch(ctx, handler, nil)
}

// launch is dial. Where old is not nil, the guest goes on where that of old stopped;
// there is no connection if it turns out to be another plugin.
func (d *dialer) launch(ctx context.Context, handler rpc.Handler, old *connection) (*session.Dialed, error) {
	var given []byte
	var last uint64
	if old != nil {
		given, last = old.book.read(), old.peer.Last()
	}
	c := &connection{redact: d.host.Redact, book: newLogbook(given), stderr: d.stderr(), ended: make(chan struct{})}
	if err := d.board(ctx, c); err != nil {
		return nil, err
	}
	manifest := c.inst.Manifest()
	if old != nil && manifest.Name != old.inst.Manifest().Name {
		return nil, c.inst.Close(ctx)
	}
	set, err := d.settings(&manifest)
	if err == nil {
		c.table, err = d.table(ctx, c.stderr)
	}
	if err != nil {
		c.inst.Close(ctx)
		return nil, err
	}
	c.trace = d.host.config.Trace.Connect(d.server.Name, d.via)
	c.peer = rpc.NewPeer(d.peer(c, handler, last))
	c.inst.Open(set, given, c.table, receiver{c})
	return &session.Dialed{
		Peer: c.peer, Transport: c,
		StreamCancel: manifest.Cancel == abi.CancelByStream, Probe: manifest.Probe,
	}, nil
}

// board starts the guest of a connection.
func (d *dialer) board(ctx context.Context, c *connection) (err error) {
	config := guest.Config{
		Plugin: d.via,
		Module: d.module.Module,
		Remote: d.module.Apart,
		Limits: guest.Limits{MessageCap: d.server.MessageCap},
		Trace:  d.host.config.Print.ABI(d.server.Name),
		Log:    d.log,
		Save:   c.book.write,
	}
	c.mark = d.mark()
	if recorder := d.host.config.Record; recorder != nil {
		c.recording = recorder.Connect(d.server.Name, d.via, d.module.Hash)
		config.Observer, config.Now, config.Random = c.recording, c.recording.Now, c.recording
	}
	c.inst, err = guest.New(ctx, config)
	if errors.As(err, new(*worker.Refusal)) { // which a load in this process would have found
		err = &hosterr.Error{Kind: ErrPluginRefused, Err: err}
	}
	return err
}

// observers returns what sees the messages of a connection: the functions of the printer
// and the trace. Each is nil if there is no such observer.
func (d *dialer) observers(c *connection) (message func(sent bool, msg []byte), dropped func(why error, msg []byte)) {
	print, printDropped := d.host.config.Print.RPC(d.server.Name), d.host.config.Print.Dropped(d.server.Name)
	if c.trace == nil {
		return print, printDropped
	}
	message = func(sent bool, msg []byte) {
		if print != nil {
			print(sent, msg)
		}
		c.trace.Message(sent, c.peer.Version(), msg)
	}
	dropped = func(why error, msg []byte) {
		if printDropped != nil {
			printDropped(why, msg)
		}
		c.trace.Dropped(c.peer.Version(), why, msg)
	}
	return message, dropped
}

// settings picks what the plugin reads from the entry. A setting that it does
// not read is an error, because it would silently do nothing.
func (d *dialer) settings(m *abi.Manifest) (*abi.Settings, error) {
	given := maps.Clone(d.server.Settings)
	if given == nil {
		given = make(map[string]string)
	}
	if d.server.Framing != "" {
		given["framing"] = d.server.Framing
	}
	out := &abi.Settings{Server: d.server.Name, MessageCap: uint32(d.server.MessageCap)}
	var known []string
	for _, want := range m.Settings {
		known = append(known, want.Key)
		if value, ok := given[want.Key]; ok {
			out.Values = append(out.Values, abi.Pair{Key: want.Key, Value: value})
			delete(given, want.Key)
		}
	}
	for key := range given {
		return nil, hosterr.Configf("transport %s has no setting %q; it has: %s",
			d.via, key, strings.Join(known, ", "))
	}
	for _, g := range d.grants {
		out.Grants = append(out.Grants, abi.Grant{Kind: g.To.Kind(), Name: g.Name})
	}
	return out, nil
}

// stderr returns where a connection's servers write theirs, or nil.
func (d *dialer) stderr() *stderrWriter {
	if d.host.stderr.to == nil {
		return nil
	}
	return newStderrWriter(&d.host.stderr, d.server.Name, d.host.secrets.shown.Stream())
}

// table makes what a connection may open, and says how it ends.
func (d *dialer) table(ctx context.Context, stderr *stderrWriter) (*capability.Table, error) {
	grants, err := d.signedIn(ctx)
	if err != nil {
		return nil, err
	}
	c := capability.Config{Grants: grants}
	c.Limits.Answer = max(2*int64(d.server.MessageCap), 1<<20) // room for what is no message
	if d.host.config.OneShot {
		c.Grace = capability.OneShot()
	}
	if stderr != nil {
		c.Stderr = stderr
	}
	return capability.NewTable(c), nil
}

// signedIn returns the grants, and in the variables of a process what signs it
// in. That is asked for each time that the process is started.
func (d *dialer) signedIn(ctx context.Context) ([]capability.Grant, error) {
	if d.account == nil || len(d.server.Auth.Variables) == 0 {
		return d.grants, nil
	}
	m, err := d.account.Material(ctx)
	if err != nil {
		return nil, err
	}
	grants := slices.Clone(d.grants)
	for i, g := range grants {
		if p, ok := g.To.(process.Process); ok {
			p.Env = slices.Clone(p.Env)
			for _, name := range slices.Sorted(maps.Keys(m.Env)) {
				p.Env = append(p.Env, name+"="+m.Env[name].Reveal())
			}
			grants[i].To = p
		}
	}
	return grants, nil
}

// peer returns what the peer of c is made of; last is the number of the last message
// of the session so far.
func (d *dialer) peer(c *connection, handler rpc.Handler, last uint64) rpc.Config {
	trace, dropped := d.observers(c)
	return rpc.Config{
		Link:    link{c},
		Name:    d.server.Name,
		Handler: handler,
		After:   last,
		Timeout: d.host.timeout(d.server),
		Trace:   trace,
		Dropped: dropped,
		Broken:  c.breakOff,
		Status:  c.inst.Status,
	}
}

// log passes on what a plugin says, from warnings up. It is called from within
// the plugin.
func (d *dialer) log(level abi.Level, text string) {
	if level >= abi.LevelWarn {
		d.host.warn(d.server.Name, "plugin "+d.via+": "+text)
	}
}

// timeout returns what a request to a server may take; 0 is no limit.
func (h *Host) timeout(s Server) time.Duration {
	if s.Timeout != 0 {
		return max(s.Timeout, 0)
	}
	return max(h.config.Timeout, 0)
}

// warn tells of something odd. It may be called from anywhere, and returns at once.
func (h *Host) warn(server, text string) {
	h.warnings.add(Event{Server: server, Warning: text})
}

func (h *Host) hear(e Event) {
	if h.config.Event != nil {
		h.config.Event(e)
	}
}

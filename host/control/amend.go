package control

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/config/amend"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// maxOffers is how many additions of an editor wait for its confirmation; another takes the place of the
// oldest.
const maxOffers = 8

// offers are the additions that an editor was shown and has not confirmed.
type offers struct {
	mu   sync.Mutex
	list []offer
}

type offer struct {
	handle string
	until  time.Time
	change *amend.Change
}

// keep keeps an addition, and returns the name for it.
func (o *offers) keep(change *amend.Change, now time.Time) (handle string, until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) == maxOffers {
		o.list = slices.Delete(o.list, 0, 1)
	}
	one := offer{handle: rand.Text(), until: now.Add(callbackTime), change: change}
	o.list = append(o.list, one)
	return one.handle, one.until
}

// take returns an addition, which no other call gets then, or nil.
func (o *offers) take(handle string, now time.Time) *amend.Change {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.IndexFunc(o.list, func(one offer) bool { return one.handle == handle })
	if at < 0 {
		return nil
	}
	one := o.list[at]
	o.list = slices.Delete(o.list, at, at+1)
	if now.After(one.until) {
		return nil
	}
	return one.change
}

// file opens the configuration that editors change.
func (c *Control) file(method string) (*Source, *tomledit.File, error) {
	src, err := c.source(method)
	if err != nil {
		return nil, nil, err
	}
	f, err := tomledit.Open(src.Path)
	if err != nil {
		return nil, nil, unfit(method, err)
	}
	return src, f, nil
}

// addServer shows what an entry would do. Nothing is written before the editor confirms it.
func addServer(_ context.Context, e *editor, p *AddServerParams) (*AddServerResult, error) {
	_, f, err := e.control.file("servers/add")
	if err != nil {
		return nil, err
	}
	if p.Entry == nil {
		return nil, invalid(KindParams, hintSchema, "servers/add: entry is missing")
	}
	entry, err := amend.ReadEntry(f.Path, p.Entry)
	if err != nil {
		return nil, invalid(KindParams, "entry has a name, and the keys of [servers.NAME] in a configuration", "servers/add: %v", err)
	}
	change, err := amend.Add(f, entry, p.Replace)
	if err != nil {
		return nil, unfit("servers/add", err)
	}
	handle, until := e.offers.keep(change, time.Now())
	return &AddServerResult{Handle: handle, Until: until, Lines: change.Lines, Needs: e.control.needs(entry)}, nil
}

// confirmServer writes what the editor was shown, and nothing else.
func confirmServer(ctx context.Context, e *editor, p *ConfirmParams) (*Server, error) {
	change := e.offers.take(p.Handle, time.Now())
	if change == nil {
		return nil, invalid(KindUnknownHandle, "call servers/add again, and show its lines", "servers/confirm: nothing waits under that handle: it was confirmed, has expired, or is of another editor")
	}
	src, err := e.control.source("servers/confirm")
	if err == nil {
		err = unfit("servers/confirm", change.Write(ctx))
	}
	if err != nil {
		return nil, err
	}
	if change.Was != nil {
		if err := src.forget(ctx, change); err != nil {
			return nil, err
		}
	}
	return e.control.changed(change.Name)
}

// removeServer takes a server out of the configuration, with what was kept for it, if the person agrees.
func removeServer(ctx context.Context, e *editor, p *ServerParams) (*Empty, error) {
	src, change, err := e.control.amend(ctx, "servers/remove", p.Server, amend.Remove)
	if err != nil {
		return nil, err
	}
	if err := src.forget(ctx, change); err != nil {
		return nil, err
	}
	return &Empty{}, e.control.reload()
}

func enableServer(ctx context.Context, e *editor, p *ServerParams) (*Server, error) {
	return setEnabled(ctx, e, "servers/enable", p.Server, true)
}

func disableServer(ctx context.Context, e *editor, p *ServerParams) (*Server, error) {
	return setEnabled(ctx, e, "servers/disable", p.Server, false)
}

// setEnabled turns a server on or off, for other programs and later runs too. The person agrees to turn one on.
func setEnabled(ctx context.Context, e *editor, method, name string, on bool) (*Server, error) {
	_, _, err := e.control.amend(ctx, method, name, func(f *tomledit.File, name string) (*amend.Change, error) { return amend.Enable(f, name, on) })
	if err != nil {
		return nil, err
	}
	return e.control.changed(name)
}

// amend makes a change of a server. A grave one is asked of the editor first, and written as it was shown.
func (c *Control) amend(ctx context.Context, method, name string, change func(*tomledit.File, string) (*amend.Change, error)) (*Source, *amend.Change, error) {
	src, f, err := c.file(method)
	if err != nil {
		return nil, nil, err
	}
	made, err := change(f, name)
	switch {
	case err == nil && len(made.Grave) == 0:
		err = made.Merge(ctx)
	case err == nil:
		if err = c.consents(ctx, made); err == nil {
			err = made.Write(ctx)
		}
	}
	if errors.As(err, new(*amend.GoneError)) {
		return nil, nil, invalid(KindUnknownServer, "config/get tells which servers there are, and of which file of a project; that is only read", "%s: %v", method, err)
	}
	return src, made, unfit(method, err)
}

// changed has the servers be those of the file that was just written, and returns the state of one.
func (c *Control) changed(name string) (*Server, error) {
	if err := c.reload(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	s := c.servers[name]
	c.mu.Unlock()
	if s == nil {
		return nil, &fault{CodeFailed, "the change is written, and " + name + " is not among the servers: the file has been changed again", ErrorData{Kind: KindChanged}}
	}
	state := c.state(s)
	return &state, nil
}

// forget removes what was kept for the entry that a change has taken out.
func (s *Source) forget(ctx context.Context, change *amend.Change) error {
	if s.Forget == nil {
		return nil
	}
	return s.Forget(ctx, change.File, *change.Was)
}

// editConfig sets and removes keys of the configuration. What adds or changes a command, an address, a
// plugin, a grant or the environment, turns a server on or takes one out, is asked of the editor first, in full.
func editConfig(ctx context.Context, e *editor, p *EditParams) (*EditResult, error) {
	c := e.control
	_, f, err := c.file("config/edit")
	if err != nil {
		return nil, err
	}
	if len(p.Edits) == 0 {
		return nil, invalid(KindParams, hintSchema, "config/edit: edits is missing, or an empty list")
	}
	edits := make([]amend.Edit, len(p.Edits))
	for i, one := range p.Edits {
		if edits[i], err = one.read(); err != nil {
			return nil, invalid(KindParams, hintSchema, "config/edit: edits[%d]: %v", i, err)
		}
	}
	change, err := amend.Edits(f, edits)
	if err != nil {
		return nil, unfit("config/edit", err)
	}
	if len(change.Grave) > 0 {
		if err := c.consents(ctx, change); err != nil {
			return nil, err
		}
	}
	if slices.Equal(change.Text, f.Text) {
		return &EditResult{}, nil
	}
	if err := change.Write(ctx); err != nil {
		return nil, unfit("config/edit", err)
	}
	return &EditResult{Changed: true, Asked: change.Grave}, c.reload()
}

func (e *ConfigEdit) read() (edit amend.Edit, err error) {
	edit.Path = e.Path
	switch {
	case e.Op == OpSet && e.Value != nil:
		edit.Value, err = amend.ReadValue(e.Value)
	case e.Op != OpUnset || e.Value != nil:
		err = errors.New(`expected op "set" with a value, or "unset" without`)
	}
	return edit, err
}

// unfit is the error of a change that does not fit the configuration as it is.
func unfit(method string, err error) error {
	var own *fault
	switch {
	case err == nil || errors.As(err, &own) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, tomledit.ErrChanged):
		return &fault{CodeFailed, method + ": the configuration has been changed since, and nothing is written", ErrorData{
			Kind: KindChanged, Hint: "look at what there is now, and begin again"}}
	case errors.As(err, new(*amend.TakenError)):
		return invalid(KindTaken, "give it another name, or say replace", "%s: %v", method, err)
	}
	return &fault{CodeFailed, method + ": " + err.Error(), ErrorData{Kind: KindConfiguration}}
}

package control

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/inventory"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/policy"
)

// Configuration is what editors are served with.
type Configuration struct {
	Servers   []host.Server            // in the order in which editors list them; no two have the same name
	Plugins   map[string]config.Plugin // the files of plugins, as in host.Config
	Reconnect config.Reconnect         // as in host.Config
	Warnings  []string                 // what is wrong with parts of it that are not used

	// Restart are the keys at the top of the file whose values are others than those with which the program
	// was started, and that it goes by until it ends.
	Restart []string

	// Access is who may call what. The program has a decider of its own that goes by it; here it only says
	// whether the configuration is another one.
	Access [][]policy.Table
}

// Source is where the configuration comes from. With it, editors look at the configuration and change it.
// Its functions may be called from any goroutine, one at a time.
type Source struct {
	// Path is the file that editors change, in TOML. It need not exist.
	Path string

	// Read reads the configuration anew.
	Read func() (*Configuration, error)

	// Follow calls changed whenever the configuration may have changed, until ctx ends. Without it, only
	// an editor has it read anew.
	Follow func(ctx context.Context, changed func())

	// Forget removes what was kept for an entry that is not in the file any more; nil keeps nothing.
	Forget func(ctx context.Context, f *tomledit.File, was host.Server) error

	// Installed are the installed plugins; nil is none.
	Installed *pluginstore.Store
}

// check refuses servers that cannot be told apart.
func (c *Configuration) check() error {
	for i, s := range c.Servers {
		if s.Name == "" || slices.ContainsFunc(c.Servers[:i], func(other host.Server) bool { return other.Name == s.Name }) {
			return fmt.Errorf("control: the name %q of a server is empty, or there twice", s.Name)
		}
	}
	return nil
}

// begin makes the sessions of the servers, for the first editor. What it can answer decides what servers
// are told of the client, until they are restarted. Of later editors, one that cannot answer declines.
func (c *Control) begin(e *editor) {
	c.configuring.Lock()
	defer c.configuring.Unlock()
	c.mu.Lock()
	begun, now := c.servers != nil || c.closed || e.gone, c.configuration
	c.mu.Unlock()
	if begun {
		return
	}
	c.client = c.clientOf(e)
	c.apply(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		watch := c.host.Watch()
		c.running.Go(func() { c.follow(watch) })
	}
}

// represent has a server be told, from its next connection on, what the editors that are there now can answer.
func (c *Control) represent(s *host.Session) error {
	c.configuring.Lock()
	defer c.configuring.Unlock()
	c.mu.Lock()
	editors := slices.Clone(c.editors)
	c.mu.Unlock()
	if len(editors) > 0 {
		c.client = c.clientOf(editors...)
	}
	return s.Represent(c.client)
}

// apply gives the host a configuration. Servers whose entries are as before keep their connections. The
// caller holds c.configuring.
func (c *Control) apply(next *Configuration) {
	err := c.host.ApplyClient(c.client, next.Servers, next.Plugins, next.Reconnect)
	servers := make(map[string]*server)
	for _, entry := range next.Servers {
		s := &server{entry: entry, session: c.host.Session(entry.Name), watched: new(sync.Once)}
		if s.session == nil {
			s.err = errors.Join(err, &fault{CodeFailed, entry.Name + ": the server could not be added", ErrorData{Kind: KindConfiguration}})
		}
		servers[entry.Name] = s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, s := range servers {
		if old := c.servers[name]; old != nil && old.session == s.session {
			s.watched = old.watched
		}
	}
	c.servers, c.configuration = servers, next
}

// reload reads the configuration anew. Editors are told if it is another now, or cannot be read: then the
// servers stay as they are.
func (c *Control) reload() error {
	c.configuring.Lock()
	defer c.configuring.Unlock()
	seen := c.visible()
	next, err := c.config.Source.Read()
	if err == nil {
		err = next.check()
	}
	if err != nil {
		err = &fault{CodeFailed, "the configuration cannot be used, and the servers are as before: " + err.Error(), ErrorData{
			Kind: KindConfiguration, Hint: "mend the file; it is read again when it has changed"}}
		if c.unread != err.Error() {
			c.unread = err.Error()
			c.events.add(Event{Kind: ConfigChanged, Text: c.host.Redact(err.Error())})
		}
		return err
	}
	c.mu.Lock()
	before, begun, closed := c.configuration, c.servers != nil, c.closed
	if !begun {
		c.configuration = next
	}
	c.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case begun:
		c.apply(next)
	}
	if c.unread != "" || !reflect.DeepEqual(before, next) {
		c.unread = ""
		c.events.add(Event{Kind: ConfigChanged, Restart: next.Restart})
	}
	c.tellOfAccess(seen)
	return nil
}

// source returns where the configuration comes from, or an error if editors may not look at that.
func (c *Control) source(method string) (*Source, error) {
	if c.config.Source == nil {
		return nil, &fault{CodeFailed, method + ": this program has no configuration that an editor may look at", ErrorData{Kind: KindUnsupported}}
	}
	return c.config.Source, nil
}

// getConfig tells what is configured, without secrets.
func getConfig(ctx context.Context, e *editor, _ *Empty) (*Configured, error) {
	c := e.control
	src, err := c.source("config/get")
	if err != nil {
		return nil, err
	}
	now := c.now()
	list, err := c.keepers(now).List(ctx, now.Servers)
	if err != nil {
		return nil, err
	}
	return &Configured{File: src.Path, Servers: list, Warnings: now.Warnings, Restart: now.Restart}, nil
}

// keepers know what is kept of servers beside a configuration.
func (c *Control) keepers(now *Configuration) inventory.Keepers {
	return inventory.Keepers{Trust: c.trust(now), Vault: c.vault}
}

func reloadConfig(ctx context.Context, e *editor, p *Empty) (*Configured, error) {
	if _, err := e.control.source("config/reload"); err != nil {
		return nil, err
	}
	if err := e.control.reload(); err != nil {
		return nil, err
	}
	return getConfig(ctx, e, p)
}

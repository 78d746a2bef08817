// Package connect makes the connections of a host. From the entry of a server it determines the
// grants, the account that signs in and the plugin of the transport. It returns a connection on
// which a session is open.
//
//	entry ──► routes ──► account, grants, transport ──► guest, table, peer ──► handshake
//	          Connect    attempt                        dial                   session.Connect
package connect

import (
	"context"
	"io"
	"sync"
	"time"
	"weak"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/modules"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/replay"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Config configures all connections of a dialer. Modules, LookupEnv and Warn are required.
type Config struct {
	Modules   *modules.Cache
	LookupEnv func(name string) (string, bool)                             // looks up the variables in the auth tables of the user's own entries
	Vault     *vault.Vault                                                 // keeps the results of sign-ins; nil keeps nothing
	Streams   map[string]func(context.Context) (io.ReadWriteCloser, error) // connect to servers within the program, by name

	Client       mcp.Implementation
	Timeout      time.Duration // of a request; below 0 is none
	StartTimeout time.Duration // of the start of a server; 0 is that of package session, below 0 is none
	OneShot      bool          // gives servers little time to end

	Person *signin.Person // signs in; nil if there is no person

	Print  *trace.Printer
	Trace  *trace.Recorder
	Record *replay.Recorder
	Stderr io.Writer // gets the stderr of servers; nil drops it

	// Warn gets a text for people about an oddity of a server. It may be called from any goroutine,
	// and must return at once.
	Warn func(server, text string)
}

// grace returns how long servers may take to end.
func (c *Config) grace() capability.Grace {
	if c.OneShot {
		return capability.OneShot()
	}
	return capability.Grace{}
}

// Dialer makes connections. All methods are safe for concurrent use.
type Dialer struct {
	Accounts *Accounts

	config  Config
	secrets redaction
	stderr  stderrLog

	mu    sync.Mutex
	found map[string]string // by url: the transport that it last connected over
}

// New returns a dialer.
func New(c Config) *Dialer {
	secrets := newRedaction(&c)
	ending, end := context.WithCancel(context.Background())
	return &Dialer{
		Accounts: &Accounts{
			config: c, secrets: secrets, ending: ending, end: end, accounts: make(map[string]*SharedAccount), former: make(map[weak.Pointer[auth.Account]]*egress.Fetcher),
		},
		config: c, secrets: secrets, stderr: stderrLog{to: c.Stderr}, found: make(map[string]string),
	}
}

// Close ends sign-ins that wait for a person, and soon the commands of entries, and waits until flows that have begun have stored
// their results. The caller must close all connections before.
func (d *Dialer) Close() error {
	d.Accounts.close()
	return nil
}

// Prepare loads and compiles the plugins that the first attempt to connect an entry needs: the
// transport, and those of its account, which may be nil. Its error is that of the transport.
func (d *Dialer) Prepare(ctx context.Context, s config.Server, a *SharedAccount) error {
	via := d.Routes(s)[0]
	if !d.config.Modules.Has(via) {
		return nil
	}
	_, err := d.transport(ctx, via, a)
	return err
}

// transport loads and compiles a transport, and then the plugins of an account, which may be nil.
func (d *Dialer) transport(ctx context.Context, via string, a *SharedAccount) (*modules.Transport, error) {
	t, err := d.config.Modules.Transport(ctx, via)
	if err == nil {
		err = d.config.Modules.Compile(ctx, t, via)
	}
	if err == nil && a != nil {
		a.Prepare(ctx)
	}
	return t, err
}

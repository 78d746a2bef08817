package host

import (
	"context"
	"fmt"
	"io"

	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/worker"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// Prepare loads and compiles the plugins with which a connection of the entry begins, unless they
// are loaded already. A program calls it before a Connect with a short deadline, so that compiling
// does not count. Its error is about the transport, and Connect would return the same. Prepare
// reports nothing else that is wrong with the entry: Connect does.
func (h *Host) Prepare(ctx context.Context, s Server) error {
	a, _ := h.account(ctx, s) // Connect says what is wrong with it
	if err := h.dialer.Prepare(ctx, s, a); err != nil {
		return fmt.Errorf("connect %s: %w", s.Name, explain(s.Name, err))
	}
	return nil
}

// CheckTransport returns an error if the plugin of that name cannot be read, or is no transport. It loads nothing.
func (h *Host) CheckTransport(name string) error { return h.modules.CheckTransport(name) }

// Locate returns the path of the program that the command of an entry runs now. It starts
// nothing.
func Locate(s Server) (string, error) {
	return process.Process{Command: s.Command, Args: s.Args, Dir: s.Dir}.Locate()
}

// CheckTLS returns what is wrong with the files of certificates that an entry names: one cannot be read, the
// client's own has expired, or all of the authorities have.
func CheckTLS(s Server) error { return connect.CheckTLS(s) }

// RunWorker is the other side of [Config.Worker]. It gives up all rights of its process that it
// does not need. Then it reads a plugin from in, and compiles it or runs it until in ends. The
// process must end when RunWorker returns.
func RunWorker(in io.Reader, out io.Writer) error { return worker.Serve(in, out) }

// Inspect looks at a plugin, and asks it to describe itself if it can be loaded. If module is
// nil it reads the file; else the path is only for errors. A plugin that would be refused is no
// error: the findings say why. A file that cannot be read is an error.
func (h *Host) Inspect(ctx context.Context, path string, module []byte) (*pluginstore.Info, error) {
	info, err := h.modules.Inspect(ctx, path, module)
	return info, explain(path, err)
}

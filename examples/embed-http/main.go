// Command embed-http is an HTTP service that lists and calls the tools of an MCP server:
//
//	go run ./examples/embed-http 127.0.0.1:8080 npx -y @modelcontextprotocol/server-everything
//
//	curl http://127.0.0.1:8080/tools
//	curl -d '{"message":"hello"}' http://127.0.0.1:8080/tools/echo
//
// It has no sign-in: use it on this machine alone, or behind a proxy that has one.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/plugins"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: embed-http ADDRESS COMMAND [ARG...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", os.Args[1])
	if err == nil {
		err = run(ctx, listener, host.Server{Name: "tools", Command: os.Args[2], Args: os.Args[3:]})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// shutdownTime is how long requests may go on after the service was told to end.
const shutdownTime = 10 * time.Second

// run serves until ctx ends. Requests in flight are finished first, then the MCP server
// is ended.
func run(ctx context.Context, listener net.Listener, server host.Server) error {
	h, err := host.New(context.WithoutCancel(ctx), host.Config{Plugins: plugins.Builtin()})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	session, err := h.Add(server) // connected by the first request, and again after a loss
	if err != nil {
		return errors.Join(err, h.Close(), listener.Close())
	}
	web := http.Server{Handler: handler(session), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		bounded, cancel := context.WithTimeout(context.Background(), shutdownTime)
		defer cancel()
		err = web.Shutdown(bounded)
	}
	return errors.Join(err, h.Close())
}

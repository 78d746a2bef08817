package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/localsocket"
)

const daemonLong = `Keep servers running for several editors and commands. There is one daemon for each
configuration file and build of wharf, at a unix socket that only your own user can reach.

An editor starts it with ` + "`wharf control --socket`" + `, which prints the path of the socket,
and speaks the control protocol there; ` + "`wharf bridge --shared`" + ` and ` + "`wharf serve --shared`" + `
start it too. It ends 60 seconds after the last of them has left.

Where a daemon runs, the commands call, tools, resources, read, prompts, prompt, complete,
request and task use its servers: they start none, and find what an earlier call has left
in the server. They start the server themselves where that could make a difference: the
working folder, a variable or the entry is another, the server of a project is not approved
yet, or a flag such as --trace, --stderr, --root or --alone is given. When the entry, a secret
or a file that it names, or the sign-in has changed, the daemon starts the server anew for the
next command; programs that are connected keep the one that they have, which reads a secret
again when it is started again, or when it refuses a request with it.

A sign-in page is opened as the client wishes whose request needs the sign-in: a command signs
in as it does where no daemon runs, so without a terminal nothing is opened; for bridge and
serve with --shared the page is opened, unless they have --no-browser or $NO_BROWSER.

Those commands, bridge and serve use one process of a server, as share in its entry allows,
if they run in one folder and offer the server the same. Else they have one each: a command
offers to answer questions on a terminal and not in a script, and a client of bridge or serve
offers what it can do. Editors at the socket have a process of their own.

A server whose entry has no dir runs in the working folder of the command or editor that
uses it, and an approved server of a project in the folder of the project. For an editor at
the socket, servers run in your home folder, and they are those of your own
configuration, which the daemon follows.`

func newDaemon(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "daemon status | stop | logs | run",
		Short:   "Keep servers running for editors and commands",
		Long:    daemonLong,
		Example: "  wharf daemon status\n  wharf daemon run --idle 0",
		Args:    cobra.ArbitraryArgs,
		RunE:    runGroup,
	}
	var all bool
	stop := &cobra.Command{Use: "stop [--all]", Short: "End the daemon, its servers and the calls to them", Args: exactly()}
	stop.RunE = func(cmd *cobra.Command, _ []string) error { return a.stopDaemons(cmd.Context(), all) }
	stop.Flags().BoolVar(&all, "all", false, "end the daemons of other configurations and builds too")
	idle := timeout{limit: time.Minute}
	var detached bool
	run := &cobra.Command{Use: "run [--idle DURATION]", Short: "Be the daemon, until it is not used or is interrupted", Args: exactly()}
	run.RunE = func(cmd *cobra.Command, _ []string) error { return a.runDaemon(cmd.Context(), idle.limit, detached) }
	run.Flags().Var(&idle, "idle", "end after `DURATION` without a client; 0 is never (default: 60s)")
	run.Flags().BoolVar(&detached, "detached", false, "write to the log")
	run.Flags().MarkHidden("detached")
	cmd.AddCommand(
		&cobra.Command{Use: "status", Short: "List the daemons that run", Args: exactly(), RunE: func(cmd *cobra.Command, _ []string) error {
			return a.daemonStatus(cmd.Context())
		}},
		stop,
		&cobra.Command{Use: "logs", Short: "Print what the daemon has logged, up to 2 MiB of it", Args: exactly(), RunE: func(cmd *cobra.Command, _ []string) error {
			return a.daemonLogs(cmd.Context())
		}},
		run,
	)
	return cmd
}

// daemonAnswer is how long a daemon may take to say what it is, or that it ends.
const daemonAnswer = 2 * time.Second

// stateOf asks a daemon for its state. It returns nil if none runs.
func stateOf(ctx context.Context, place daemon.Place) (*daemon.State, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, daemonAnswer, fmt.Errorf("the daemon at %s does not answer; if it is stuck, end the process that has that socket (`lsof %[1]s`)", place.Socket()))
	defer cancel()
	answer, err := place.Ask(ctx, daemon.Request{Want: daemon.Status})
	if errors.Is(err, localsocket.ErrNoListener) {
		return nil, nil
	}
	if err == nil && answer.Status == nil {
		err = fmt.Errorf("the daemon at %s does not say what it is", place.Socket())
	}
	if err != nil {
		return nil, err
	}
	return answer.Status, nil
}

// daemonStatus prints the daemons of the user.
func (a *app) daemonStatus(ctx context.Context) error {
	folder, err := socketFolder()
	if err != nil {
		return err
	}
	list := []daemon.State{}
	rows := plain.Table{{"PID", "VERSION", "SINCE", "EDITORS", "CLIENTS", "CONFIGURATION"}}
	for _, place := range daemon.All(folder) {
		s, err := stateOf(ctx, place)
		switch {
		case err != nil:
			a.Warn("%v", err)
		case s != nil:
			list = append(list, *s)
			rows = append(rows, []string{strconv.Itoa(s.PID), plain.Line(s.Version), s.Since.Local().Format(time.DateTime), strconv.Itoa(s.Editors), strconv.Itoa(s.Clients), plain.Line(s.Config)})
		}
	}
	if len(list) == 0 {
		a.none("no daemon runs; `wharf control --socket` starts one")
	}
	return a.printList(list, rows)
}

// stopDaemons ends the daemon, or all of the user, and waits until they have ended.
func (a *app) stopDaemons(ctx context.Context, all bool) error {
	place, err := a.daemonPlace()
	if err != nil {
		return err
	}
	places := []daemon.Place{place}
	if all {
		folder, err := socketFolder()
		if err != nil {
			return err
		}
		places = daemon.All(folder)
	}
	var errs []error
	for _, place := range places {
		errs = append(errs, a.stopDaemon(ctx, place))
	}
	return errors.Join(errs...)
}

func (a *app) stopDaemon(ctx context.Context, place daemon.Place) error {
	s, err := stateOf(ctx, place)
	switch {
	case err != nil:
		return err
	case s == nil:
		a.none("no daemon runs for this configuration and build of wharf")
		return nil
	}
	defer a.Busy("waiting for the daemon to end its servers")()
	conn, _, err := place.Open(ctx, daemon.Request{Want: daemon.Stop})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	io.Copy(io.Discard, conn)
	return ctx.Err()
}

// daemonLogs prints the log of the daemon. Of one that has none, an older log would tell nothing.
func (a *app) daemonLogs(ctx context.Context) error {
	place, err := a.daemonPlace()
	if err != nil {
		return err
	}
	if s, err := stateOf(ctx, place); err == nil && s != nil && s.Log == "" { // the log of one that does not answer is printed
		return exit.Usage(fmt.Errorf("the daemon (process %d) logs to its own stderr", s.PID), "look where `wharf daemon run` was started")
	}
	found := false
	for _, path := range []string{daemon.Older(place.Log()), place.Log()} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		found = true
		for line := range strings.Lines(string(text)) {
			if err := a.Print(plain.Line(strings.TrimSuffix(line, "\n")) + "\n"); err != nil {
				return err
			}
		}
	}
	if !found {
		return exit.Usage(errors.New("no daemon has run for this configuration and build of wharf"), "`wharf daemon status` lists those that run")
	}
	return nil
}

// printSocket starts the daemon if need be, and prints the path of its socket.
func (a *app) printSocket(ctx context.Context) error {
	place, err := a.daemonPlace()
	if err != nil {
		return err
	}
	if _, err := a.load(); err != nil { // a mistake in it is told here, and not in a log
		return err
	}
	if err := a.ensureDaemon(ctx, place); err != nil {
		return err
	}
	if a.flags.json || cmp.Or(a.flags.output, formatText) == formatRaw {
		return a.PrintJSON(served{Socket: place.Socket()})
	}
	return a.Print(place.Socket() + "\n")
}

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/host/trace"
)

// doctorStep is one step on the way to the tools of a server, in the order of the list.
type doctorStep struct {
	Step   string `json:"step"`
	State  string `json:"state"` // "ok", "failed", or "not reached"
	Detail string `json:"detail,omitempty"`
	Hint   string `json:"hint,omitempty"` // what to do about it
}

// States of a step.
const (
	stepOK      = "ok"
	stepFailed  = "failed"
	stepSkipped = "not reached"
)

// The steps. Each step between the plugin and the framing is for a process only, or for an address
// only.
const (
	stepEntry        = "entry"        // it is found, and its variables are set
	stepApproval     = "approval"     // of a server that came with a project
	stepPlugin       = "plugin"       // that carries it
	stepCommand      = "command"      // it is found, and started
	stepReach        = "reach"        // the name is looked up, and the port answers
	stepTLS          = "tls"          // the certificate is trusted
	stepHTTP         = "http"         // the status and the kind of the answer
	stepSignIn       = "sign-in"      // it is not needed, or it was done
	stepMessages     = "messages"     // what comes is JSON-RPC
	stepHandshake    = "handshake"    // the era, and the revision of the protocol
	stepCapabilities = "capabilities" // that the server declares
	stepTools        = "tools"        // the list of them
)

// stepsOf returns the steps of a server.
func stepsOf(server host.Server) []string {
	steps := []string{stepEntry}
	if server.Project != nil {
		steps = append(steps, stepApproval)
	}
	steps = append(steps, stepPlugin)
	switch {
	case server.Command != "":
		steps = append(steps, stepCommand)
	case strings.HasPrefix(server.URL, "https:"):
		steps = append(steps, stepReach, stepTLS, stepHTTP, stepSignIn)
	case server.URL != "":
		steps = append(steps, stepReach, stepHTTP, stepSignIn)
	default:
		steps = append(steps, stepReach)
	}
	return append(steps, stepMessages, stepHandshake, stepCapabilities, stepTools)
}

// diagnosis holds the events of a server that was connected for its doctor.
type diagnosis struct {
	server  host.Server
	records []trace.Record // of the messages, both ways
	info    status.Info
	tools   int
	err     error // why it ended; nil for a server that is well
}

// diagnose connects to a server as every command does, and lists its tools. It does not ask the
// person to sign in: the need for a sign-in is a finding.
func (a *app) diagnose(ctx context.Context, server host.Server) *diagnosis {
	d := &diagnosis{server: server}
	var log traceLog
	recorder := trace.NewRecorder(&log)
	a.watched = recorder
	ctx = host.WithOptions(ctx, host.RequestOptions{Unattended: true})
	c, err := a.dial(ctx, server)
	d.err = err
	if err == nil {
		d.info = c.session.Info()
		tools, err := c.tools(ctx)
		d.tools, d.err = len(tools), err
		c.close()
	}
	recorder.Close()
	for line, err := range trace.Read(&log.Buffer) {
		if err == nil {
			r := line.Record
			r.Text, r.Why, r.Method = strings.Clone(r.Text), strings.Clone(r.Why), strings.Clone(r.Method)
			d.records = append(d.records, r)
		}
	}
	return d
}

// traceLog keeps the beginning of a trace in memory: whole lines, up to maxTraceLog.
type traceLog struct {
	bytes.Buffer
	full bool // what comes now is dropped
}

const maxTraceLog = 4 << 20 // bytes; the first messages tell why a server failed

func (l *traceLog) Write(p []byte) (int, error) {
	if l.full {
		return len(p), nil
	}
	l.Buffer.Write(p)
	if l.full = l.Len() > maxTraceLog; l.full {
		l.Truncate(bytes.LastIndexByte(l.Bytes()[:maxTraceLog], '\n') + 1)
	}
	return len(p), nil
}

func (*traceLog) Close() error { return nil }

func (d *diagnosis) saw(fits func(r *trace.Record) bool) *trace.Record {
	for i := range d.records {
		if fits(&d.records[i]) {
			return &d.records[i]
		}
	}
	return nil
}

// answer returns the first valid message of the server, or nil.
func (d *diagnosis) answer() *trace.Record {
	return d.saw(func(r *trace.Record) bool {
		return r.Direction == trace.Received && (r.Kind == trace.Response || r.Kind == trace.Notification || r.Kind == trace.Request)
	})
}

// noise returns the first record from the server that is not a valid message, or nil.
func (d *diagnosis) noise() *trace.Record {
	return d.saw(func(r *trace.Record) bool { return r.Kind == trace.Malformed })
}

// failed returns the step that the server failed at.
func (d *diagnosis) failed() string {
	opened := d.saw(func(r *trace.Record) bool { return r.Kind == trace.Opened }) != nil
	status := 0
	if answer := (*host.RPCError)(nil); errors.As(d.err, &answer) {
		status = answer.HTTP
	}
	switch {
	case d.info.Protocol != "":
		return stepTools
	case !opened && d.server.Project != nil && errors.Is(d.err, host.ErrDenied):
		return stepApproval
	case !opened && (errors.Is(d.err, host.ErrUnknownTransport) || errors.Is(d.err, host.ErrPluginRefused)):
		return stepPlugin
	case errors.Is(d.err, host.ErrConfig): // also a helper that gives no token: nothing was sent
		return stepEntry
	case errors.Is(d.err, host.ErrAuthRequired) && (d.server.URL != "" || d.answer() != nil): // else ssh, or a broker, has refused it
		return d.orElse(stepSignIn, stepHandshake)
	case !opened:
		return stepEntry
	case d.answer() != nil && (d.server.Command != "" || status == 0):
		return stepHandshake
	case d.server.Command != "" && (d.noise() != nil || errors.Is(d.err, host.ErrTimeout)): // it wrote no message
		return stepMessages
	case d.server.Command != "":
		return stepCommand
	case failedInTLS(d.err):
		return d.orElse(stepTLS, stepReach)
	case d.server.URL == "":
		return stepReach
	}
	switch connected, secured := host.Reached(d.err); {
	case secured:
		return stepHTTP
	case connected:
		return stepTLS
	case failedToReach(d.err), errors.Is(d.err, host.ErrTimeout):
		return stepReach
	}
	return stepHTTP
}

// orElse returns step if the server has that step, and other otherwise.
func (d *diagnosis) orElse(step, other string) string {
	if slices.Contains(stepsOf(d.server), step) {
		return step
	}
	return other
}

// networkError is net.Error.
type networkError interface {
	error
	Timeout() bool
	Temporary() bool
}

// failedInTLS reports whether a connection was made and its TLS handshake failed.
func failedInTLS(err error) bool {
	var network networkError
	if errors.As(err, &network) && network.Error() == "net/http: TLS handshake timeout" { // it has no name of its own
		return true
	}
	return errors.As(err, new(tls.RecordHeaderError)) || errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.AlertError))
}

// failedToReach reports whether no connection was made: err is a network error, and not that the
// other side cut the connection off.
func failedToReach(err error) bool {
	var network networkError
	return errors.As(err, &network) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE)
}

// steps returns the steps, with the outcome of each.
func (a *app) steps(ctx context.Context, d *diagnosis) (steps []doctorStep) {
	failed := ""
	if d.err != nil {
		failed = d.failed()
	}
	state := stepOK
	names := stepsOf(d.server)
	if d.server.Via() == "" {
		names = names[:1] // there is no such server
	}
	for _, name := range names {
		step := doctorStep{Step: name, State: state}
		switch {
		case name == failed:
			step.State, state = stepFailed, stepSkipped
			step.Detail, step.Hint = a.errorText(d.err)
			if brief := (*signInNeeded)(nil); errors.As(d.err, &brief) {
				answer, _ := a.errorText(brief.err)
				step.Detail = "it wants a sign-in: " + answer
			}
		case state == stepOK:
			step.Detail = a.detail(d, name)
		}
		steps = append(steps, step)
	}
	return steps
}

// detail says what is known of a step that succeeded.
func (a *app) detail(d *diagnosis, step string) string {
	switch step {
	case stepEntry:
		said := d.server.Target()
		if names := slices.Sorted(maps.Keys(d.server.Env)); len(names) > 0 {
			said += "; it gets " + strings.Join(names, ", ")
		}
		return said
	case stepPlugin:
		if d.info.Transport != "" {
			return d.info.Transport
		}
		return d.server.Via()
	case stepCommand:
		if path, err := host.Locate(d.server); err == nil {
			return path
		}
	case stepMessages:
		if noise := d.noise(); noise != nil {
			return "it also writes to stdout what is no message: " + plain.Quote(plain.Clip(plain.Line(noise.Text), 80))
		}
		if answer := d.answer(); answer != nil {
			return fmt.Sprintf("the first came after %v", answer.At.Round(time.Millisecond))
		}
	case stepHandshake:
		if d.info.Protocol == "" {
			return ""
		}
		name := strings.TrimSpace(d.info.Server.Name + " " + d.info.Server.Version)
		return plain.Line(strings.TrimSpace(fmt.Sprintf("%s speaks MCP %s (%s era)", name, d.info.Protocol, d.info.Era)))
	case stepCapabilities:
		if d.info.Protocol == "" {
			return ""
		}
		var declared map[string]json.RawMessage
		json.Unmarshal(d.info.Capabilities, &declared)
		if len(declared) == 0 {
			return "it declares none"
		}
		return plain.Line(strings.Join(slices.Sorted(maps.Keys(declared)), ", "))
	case stepTools:
		return fmt.Sprintf("%d of them", d.tools)
	}
	return ""
}

// runDoctorOf prints the steps of one server. The error is that of the step that failed.
func (a *app) runDoctorOf(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	server, words, err := a.target(cmd, args)
	if err == nil && len(words) > 0 {
		return exit.Usage(fmt.Errorf("unexpected argument %q", words[0]), "usage: %s", cmd.UseLine())
	}
	d := &diagnosis{server: server, err: err}
	if err == nil {
		d = a.diagnose(ctx, server)
	}
	if ctx.Err() != nil {
		return d.err
	}
	steps := a.steps(ctx, d)
	rows := plain.Table{{"STEP", "STATE", "WHAT"}}
	for _, s := range steps {
		what := plain.Line(s.Detail)
		if s.State == stepFailed {
			what, _, _ = strings.Cut(s.Detail, cleantext.Stderr) // the error below has all of it
			what = plain.Clip(plain.Line(what), 300)
		}
		rows = append(rows, []string{s.Step, s.State, what})
	}
	if err := a.printList(steps, rows); err != nil {
		return err
	}
	if d.err == nil && a.forPeople() {
		a.Tell(term.Bold, "well:", plain.Name(server.Name, plain.NameColumns)+" can be used", "")
	}
	return d.err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/host"
)

func TestEndings(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want ending
	}{
		{"anything else", t.Context(), errors.New("odd"), ending{exitInternal, "internal"}},
		{"usage", t.Context(), usage(errors.New("x"), ""), ending{exitUsage, "usage"}},
		{"config", t.Context(), host.ErrConfig, ending{exitUsage, "configuration"}},
		{"transport", t.Context(), host.ErrUnknownTransport, ending{exitUsage, "unknown_transport"}},
		{"plugin", t.Context(), host.ErrPluginRefused, ending{exitDenied, "plugin_refused"}},
		{"sign-in", t.Context(), host.ErrAuthRequired, ending{exitSignIn, "sign_in_needed"}},
		{"unreachable", t.Context(), host.ErrUnreachable, ending{exitUnreachable, "unreachable"}},
		{"not sent", t.Context(), host.ErrNotSent, ending{exitUnreachable, "unreachable"}},
		{"timeout", t.Context(), host.ErrTimeout, ending{exitUnreachable, "timeout"}},
		{"timeout unsent", t.Context(), errors.Join(host.ErrNotSent, host.ErrTimeout), ending{exitUnreachable, "timeout"}},
		{"file", t.Context(), &fs.PathError{Op: "open", Path: "x.wasm", Err: fs.ErrNotExist}, ending{exitUsage, "file"}},
		{"output", t.Context(), &outputError{&fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}}, ending{exitInternal, "output"}},
		{"tool", t.Context(), &toolError{"s", "t"}, ending{exitServer, "tool_error"}},
		{"tool with a hint", t.Context(), &hinted{&toolError{"s", "t"}, "h"}, ending{exitServer, "tool_error"}},
		{"server", t.Context(), &host.RPCError{Code: -32603}, ending{exitServer, "server_error"}},
		{"denied", t.Context(), host.ErrDenied, ending{exitDenied, "denied"}},
		{"interrupted", interrupted, host.ErrUnreachable, ending{exitInterrupted, "interrupted"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := endingOf(tt.ctx, fmt.Errorf("call s: %w", tt.err)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	var stderr strings.Builder
	a := &app{stdio: stdio{err: &stderr}, server: "files"}
	a.flags.json = true
	if code := a.report(t.Context(), &hinted{&host.RPCError{Code: 7, Message: "no\x1b"}, "try <again>"}); code != exitServer {
		t.Errorf("code %d", code)
	}
	lines := strings.Split(stderr.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "error: ") || strings.Contains(lines[0], "\x1b") || lines[1] != "hint: try <again>" {
		t.Fatalf("stderr %q", stderr.String())
	}
	if !strings.HasPrefix(lines[2], `{"error":{"code":"server_error","message":"`) ||
		!strings.HasSuffix(lines[2], `","server":"files","hint":"try <again>"}}`) {
		t.Errorf("line for programs: %s", lines[2])
	}
}

// Programs are told whether a call that came to nothing may have arrived; that it
// may have, a script has the command say.
func TestReportSent(t *testing.T) {
	for err, sent := range map[error]bool{host.ErrNotSent: true, host.ErrUnreachable: false, &host.RPCError{Code: 7}: false} {
		var stderr strings.Builder
		a := &app{stdio: stdio{err: &stderr}}
		a.flags.json = true
		a.report(t.Context(), err)
		if got := stderr.String(); strings.Contains(got, "hint:") || strings.Contains(got, `"sent"`) != sent || sent && !strings.Contains(got, `"sent":"no"`) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

// A reader that has seen enough, as head has, is no reason for words.
func TestReportBrokenPipe(t *testing.T) {
	var stderr strings.Builder
	a := &app{stdio: stdio{err: &stderr}}
	if code := a.report(t.Context(), &outputError{syscall.EPIPE}); code != exitUnread || stderr.Len() > 0 {
		t.Errorf("code %d, stderr %q", code, stderr.String())
	}
	a.report(t.Context(), &outputError{syscall.ENOSPC})
	if !strings.HasPrefix(stderr.String(), "error: write output: ") {
		t.Errorf("stderr %q", stderr.String())
	}
}

// What an error quotes of the secrets of an entry is not printed, for people or programs.
func TestErrorsAreRedacted(t *testing.T) {
	for _, json := range []bool{false, true} {
		var stderr strings.Builder
		a := &app{stdio: stdio{err: &stderr}, redact: func(text string) string { return strings.ReplaceAll(text, "canary", "[secret]") }}
		a.flags.json = json
		a.report(t.Context(), usage(errors.New("the server says: bad key canary"), "is canary right?"))
		if text := stderr.String(); strings.Contains(text, "canary") || !strings.Contains(text, "bad key [secret]") || !strings.Contains(text, "is [secret] right?") {
			t.Error(text)
		}
	}
}

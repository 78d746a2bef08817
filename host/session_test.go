package host_test

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestBothEras(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	for name, want := range map[string]mcp.Era{"modern": mcp.Modern, "legacy": mcp.Legacy, "sdk": mcp.Modern, "shy": mcp.Legacy} {
		s := connect(t, h, server(name))
		if got := s.Info(); got.Era != want || got.Transport != "stdio" {
			t.Errorf("%s: %s over %s", name, got.Era, got.Transport)
		}
		if name != "shy" {
			say(t, s)
		}
	}
}

func TestPinnedProtocol(t *testing.T) {
	h := newHost(t, host.Config{})
	entry := server("sdk")
	entry.Protocol = "legacy"
	s := connect(t, h, entry)
	if got := s.Info(); got.Era != mcp.Legacy {
		t.Errorf("legacy was asked for, and %s is spoken", got.Era)
	}
	say(t, s)
}

func TestListTools(t *testing.T) {
	h := newHost(t, host.Config{})
	list, err := connect(t, h, server("sdk")).ListTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list {
		if names = append(names, tool.Name); !json.Valid(tool.InputSchema) {
			t.Errorf("the schema of %s: %s", tool.Name, tool.InputSchema)
		}
	}
	if !slices.Equal(names, []string{"echo", "exit", "fail"}) {
		t.Errorf("tools: %q", names)
	}
}

func TestCallAnyMethod(t *testing.T) {
	s := connect(t, newHost(t, host.Config{}), server("legacy"))
	var raw json.RawMessage
	if err := s.Call(t.Context(), "tools/call", map[string]any{"name": "echo"}, &raw); err != nil {
		t.Fatal(err)
	}
	var no *host.RPCError
	if err := s.Call(t.Context(), "no/such", nil, nil); !errors.As(err, &no) || no.Code != -32601 {
		t.Errorf("an unknown method: %v", err)
	}
}

func TestConcurrentCalls(t *testing.T) {
	s := connect(t, newHost(t, host.Config{}), server("modern"))
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 20 {
				say(t, s)
			}
		})
	}
	wg.Wait()
}

func TestClose(t *testing.T) {
	h := newHost(t, host.Config{})
	s := connect(t, h, server("modern"))
	pending := make(chan error, 1)
	go func() {
		_, err := s.CallTool(t.Context(), "mute", nil)
		pending <- err
	}()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := <-pending; !errors.Is(err, host.ErrClosed) {
		t.Errorf("a pending call ended with %v", err)
	}
	if _, err := s.CallTool(t.Context(), "echo", nil); !errors.Is(err, host.ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := h.Connect(t.Context(), server("modern")); !errors.Is(err, host.ErrClosed) {
		t.Errorf("Connect after Close: %v", err)
	}
}

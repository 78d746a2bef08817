package modules

import (
	"errors"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/plugins"
)

// A plugin that is part of the program is asked for its module when it is first used, and
// once: that may mean to unpack megabytes.
func TestBuiltinIsReadWhenUsed(t *testing.T) {
	var read []string
	builtin := plugins.Builtin()
	for name, module := range builtin {
		builtin[name] = func() []byte {
			read = append(read, name)
			return module()
		}
	}
	m, err := New(t.Context(), Config{Builtin: builtin})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for name := range builtin {
		if !m.Has(name) || !m.Builtin(name) {
			t.Errorf("%s is not there", name)
		}
	}
	if m.Has("pigeon") || len(read) > 0 {
		t.Errorf("of what was only asked for, %q were read", read)
	}
	for range 2 {
		if _, err := m.Transport(t.Context(), "stdio"); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Provider(t.Context(), "bearer"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Transport(t.Context(), "bearer"); !errors.Is(err, hosterr.ErrUnknownTransport) {
		t.Errorf("a provider as a transport: %v", err)
	}
	if want := []string{"stdio", "bearer", "bearer"}; !slices.Equal(read, want) {
		t.Errorf("read were %q, want %q", read, want)
	}
	if got := m.Transports(); !slices.Equal(got, []string{"http", "sse", "stdio"}) {
		t.Errorf("the transports are %q", got)
	}
}

package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/host"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestCall(t *testing.T) {
	for _, test := range []struct{ tool, arguments, out, err string }{
		{"echo", `{"message":"ahoy"}`, "ahoy\n", ""},
		{"fail", `{}`, "the disk is full\n", "the tool fail failed"},
		{"exit", `{}`, "", "status 3"},
	} {
		var out strings.Builder
		err := call(t.Context(), exampletest.Server(t), test.tool, json.RawMessage(test.arguments), &out)
		if out.String() != test.out {
			t.Errorf("%s: printed %q, want %q", test.tool, out.String(), test.out)
		}
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: error %v, want %q", test.tool, err, test.err)
		}
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	err := call(t.Context(), host.Server{Name: "none", Command: "/no/such/server"}, "echo", nil, new(strings.Builder))
	if !errors.Is(err, host.ErrUnreachable) && !errors.Is(err, host.ErrConfig) {
		t.Errorf("error %v", err)
	}
}

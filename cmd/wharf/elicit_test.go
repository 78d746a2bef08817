package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
)

// --timeout bounds the command that answers for a model too.
func TestTimeoutOfASampler(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("there is no sleep")
	}
	var said strings.Builder
	a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: &said, Err: &said}}
	a.flags.sampler, a.flags.timeout = "sleep 1000", timeout{time.Millisecond, true}
	let, err := a.letAsk(host.Server{Name: "files"})
	if err != nil {
		t.Fatal(err)
	}
	var c host.Config
	let(&c)
	if _, err := c.Client.Sample(t.Context(), "files", json.RawMessage(`{}`)); err == nil || !strings.Contains(said.String(), "sampler sleep: it took longer than the timeout of 1ms") {
		t.Errorf("%v, shown %q", err, said.String())
	}
}

package host_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

func init() { servers["member"] = serveMember }

// serveMember serves those that gave it the right variable when it was started.
func serveMember() {
	if os.Getenv("PASS") != strings.TrimSpace(pass) {
		fmt.Fprintln(os.Stderr, "PASS is not set, or wrong")
		os.Exit(1)
	}
	serveConn(bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout), true)
}

// What a provider gives reaches a process as a variable of it, each time that it
// is started, if the entry names that variable; no trace shows it.
func TestVariablesOfAProcess(t *testing.T) {
	shown := &lockedBuffer{}
	tr, err := trace.NewPrinter("rpc,abi,io", shown)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{
		Files: map[string]config.Plugin{"sealer": {Name: "sealer", File: testenv.Plugin(t, sealerPackage)}},
		Print: tr,
	})
	entry := server("member")
	entry.Auth = config.Auth{
		Provider: "sealer", Variables: []string{"PASS"},
		Settings: map[string]any{"env": map[string]string{"PASS": strings.TrimSpace(pass)}},
	}
	s := connect(t, h, entry)
	say(t, s)
	if _, err := s.CallTool(t.Context(), "dies", nil); err == nil {
		t.Error("the process did not die")
	}
	say(t, s) // to the next process
	entry.Auth.Variables = []string{"OTHER"}
	_, err = h.Connect(t.Context(), entry)
	if err == nil || !strings.Contains(err.Error(), `the variable "PASS"`) {
		t.Errorf("connecting ended with %v", err)
	}
	if text := fmt.Sprint(shown, err, host.Hint(err)); strings.Contains(text, strings.TrimSpace(pass)) {
		t.Errorf("it is shown: %s", text)
	}
}

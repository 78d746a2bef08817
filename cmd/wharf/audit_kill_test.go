package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host/audit"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// Programs are killed in the middle of calls, while others write to the same log. The lines that they leave
// are whole, and are the calls that the servers had, save at most the last call of each.
func TestAuditOfKilledPrograms(t *testing.T) {
	runs, calls := 50, 4
	if testenv.Long() {
		runs, calls = 620, 400 // more than 100,000 in all
	}
	dir := t.TempDir()
	config, notes, log := filepath.Join(dir, "wharf.toml"), filepath.Join(dir, "notes"), filepath.Join(dir, "audit.jsonl")
	text := fmt.Sprintf("[servers.ledger]\ncommand = \"server-ledger\"\nargs = [%q]\n[audit]\nargs = \"full\"\n", notes)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for worker := range 2 {
		running.Go(func() {
			for run := worker; run < runs; run += 2 {
				if err := killedBridge(config, fmt.Sprintf("run%d", run), run%(calls+1)); err != nil {
					t.Errorf("run %d: %v", run, err)
				}
			}
		})
	}
	running.Wait()
	kept := keptCalls(t, log)
	had := make(map[string][]string) // what the servers had, by run
	for _, call := range ledger(t, notes, "call") {
		run, _, _ := strings.Cut(call, ".")
		had[run] = append(had[run], call)
	}
	lost, all := 0, 0
	for run, calls := range had {
		all += len(calls)
		switch {
		case slices.Equal(kept[run], calls):
		case len(calls) > 0 && slices.Equal(kept[run], calls[:len(calls)-1]):
			lost++
		default:
			t.Errorf("%s: the server had %q, and the log %q", run, calls, kept[run])
		}
	}
	for run := range kept {
		if had[run] == nil {
			t.Errorf("%s: the server had no call, and the log %q", run, kept[run])
		}
	}
	t.Logf("%d calls of %d runs; the last of %d runs has no line", all, len(had), lost)
}

// killedBridge makes some calls through a bridge, one after the other, and kills it when one more is sent.
func killedBridge(config, run string, calls int) error {
	cmd := exec.Command("wharf", "bridge", "-q", "--config", config, "ledger")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`+"\n", run)
	io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	lines := bufio.NewReader(out)
	for i := range calls + 1 {
		if err := awaitAnswer(lines, i); err != nil {
			return err
		}
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"note","arguments":{"text":"%s.%d"}}}`+"\n", i+1, run, i)
	}
	return nil
}

// awaitAnswer reads up to the answer of a request.
func awaitAnswer(lines *bufio.Reader, id int) error {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if strings.Contains(line, fmt.Sprintf(`"id":%d,`, id)) {
			return nil
		}
	}
}

// keptCalls returns the calls of a log by their runs, as the ledger has them.
func keptCalls(t *testing.T, path string) map[string][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kept := make(map[string][]string)
	for line, err := range audit.Read(f) {
		var args struct{ Text string }
		if err != nil || json.Unmarshal(line.Args, &args) != nil || !line.OK || line.Name != "note" || line.Method != "tools/call" {
			t.Errorf("the log has %s: %v", line.Raw, err)
			continue
		}
		kept[line.Caller.Name] = append(kept[line.Caller.Name], args.Text)
	}
	return kept
}

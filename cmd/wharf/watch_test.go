package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// serverLogs declares its argument, and logs again and again, whatever level it is told.
func serverLogs() {
	log := func() {
		for _, level := range []string{"debug", "error"} {
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":"loud"}}`+"\n", level)
		}
	}
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		json.Unmarshal(input.Bytes(), &m)
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":%s,"serverInfo":{"name":"logs","version":"1"}}}`+"\n", m.ID, os.Args[1])
		case "notifications/initialized":
			go func() {
				for range time.Tick(10 * time.Millisecond) {
					log()
				}
			}()
		case "logging/setLevel", "tools/call", "ping":
			log()
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", m.ID)
		default:
			if m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
			}
		}
	}
}

// TestWatchCountsTheLog has a watch of a log end after as many lines as it was told, also where the server tells of
// no changes.
func TestWatchCountsTheLog(t *testing.T) {
	for _, capabilities := range []string{`{"logging":{},"resources":{"subscribe":true}}`, `{"logging":{},"tools":{"listChanged":true}}`} {
		p := start(t, (*exec.Cmd).StdoutPipe, "wharf", "watch", "--log", "debug", "--count", "2", "--", "server-logs", capabilities)
		lines := 0
		for p.lines.Scan() {
			lines++
		}
		if lines != 2 {
			t.Errorf("%s: %d lines", capabilities, lines)
		}
		p.wantExit(exit.CodeOK)
	}
}

// A server that logs and tells of no changes is watched for its log, from the level up that is wanted.
func TestWatchesTheLogAlone(t *testing.T) {
	for args, want := range map[string]string{"watch --log error": `"level":"error"`, "watch": `"level":"debug"`} {
		words := append(strings.Fields(args), "--", "server-logs", `{"logging":{},"resources":{"subscribe":true}}`)
		p := start(t, (*exec.Cmd).StdoutPipe, "wharf", words...)
		p.await(want)
		p.interrupt()
		for p.lines.Scan() {
			if strings.Contains(p.lines.Text(), "debug") && want != `"level":"debug"` {
				t.Errorf("%s: %s", args, p.lines.Text())
			}
		}
		p.wantExit(exit.CodeInterrupted)
	}
}

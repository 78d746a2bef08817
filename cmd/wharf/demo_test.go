package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/demo"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
)

// TestDemoAnswersAsItsTwin asks the demo server and the one built with the official SDK the
// same, in both eras.
func TestDemoAnswersAsItsTwin(t *testing.T) {
	const (
		hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		meta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"%s","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	)
	asked := []string{
		`"tools/list","params":{META}`, `"resources/list","params":{META}`, `"resources/templates/list","params":{META}`, `"prompts/list","params":{META}`,
		`"tools/list","params":{"cursor":"x",META}`,
		`"tools/call","params":{"name":"echo","arguments":{"message":"\u00e4 <b>"},META}`, `"tools/call","params":{"name":"add","arguments":{"a":0.1,"b":1e21},META}`,
		`"tools/call","params":{"name":"fail","arguments":{},META}`, `"tools/call","params":{"name":"fail","arguments":{"message":"m"},META}`,
		`"tools/call","params":{"name":"now","arguments":{"zone":"No/Where"},META}`, `"tools/call","params":{"name":"slow","arguments":{"seconds":0},META}`,
		`"tools/call","params":{"name":"none",META}`, `"tools/call","params":{"name":"echo","arguments":{"message":1},META}`, `"tools/call","params":{"name":"echo","arguments":{"message":"a","b":1},META}`,
		`"tools/call","params":{"name":"add","arguments":{"a":1},META}`, `"tools/call","params":{"name":"slow",META}`,
		`"resources/read","params":{"uri":"demo://about",META}`, `"resources/read","params":{"uri":"demo://greeting/Ada",META}`, `"resources/read","params":{"uri":"demo://none",META}`,
		`"prompts/get","params":{"name":"greet","arguments":{"name":"Ada","tone":"warm"},META}`, `"prompts/get","params":{"name":"none",META}`,
		`"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"a"},META}`,
		`"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"tone","value":"x"},META}`,
		`"resources/subscribe","params":{"uri":"demo://about",META}`, `"resources/unsubscribe","params":{"uri":"demo://about",META}`, `"logging/setLevel","params":{"level":"info",META}`,
		`"ping","params":{META}`, `"none/such","params":{META}`,
	}
	for _, version := range []string{"2024-11-05", "2025-11-25", "1999-01-01", "2026-07-28"} {
		modern := version == "2026-07-28"
		lines := []string{fmt.Sprintf(hello, version), ready}
		if modern {
			lines = []string{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}`}
		}
		for i, method := range asked {
			lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":%s}`, i, method))
		}
		for i, line := range lines {
			with := ""
			if modern {
				with = fmt.Sprintf(meta, version)
			}
			line = strings.ReplaceAll(line, "META", with)
			lines[i] = strings.ReplaceAll(line, ",}", "}")
		}
		ours := converse(t, lines, func(ctx context.Context, in io.Reader, out io.Writer) { demo.Serve(ctx, in, out, "v") })
		theirs := converse(t, lines, func(ctx context.Context, in io.Reader, out io.Writer) {
			newTwin(ctx).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
		})
		if len(theirs) <= len(asked) {
			t.Fatalf("%s: %d answers", version, len(theirs))
		}
		for i := range theirs {
			if !reflect.DeepEqual(comparable(ours[i]), comparable(theirs[i])) {
				t.Errorf("%s: ours, and theirs:\n%s\n%s", version, ours[i], theirs[i])
			}
		}
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// converse sends each line when the one before has been answered, and returns the answers.
func converse(t *testing.T, lines []string, serve func(context.Context, io.Reader, io.Writer)) (answers []string) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan struct{})
	go func() { defer close(served); defer out.Close(); serve(t.Context(), in, out) }()
	input := bufio.NewScanner(fromServer)
	for _, line := range lines {
		if _, err := fmt.Fprintln(toServer, line); err != nil {
			t.Fatal(err)
		}
		for strings.Contains(line, `"id"`) && input.Scan() {
			if strings.Contains(input.Text(), `"id"`) {
				answers = append(answers, input.Text())
				break
			}
		}
	}
	toServer.Close()
	<-served
	return answers
}

// comparable decodes an answer without what may differ: the version of the program, and the
// words and place of what is wrong with arguments.
func comparable(answer string) (out map[string]any) {
	answer = strings.ReplaceAll(answer, release.Version(), "v")
	json.Unmarshal([]byte(answer), &out)
	if result, _ := out["result"].(map[string]any); result != nil && result["isError"] == true && strings.Contains(answer, "arguments") {
		result["content"] = "wrong arguments"
	}
	return out
}

// A process that is the demo server does not initialize the packages of the host: a call of one
// of its tools waits for its start.
func TestTheDemoServerStartsAhead(t *testing.T) {
	server := exec.CommandContext(t.Context(), "wharf", demo.Command)
	server.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	output, err := server.CombinedOutput()
	if trace := string(output); err != nil || !strings.HasPrefix(trace, "init ") ||
		strings.Contains(trace, "jsonschema") || strings.Contains(trace, "wharf/host/internal/wasm ") {
		t.Errorf("%v: %s", err, trace)
	}
}

package trace

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// encodings are ways in which a server can write a secret.
func encodings(text string) []string {
	quoted := strings.NewReplacer("/", `\/`, `"`, `\"`).Replace(text)
	return []string{
		text, quoted, strings.NewReplacer("/", `\u002F`, " ", `\u0020`, `"`, `\u0022`).Replace(text),
		url.PathEscape(text), url.QueryEscape(text), strings.ToLower(url.QueryEscape(text)), url.QueryEscape(quoted),
		hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))),
		base64.StdEncoding.EncodeToString([]byte(text)), base64.StdEncoding.EncodeToString([]byte("x" + text)),
		base64.RawURLEncoding.EncodeToString([]byte("me" + text + "!")),
	}
}

const encoded = "s3cr3t/of \"the\" entry?"

// Every layer hides a secret of the configuration in every encoding, also where it lies
// in two pieces of a stream, and in however many.
func TestPrinterKnowsEncodings(t *testing.T) {
	for _, form := range encodings(encoded) {
		for _, size := range []int{1, 3, 7, 1000} {
			var out bytes.Buffer
			printer, err := NewPrinter("rpc,abi,io", &out)
			if err != nil {
				t.Fatal(err)
			}
			printer.Secrets().Hide(encoded)
			text := `{"text":"it is ` + form + `, and"}`
			printer.RPC("s")(true, []byte(text))
			printer.RPC("s")(true, []byte(text+strings.Repeat(" ", payloadCap)))
			printer.Dropped("s")(fmt.Errorf("bad: %s", form), []byte(text))
			layers := printer.ABI("s")
			layers([]byte("--> trap: "+form), nil)
			printed := len(out.Bytes())
			var pieces strings.Builder
			for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				layers(abi.AppendEvent(nil, abi.EventData, 257, 0, uint32(size)), rest[:min(size, len(rest))])
				layers(abi.AppendCall(nil, abi.CallWrite, []uint32{3, 4, 5, 0}, 0), []byte("beside"))
			}
			for line := range strings.Lines(out.String()[printed:]) {
				if said, found := strings.CutPrefix(line, "    | \""); found && !strings.Contains(line, "beside") {
					pieces.WriteString(strings.TrimSuffix(said, "\"\n"))
				}
			}
			if strings.Contains(out.String()[:printed], form) || strings.Contains(pieces.String(), form) || strings.Contains(pieces.String(), strings.ReplaceAll(form, `"`, `\"`)) {
				t.Errorf("in pieces of %d, %s is shown:\n%s\n%s", size, form, out.String()[:printed], pieces.String())
			}
			if !strings.Contains(pieces.String(), "it is ") || !strings.Contains(pieces.String(), ", and") {
				t.Errorf("in pieces of %d: %s", size, pieces.String())
			}
		}
	}
}

// A secret of which a line has the beginning alone is not shown by half.
func TestPrinterCutsBeforeASecret(t *testing.T) {
	var out bytes.Buffer
	printer, err := NewPrinter("rpc,io", &out)
	if err != nil {
		t.Fatal(err)
	}
	printer.Secrets().Hide(encoded)
	text := []byte(strings.Repeat("x", payloadCap-8) + encoded)
	printer.RPC("s")(true, text)
	printer.ABI("s")(abi.AppendEvent(nil, abi.EventData, 257, 0, uint32(len(text))), text)
	if strings.Contains(out.String(), "s3cr") {
		t.Error(out.String())
	}
}

// A message in a trace file has no secret in any encoding, wherever it is cut.
func TestMessagesKnowEncodings(t *testing.T) {
	v := new(redact.Set)
	v.Hide(encoded)
	for _, form := range encodings(encoded) {
		text := `{"text":"it is ` + form + `"}`
		for _, cut := range []bool{false, true} {
			if got := string(v.JSON([]byte(text), cut)); strings.Contains(got, form) || !strings.HasPrefix(got, `{"text":"it is `) || !strings.Contains(got, "[secret]") {
				t.Errorf("%s becomes %s", text, got)
			}
		}
	}
}

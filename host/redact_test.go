package host_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trace"
)

const leakedSecret = "t0ken/of+the \"server\""

// leakedLines is what a server says of its secret, a line for each encoding, half of one in
// each write.
func leakedLines() (lines []string) {
	for _, text := range []string{
		leakedSecret, `t0ken\/of+the \"server\"`, `t0ken\u002fof\u002Bthe \u0022server\u0022`,
		url.PathEscape(leakedSecret), strings.ToLower(url.QueryEscape(leakedSecret)), hex.EncodeToString([]byte(leakedSecret)),
		base64.StdEncoding.EncodeToString([]byte("user:" + leakedSecret)), base64.RawURLEncoding.EncodeToString([]byte("x" + leakedSecret)),
	} {
		lines = append(lines, "refused: "+text+".")
	}
	return lines
}

// TestBlabber is the server of the test below.
func TestBlabber(t *testing.T) {
	if os.Getenv("BLABBER_TOKEN") == "" {
		t.Skip("it is run by another test")
	}
	for _, line := range leakedLines() {
		half := len(line) / 2
		os.Stderr.WriteString(line[:half])
		os.Stderr.WriteString(line[half:] + "\n")
	}
	os.Exit(1)
}

// What a server prints of the secrets of its entry reaches neither the person nor an
// error, in whatever encoding it is there; the rest of it does.
func TestServersDoNotTellSecrets(t *testing.T) {
	lines := leakedLines()
	var stderr, printed bytes.Buffer
	layers, err := trace.NewPrinter("rpc,abi,io", &printed)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{Stderr: &stderr, Print: layers})
	_, err = h.Connect(t.Context(), host.Server{
		Name: "blabber", Command: os.Args[0], Args: []string{"-test.run=^TestBlabber$"},
		Env: map[string]string{"BLABBER_TOKEN": leakedSecret},
	})
	h.Close()
	if err == nil {
		t.Fatal("it connected")
	}
	for where, text := range map[string]string{"stderr": stderr.String(), "the error": err.Error(), "the trace": printed.String()} {
		for _, line := range lines {
			if secret := strings.TrimSuffix(strings.TrimPrefix(line, "refused: "), "."); strings.Contains(text, secret) {
				t.Errorf("%s has %s:\n%s", where, secret, text)
			}
		}
		if where != "the trace" && !strings.Contains(text, "refused: [secret]") {
			t.Errorf("%s lacks the rest:\n%s", where, text)
		}
	}
}

// An error has the end of what a server wrote to its stderr. A secret of more lines than
// that is left out all the same.
func TestLastWordsHaveNoPartOfASecret(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n", 9) + "-----END PRIVATE KEY-----"
	h := newHost(t, host.Config{})
	_, err := h.Connect(t.Context(), host.Server{
		Name: "blabber", Command: os.Args[0], Args: []string{"-test.run=^TestKeyBlabber$"},
		Env: map[string]string{"BLABBER_PRIVATE_KEY": key},
	})
	if err == nil || strings.Contains(err.Error(), "MIIEvQ") || !strings.Contains(err.Error(), "bad key: [secret]") {
		t.Errorf("the error is %v", err)
	}
}

// TestKeyBlabber is the server of the test above.
func TestKeyBlabber(t *testing.T) {
	key := os.Getenv("BLABBER_PRIVATE_KEY")
	if key == "" {
		t.Skip("it is run by another test")
	}
	os.Stderr.WriteString("bad key: " + key + "\n")
	os.Exit(1)
}

// A warning may quote what a server or a plugin was given.
func TestWarningsTellNoSecrets(t *testing.T) {
	heard := make(chan host.Event, 16)
	h := newHost(t, host.Config{Event: func(e host.Event) { heard <- e }})
	_, _ = h.Connect(t.Context(), host.Server{
		Name: "x", URL: "http://127.0.0.1:1/", Headers: map[string]string{"X-Api-Key": leakedSecret},
	})
	h.WarnForTest("x", "an odd tool: "+leakedSecret)
	for e := range heard {
		if strings.HasPrefix(e.Warning, "an odd tool") {
			if e.Warning != "an odd tool: [secret]" {
				t.Errorf("heard %q", e.Warning)
			}
			return
		}
	}
}

// What is quoted in an error by others can be redacted by who shows it.
func TestRedact(t *testing.T) {
	h := newHost(t, host.Config{})
	_, _ = h.Connect(t.Context(), host.Server{
		Name: "x", URL: "http://127.0.0.1:1/", Headers: map[string]string{"X-Api-Key": leakedSecret},
	})
	for _, line := range leakedLines() {
		if got := h.Redact(line); !strings.HasPrefix(got, "refused: ") || !strings.Contains(got, "[secret]") || len(got) > 40 {
			t.Errorf("%s becomes %s", line, got)
		}
	}
}

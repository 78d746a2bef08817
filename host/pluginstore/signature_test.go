package pluginstore

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// newKey makes a publisher: their key, and what signs with it.
func newKey(t testing.TB) (key string, sign func(binary []byte) string) {
	t.Helper()
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return public.String(), func(binary []byte) string {
		r := minisign.NewReader(bytes.NewReader(binary))
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Fatal(err)
		}
		return string(r.SignWithComments(private, "pigeon@1.0", "unsigned comment text"))
	}
}

func TestCheckSignature(t *testing.T) {
	binary := []byte("the plugin")
	key, sign := newKey(t)
	other, byOther := newKey(t)
	good := sign(binary)
	if comment, err := checkSignature(key, good, binary); comment != "pigeon@1.0" || err != nil {
		t.Fatalf("%q, %v", comment, err)
	}
	lines := strings.SplitAfter(good, "\n")
	for name, tc := range map[string]struct{ key, signature, binary, says string }{
		"another file":     {key, good, "the plugiN", "not for this file"},
		"another key":      {key, byOther(binary), "the plugin", "and not by " + KeyID(key)},
		"its key":          {other, good, "the plugin", "is signed by the key " + KeyID(key)},
		"another comment":  {key, strings.Replace(good, "pigeon@1.0", "pigeon@9.9", 1), "the plugin", "not for this file"},
		"out of use":       {key, asLegacy(t, good), "the plugin", "out of use"},
		"half":             {key, lines[0] + lines[1], "the plugin", "not one of minisign"},
		"nothing":          {key, "", "the plugin", "not one of minisign"},
		"a letter":         {key, "Dear Sir or Madam", "the plugin", "not one of minisign"},
		"too long":         {key, strings.Replace(good, "unsigned comment text", strings.Repeat("x", maxText), 1), "the plugin", "not one of minisign"},
		"of another, here": {key, strings.Join([]string{lines[0], strings.SplitAfter(byOther(binary), "\n")[1], lines[2], lines[3]}, ""), "the plugin", "and not by"},
	} {
		_, err := checkSignature(tc.key, tc.signature, []byte(tc.binary))
		if !errors.Is(err, hosterr.ErrDenied) || !strings.Contains(err.Error(), tc.says) || hosterr.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// asLegacy says of a signature that it is of the file itself.
func asLegacy(t *testing.T, signature string) string {
	lines := strings.Split(signature, "\n")
	raw, err := base64.StdEncoding.DecodeString(lines[1])
	if err != nil {
		t.Fatal(err)
	}
	raw[1] = 'd'
	lines[1] = base64.StdEncoding.EncodeToString(raw)
	return strings.Join(lines, "\n")
}

func TestParseKey(t *testing.T) {
	key, _ := newKey(t)
	for _, text := range []string{key, key + "\n", "untrusted comment: minisign public key\n" + key + "\n", "untrusted comment: x\r\n" + key + "\r\n"} {
		if got, err := parseKey(text); got != key || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "RW", key[:20], "x" + key, strings.Repeat(key, 30), "../minisign.pub"} {
		if got, err := parseKey(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
	if id := KeyID(key); len(id) != 16 || KeyID("x") != "" {
		t.Errorf("%q", id)
	}
}

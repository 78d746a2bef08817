package replay

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// A secret of the configuration is overwritten in every encoding and in pieces of any
// size, and as many bytes are left.
func TestMaskKnowsEncodings(t *testing.T) {
	const text = "s3cr3t/of the entry?"
	known := new(redact.Set)
	known.Hide(text)
	for _, form := range []string{
		text, `s3cr3t\/of the entry?`, `s3cr3t\u002fof\u0020the entry?`, url.PathEscape(text), url.QueryEscape(text),
		strings.ToLower(url.QueryEscape(text)), hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))),
		base64.StdEncoding.EncodeToString([]byte("user:" + text)), base64.RawURLEncoding.EncodeToString([]byte("x" + text)),
	} {
		whole := `{"a":"it is ` + form + `","b":1}` + "\n"
		for size := 1; size <= len(whole); size++ {
			v := newVeil(known)
			var got []byte
			for rest := []byte(whole); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				out, _ := v.over(rest[:min(size, len(rest))])
				got = append(got, out...)
			}
			if len(got) != len(whole) || strings.Contains(string(got), form) || !strings.HasSuffix(string(got), "\",\"b\":1}\n") {
				t.Errorf("%s in pieces of %d becomes %s", form, size, got)
			}
		}
	}
}

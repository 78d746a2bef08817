package template_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/plugintest"
	"github.com/wharf-mcp/wharf/sdk/template"
)

// draws makes a plugin ask for random bytes before it dials: the beginning of the
// function that dials, and lines for it.
var draws = map[string][2]string{
	template.C:              {"static int32_t dial(void) {\n", "	uint8_t nonce[8];\n	if (random_get(nonce, sizeof nonce) != 0) return WHARF_INTERNAL;\n"},
	template.Rust:           {"    fn dial(&self) -> i32 {\n", "        let mut nonce = [0u8; 8];\n        if unsafe { random_get(nonce.as_mut_ptr(), 8) } != 0 { return wharf::INTERNAL; }\n"},
	template.AssemblyScript: {"function dial(): i32 {\n", "  if (random_get(memory.data(8), 8) != 0) return wharf.INTERNAL;\n"},
}

// What the README says of a challenge holds: the kit reads the profile, and the
// randomness that it declares is there.
func TestChallenge(t *testing.T) {
	if testing.Short() {
		t.Skip("builds plugins, which takes a while")
	}
	for _, lang := range template.Languages() {
		t.Run(lang, func(t *testing.T) {
			p := template.Plugin{Name: "pigeon", Kind: template.Transport, Lang: lang, Module: template.Module{Version: "v0.0.0", Dir: root(t)}}
			blocks := blocksOf(t, p, "A sign-in with a challenge")
			provesItself(t, profile(t, blocks[len(blocks)-1]))
			if lang == template.Go {
				return // it has a library
			}
			file := buildChanged(t, p, func(source string) string {
				dial := draws[lang]
				if strings.Count(source, dial[0]) != 1 {
					t.Fatalf("%q is not there once", dial[0])
				}
				source = strings.Replace(source, dial[0], dial[0]+dial[1], 1)
				if lang == template.Rust {
					return source + "\n" + blocks[0]
				}
				return strings.Replace(source, "// describe says", blocks[0]+"\n// describe says", 1)
			})
			plugintest.TestWith(t, file, plugintest.Options{Only: []string{"module", "request"}})
		})
	}
}

// provesItself checks that the proof in a profile is the HMAC of its nonce.
func provesItself(t *testing.T, p *plugintest.Profile) {
	t.Helper()
	nonce, err := hex.DecodeString(strings.TrimSpace(strings.TrimPrefix(p.Greeting, "LOFT ")))
	if err != nil || len(nonce) != 16 {
		t.Fatalf("%x, %v", nonce, err)
	}
	mac := hmac.New(sha256.New, []byte(p.Settings["secret"]))
	mac.Write(nonce)
	if got, want := p.Replies[0].To, "PROOF "+hex.EncodeToString(mac.Sum(nil))+"\n"; got != want {
		t.Errorf("the profile awaits %q, want %q", got, want)
	}
}

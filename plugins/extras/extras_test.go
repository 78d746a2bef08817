package extras

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	built  = flag.String("built", "", "the `FOLDER` in which make extras has built the plugins")
	update = flag.Bool("update", false, "write their hashes and sizes into the index")
)

// TestIndex checks that the index is complete, and right where the files are at hand: for
// those that are embedded, and with -built for all.
func TestIndex(t *testing.T) {
	if *update {
		updateIndex(t)
	}
	list, err := List()
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	if !slices.IsSortedFunc(list, func(a, b Extra) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the index is not ordered by name")
	}
	for _, e := range list {
		if u, err := url.Parse(e.URL); err != nil || u.Scheme != "https" || u.Host == "" || strings.ContainsAny(e.URL, "{}") || !strings.Contains(e.URL, e.SHA256) {
			t.Errorf("%s: its address is %q", e.Name, e.URL)
		}
		if e.About == "" || e.Version == "" || len(e.Asks) == 0 || len(e.SHA256) != 64 || e.Embedded != (e.Module != nil) {
			t.Errorf("%s is incomplete: %+v", e.Name, e)
		}
		if e.Embedded {
			check(t, e, e.Module)
			if e.Size > 8<<10 {
				t.Errorf("%s has %d bytes, which is too large for the program", e.Name, e.Size)
			}
			beside, err := os.ReadFile(filepath.Join("..", "..", e.Source, e.Name+".wasm"))
			if err != nil || !bytes.Equal(beside, e.Module) {
				t.Errorf("built/%s.wasm is not what lies in %s (%v)", e.Name, e.Source, err)
			}
		} else if *built != "" {
			module, err := os.ReadFile(filepath.Join(*built, e.Name+".wasm"))
			if err != nil {
				t.Fatal(err)
			}
			check(t, e, module)
		}
	}
}

func check(t *testing.T, e Extra, module []byte) {
	t.Helper()
	sum := sha256.Sum256(module)
	if got := hex.EncodeToString(sum[:]); got != e.SHA256 || int64(len(module)) != e.Size {
		t.Errorf("%s has %d bytes with the sha256 %s, and the index says %d and %s: run make extras", e.Name, len(module), got, e.Size, e.SHA256)
	}
}

// updateIndex writes what has been built into index.json. The test then fails once: the
// index that is embedded in it is the one of before.
func updateIndex(t *testing.T) {
	text, err := os.ReadFile("index.json")
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		URL    string  `json:"url"`
		Extras []Extra `json:"extras"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	for i := range index.Extras {
		e := &index.Extras[i]
		path := filepath.Join(*built, e.Name+".wasm")
		if e.Embedded {
			path = filepath.Join("built", e.Name+".wasm")
		}
		module, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(module)
		e.SHA256, e.Size = hex.EncodeToString(sum[:]), int64(len(module))
	}
	if text, err = json.MarshalIndent(index, "", "  "); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("index.json", append(text, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Skip("the index is written")
}

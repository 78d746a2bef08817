package pluginbuild

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// clang is the compiler that the committed modules in C are of.
const clang = "Debian clang version 14.0.6"

// modulesInC are the committed modules whose source is C. Beside each of them lies the
// script that builds it: build [FILE].
var modulesInC = []string{
	"plugins/bearer/bearer.wasm",
	"plugins/helper/helper.wasm",
	"plugins/http/http.wasm",
	"plugins/stdio/stdio.wasm",
	"examples/auth-corp-sso/corp-sso.wasm",
	"examples/policy-paths-c/paths.wasm",
	"examples/transport-socket-c/socket.wasm",
	"examples/transport-websocket-c/websocket.wasm",
}

// A module is what its source gives. A machine with another compiler, or none, takes the
// word of one that has it.
func TestSourceInC(t *testing.T) {
	version, err := exec.Command("clang", "--version").Output()
	if err != nil {
		t.Skip("clang is not here, so the modules are not compared with their source: apt-get install clang lld")
	}
	for _, tool := range []string{"wasm-ld", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not here, so the modules are not compared with their source: apt-get install lld")
		}
	}
	line, _, _ := strings.Cut(string(version), "\n")
	for _, module := range modulesInC {
		if strings.HasPrefix(module, "examples/") && !testenv.Long() {
			continue
		}
		t.Run(module, func(t *testing.T) {
			committed := filepath.Join("..", "..", filepath.FromSlash(module))
			built := filepath.Join(t.TempDir(), filepath.Base(committed))
			script := filepath.Join(filepath.Dir(committed), "build")
			if out, err := exec.Command("sh", script, built).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", script, err, out)
			}
			if !strings.HasPrefix(line, clang) {
				t.Skipf("the committed module is of %s; this is %s", clang, line)
			}
			if !bytes.Equal(contents(t, built), contents(t, committed)) {
				t.Errorf("%s is not what its source gives: run %s", module, script)
			}
		})
	}
}

func contents(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

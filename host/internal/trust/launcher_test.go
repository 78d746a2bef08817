package trust

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// Each paragraph of the golden file is a command and what is said about it.
func TestWarnings(t *testing.T) {
	var b strings.Builder
	for _, line := range []string{
		"/usr/bin/mcp-files --root /notes",
		"/usr/bin/npx -y @scope/server",
		"/usr/bin/npx -y @scope/server@1.2.3 --package other",
		"/usr/bin/npx @scope/server@latest",
		"/usr/bin/npx server@^1.2.3",
		"/usr/bin/npx --package=a@1.0.0 -p b c",
		"/usr/bin/npx -c evil",
		`C:\Programs\npx.cmd github:me/server#0123456789012345678901234567890123456789`,
		"/usr/bin/npm exec server",
		"/usr/bin/npm run mcp",
		"/usr/bin/pnpm dlx server@1.2.3",
		"/usr/bin/bunx server",
		"/usr/bin/uvx mcp-server==1.2.3",
		"/usr/bin/uvx --python 3.12 --from git+https://example.com/x mcp-server",
		"/usr/bin/uv tool run mcp-server@1.2",
		"/usr/bin/uv run server.py",
		"/usr/bin/pipx run mcp-server",
		"/usr/bin/docker run -i --rm -v /:/host mcp/files",
		"/usr/bin/docker run -i --rm --network=host mcp/files@sha256:abc",
		"/bin/sh -c ls",
		"/bin/bash -lc ls",
		"/bin/bash run.sh",
		"cmd.exe /c dir",
		"powershell -enc AAAA",
		"/usr/bin/env -S A=b npx server",
		"/usr/bin/sudo sh -c x",
		"/usr/bin/node -e code",
		"/usr/bin/node --eval=code",
		"/usr/bin/node server.js -c config",
		"/usr/bin/python3 -m server",
		"/usr/bin/make mcp",
		"/usr/bin/go run ./cmd/server",
		"/usr/bin/nрx server",
	} {
		words := strings.Fields(line)
		b.WriteString(line + "\n")
		for _, w := range Warnings(words[0], words[1:]) {
			b.WriteString("\t" + w + "\n")
		}
	}
	for _, w := range LoaderWarnings([]string{"TOKEN", "LD_PRELOAD", "NODE_OPTIONS", "PATH", "PATHS", "DYLD_INSERT_LIBRARIES", "GIT_SSH_COMMAND", "HTTPS_PROXY"}) {
		b.WriteString(w + "\n")
	}
	const golden = "testdata/warnings.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != b.String() {
		t.Errorf("error %v, got\n%s", err, b.String())
	}
}

// However a line of arguments is made up, nothing of it is out of bounds.
func FuzzWarnings(f *testing.F) {
	f.Add("npx", "-p\n\n-p")
	f.Add("env", "env\nenv\nsudo\nnpx\n-c")
	f.Add("uv", "tool")
	f.Fuzz(func(t *testing.T, command, args string) {
		for _, w := range Warnings(command, strings.Split(args, "\n")) {
			if w == "" {
				t.Error("an empty warning")
			}
		}
	})
}

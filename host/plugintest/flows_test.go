package plugintest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/flowrecord"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// recordFlow has the provider for tests sign in, and returns the file of the recording.
func recordFlow(t *testing.T, module []byte) string {
	t.Helper()
	profile, err := ReadProfile("testdata/brokenauth.json")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := engines()
	if err != nil {
		t.Fatal(err)
	}
	k := &providerKit{checker: newChecker(t.Context(), &shared, module, Options{Profile: profile}), engine: pair[0], halfFuel: pair[1]}
	if !k.load() {
		t.Fatalf("%+v", k.report)
	}
	file := filepath.Join(t.TempDir(), "login.ndjson")
	var lines []byte
	r := &flowrecord.Recorder{
		Provider: k.plugin, Rehearsal: k.plugin,
		Write: func(line []byte) { lines = append(append(lines, line...), '\n') }, Warn: func(text string) { t.Error(text) },
	}
	if _, err := k.play(providerScenario("sign-in"), r); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(lines, []byte("token-1")) || bytes.Contains(lines, []byte("a-secret-of-the-kit")) {
		t.Errorf("a secret is in %s", lines)
	}
	if err := os.WriteFile(file, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A sign-in that was recorded runs again. A build that asks for something else fails, and a
// recording that does not fit the plugin is refused.
func TestRecordings(t *testing.T) {
	module := testenv.Module(t, "./testdata/brokenauth")
	file := recordFlow(t, module)
	r, err := ReadRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Only: []string{"recorded"}, Recordings: []*Recording{r}}
	if c := tryProvider(t, module, o).Check("recorded"); c.Result != Passed || c.Got != "2 flows" {
		t.Errorf("%+v", c)
	}
	moved := bytes.ReplaceAll(module, []byte("https://sso.example/token"), []byte("https://sso.example/taken"))
	wantProviderFailure(t, tryProvider(t, moved, o), "recorded",
		`login.ndjson, line 2, step 3 (input): actions[0].http.url: recorded "https://sso.example/token", and now "https://sso.example/taken"`)
	if r := tryProvider(t, module, Options{Only: []string{"recorded"}}); len(r.Checks) > 2 {
		t.Errorf("without a recording there are the checks %+v", r.Checks)
	}

	for name, run := range map[string]func() error{
		`login.ndjson has flows of the provider "broken-auth", and none of corp-sso`: func() error {
			_, err := Run(t.Context(), read(t, "../../examples/auth-corp-sso/corp-sso.wasm"), o)
			return err
		},
		"the plugin is a transport, whose recordings are run with wharf plugin replay": func() error {
			_, err := Run(t.Context(), read(t, "../../examples/transport-socket-c/socket.wasm"), o)
			return err
		},
		file + ": line 2: the flow was changed after it was recorded: record it again": func() error {
			text := strings.Replace(string(read(t, file)), "sso.example", "evil.example", 1)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadRecording(file)
			return err
		},
	} {
		if err := run(); err == nil || err.Error() != name {
			t.Errorf("%v, want %s", err, name)
		}
	}
	if !Known("recorded") {
		t.Error("--only does not know the check")
	}
}

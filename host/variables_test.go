package host_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

func init() { servers["member"] = serveMember }

// serveMember serves those that gave it the right variable when it was started.
func serveMember() {
	if os.Getenv("PASS") != strings.TrimSpace(pass) {
		fmt.Fprintln(os.Stderr, "PASS is not set, or wrong")
		os.Exit(1)
	}
	serveConn(bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout), true)
}

// What a provider gives reaches a process as a variable of it, each time that it
// is started, if the entry names that variable; no trace shows it.
func TestVariablesOfAProcess(t *testing.T) {
	shown := &lockedBuffer{}
	tr, err := trace.NewPrinter("rpc,abi,io", shown)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{
		Files: map[string]config.Plugin{"sealer": {Name: "sealer", File: testenv.Plugin(t, sealerPackage)}},
		Print: tr,
	})
	entry := server("member")
	entry.Auth = config.Auth{
		Provider: "sealer", Variables: []string{"PASS"},
		Settings: map[string]any{"env": map[string]string{"PASS": strings.TrimSpace(pass)}},
	}
	s := connect(t, h, entry)
	say(t, s)
	if _, err := s.CallTool(t.Context(), "dies", nil); err == nil {
		t.Error("the process did not die")
	}
	say(t, s) // to the next process
	entry.Auth.Variables = []string{"OTHER"}
	_, err = h.Connect(t.Context(), entry)
	if err == nil || !strings.Contains(err.Error(), `the variable "PASS"`) {
		t.Errorf("connecting ended with %v", err)
	}
	if text := fmt.Sprint(shown, err, host.Hint(err)); strings.Contains(text, strings.TrimSpace(pass)) {
		t.Errorf("it is shown: %s", text)
	}
}

// A secret of the vault reaches the process where the entry says ${secret:NAME}. It is
// looked up each time that the process is started, and no trace and no error shows it.
func TestSecretsOfTheVault(t *testing.T) {
	shown := &lockedBuffer{}
	tr, err := trace.NewPrinter("rpc,abi,io", shown)
	if err != nil {
		t.Fatal(err)
	}
	dir := vaultDir(t)
	h := newHost(t, host.Config{VaultDir: dir, Print: tr})
	entry := server("member")
	entry.Env["PASS"] = "${secret:pass}"
	entry, err = entry.Expand(os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Connect(t.Context(), entry)
	if !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), `there is no secret "pass"`) || host.Hint(err) != "store it with: wharf auth secret pass" {
		t.Errorf("without the secret: %v, hint %q", err, host.Hint(err))
	}
	v := vault.Open(vault.Config{Dir: dir})
	if err := v.StoreSecret(t.Context(), "pass", "not it: seven"); err != nil {
		t.Fatal(err)
	}
	if _, err = h.Connect(t.Context(), entry); err == nil {
		t.Error("connected with a wrong secret")
	}
	if err := v.StoreSecret(t.Context(), "pass", strings.TrimSpace(pass)); err != nil {
		t.Fatal(err)
	}
	say(t, connect(t, h, entry))
	if text := fmt.Sprint(shown, err, h.Redact(strings.TrimSpace(pass))); strings.Contains(text, strings.TrimSpace(pass)) {
		t.Errorf("it is shown: %s", text)
	}
}

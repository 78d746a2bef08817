package pluginstore

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host/internal/plugin"
)

// modeEnv makes the test binary another process: one that adds plugins.
const modeEnv = "WHARF_STORE_TEST_MODE"

var modes = map[string]func(args []string) error{"add": addMany}

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeEnv); mode != "" {
		if err := modes[mode](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	trustTestServers()
	goleak.VerifyTestMain(m)
}

// trustTestServers makes the certificate that all servers of httptest have one of
// the authorities of this system.
func trustTestServers() {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	f, err := os.CreateTemp("", "authority")
	if err == nil {
		err = pem.Encode(f, &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	}
	if err != nil {
		panic(err)
	}
	f.Close()
	os.Setenv("SSL_CERT_FILE", f.Name())
	os.Setenv("SSL_CERT_DIR", os.DevNull)
	if _, err := x509.SystemCertPool(); err != nil { // which is read once
		panic(err)
	}
	os.Remove(f.Name())
}

// rounds is how many plugins each process adds.
const rounds = 10

// addMany adds plugins of its own, and the one that all others add too.
func addMany(args []string) error {
	s := Open(Config{Dir: args[0], Files: args[1]})
	for i := range rounds {
		e, binary := sample(args[2] + strconv.Itoa(i))
		if err := s.add(context.Background(), e, binary); err != nil {
			return err
		}
	}
	e, binary := sample("everybody")
	if err := s.add(context.Background(), e, binary); err != nil {
		fmt.Print("taken")
	} else {
		fmt.Print("added")
	}
	return nil
}

// sample is a plugin as it would be added, and its bytes.
func sample(name string) (Installed, []byte) {
	binary := []byte("the plugin " + name)
	return Installed{
		Name: name, Kind: Transport, Version: "1.0", Summary: "carries letters", Source: filepath.Join(root, name+".wasm"),
		SHA256: plugin.Hash(binary), Size: int64(len(binary)), Asked: []string{"http", "stream"}, Granted: []string{"http", "stream"},
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}, binary
}

// root is an absolute path.
var root = os.TempDir()

// fresh returns a store in folders that do not exist yet.
func fresh(t testing.TB) *Store {
	dir := t.TempDir()
	return Open(Config{Dir: filepath.Join(dir, "config", "plugins"), Files: filepath.Join(dir, "data", "plugins")})
}

func (s *Store) mustAdd(t testing.TB, name string) Installed {
	t.Helper()
	e, binary := sample(name)
	if err := s.add(t.Context(), e, binary); err != nil {
		t.Fatal(err)
	}
	e, err := s.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

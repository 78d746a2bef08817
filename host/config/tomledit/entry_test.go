package tomledit

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

// What an entry of another client says is the same after it was written into a file of
// Wharf's own and read from there, and so is an entry with everything.
func TestEntriesAreWrittenWhole(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../testdata/clients/*/*/*", "../testdata/clients/*/*/*/*", "../testdata/good/*"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	entries := 0
	for _, path := range files {
		if filepath.Ext(path) == ".golden" {
			continue
		}
		before, err := config.Read(path)
		if err != nil {
			continue // a folder
		}
		for _, s := range before.Servers {
			entries++
			text, err := AddTables(nil, Server(s))
			if err != nil {
				t.Errorf("%s: %s: %v", path, s.Name, err)
				continue
			}
			after, err := config.Parse("wharf.toml", text)
			if err != nil {
				t.Errorf("%s: %s: %v\n%s", path, s.Name, err, text)
				continue
			}
			if got, want := said(after.Servers[0]), said(s); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: got\n%+v\nwant\n%+v\n%s", path, s.Name, got, want, text)
			}
		}
	}
	if entries < 50 {
		t.Errorf("tried %d entries", entries)
	}
}

// said is an entry without what it does not say itself: the questions of its file, and
// the difference between nothing and an empty table.
func said(s config.Server) config.Server {
	out := config.Server{
		Name: s.Name, Transport: s.Transport, Command: s.Command, Args: s.Args, Env: s.Env, EnvFile: s.EnvFile, Dir: s.Dir,
		URL: s.URL, Headers: s.Headers, Strategy: s.Strategy, Proxy: s.Proxy, TLS: s.TLS, Auth: s.Auth, Address: s.Address,
		Timeout: s.Timeout, StartTimeout: s.StartTimeout, Resend: s.Resend, MessageCap: s.MessageCap, Framing: s.Framing,
		Protocol: s.Protocol, Settings: s.Settings, Disabled: s.Disabled, Registry: s.Registry,
		EnabledTools: s.EnabledTools, DisabledTools: s.DisabledTools, Share: s.Share, Copies: s.Copies,
	}
	for _, table := range []*map[string]string{&out.Env, &out.Headers, &out.Settings} {
		if len(*table) == 0 {
			*table = nil
		}
	}
	for _, list := range []*[]string{&out.Args, &out.DisabledTools} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	return out
}

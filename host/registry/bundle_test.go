package registry

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/registrytest"
)

// bundleOf publishes a bundle at another port than that of its registry, and returns its option, a client, and
// what closes that place.
func bundleOf(t *testing.T, files ...registrytest.File) (*Client, *Option, func()) {
	t.Helper()
	dir := t.TempDir()
	site := httptest.NewServer(registrytest.Handler(dir))
	t.Cleanup(site.Close)
	archives := httptest.NewServer(registrytest.Handler(dir))
	t.Cleanup(archives.Close)
	if err := registrytest.Bundle(dir, archives.URL, "bundled", "1.0.0", files...); err != nil {
		t.Fatal(err)
	}
	c, err := New(site.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	l, err := c.Version(t.Context(), "io.example/bundled", "latest")
	if err != nil {
		t.Fatal(err)
	}
	return c, l.Server.Options(false)[0], archives.Close
}

func manifestOf(server, settings string) registrytest.File {
	return registrytest.File{Name: "manifest.json", Text: `{"manifest_version": "0.3", "server": ` + server + `, "user_config": {` + settings + `}}`}
}

func TestBundle(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	c, o, closed := bundleOf(t, manifestOf(`{"type": "node", "entry_point": "server/index.js", "mcp_config": {
		"command": "node", "args": ["${__dirname}/server/index.js", "--in=${user_config.one}", "${user_config.many}", "${HOME}", "${user_config.none}", "${OTHER}"],
		"env": {"KEY": "${user_config.key}", "LEVEL": "${user_config.level}"},
		"platform_overrides": {"darwin": {"env": {"ON": "mac"}}, "linux": {"env": {"ON": "linux"}}, "win32": {"env": {"ON": "windows"}}}}}`,
		`"one": {"type": "string", "title": "One", "required": true}, "many": {"type": "directory", "title": "Many", "description": "Folders", "multiple": true, "required": true, "default": ["${HOME}/Desktop"]},
		"key": {"type": "string", "title": "Key", "sensitive": true}, "level": {"type": "number", "title": "L", "default": 3}`),
		registrytest.File{Name: "server/", Mode: fs.ModeDir | 0o755}, registrytest.File{Name: "server/index.js", Text: "x", Mode: 0o644})
	if _, err := o.Entry(nil); err == nil {
		t.Error("a bundle is used before it is unpacked")
	}
	dir := filepath.Join(t.TempDir(), "bundles")
	for range 2 { // the second time it is there
		if err := c.Unpack(t.Context(), o, dir); err != nil {
			t.Fatal(err)
		}
		closed()
	}
	at := filepath.Join(dir, o.Bundle.SHA256)
	s, err := o.Entry(Answers{"one": {"1"}, "many": {"/a", "/b"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{at + "/server/index.js", "--in=1", "/a", "/b", home, "$${user_config.none}", "$${OTHER}"}
	on := map[string]string{"linux": "linux", "darwin": "mac", "windows": "windows"}[runtime.GOOS]
	if s.Command != "node" || !slices.Equal(s.Args, want) || !reflect.DeepEqual(s.Env, map[string]string{"LEVEL": "3", "ON": on}) {
		t.Errorf("%+v", s)
	}
	if in := o.Inputs(); in[1].Format != "filepath" || !in[1].Repeated || in[1].Default != home+"/Desktop" || !in[2].IsSecret {
		t.Errorf("%+v", in)
	}
	if merged, _, err := Merge(o, o, s, nil); err != nil || !slices.Equal(merged.Args, s.Args) {
		t.Errorf("%+v, %v", merged, err)
	}
	if found := Find([]*Option{o}, s); found != o {
		t.Error("it is not found again")
	}
}

func TestBundleByUV(t *testing.T) {
	c, o, _ := bundleOf(t, manifestOf(`{"type": "uv", "entry_point": "src/main.py"}`, ""))
	dir := t.TempDir()
	if err := c.Unpack(t.Context(), o, dir); err != nil {
		t.Fatal(err)
	}
	s, err := o.Entry(nil)
	if want := []string{"run", "--directory", filepath.Join(dir, o.Bundle.SHA256), "src/main.py"}; err != nil || s.Command != "uv" || !slices.Equal(s.Args, want) {
		t.Errorf("%+v, %v", s, err)
	}
}

// What a bundle may not have is refused, and nothing of it is left.
func TestHostileBundles(t *testing.T) {
	node := manifestOf(`{"type": "node", "mcp_config": {"command": "node"}}`, "")
	for name, tc := range map[string]struct {
		files []registrytest.File
		says  string
	}{
		"a path upwards":          {[]registrytest.File{node, {Name: "../../evil", Text: "x"}}, "leads elsewhere"},
		"an absolute path":        {[]registrytest.File{node, {Name: "/tmp/evil", Text: "x"}}, "leads elsewhere"},
		"a link":                  {[]registrytest.File{node, {Name: "link", Text: "/etc", Mode: fs.ModeSymlink | 0o777}}, "no regular file"},
		"a pipe":                  {[]registrytest.File{node, {Name: "pipe", Mode: fs.ModeNamedPipe | 0o600}}, "no regular file"},
		"a file twice":            {[]registrytest.File{node, node}, "exists"},
		"no manifest":             {[]registrytest.File{{Name: "x", Text: "x"}}, "no manifest"},
		"a manifest that is no":   {[]registrytest.File{{Name: "manifest.json", Text: "[]"}}, "cannot be read"},
		"a huge manifest":         {[]registrytest.File{{Name: "manifest.json", Text: strings.Repeat(" ", 2<<20)}}, "larger than"},
		"a shell":                 {[]registrytest.File{manifestOf(`{"mcp_config": {"command": "/bin/sh"}}`, "")}, "is not in it"},
		"a program of PATH":       {[]registrytest.File{manifestOf(`{"mcp_config": {"command": "bash"}}`, "")}, "is not in it"},
		"a program outside":       {[]registrytest.File{manifestOf(`{"mcp_config": {"command": "${__dirname}/../../x"}}`, "")}, "is not in it"},
		"a program that is asked": {[]registrytest.File{manifestOf(`{"mcp_config": {"command": "${user_config.x}"}}`, `"x": {"type": "string"}`)}, "is not in it"},
		"an argument outside":     {[]registrytest.File{manifestOf(`{"mcp_config": {"command": "node", "args": ["--file=${__dirname}/../../x.js"]}}`, "")}, "x.js, which is not in it"},
		"a path list outside":     {[]registrytest.File{manifestOf(`{"mcp_config": {"command": "node", "env": {"NODE_PATH": "/x:${__dirname}/.."}}}`, "")}, "which is not in it"},
	} {
		t.Run(name, func(t *testing.T) {
			c, o, _ := bundleOf(t, tc.files...)
			above := t.TempDir()
			dir := filepath.Join(above, "a", "bundles")
			err := c.Unpack(t.Context(), o, dir)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v; want one that says %q", err, tc.says)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
			if _, err := os.Lstat(filepath.Join(above, "a", "evil")); err == nil {
				t.Error("a file was written outside")
			}
			if s, err := o.Entry(nil); err == nil {
				t.Errorf("it can be used: %+v", s)
			}
		})
	}
	c, o, _ := bundleOf(t, node)
	o.Bundle.SHA256 = strings.Repeat("0", 64)
	if err := c.Unpack(t.Context(), o, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not the one that the registry lists") {
		t.Errorf("%v", err)
	}
	o.Bundle.URL = "http://10.0.0.1/x.mcpb"
	if err := c.Unpack(t.Context(), o, t.TempDir()); err == nil || !strings.Contains(err.Error(), "only https leaves this machine") {
		t.Errorf("%v", err)
	}
	o.Bundle.URL = "https://10.0.0.1/x.mcpb"
	if err := c.Unpack(t.Context(), o, t.TempDir()); err == nil || !strings.Contains(err.Error(), "private") {
		t.Errorf("%v", err)
	}
}

// zipped is an archive of empty files.
func zipped(t *testing.T, names ...string) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range names {
		if _, err := w.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// listed is an archive that is only a list of n files, with this much of a comment at each.
func listed(n, comment int) []byte {
	header := make([]byte, 46+1+comment)
	copy(header, "PK\x01\x02")
	binary.LittleEndian.PutUint16(header[28:], 1)
	binary.LittleEndian.PutUint16(header[32:], uint16(comment))
	header[46] = 'x'
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(n*len(header)))
	return append(bytes.Repeat(header, n), end...)
}

// The list of an archive is bounded before it is read, and its paths and folders before
// anything is written.
func TestBundlesAreBounded(t *testing.T) {
	var folders []string
	for i := range 2500 {
		folders = append(folders, strings.Repeat(fmt.Sprintf("%d/", i), 24)+"x")
	}
	for name, tc := range map[string]struct {
		archive []byte
		says    string
	}{
		"a list of many files": {listed(300_000, 0), "more than 50000 files"},
		"a long list":          {listed(1000, 60_000), "larger than"},
		"a long name":          {zipped(t, strings.Repeat("x/", 10)+strings.Repeat("a", 2000)), "too long"},
		"deep folders":         {zipped(t, strings.Repeat("x/", 300)+"a"), "too deep"},
		"many folders":         {zipped(t, folders...), "more than 50000 files and folders"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundles")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := unpack(tc.archive, dir, filepath.Join(dir, "to"))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v; want one that says %q", err, tc.says)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("a folder was made")
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 24<<20 {
				t.Errorf("it took %d MB", used>>20)
			}
		})
	}
}

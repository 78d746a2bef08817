package pluginstore

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
)

func TestStore(t *testing.T) {
	s := fresh(t)
	if list, err := s.List(); list != nil || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := os.Stat(s.dir.Dir); err == nil {
		t.Error("a look made the folder")
	}
	b, a := s.mustAdd(t, "b"), s.mustAdd(t, "a")
	again := Open(Config{Dir: s.dir.Dir, Files: s.files.Dir})
	if list, err := again.List(); err != nil || len(list) != 2 || list[0].Name != "a" || list[1].SHA256 != b.SHA256 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, path := range []string{s.Lockfile(), s.Path(a), s.dir.Dir, s.files.Dir} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if err := errors.Join(again.Verify(a), again.Verify(b)); err != nil {
		t.Error(err)
	}
	if err := again.Remove(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Path(a)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if err := s.Remove(t.Context(), "a"); !errors.Is(err, hosterr.ErrConfig) || !strings.Contains(err.Error(), "is installed") {
		t.Error(err)
	}
	e, binary := sample("b")
	if err := s.add(t.Context(), e, binary); !errors.Is(err, hosterr.ErrConfig) || !strings.Contains(err.Error(), "installed already") {
		t.Error(err)
	}
}

func TestReplaceKeepsTheFileBefore(t *testing.T) {
	s := fresh(t)
	first := s.mustAdd(t, "pigeon")
	last := first
	var paths []string
	for _, version := range []string{"two", "three"} {
		paths = append(paths, s.Path(last))
		e, _ := sample("pigeon")
		binary := []byte(version)
		e.Version, e.SHA256, e.Size = version, plugin.Hash(binary), int64(len(binary))
		if err := s.replace(t.Context(), last, e, binary); err != nil {
			t.Fatal(err)
		}
		if err := s.replace(t.Context(), last, e, binary); !errors.Is(err, errChanged) {
			t.Errorf("what has changed is replaced: %v", err)
		}
		if _, err := os.Stat(s.Path(last)); err != nil {
			t.Errorf("a host may still load it: %v", err)
		}
		last, _ = s.Find("pigeon")
		if last.Version != version || s.Verify(last) != nil {
			t.Errorf("%+v", last)
		}
	}
	if _, err := os.Stat(paths[0]); err == nil {
		t.Error("the one before the one before is kept")
	}
	if err := s.Remove(t.Context(), "pigeon"); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(s.files.Dir); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

func TestGrant(t *testing.T) {
	s := fresh(t)
	before := s.mustAdd(t, "pigeon")
	err := s.editGrants(t.Context(), "pigeon", func(e Installed) ([]string, error) { return append(e.Granted, "process", "http"), nil })
	if e, _ := s.Find("pigeon"); err != nil || !slices.Equal(e.Granted, []string{"http", "process", "stream"}) {
		t.Errorf("%v, %v", e.Granted, err)
	}
	for name, granted := range map[string][]string{"unknown": {"everything"}, "an origin": {"https://a.example"}} {
		if err := s.editGrants(t.Context(), "pigeon", func(Installed) ([]string, error) { return granted, nil }); err == nil {
			t.Errorf("%s is granted", name)
		}
	}
	e, binary := sample("pigeon")
	if err := s.replace(t.Context(), before, e, binary); !errors.Is(err, errChanged) {
		t.Errorf("an update undoes what was granted meanwhile: %v", err)
	}
}

// What is written is what was hashed, or nothing.
func TestKeepChecksTheBytes(t *testing.T) {
	s := fresh(t)
	e, _ := sample("pigeon")
	if err := s.add(t.Context(), e, []byte("another")); err == nil {
		t.Error("no error")
	}
	if list, err := s.List(); len(list) > 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}

func TestVerify(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(path string) error
		says string
	}{
		"another byte": {func(path string) error { return os.WriteFile(path, []byte("the plugin pigeoN"), 0o600) }, "sha256"},
		"gone":         {os.Remove, "is gone"},
		"for all":      {func(path string) error { return os.Chmod(path, 0o644) }, "chmod 600"},
		"a link": {func(path string) error {
			return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path))
		}, "links are refused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			e := s.mustAdd(t, "pigeon")
			if err := tc.do(s.Path(e)); err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(e); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("says %v; want %q", err, tc.says)
			}
		})
	}
}

// A lock that this program did not leave as it is says nothing.
func TestHostileLocks(t *testing.T) {
	s := fresh(t)
	s.mustAdd(t, "a")
	s.mustAdd(t, "pigeon")
	good, err := os.ReadFile(s.Lockfile())
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, new string) func() error {
		return func() error {
			return os.WriteFile(s.Lockfile(), []byte(strings.Replace(string(good), old, new, 1)), 0o600)
		}
	}
	for name, tc := range map[string]struct {
		do   func() error
		says string
	}{
		"for the group":    {func() error { return os.Chmod(s.Lockfile(), 0o640) }, "chmod 600"},
		"folder for all":   {func() error { return os.Chmod(s.dir.Dir, 0o755) }, "chmod 700"},
		"a path as a name": {replaced(`"pigeon"`, `"../evil"`), "no name"},
		"a hash as a path": {replaced(`"sha256": "`, `"sha256": "../`), "sha256"},
		"a former path":    {replaced(`"version": "1.0"`, `"version": "1.0", "former": "../../x"`), "sha256"},
		"another case":     {replaced(`"pigeon"`, `"Pigeon"`), "no name"},
		"twice":            {replaced(`"pigeon"`, `"a"`), "twice"},
		"another kind":     {replaced(`"transport"`, `"root"`), "kind"},
		"more":             {replaced(`"stream"`, `"stream", "world"`), "nothing that"},
		"http":             {replaced(`"source": "`, `"source": "http://x`), "comes from"},
		"relative":         {replaced(`"source": "/`, `"source": "x/`), "absolute"},
		"no bytes":         {replaced(`"size": `, `"size": -`), "size"},
		"half a signature": {replaced(`"asked"`, `"key": "x", "asked"`), "signature"},
		"a later version":  {replaced(`"version": 1`, `"version": 2`), "version"},
		"an unknown key":   {replaced(`"asked"`, `"trusted": true, "asked"`), "unknown field"},
		"something behind": {func() error { return os.WriteFile(s.Lockfile(), append(slices.Clone(good), '{'), 0o600) }, "follows"},
		"half of it":       {func() error { return os.WriteFile(s.Lockfile(), good[:len(good)/2], 0o600) }, "not what this program wrote"},
		"nothing":          {func() error { return os.WriteFile(s.Lockfile(), nil, 0o600) }, "not what this program wrote"},
		"too much":         {func() error { return os.WriteFile(s.Lockfile(), make([]byte, maxLockfile+1), 0o600) }, "larger"},
		"a link": {func() error {
			return errors.Join(os.Rename(s.Lockfile(), s.dir.Path("elsewhere")), os.Symlink("elsewhere", s.Lockfile()))
		}, "links are refused"},
		"a folder that is a link": {func() error {
			return errors.Join(os.Rename(s.dir.Dir, s.dir.Dir+"2"), os.Symlink(s.dir.Dir+"2", s.dir.Dir))
		}, "links are refused"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.do(); err != nil {
				t.Fatal(err)
			}
			_, err := s.List()
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("says %v; want %q", err, tc.says)
			}
			e, binary := sample("new")
			if err := s.add(t.Context(), e, binary); err == nil {
				t.Error("it is written over")
			}
			os.Remove(s.dir.Dir) // only if it is a link
			os.Rename(s.dir.Dir+"2", s.dir.Dir)
			os.Remove(s.Lockfile())
			if err := errors.Join(os.Chmod(s.dir.Dir, 0o700), os.WriteFile(s.Lockfile(), good, 0o600), os.Chmod(s.Lockfile(), 0o600)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.List(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A folder of files that is a link is not written to.
func TestLinkedFolder(t *testing.T) {
	s := fresh(t)
	elsewhere := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Dir(s.files.Dir), 0o700), os.Symlink(elsewhere, s.files.Dir)); err != nil {
		t.Fatal(err)
	}
	e, binary := sample("pigeon")
	if err := s.add(t.Context(), e, binary); err == nil || !strings.Contains(err.Error(), "links are refused") {
		t.Errorf("says %v", err)
	}
	if files, _ := os.ReadDir(elsewhere); len(files) > 0 {
		t.Errorf("written: %v", files)
	}
	if list, _ := s.List(); len(list) > 0 {
		t.Errorf("listed: %v", list)
	}
}

func TestProcessesAddAtOnce(t *testing.T) {
	s := fresh(t)
	var wg sync.WaitGroup
	outputs := make([]string, 3)
	for i, name := range []string{"a", "b", "c"} {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], s.dir.Dir, s.files.Dir, name)
			cmd.Env = append(os.Environ(), modeEnv+"=add")
			out, err := cmd.CombinedOutput()
			if outputs[i] = string(out); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	slices.Sort(outputs)
	if !slices.Equal(outputs, []string{"added", "taken", "taken"}) {
		t.Errorf("said %q", outputs)
	}
	list, err := s.List()
	if len(list) != 3*rounds+1 || err != nil {
		t.Errorf("%d are there, %v", len(list), err)
	}
	for _, e := range list {
		if err := s.Verify(e); err != nil {
			t.Error(err)
		}
	}
}

// Files that no entry names, such as those of a process that was killed, go with
// the next change; what is not ours stays.
func TestSweep(t *testing.T) {
	s := fresh(t)
	s.mustAdd(t, "pigeon")
	orphan, half, foreign := plugin.Hash(nil)+suffix, plugin.Hash([]byte("x"))+suffix+".new", "letter.wasm"
	for _, name := range []string{orphan, half, foreign} {
		if err := os.WriteFile(s.files.Path(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.mustAdd(t, "other")
	for name, want := range map[string]bool{orphan: false, half: false, foreign: true} {
		if _, err := os.Stat(s.files.Path(name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNewWantsAreAskedAbout: a provider that wants in an update what no access bounds is asked
// about, whatever key signed it, until it is installed so.
func TestNewWantsAreAskedAbout(t *testing.T) {
	described := func(was *Installed, wants step.Wants) *Offer {
		o := &Offer{Was: was, Info: &Info{Provider: &step.Manifest{Name: "sealer", Version: "1.0.1", Wants: wants}}}
		o.describe()
		o.Plugin.Key = "k"
		return o
	}
	for name, wants := range map[string]step.Wants{
		"browser": {Browser: true}, "prompt": {Prompt: true}, "run": {Run: true}, "keys": {Keys: true}, "requests": {Requests: true}, "material": {Material: true},
	} {
		wants.Origins = []string{"https://tape.example"}
		o := described(&Installed{Key: "k", Kind: Provider, Asked: wants.Origins}, wants)
		if more := o.More(); !slices.Equal(more, []string{name}) || o.Vouched() {
			t.Errorf("%s: more is %v, vouched is %v", name, more, o.Vouched())
		}
		if now := described(&o.Plugin, wants); len(now.More()) > 0 || !now.Vouched() {
			t.Errorf("%s: asked about again: %v", name, now.More())
		}
	}
}

// TestWantsAreKept: the lockfile has what the installed version wants.
func TestWantsAreKept(t *testing.T) {
	s := fresh(t)
	e, binary := sample("sealer")
	e.Kind, e.Asked, e.Granted, e.Wants = Provider, []string{Discover}, []string{}, []string{WantsPrompt, WantsRun}
	if err := s.add(t.Context(), e, binary); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.Find("sealer"); err != nil || !slices.Equal(kept.Wants, e.Wants) {
		t.Errorf("%+v, %v", kept, err)
	}
	for _, wrong := range [][]string{{"anything"}, {WantsRun, WantsPrompt}, {WantsRun, WantsRun}} {
		e.Wants = wrong
		if _, err := format([]Installed{e}); err == nil {
			t.Errorf("%v is kept", wrong)
		}
	}
}

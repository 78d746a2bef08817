package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/confine"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// A cheat is a worker that does with a job what no honest one does.
type hostileCompiler struct {
	do   func(j *job, out io.Writer)
	says string // what becomes of the plugin; "" where it is used all the same
}

// cheating begins the kind of a cheat on a command line.
const cheating = "job: "

// play is the process of a cheat.
func (c hostileCompiler) play() {
	_, body, err := reader(os.Stdin).next()
	var j job
	if err != nil || j.decode(body) != nil {
		os.Exit(3)
	}
	c.do(&j, os.Stdout)
	os.Exit(0)
}

// honestly does the job, and lets something happen to the folder before it answers.
func honestly(after func(j *job)) func(*job, io.Writer) {
	return func(j *job, out io.Writer) {
		if _, failed, err := j.run(func() error { return nil }); failed != nil || err != nil {
			os.Exit(4)
		}
		after(j)
		out.Write(bare(tagCompiled))
	}
}

// natives are the files of native code in a folder.
func natives(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "native", "*", "*"))
	return all
}

// spoils writes over all native code.
func spoils(with func(old []byte) []byte) func(*job) {
	return func(j *job) {
		for _, file := range natives(j.cache) {
			old, _ := os.ReadFile(file)
			os.WriteFile(file, with(old), 0o600)
		}
	}
}

const (
	nothing   = "its worker process says that it was compiled, and left nothing that can be used"
	broke     = "its worker process broke the rules, and was killed: "
	limitsSay = "to compile a plugin, it may take 60 s of the processors and 1024 MB"
)

var cheats = map[string]hostileCompiler{
	"says so":         {func(_ *job, out io.Writer) { out.Write(bare(tagCompiled)) }, nothing},
	"says nothing":    {func(*job, io.Writer) {}, "ended with exit code 0; " + limitsSay},
	"text":            {func(_ *job, out io.Writer) { io.WriteString(out, "hello, world") }, broke},
	"another tag":     {func(_ *job, out io.Writer) { out.Write(bare(tagReturn)) }, broke},
	"too much":        {func(_ *job, out io.Writer) { out.Write(claims(tagRefused, 1<<30)) }, broke},
	"endless":         {func(_ *job, out io.Writer) { flood(out) }, broke},
	"endless stderr":  {func(*job, io.Writer) { flood(os.Stderr) }, "it was not compiled within 300ms"},
	"hangs":           {func(*job, io.Writer) { io.Copy(io.Discard, os.Stdin) }, "it was not compiled within 300ms"},
	"spins":           {func(*job, io.Writer) { confine.Resources(confine.Limits{CPU: 1, File: 1 << 20}); spin() }, "was killed by signal 9; " + limitsSay},
	"eats":            {func(*job, io.Writer) { confine.Resources(confine.Limits{Memory: 64 << 20}); eatMemory() }, limitsSay},
	"draws":           {func(_ *job, out io.Writer) { out.Write(bare(tagRefused, []byte("no\x1b[2J\nAllow? y")...)) }, "[2J\n  Allow? y"},
	"no native code":  {honestly(func(j *job) { os.RemoveAll(filepath.Join(j.cache, "native")) }), nothing},
	"no metered form": {honestly(func(j *job) { os.RemoveAll(filepath.Join(j.cache, "metered")) }), nothing},
	"empty":           {honestly(spoils(func([]byte) []byte { return nil })), nothing},
	"garbage":         {honestly(spoils(func([]byte) []byte { return bytes.Repeat([]byte("garbage"), 1000) })), nothing},
	"cut":             {honestly(spoils(func(old []byte) []byte { return old[:len(old)/2] })), nothing},
	"longer":          {honestly(spoils(func(old []byte) []byte { return append(old, 0) })), nothing},
	"many functions": {honestly(spoils(func(old []byte) []byte {
		le.PutUint32(old[bytes.IndexByte(old[7:], 0)+7-1:], 1<<31)
		return old
	})), nothing},
	"another checksum": {honestly(spoils(func(old []byte) []byte { old[len(old)/2] ^= 1; return old })), nothing},
	"a pipe": {honestly(func(j *job) {
		for _, file := range natives(j.cache) {
			os.Remove(file)
			exec.Command("mkfifo", file).Run()
		}
	}), nothing},
	"a link": {honestly(func(j *job) {
		for _, file := range natives(j.cache) {
			os.Remove(file)
			os.Symlink("/dev/zero", file)
		}
	}), nothing},
	"large files": {honestly(func(j *job) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			file := filepath.Join(j.cache, "metered", name)
			os.WriteFile(file, nil, 0o600)
			os.Truncate(file, 60<<20)
		}
	}), nothing},
	"many files": {honestly(func(j *job) {
		for i := range 1000 {
			os.WriteFile(filepath.Join(j.cache, "metered", strings.Repeat("x", i%200+1)+string(rune('a'+i/200))), nil, 0o600)
		}
	}), nothing},
	"others' files": {honestly(func(j *job) {
		os.WriteFile(filepath.Join(j.cache, "metered", strings.Repeat("a", 64)+"-00000000.wasm"), []byte("garbage"), 0o600)
	}), ""},
}

func flood(out io.Writer) {
	line := bytes.Repeat([]byte("words "), 10_000)
	for {
		if _, err := out.Write(line); err != nil {
			os.Exit(0)
		}
	}
}

func spin() {
	for n := 0; ; n++ {
		sum += n
	}
}

func eatMemory() {
	var all [][]byte
	for range 1000 {
		all = append(all, bytes.Repeat([]byte("x"), 16<<20))
	}
	sum += len(all)
}

var sum int

// compiler returns one whose processes are cheats of a kind, and its folder.
func compiler(t *testing.T, kind string) (*Compiler, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cache") // that of a test may be read by others
	if kind != honest {
		kind = cheating + kind
	}
	c := &Compiler{Command: []string{self, "worker", kind}, Cache: NewCodeCache(dir)}
	if kind == cheating+"hangs" || kind == cheating+"endless stderr" {
		c.Timeout = 300 * time.Millisecond
	}
	t.Cleanup(func() { c.Close() })
	return c, dir
}

// small compiles a small transport.
func (c *Compiler) small(t *testing.T, ctx context.Context) error {
	t.Helper()
	e, m, err := c.Module(ctx, "pigeon", read(t, smallFile), wasm.Config{ABI: guest.ABI()})
	if err != nil {
		return err
	}
	defer e.Close()
	in, err := m.Instantiate(ctx, wasm.InstanceConfig{Owner: t})
	if err == nil {
		err = in.Close()
	}
	return err
}

// Whatever a process does that compiles, the plugin is refused with the reason, an
// honest process mends what is left, and nothing stays behind.
func TestCheats(t *testing.T) {
	for kind, c := range cheats {
		t.Run(kind, func(t *testing.T) {
			before := descriptors(t)
			compiler, dir := compiler(t, kind)
			err := compiler.small(t, t.Context())
			refused := (*RefusedError)(nil)
			switch {
			case c.says == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says):
				t.Errorf("says %v, want %q", err, c.says)
			}
			compiler.Command[2] = honest
			compiler.Timeout = 0
			if err := compiler.small(t, t.Context()); err != nil {
				t.Errorf("an honest process finds: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", "new-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if left := children(t); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
			if after := descriptors(t); after > before {
				t.Errorf("%d descriptors are open, and were %d", after, before)
			}
		})
	}
}

// A caller that leaves ends the process; the next one compiles.
func TestCompilingEndsWithItsCaller(t *testing.T) {
	compiler, _ := compiler(t, "hangs")
	compiler.Timeout = 0
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- compiler.small(t, ctx) }()
	for len(children(t)) == 0 { // until there is a process
	}
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// A folder that cannot be used is replaced by one that ends with the compiler, and
// a caller that asks is told why.
func TestCompilingWithoutAPlace(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	compiler, dir := compiler(t, honest)
	file := dir + "-file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var told []error
	compiler.Cache, compiler.CacheUnavailable = NewCodeCache(file), func(err error) { told = append(told, err) }
	if err := compiler.small(t, t.Context()); err != nil || len(told) != 1 {
		t.Errorf("%v, told %v", err, told)
	}
	if err := compiler.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Without processes a module that takes long to compile is refused.
func TestLowLimits(t *testing.T) {
	small := &Compiler{}
	if err := small.small(t, t.Context()); err != nil {
		t.Error(err)
	}
	old := lowLimits
	defer func() { lowLimits = old }()
	lowLimits.Effort = 100
	if err := small.small(t, t.Context()); !errors.As(err, new(*wasm.Refusal)) {
		t.Errorf("says %v", err)
	}
}

// A provider is compiled and asked what it is in a process, and used from its folder.
func TestProviderIsCompiled(t *testing.T) {
	compiler, dir := compiler(t, honest)
	binary := read(t, "../../../examples/auth-corp-sso/corp-sso.wasm")
	m, err := compiler.Manifest(t.Context(), "corp", binary)
	if err != nil || m.Name != "corp-sso" {
		t.Fatalf("it says %+v, %v", m, err)
	}
	compiler.Command = []string{"/nonexistent"} // it is not needed any more
	e, err := auth.NewEngine(auth.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if p, err := compiler.Provider(t.Context(), e, 0, "corp", binary); err != nil || p.Manifest().Name != m.Name {
		t.Errorf("%+v, %v", p, err)
	}
	if kept := natives(filepath.Join(dir, wasm.Hash(binary))); len(kept) != 2 { // Extism has a module of its own
		t.Errorf("kept %v", kept)
	}
	if _, err := compiler.Provider(t.Context(), e, auth.Fuel/2, "corp", append(binary, 0, 2, 1, 'x')); !errors.As(err, new(*StartError)) {
		t.Errorf("without a program: %v", err)
	}
}

package host_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

var costJobFlag = flag.String("costs.job", "", "measure one plugin as `JSON` says; -costs runs the test with it")

// costJob is what one process measures. Each has a process of its own, as a program
// that begins has.
type costJob struct {
	What    string // compile, memory or calls
	File    string // none = the exchange without a plugin
	Kind    string
	Cache   string // the folder of the compile cache
	Address string // of the server, for memory
	Result  string // the file to write figures to
}

// measure has everything measured that is for a plugin of this kind.
func (w *measuredPlugin) measure(t *testing.T, j *costJob) {
	t.Helper()
	if w.kept != nil {
		return
	}
	if w.kind != "" {
		cold := j.run(t, "compile")
		warm := j.run(t, "compile")
		w.keep("compile", cold["compile"])
		w.keep("cached", warm["compile"])
		if start, ok := warm["start"]; ok {
			w.keep("start", start)
		}
	}
	if w.kind == kindSocket && runtime.GOOS == "linux" {
		for name, v := range j.run(t, "memory") {
			w.keep(name, v)
		}
	}
	if w.kind == kindSocket || w.kind == "" {
		for name, v := range j.run(t, "calls", "GOMAXPROCS=1") {
			w.keep(name, v)
		}
	}
}

func (w *measuredPlugin) keep(name string, v float64) {
	if least, ok := w.Figures[name]; !ok || v < least {
		w.Figures[name] = v
	}
}

// run does a job in a new process and returns its figures.
func (j *costJob) run(t *testing.T, what string, env ...string) map[string]float64 {
	t.Helper()
	job := *j
	job.What, job.Result = what, filepath.Join(t.TempDir(), "figures")
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCostJob$", "-costs.job="+string(text))
	cmd.Env = append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", text, err, said)
	}
	var figures map[string]float64
	result, err := os.ReadFile(job.Result)
	if err == nil {
		err = json.Unmarshal(result, &figures)
	}
	if err != nil {
		t.Fatal(err)
	}
	return figures
}

// TestCostJob is the other side.
func TestCostJob(t *testing.T) {
	if *costJobFlag == "" {
		t.Skip("this is a part of TestCosts, when that measures")
	}
	var j costJob
	if err := json.Unmarshal([]byte(*costJobFlag), &j); err != nil {
		t.Fatal(err)
	}
	do := map[string]func(*testing.T) map[string]float64{"compile": j.compile, "memory": j.memory, "calls": j.calls}[j.What]
	if j.What == "compile" && j.Kind == kindProvider {
		do = j.compileProvider
	}
	text, err := json.Marshal(do(t))
	if err == nil {
		err = os.WriteFile(j.Result, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compile takes a module until it has said what it is, and then looks how long it
// takes for one more instance to say so.
func (j *costJob) compile(t *testing.T) map[string]float64 {
	binary := readModule(t, j.File)
	before := busyMicros()
	e, err := wasm.NewEngine(t.Context(), wasm.Config{CacheDir: j.Cache, ABI: guest.ABI()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m, err := e.Load(t.Context(), "plugin", binary)
	if err != nil {
		t.Fatal(err)
	}
	raise := func() {
		inst, err := guest.New(t.Context(), guest.Config{Plugin: "plugin", Module: m})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { inst.Close(t.Context()) })
	}
	raise()
	figures := map[string]float64{"compile": busyMicros() - before}
	for range 50 {
		began := time.Now()
		raise()
		if took := micros(began); figures["start"] == 0 || took < figures["start"] {
			figures["start"] = took
		}
	}
	return figures
}

// compileProvider does the same with an auth provider, whose instances are kept to
// be used again.
func (j *costJob) compileProvider(t *testing.T) map[string]float64 {
	binary := readModule(t, j.File)
	before := busyMicros()
	e, err := auth.NewEngine(auth.EngineConfig{CacheDir: j.Cache})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Load(t.Context(), "plugin", binary); err != nil {
		t.Fatal(err)
	}
	return map[string]float64{"compile": busyMicros() - before}
}

func micros(began time.Time) float64 { return float64(time.Since(began).Nanoseconds()) / 1000 }

func isProviderFile(t *testing.T, file string) bool {
	t.Helper()
	return wasm.HasExport(readModule(t, file), step.ExportStep)
}

// dial opens a session with the plugin of the job.
func (j *costJob) dial(t *testing.T, h *host.Host, address string) *host.Session {
	t.Helper()
	s, err := h.Connect(t.Context(), host.Server{Name: "loft", Transport: "plugin", Address: address, Protocol: "2026-07-28"})
	if err != nil {
		t.Fatal(err)
	}
	if err := costCall(t, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (j *costJob) host(t *testing.T) *host.Host {
	t.Helper()
	h, err := host.New(t.Context(), host.Config{Files: pluginFile("plugin", j.File), CacheDir: j.Cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

const (
	costConnections = 100
	costRest        = 3 * time.Second // more than what an idle guest is put to rest after
)

// memory weighs this process with no connection, with one, and with many, all of which
// do nothing. Their server is in another. It is looked at on Linux alone.
func (j *costJob) memory(t *testing.T) map[string]float64 {
	h := j.host(t)
	none := weigh(t)
	j.dial(t, h, j.Address)
	time.Sleep(costRest)
	one := weigh(t)
	for range costConnections - 1 {
		j.dial(t, h, j.Address)
	}
	time.Sleep(costRest)
	return map[string]float64{"first": one - none, "further": (weigh(t) - one) / (costConnections - 1)}
}

// weigh returns the memory of this process in KiB, without what is a file's on disk:
// each page once, those in files in memory too.
func weigh(t *testing.T) (sum float64) {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory() // collects again: finalizers and pools have let go by now
	all, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(all) {
		var kib float64
		name, rest, _ := strings.Cut(string(line), ":")
		if name == "Pss_Anon" || name == "Pss_Shmem" {
			fmt.Sscan(rest, &kib)
		}
		sum += kib
	}
	return sum
}

// calls calls one at a time, on one processor, with the server in the same process:
// the figure does not depend on how fast the machine wakes another, and a time is one of
// computing.
func (j *costJob) calls(t *testing.T) map[string]float64 {
	at := serveCosts(t, filepath.Join(t.TempDir(), "loft.sock"))
	call := rawCall(t, at)
	if j.File != "" {
		s := j.dial(t, j.host(t), "unix:"+at)
		call = func() error { return costCall(t, s) }
	}
	const batch, batches = 1000, 40
	var least float64
	for n := range batches {
		start := time.Now()
		for range batch {
			if err := call(); err != nil {
				t.Fatal(err)
			}
		}
		if took := micros(start) / batch; n == 0 || took < least {
			least = took
		}
	}
	return map[string]float64{"call": least}
}

var costText = strings.Repeat("x", 100)

func costCall(t *testing.T, s *host.Session) error {
	result, err := s.CallTool(t.Context(), "echo", map[string]any{"message": costText})
	if err == nil && (len(result.Content) != 1 || result.Content[0].Text != costText) {
		err = fmt.Errorf("the echo is %+v", result.Content)
	}
	return err
}

// rawCall exchanges the bytes of a call and of its answer, and does nothing more.
func rawCall(t *testing.T, at string) func() error {
	t.Helper()
	conn, err := net.Dial("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	in := bufio.NewReader(conn)
	request := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"message":"` + costText +
		`"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"wharf","version":"0.1.0"}}}}` + "\n")
	return func() error {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		_, err := in.ReadSlice('\n')
		return err
	}
}

// serveCosts is a server that answers with next to no work, so that it is not what
// is measured.
func serveCosts(t *testing.T, at string) string {
	t.Helper()
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerCosts(conn)
		}
	}()
	return at
}

const costDiscovered = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`

// answerCosts finds the id and the method where the host writes them.
func answerCosts(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	echo := good(costText)
	var out []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		_, rest, isRequest := bytes.Cut(line, []byte(`"id":`))
		id, rest, _ := bytes.Cut(rest, []byte(","))
		if !isRequest {
			continue
		}
		result := echo
		if bytes.Contains(rest[:min(len(rest), 40)], []byte("server/discover")) {
			result = costDiscovered
		}
		out = fmt.Appendf(out[:0], `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

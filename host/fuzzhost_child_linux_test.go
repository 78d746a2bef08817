// The race detector has memory of its own, which cannot be told from that of a host.

//go:build !race

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// hostJob is what a host in a child process has to do: connect to one server, and
// take the steps. See [followJob].
type hostJob struct {
	Module   []byte // the transport; nil is the shipped one, or socketFile for an address
	Apart    bool   // run the module in a process of its own
	Address  string // of the server; or
	URL      string
	Protocol string
	Steps    []byte // each is a call of the program that embeds the host
	Waste    string // what the process does wrong in itself, see wastes
}

// hostReport is how a job ended. The host is closed by then.
type hostReport struct {
	Ends []string // of connecting and of each step, as [nameEnd] has them
	Left string   // goroutines that are left
	Fail string   // what the host did wrong in itself
}

// allowance is what a job may cost.
type allowance struct {
	memory    int64         // bytes, at the peak, beside what an idle process has
	processor time.Duration // beside what there is for each second of the job
}

// Bounds of what the process of a host has, beside what a job may cost. They are wide
// enough for any machine: memory is Go's, which keeps twice what is in use, and a unit
// of fuel takes 1 ns, of which 20 are allowed for.
const (
	childSlack   = 64 << 20 // bytes
	childGrowth  = 48 << 20 // bytes that an idle process may have more than the first time
	childThreads = 64       // more than at first
	unitTime     = 20 * time.Nanosecond
	rateTime     = 40_000_000 * unitTime // of processor time, in each second of a connection
	jobDeadline  = 2 * time.Minute       // then it hangs, however slow the machine
	jobsToRest   = 200                   // then the process gives back what it can, and is compared with its first rest
	jobsAtMost   = 4000                  // then there is another process
)

func init() { servers["host-of-jobs"] = serveJobs }

// serveJobs does one job after the other. An empty line is answered when all memory
// that is not in use has been given back.
func serveJobs() {
	others := goleak.IgnoreCurrent()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	usual := runtime.NumGoroutine()
	for {
		var job *hostJob
		if err := in.Decode(&job); err != nil {
			return
		}
		var report hostReport
		if job == nil {
			debug.FreeOSMemory()
		} else {
			report = followJob(context.Background(), job)
			if waste := wastes[job.Waste]; waste != nil {
				waste()
			}
		}
		for range 1000 {
			if runtime.NumGoroutine() <= usual {
				break
			}
			runtime.Gosched()
		}
		if runtime.NumGoroutine() > usual {
			find := leftBehind
			if job != nil && job.Waste != "" { // which stays, however long one waits
				find = func(others goleak.Option) error { return goleak.Find(others) }
			}
			if err := find(others); err != nil {
				report.Left = err.Error()
			}
		}
		if out.Encode(report) != nil {
			return
		}
	}
}

// wastes are what no host may do, one for each thing that is looked at.
var wastes = map[string]func(){
	"the host had": func() {
		held := make([]byte, 300<<20)
		for i := 0; i < len(held); i += 4096 {
			held[i] = 1
		}
		runtime.KeepAlive(held)
	},
	"of a processor": func() {
		for end := busyMicros() + 6e5; busyMicros() < end; {
		}
	},
	"descriptors": func() { syscall.Open(os.DevNull, syscall.O_RDONLY, 0) },
	"left":        func() { go func() { select {} }() },
	"processes": func() {
		c := exec.Command("cat")
		_, _ = c.StdinPipe() // which ends with this process
		c.Start()
	},
}

// TestWatchedHost sees to it that each kind of waste is seen.
func TestWatchedHost(t *testing.T) {
	most := func(time.Duration) allowance { return allowance{memory: 64 << 20, processor: 200 * time.Millisecond} }
	for want := range wastes {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			w := newWatchedHost(t)
			defer w.kill()
			for range 4 {
				if _, wrong := w.do(t, &hostJob{Address: "unix:/nowhere"}, most); wrong != "" {
					t.Errorf("before it there was %s", wrong)
				}
			}
			if _, wrong := w.do(t, &hostJob{Address: "unix:/nowhere", Waste: want}, most); !strings.Contains(wrong, want) {
				t.Errorf("what is seen is %q", wrong)
			}
		})
	}
}

// watchedHost is a process with a host that is seen from outside alone.
type watchedHost struct {
	cmd    *exec.Cmd
	to     *json.Encoder
	from   *json.Decoder
	words  *lockedBuffer // its stderr
	jobs   int
	idle   usage // after the first jobs
	rested usage // when it first was at rest
}

// usage is what the system says of a process.
type usage struct {
	resident, peak int64         // bytes
	processor      time.Duration // of itself and of those of its children that were awaited
	threads, files int
	children       string // their ids
}

func newWatchedHost(t *testing.T) *watchedHost {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &watchedHost{cmd: exec.Command(self), words: &lockedBuffer{}}
	w.cmd.Env = append(os.Environ(), serverVariable+"=host-of-jobs", "GOTRACEBACK=all")
	w.cmd.Stderr = w.words
	to, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.to, w.from = json.NewEncoder(to), json.NewDecoder(from)
	return w
}

// ask has the process do a job, or rest.
func (w *watchedHost) ask(t *testing.T, job *hostJob) (report hostReport) {
	t.Helper()
	hangs := time.AfterFunc(jobDeadline, func() { w.cmd.Process.Signal(syscall.SIGQUIT) })
	defer hangs.Stop()
	err := w.to.Encode(job)
	if err == nil {
		err = w.from.Decode(&report)
	}
	if err != nil {
		ended := w.cmd.Wait()
		said := w.words.String()
		t.Fatalf("the process of the host is gone (%v, %v) and said:\n%s", err, ended, said[:min(len(said), 16<<10)])
	}
	return report
}

// do has the host do a job and holds what it cost against what it may cost. What is
// wrong is "" where nothing is.
func (w *watchedHost) do(t *testing.T, job *hostJob, most func(took time.Duration) allowance) (report hostReport, wrong string) {
	t.Helper()
	w.forgetPeak(t)
	before, began := w.usage(t), time.Now()
	report = w.ask(t, job)
	took := time.Since(began)
	after, may := w.usage(t), most(took)
	if w.jobs++; w.jobs <= 3 { // what is made once
		w.idle = after
		return report, ""
	}
	switch spent := after.processor - before.processor; {
	case after.children != "":
		wrong = "after Close there are processes: " + after.children
	case report.Left != "":
		wrong = "after Close there are left " + report.Left
	case report.Fail != "":
		wrong = report.Fail
	case after.peak-w.idle.resident > may.memory+childSlack:
		wrong = fmt.Sprintf("the host had %d MiB, of which it may use %d, and it had %d when it did nothing", after.peak>>20, may.memory>>20, w.idle.resident>>20)
	case spent > may.processor:
		wrong = fmt.Sprintf("it took %v of a processor, and may take %v in the %v", spent, may.processor, took)
	case after.files > w.idle.files:
		wrong = fmt.Sprintf("after Close there are %d descriptors, before there were %d: %v", after.files, w.idle.files, w.openFiles())
	case after.threads > w.idle.threads+childThreads:
		wrong = fmt.Sprintf("there are %d threads, before there were %d", after.threads, w.idle.threads)
	default:
		wrong = w.rest(t)
	}
	return report, wrong
}

// rest compares, now and then, what the process has when it has nothing to do.
func (w *watchedHost) rest(t *testing.T) (wrong string) {
	t.Helper()
	if w.jobs%jobsToRest != 0 {
		return ""
	}
	w.ask(t, nil)
	now := w.usage(t)
	if w.rested.resident == 0 {
		w.rested = now
	}
	if now.resident-w.rested.resident > childGrowth {
		return fmt.Sprintf("after %d jobs the idle host has %d MiB, after the first %d it had %d", w.jobs, now.resident>>20, jobsToRest, w.rested.resident>>20)
	}
	return ""
}

func (w *watchedHost) kill() {
	w.cmd.Process.Kill()
	w.cmd.Wait()
}

func (w *watchedHost) path(name string) string {
	return fmt.Sprintf("/proc/%d/%s", w.cmd.Process.Pid, name)
}

// forgetPeak makes the peak of the memory that of now.
func (w *watchedHost) forgetPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(w.path("clear_refs"), []byte("5"), 0); err != nil {
		t.Skipf("the peak of a process's memory cannot be seen here: %v", err)
	}
}

func (w *watchedHost) usage(t *testing.T) (u usage) {
	t.Helper()
	status, err := os.ReadFile(w.path("status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		var n int64
		fmt.Sscan(value, &n)
		switch name {
		case "VmRSS":
			u.resident = n << 10
		case "VmHWM":
			u.peak = n << 10
		case "Threads":
			u.threads = int(n)
		}
	}
	stat, err := os.ReadFile(w.path("stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	const userTicks, tick = 11, 10 * time.Millisecond // the four that follow are utime, stime, cutime and cstime
	for _, field := range strings.Fields(after)[userTicks : userTicks+4] {
		n, _ := strconv.Atoi(field)
		u.processor += time.Duration(n) * tick
	}
	u.files = len(w.openFiles())
	lists, _ := filepath.Glob(w.path("task/*/children"))
	for _, list := range lists {
		ids, _ := os.ReadFile(list)
		u.children += string(ids)
	}
	return u
}

// openFiles returns what the descriptors lead to.
func (w *watchedHost) openFiles() (to []string) {
	files, _ := os.ReadDir(w.path("fd"))
	for _, f := range files {
		name, err := os.Readlink(filepath.Join(w.path("fd"), f.Name()))
		if err == nil {
			to = append(to, name)
		}
	}
	return to
}

// watchedHosts has one watched host at a time, for the inputs of one fuzz target.
type watchedHosts struct {
	mu  sync.Mutex
	now *watchedHost
}

func newWatchedHosts(f *testing.F) *watchedHosts {
	c := &watchedHosts{}
	f.Cleanup(func() {
		if c.now != nil {
			c.now.kill()
		}
	})
	return c
}

// do does one job in the host that there is; one that failed is replaced.
func (c *watchedHosts) do(t *testing.T, job *hostJob, most func(took time.Duration) allowance) hostReport {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		c.now = newWatchedHost(t)
	}
	w := c.now
	defer func() {
		if t.Failed() || w.jobs >= jobsAtMost {
			c.now = nil
			w.kill()
		}
	}()
	report, wrong := w.do(t, job, most)
	if wrong != "" {
		t.Error(wrong)
	}
	return report
}

// choices turns any bytes into decisions. When they run out every decision is the
// first there is.
type choices struct {
	mu   sync.Mutex
	data []byte
}

func (c *choices) next(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return int(b) % n
}

// rarely is true for one byte in 16.
func (c *choices) rarely() bool { return c.next(16) == 15 }

// done reports whether there are decisions left.
func (c *choices) done() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.data) == 0
}

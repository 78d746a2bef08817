//go:build unix

package vault

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

func init() {
	// Counts in a vault, and says each count after it is stored.
	helpers["count"] = func(args []string) {
		v := Open(Config{Dir: args[0], Keyring: absent})
		rounds, _ := strconv.Atoi(args[1])
		for range rounds {
			n, err := incremented(context.Background(), v, token)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(n)
		}
	}
}

// counter is a process that counts.
type counter struct {
	cmd *exec.Cmd
	out io.ReadCloser
}

func startCounter(t *testing.T, dir string, rounds int) counter {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir, strconv.Itoa(rounds))
	cmd.Env = append(os.Environ(), helperEnv+"=count")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return counter{cmd, out}
}

// said calls each with every count that the process says, until it ends.
func (c counter) said(each func(n int)) {
	for lines := bufio.NewScanner(c.out); lines.Scan(); {
		n, _ := strconv.Atoi(lines.Text())
		each(n)
	}
}

// Processes start over nothing, so they race for the key as well.
func TestProcessesCount(t *testing.T) {
	const processes = 16
	rounds := 100
	if !testenv.Long() {
		rounds = 20
	}
	dir := filepath.Join(t.TempDir(), "v")
	seen := make([]bool, processes*rounds+1)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range processes {
		c := startCounter(t, dir, rounds)
		all.Go(func() {
			c.said(func(n int) {
				mu.Lock()
				defer mu.Unlock()
				if n < 1 || n >= len(seen) || seen[n] {
					t.Errorf("%d was counted twice, or never", n)
					return
				}
				seen[n] = true
			})
			if err := c.cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	mustLoad(t, Open(Config{Dir: dir, Keyring: absent}), token, strconv.Itoa(processes*rounds))
	onlyKnown(t, dir)
}

// Processes are killed while they count. A count that was said is on disk, the
// next one follows it, and the file opens at any time.
func TestKilledProcessesCount(t *testing.T) {
	const processes = 4
	kills := 60
	if !testenv.Long() {
		kills = 20
	}
	dir := filepath.Join(t.TempDir(), "v")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	counts := make(chan int)
	var all sync.WaitGroup
	start := func() counter {
		c := startCounter(t, dir, 1<<30)
		all.Go(func() {
			c.said(func(n int) { counts <- n })
			_ = c.cmd.Wait() // it was killed
		})
		return c
	}
	var running [processes]counter
	for i := range running {
		running[i] = start()
	}
	said, highest, loaded := 0, 0, 0
	note := func(n int) { said, highest = said+1, max(highest, n) }
	v := Open(Config{Dir: dir, Keyring: absent})
	for range kills {
		for range 1 + random.IntN(6) {
			note(<-counts)
		}
		i := random.IntN(processes)
		_ = running[i].cmd.Process.Kill()
		running[i] = start()
		r, _, err := v.Load(t.Context(), token)
		n, _ := strconv.Atoi(r.Value.Reveal())
		if err != nil || n < highest || n < loaded {
			t.Errorf("loaded %d, error %v, after %d was said and %d loaded", n, err, highest, loaded)
		}
		loaded = n
	}
	for _, c := range running {
		_ = c.cmd.Process.Kill()
	}
	go func() { all.Wait(); close(counts) }()
	for n := range counts {
		note(n)
	}
	r, _, err := v.Load(t.Context(), token)
	n, _ := strconv.Atoi(r.Value.Reveal())
	if err != nil || n < said || n > said+kills+processes || n < highest {
		t.Errorf("the count is %d (error %v); %d were said, up to %d, by processes that were killed %d times", n, err, said, highest, kills+processes)
	}
	if err := increment(t.Context(), v, token); err != nil {
		t.Error(err)
	}
	onlyKnown(t, dir)
	t.Logf("%d counted, %d said", n, said)
}

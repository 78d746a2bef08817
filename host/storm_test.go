package host_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// full is the storm that make storm makes.
var full = flag.Bool("storm", false, "have the storms of tokens last as long as they should, which takes minutes")

// hostProcesses is processes that share one login.
type hostProcesses struct {
	*issuer
	vault *vault.Vault
	dir   string
	home  *host.Host // signs in, and does nothing else
	crew  []*hostProcess
	named int
	fell  []string // who was killed so far
}

// noKeyring has the key lie in the vault, on every machine.
type noKeyring struct{}

var errNoKeyring = errors.New("no keyring in a storm")

func (noKeyring) Get(_, _ string) (string, error) { return "", errNoKeyring }
func (noKeyring) Set(_, _, _ string) error        { return errNoKeyring }

// newHostProcesses signs in, and starts processes that find the login.
func newHostProcesses(t testing.TB, processes int) *hostProcesses {
	f := &hostProcesses{issuer: newIssuer(t), dir: filepath.Join(t.TempDir(), "vault")}
	f.vault = vault.Open(vault.Config{Dir: f.dir, Keyring: noKeyring{}})
	f.sound(t)
	f.home = newHost(t, host.Config{VaultDir: f.dir, Person: &signin.Person{OpenURL: visit}})
	f.login(t)
	for range processes {
		f.crew = append(f.crew, f.enlist(t))
	}
	for _, s := range f.crew {
		s.greet(t)
	}
	return f
}

func (f *hostProcesses) enlist(t testing.TB) *hostProcess {
	f.named++
	return newHostProcess(t, hostSetup{Name: "hostProcess-" + strconv.Itoa(f.named), URL: f.url, Cache: testenv.CodeDir(), Vault: f.dir})
}

func (f *hostProcesses) login(t testing.TB) {
	t.Helper()
	if err := f.home.Login(t.Context(), stormy(f.url, "home")); err != nil {
		t.Fatal(err)
	}
}

// sound returns a number that is higher by one for each record that was stored
// since the last time, and by one for the sounding.
func (f *hostProcesses) sound(t testing.TB) uint64 {
	t.Helper()
	generation, err := f.vault.Store(t.Context(), vault.Key{Provider: "storm", Name: "sounding"}, secret.New("x"))
	if err != nil {
		t.Fatal(err)
	}
	return generation
}

// call has all call at once, and returns what each says.
func (f *hostProcesses) call() []string {
	for _, s := range f.crew {
		s.tell()
	}
	said := make([]string, len(f.crew))
	var all sync.WaitGroup
	for i, s := range f.crew {
		all.Go(func() { said[i] = s.hear() })
	}
	all.Wait()
	return said
}

// TestStorm has the tokens of many processes expire at once, again and again, and
// then kills one of them each time.
func TestStorm(t *testing.T) {
	processes, expiries, kills := 3, 2, 1
	switch {
	case *full:
		processes, expiries, kills = 16, 100, 300
	case testenv.Long():
		processes, expiries, kills = 4, 10, 4
	}
	f := newHostProcesses(t, processes)
	if t.Run("expiries", func(t *testing.T) { f.testExpiries(t, expiries) }) {
		t.Run("kills", func(t *testing.T) { f.testKills(t, kills) })
	}
}

// testExpiries: the refresh token is redeemed once for all of them each time.
func (f *hostProcesses) testExpiries(t *testing.T, rounds int) {
	f.read()
	before, began := f.sound(t), time.Now()
	var window []time.Duration
	for round := range rounds {
		f.expire()
		for i, said := range f.call() {
			if said != fair {
				t.Fatalf("round %d: %s says %q", round, f.crew[i].Name, said)
			}
		}
		l := f.read()
		if len(l.redeemed) != 1 || len(l.reused) != 0 {
			t.Fatalf("round %d: redeemed %d times, reused by %q", round, len(l.redeemed), l.reused)
		}
		window = append(window, l.redeemed[0].used.Sub(l.redeemed[0].at))
	}
	if stored := f.sound(t) - before - 1; stored != uint64(rounds) {
		t.Errorf("%d records were stored in %d rounds", stored, rounds)
	}
	t.Logf("%d processes, %d expiries, each with one redemption, in %v", len(f.crew), rounds, time.Since(began).Round(time.Millisecond))
	t.Logf("from a commit to the first use of what it gave: %s", spread(window))
}

// killing is a kill to come: of the process that is first at a moment of its refresh,
// some time after that.
type killing struct {
	at    moment
	after time.Duration
}

// randomBlow spreads blows over microseconds and over tenths of a second alike: a
// refresh has parts of both lengths.
func randomBlow(random *rand.Rand) killing {
	const shortest, longest = 10e3, 200e6
	after := shortest * math.Pow(longest/shortest, random.Float64())
	return killing{moment(random.IntN(int(moments))), time.Duration(after)}
}

// wreck is what a killing has left.
type wreck struct {
	killing
	victim *hostProcess
	fell   time.Time
	said   []string // by the others
	ledger
	stored int  // records, by all
	late   bool // one who fell before was heard of only now
}

// strike has all call while one of them is killed, and then one of the others call
// again.
func (f *hostProcesses) strike(t *testing.T, b killing, random *rand.Rand) wreck {
	var once sync.Once
	first := make(chan *hostProcess, 1)
	aboard := make(map[string]*hostProcess)
	for _, s := range f.crew {
		aboard[s.Name] = s
	}
	f.watch(func(m moment, by string) {
		if s := aboard[by]; m == b.at && s != nil { // and not one who fell before
			once.Do(func() { first <- s })
		}
	})
	defer f.watch(nil)
	w := wreck{killing: b}
	before := f.sound(t)
	f.expire()
	var killed sync.WaitGroup
	killed.Go(func() {
		victim := <-first
		<-time.After(b.after) // when it falls is the point, and nothing waits for it
		victim.kill()
		w.victim, w.fell = victim, time.Now()
	})
	said := f.call()
	once.Do(func() { first <- f.crew[0] }) // no process came that far
	killed.Wait()
	w.victim.bury()
	at := slices.Index(f.crew, w.victim)
	f.crew, said = slices.Delete(f.crew, at, at+1), slices.Delete(said, at, at+1)
	other := f.crew[random.IntN(len(f.crew))]
	other.tell()
	w.said = append(said, other.hear())
	w.ledger, w.stored = f.read(), int(f.sound(t)-before-1)
	w.late = f.late(&w.ledger)
	f.fell = append(f.fell, w.victim.Name)
	return w
}

// judge reports whether the login is gone, and what is wrong with that. It may be
// gone only if the refresh of the process that was killed had reached the issuer,
// and the result had not reached the disk: by what the issuer has given out,
// and seen in use, and by how many records were stored. What a process sent before it
// was killed may be read at any time after that, and some kills later too: then it
// shows a token of before.
func (w *wreck) judge() (gone bool, err error) {
	own, used := 0, false
	for _, r := range w.redeemed {
		if r.by == w.victim.Name {
			own, used = own+1, used || !r.used.IsZero()
		}
	}
	counts := fmt.Sprintf("redeemed %d times, by the victim %d, stored %d, reused by %q, the others say %q",
		len(w.redeemed), own, w.stored, w.reused, w.said)
	stranger := func(said string) bool { return said != fair && !locked(said) }
	shown := slices.Contains(w.reused, w.victim.Name)
	onItsWay := own > 0 || shown
	switch gone = w.late || shown || slices.ContainsFunc(w.said, locked); {
	case slices.ContainsFunc(w.said, stranger):
		err = errors.New("neither kept nor lost: " + counts)
	case w.late: // in the window of that one
	case !gone && (len(w.redeemed) != 1 || w.stored != 1 || len(w.reused) != 0):
		err = errors.New("kept, but not by one refresh: " + counts)
	case gone && (!onItsWay || len(w.reused) != 1 || w.stored != len(w.redeemed)-own):
		err = errors.New("lost outside the window: " + counts)
	case gone && used:
		err = errors.New("used before it was stored: " + counts)
	}
	return gone, err
}

func locked(said string) bool { return strings.HasPrefix(said, lockedOut) }

// late reports whether one who fell before has shown a token since.
func (f *hostProcesses) late(l *ledger) bool {
	return slices.ContainsFunc(l.reused, func(by string) bool { return slices.Contains(f.fell, by) })
}

// recruit takes in a hostProcess in place of one who fell. The login is made anew where that
// one, or one before, has cost it only now.
func (f *hostProcesses) recruit(t *testing.T) *hostProcess {
	for {
		s := f.enlist(t)
		said := s.hear()
		if said == fair {
			return s
		}
		if l := f.read(); !locked(said) || !f.late(&l) {
			t.Fatalf("%s connects: %q", s.Name, said)
		}
		f.login(t)
	}
}

// testKills kills at random points. No login is lost but in the window that no
// client can close: from when the refresh token is on its way, and so may be used
// up, until what came for it is on disk.
func (f *hostProcesses) testKills(t *testing.T, kills int) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	f.read()
	began := time.Now()
	var s survey
	for range kills {
		w := f.strike(t, randomBlow(random), random)
		gone, err := w.judge()
		if err != nil {
			t.Fatalf("killed %v after it was %v: %v", w.after, w.at, err)
		}
		s.note(&w, gone)
		if gone {
			f.login(t)
		}
		f.crew = append(f.crew, f.recruit(t))
	}
	t.Logf("%d processes, %d kills, in %v", len(f.crew), kills, time.Since(began).Round(time.Millisecond))
	s.log(t)
}

// survey is where blows fell, and what they did.
type survey struct {
	fell, lost  [moments]int
	early, late []time.Duration // from a commit to the killing: that lost the login, that did not
}

func (s *survey) note(w *wreck, gone bool) {
	s.fell[w.at]++
	if gone {
		s.lost[w.at]++
	}
	for _, r := range w.redeemed {
		if r.by != w.victim.Name {
			continue
		}
		if after := w.fell.Sub(r.at); gone {
			s.early = append(s.early, after)
		} else {
			s.late = append(s.late, after)
		}
	}
}

func (s *survey) log(t *testing.T) {
	for m := range moments {
		t.Logf("killed after it was %v: %d times, %d logins lost, all in the window", m, s.fell[m], s.lost[m])
	}
	t.Logf("from its commit to the killing that lost the login: %s", spread(s.early))
	t.Logf("from its commit to the killing that came too late:  %s", spread(s.late))
}

func spread(ds []time.Duration) string {
	if len(ds) == 0 {
		return "none"
	}
	slices.Sort(ds)
	at := func(share float64) time.Duration {
		return ds[int(share*float64(len(ds)-1))].Round(time.Microsecond)
	}
	return fmt.Sprintf("%d, min %v, p50 %v, p99 %v, max %v", len(ds), at(0), at(0.5), at(0.99), at(1))
}

package vault

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// sameBucket returns two keys of one bucket, and one of another.
func sameBucket() (a, b, other Key) {
	a = named("0")
	for i := 1; ; i++ {
		k := named(strconv.Itoa(i))
		switch {
		case k.bucket() != a.bucket():
			other = k
		case b == Key{}:
			b = k
		}
		if b != (Key{}) && other != (Key{}) {
			return a, b, other
		}
	}
}

func TestLockExcludes(t *testing.T) {
	for _, name := range []string{"in one vault", "between vaults"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir() + "/v"
			synctest.Test(t, func(t *testing.T) {
				one := Open(Config{Dir: dir})
				second := one
				if name == "between vaults" {
					second = Open(Config{Dir: dir})
				}
				unlock, err := one.Lock(t.Context(), token)
				if err != nil {
					t.Fatal(err)
				}
				short, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := second.Lock(short, token); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("locked twice: %v", err)
				}
				unlock()
				unlock()
				again, err := second.Lock(t.Context(), token)
				if err != nil {
					t.Fatal(err)
				}
				unlock() // of the first: it must not open the second
				if _, err := one.Lock(short, token); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("an unlock that came twice opened the lock of another: %v", err)
				}
				again()
			})
		})
	}
}

func TestLockIsCalledOff(t *testing.T) {
	v := Open(Config{Dir: t.TempDir() + "/v"})
	unlock, err := v.Lock(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Lock(gone, token); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want that it was cancelled", err)
	}
	if _, err := v.Lock(gone, named("free")); !errors.Is(err, context.Canceled) {
		t.Errorf("a free lock, cancelled before: got %v", err)
	}
	unlock()
	if len(v.locks.procs) != 0 {
		t.Errorf("%d procs are left", len(v.locks.procs))
	}
	if unlock, err = v.Lock(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Two records of one bucket do not keep each other out within a process, and the
// bucket stays locked to others until both are unlocked.
func TestRecordsOfOneBucket(t *testing.T) {
	dir := t.TempDir() + "/v"
	a, b, other := sameBucket()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := Open(Config{Dir: dir}), Open(Config{Dir: dir})
		refused := func(key Key) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := theirs.Lock(ctx, key); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v; want a lock that is taken", err)
			}
		}
		taken := func(v *Vault, key Key) func() {
			t.Helper()
			unlock, err := v.Lock(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			return unlock
		}
		first := taken(ours, a)
		second := taken(ours, b)
		refused(a)
		first()
		refused(b)
		taken(theirs, other)()
		second()
		taken(theirs, b)()
	})
}

func TestLockFilesAreFew(t *testing.T) {
	dir := t.TempDir() + "/v"
	v := Open(Config{Dir: dir})
	for i := range 5 * buckets {
		unlock, err := v.Lock(t.Context(), named(strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > buckets {
		t.Errorf("%d lock files, error %v; want %d at the most", len(files), err, buckets)
	}
	// Programs of all versions must agree on which lock a record has.
	if got := token.bucket(); got != goldenBucket {
		t.Errorf("the bucket of %s is %d; it was %d", token, got, goldenBucket)
	}
}

const goldenBucket = 2

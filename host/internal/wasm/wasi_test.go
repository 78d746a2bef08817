package wasm

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// wasiWorld runs do inside of a call of an instance with one page of memory.
// sys calls a WASI function by name, as a module would.
func wasiWorld(t *testing.T, c InstanceConfig, do func(in *Instance, sys func(name string, args ...uint64) errno)) *Instance {
	t.Helper()
	s, b := calling(func(in *Instance, _ []uint64) {
		do(in, func(name string, args ...uint64) errno {
			for _, f := range wasi {
				if f.name == name {
					if len(args) != len(f.signature.params) {
						t.Fatalf("%s takes %v", name, f.signature)
					}
					in.Charge(f.price)
					stack := append(args, 0)
					f.run(in, stack)
					return errno(stack[0])
				}
			}
			t.Fatalf("there is no %s", name)
			return 0
		})
	})
	b.memory = &bounds{min: 1}
	m, err := newEngine(t, s).Load(t.Context(), "guest", b.bytes())
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Instantiate(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	_, _ = in.Export("run").Call(EventBudget, 0)
	if d := in.Dead(); d != nil && d.Kind == TrapOther {
		t.Errorf("a function of the host failed: %v", d)
	}
	return in
}

func TestWasiEnviron(t *testing.T) {
	wasiWorld(t, InstanceConfig{Env: []string{"A=1", "GOGC=25"}}, func(in *Instance, sys func(string, ...uint64) errno) {
		view, _ := in.Memory(0, pageSize)
		if e := sys("environ_sizes_get", 0, 4); e != success || !bytes.Equal(view[:8], []byte{2, 0, 0, 0, 12, 0, 0, 0}) {
			t.Errorf("sizes: %d, %v", e, view[:8])
		}
		if e := sys("environ_get", 16, 32); e != success || string(view[32:44]) != "A=1\x00GOGC=25\x00" ||
			!bytes.Equal(view[16:24], []byte{32, 0, 0, 0, 36, 0, 0, 0}) {
			t.Errorf("environment: %d, %q, %v", e, view[32:44], view[16:24])
		}
		if e := sys("args_sizes_get", 0, 4); e != success || !bytes.Equal(view[:8], make([]byte, 8)) {
			t.Errorf("arguments: %d, %v", e, view[:8])
		}
	})
}

func TestWasiClocksAndRandomness(t *testing.T) {
	wasiWorld(t, InstanceConfig{}, func(in *Instance, sys func(string, ...uint64) errno) {
		view, _ := in.Memory(0, pageSize)
		read := func() uint64 { return binary.LittleEndian.Uint64(view) }
		const year2025 = 1735689600e9
		if e := sys("clock_time_get", clockRealtime, 1, 0); e != success || read() < year2025 {
			t.Errorf("wall clock: %d, %d", e, read())
		}
		if e := sys("clock_time_get", clockMonotonic, 1, 0); e != success || read() == 0 {
			t.Errorf("clock: %d, %d", e, read())
		}
		first := read()
		if sys("clock_time_get", clockMonotonic, 1, 0); read() < first {
			t.Error("the clock goes backwards")
		}
		if e := sys("clock_time_get", 2, 1, 0); e != eInval {
			t.Errorf("processor clock: %d", e)
		}
		if e := sys("random_get", 0, 64); e != success || bytes.Equal(view[:32], view[32:64]) {
			t.Errorf("randomness: %d, %v", e, view[:64])
		}
	})
}

func TestWasiFiles(t *testing.T) {
	var log strings.Builder
	wasiWorld(t, InstanceConfig{Stderr: &log}, func(in *Instance, sys func(string, ...uint64) errno) {
		view, _ := in.Memory(0, pageSize)
		copy(view[100:], "hello, host")
		copy(view, []byte{100, 0, 0, 0, 7, 0, 0, 0, 107, 0, 0, 0, 4, 0, 0, 0})
		if e := sys("fd_write", 2, 0, 2, 50); e != success || view[50] != 11 || log.String() != "hello, host" {
			t.Errorf("write: %d, %d, %q", e, view[50], log.String())
		}
		for name, c := range map[string]struct{ got, want errno }{
			"write to none":  {sys("fd_write", 3, 0, 2, 50), eBadf},
			"write to stdin": {sys("fd_write", 0, 0, 2, 50), eBadf},
			"too many":       {sys("fd_write", 2, 0, 1<<30, 50), eInval},
			"vectors":        {sys("fd_write", 2, pageSize-4, 1, 50), eFault},
			"read":           {sys("fd_read", 0, 0, 1, 50), success},
			"read from none": {sys("fd_read", 5, 0, 1, 50), eBadf},
			"seek":           {sys("fd_seek", 1, 0, 0, 50), eSpipe},
			"stat":           {sys("fd_fdstat_get", 1, 60), success},
			"stat none":      {sys("fd_fdstat_get", 3, 60), eBadf},
			"preopen":        {sys("fd_prestat_get", 3, 0), eBadf},
			"preopen name":   {sys("fd_prestat_dir_name", 3, 0, 9), eBadf},
			"close":          {sys("fd_close", 2), success},
			"flags":          {sys("fd_fdstat_set_flags", 2, 4), success},
		} {
			if c.got != c.want {
				t.Errorf("%s: %d, want %d", name, c.got, c.want)
			}
		}
	})
}

// TestWasiPointers hands every function pointers outside of memory. None may
// panic, and each that uses a pointer must say so.
func TestWasiPointers(t *testing.T) {
	uses := map[string]bool{"args_sizes_get": true, "environ_get": true, "environ_sizes_get": true, "clock_res_get": true, "random_get": true}
	wasiWorld(t, InstanceConfig{Env: []string{"A=1"}}, func(in *Instance, sys func(string, ...uint64) errno) {
		for _, f := range wasi {
			if f.name == "proc_exit" {
				continue
			}
			for _, bad := range []uint64{1, pageSize - 1, pageSize, 1<<32 - 1, 1<<32 - 8} {
				args := make([]uint64, len(f.signature.params))
				for i := range args {
					args[i] = bad
				}
				e := sys(f.name, args...)
				if bad > 1 && uses[f.name] && e != eFault && e != eInval {
					t.Errorf("%s(%d…) says %d", f.name, bad, e)
				}
			}
		}
	})
}

func TestWasiPollAnswersAtOnce(t *testing.T) {
	naps := 0
	in := wasiWorld(t, InstanceConfig{}, func(in *Instance, sys func(string, ...uint64) errno) {
		view, _ := in.Memory(0, pageSize)
		view[0], view[48], view[56] = 7, 8, 1 // a clock, and a descriptor
		if e := sys("poll_oneoff", 0, 512, 2, 1024); e != success || view[1024] != 2 {
			t.Errorf("says %d, %d events", e, view[1024])
		}
		if view[512] != 7 || view[544] != 8 || view[552] != byte(eBadf) || view[554] != 1 {
			t.Errorf("events: %v", view[512:576])
		}
		if e := sys("poll_oneoff", 0, 512, 0, 1024); e != eInval {
			t.Errorf("nothing to wait for: %d", e)
		}
		binary.LittleEndian.PutUint64(view[24:], 3600e9)
		for { // an hour, again and again: the budget ends it
			naps++
			sys("poll_oneoff", 0, 512, 1, 1024)
		}
	})
	if d := in.Dead(); d == nil || d.Kind != TrapFuel {
		t.Errorf("ended by %v", d)
	}
	if naps > EventBudget/napPrice {
		t.Errorf("held up the host %d times for %v", naps, longestNap)
	}
}

func TestWasiExit(t *testing.T) {
	in := wasiWorld(t, InstanceConfig{}, func(_ *Instance, sys func(string, ...uint64) errno) { sys("proc_exit", 3) })
	if d := in.Dead(); d == nil || d.Kind != TrapExit || d.Code != 3 || d.Error() != "exited with code 3" {
		t.Errorf("ended by %v", d)
	}
}

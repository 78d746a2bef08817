//go:build unix

package wasm

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
	"testing/fstest"
)

// A folder is taken from its owner alone, and where others may not write to it.
func TestFoldersOfOthers(t *testing.T) {
	own := &syscall.Stat_t{Uid: uint32(os.Geteuid())}
	other := &syscall.Stat_t{Uid: uint32(os.Geteuid()) + 1}
	for _, test := range []struct {
		sys  any
		mode fs.FileMode
		want bool
	}{
		{own, 0o700, true}, {own, 0o755, true}, {own, 0o720, false}, {own, 0o702, false},
		{other, 0o700, false}, {nil, 0o700, false}, {"own", 0o700, false},
	} {
		info, err := fstest.MapFS{"a": {Mode: test.mode, Sys: test.sys}}.Stat("a")
		if err != nil {
			t.Fatal(err)
		}
		if got := ownedAlone(info); got != test.want {
			t.Errorf("%v, mode %v: %v", test.sys, test.mode, got)
		}
	}
}

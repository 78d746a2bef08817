package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nativeFile is a file of native code.
type nativeFile struct {
	magic, version string
	functions      uint32
	offsets        []uint64
	length         uint64
	code, end      string
}

func soundNative() nativeFile {
	return nativeFile{magic: nativeMagic, version: "v1.9", functions: 3, offsets: []uint64{0, 5, 9}, length: 10,
		code: "0123456789", end: "\x00\x00\x00\x00\x00"}
}

func (n nativeFile) bytes() []byte {
	b := append([]byte(n.magic), byte(len(n.version)))
	b = binary.LittleEndian.AppendUint32(append(b, n.version...), n.functions)
	for _, o := range n.offsets {
		b = binary.LittleEndian.AppendUint64(b, o)
	}
	b = append(binary.LittleEndian.AppendUint64(b, n.length), n.code...)
	return append(append(b, "sum!"...), n.end...)
}

// TestNativeFiles has files of native code whose counts do not agree with their size.
func TestNativeFiles(t *testing.T) {
	dir, path, n := t.TempDir(), "", 0
	check := func(b []byte, size int) error {
		n++ // a file that is written again would be flushed to the disk
		path = filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return checkNative(path, int64(size))
	}
	for _, test := range []struct {
		name   string
		sound  bool
		change func(n *nativeFile)
	}{
		{"as it is", true, func(*nativeFile) {}},
		{"another magic", false, func(n *nativeFile) { n.magic = "WAZEVI" }},
		{"a longer version", true, func(n *nativeFile) { n.version = strings.Repeat("v", 255) }},
		{"no version", true, func(n *nativeFile) { n.version = "" }},
		{"no functions", true, func(n *nativeFile) { n.functions, n.offsets, n.length, n.code = 0, nil, 0, "" }},
		{"a function more", false, func(n *nativeFile) { n.functions++ }},
		{"a function less", false, func(n *nativeFile) { n.functions-- }},
		{"4 billion functions", false, func(n *nativeFile) { n.functions = 1<<32 - 1 }},
		{"the last byte", true, func(n *nativeFile) { n.offsets[1] = 9 }},
		{"past the code", false, func(n *nativeFile) { n.offsets[1] = 10 }},
		{"far past the code", false, func(n *nativeFile) { n.offsets[2] = 1<<64 - 1 }},
		{"a function without code", false, func(n *nativeFile) { n.length, n.code = 0, "" }},
		{"a byte more", false, func(n *nativeFile) { n.length++ }},
		{"a byte less", false, func(n *nativeFile) { n.length-- }},
		{"an endless length", false, func(n *nativeFile) { n.length = 1<<64 - 1 }},
		{"code that is left over", false, func(n *nativeFile) { n.code += "x" }},
		{"source lines", false, func(n *nativeFile) { n.end = "\x01\x00\x00\x00\x00" }},
		{"handlers", false, func(n *nativeFile) { n.end = "\x00\x00\x00\x00\x01" }},
		{"a short end", false, func(n *nativeFile) { n.end = "\x00\x00\x00\x00" }},
	} {
		n := soundNative()
		test.change(&n)
		b := n.bytes()
		if err := check(b, len(b)); (err == nil) != test.sound || !test.sound && !errors.Is(err, errNative) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	b := soundNative().bytes()
	for n := range b {
		if err := check(b[:n], n); !errors.Is(err, errNative) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
		if err := check(b[:n], len(b)); !errors.Is(err, errNative) { // cut after it was looked at
			t.Errorf("the first %d bytes of as many as there were: %v", n, err)
		}
	}
	if err := checkNative(path+"s", 100); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}

// TestCacheFoldersAreChecked has folders at the bounds and past them. Large files are
// sparse.
func TestCacheFoldersAreChecked(t *testing.T) {
	sound := string(soundNative().bytes())
	sparse := func(t *testing.T, path string, size int64) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
	}
	put := func(t *testing.T, content string, path ...string) {
		t.Helper()
		file := filepath.Join(path...)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	// The folders are the cache itself, metered and native: three entries.
	for _, test := range []struct {
		name, want string
		fill       func(t *testing.T, s *cacheDir)
	}{
		{"empty", "", func(*testing.T, *cacheDir) {}},
		{"as many files as may be", "", func(t *testing.T, s *cacheDir) {
			for i := range maxCacheFiles - 3 {
				put(t, "", s.path(string(rune('a'+i))))
			}
		}},
		{"a file too many", "more than 256 files", func(t *testing.T, s *cacheDir) {
			for i := range maxCacheFiles - 3 + 1 {
				put(t, "", s.path(string(rune('a'+i))))
			}
		}},
		{"a file as large as may be", "", func(t *testing.T, s *cacheDir) { sparse(t, s.path("a"), maxCacheFile) }},
		{"a file too large", "bytes in one file", func(t *testing.T, s *cacheDir) { sparse(t, s.path("a"), maxCacheFile+1) }},
		{"as much as may be", "", func(t *testing.T, s *cacheDir) {
			for i := range maxCacheBytes / maxCacheFile {
				sparse(t, s.path(string(rune('a'+i))), maxCacheFile)
			}
		}},
		{"too much", "in all", func(t *testing.T, s *cacheDir) {
			for i := range maxCacheBytes / maxCacheFile {
				sparse(t, s.path(string(rune('a'+i))), maxCacheFile)
			}
			put(t, "x", s.path("x"))
		}},
		{"a link", "not a regular file", func(t *testing.T, s *cacheDir) {
			if err := os.Symlink("/dev/zero", s.path("a")); err != nil {
				t.Fatal(err)
			}
		}},
		{"native code", "", func(t *testing.T, s *cacheDir) { put(t, sound, s.native, "v1", "a") }},
		{"no native code", "a: not native code", func(t *testing.T, s *cacheDir) { put(t, sound[1:], s.native, "v1", "a") }},
		{"native code that is being written", "", func(t *testing.T, s *cacheDir) { put(t, sound[1:], s.native, "v1", "a.tmp") }},
		{"a file where no native code is read", "", func(t *testing.T, s *cacheDir) {
			put(t, "x", s.native, "a")
			put(t, "x", s.native, "v1", "more", "a")
			put(t, "x", s.metered, "v1", "a")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := openCacheDir(filepath.Join(t.TempDir(), "cache"), defaultLimits, EventBudget)
			if err != nil {
				t.Fatal(err)
			}
			test.fill(t, s)
			err = checkCache(s)
			if test.want == "" && err != nil {
				t.Errorf("says %v", err)
			}
			if test.want != "" && (!errors.As(err, new(*SpoiledError)) || !errors.Is(err, ErrNotCompiled) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("says %v, want %q", err, test.want)
			}
		})
	}
	gone := &cacheDir{native: filepath.Join(t.TempDir(), "gone", "native")}
	if err := checkCache(gone); !errors.As(err, new(*SpoiledError)) || !errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) {
		t.Errorf("a folder that is gone: %v", err)
	}
}

// An entry of the cache is the digest of what follows it, which may be nothing.
func TestEntriesOfTheCache(t *testing.T) {
	s, err := openCacheDir(filepath.Join(t.TempDir(), "cache"), defaultLimits, EventBudget)
	if err != nil {
		t.Fatal(err)
	}
	for _, metered := range [][]byte{{}, []byte("metered")} {
		s.put("a", metered)
		if got, ok := s.get("a"); !ok || !bytes.Equal(got, metered) {
			t.Errorf("%q comes back as %q, %v", metered, got, ok)
		}
	}
	for _, damaged := range []string{"", "short", strings.Repeat("s", 31), strings.Repeat("s", 40)} {
		if err := os.WriteFile(s.path("a"), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := s.get("a"); ok || got != nil {
			t.Errorf("%q is taken for %q", damaged, got)
		}
	}
	if err := os.WriteFile(s.path("a"), []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := readUpTo(s.path("a"), 10); err != nil || len(b) != 10 {
		t.Errorf("a file of as much as may be: %q, %v", b, err)
	}
	if b, err := readUpTo(s.path("a"), 9); err == nil || b != nil {
		t.Errorf("a file of more: %q", b)
	}
	if err := os.MkdirAll(s.path("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.put("folder", []byte("metered")) // cannot take the place of a folder
	if left, err := filepath.Glob(filepath.Join(s.metered, "new-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

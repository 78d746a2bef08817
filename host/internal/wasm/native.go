package wasm

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNotCompiled is the error of an Engine or Extism that is Precompiled, for a
// module whose native code is not in the cache, or cannot be used.
var ErrNotCompiled = errors.New("its native code is not in the cache")

// SpoiledError is an ErrNotCompiled that says what is wrong with the content of the cache.
type SpoiledError struct{ Err error }

func (e *SpoiledError) Error() string        { return fmt.Sprintf("%v: %v", ErrNotCompiled, e.Err) }
func (e *SpoiledError) Unwrap() error        { return e.Err }
func (e *SpoiledError) Is(target error) bool { return target == ErrNotCompiled }

// Source says where the native code of a foreign module comes from. The zero value keeps
// nothing.
type Source struct {
	Dir         string // a cache folder for this module alone
	Precompiled bool   // as in Config
	Limits      Limits // zero fields take their defaults
}

// Bounds of a cache folder that another process has filled. They are several times what a
// module within the default limits needs: the metered form, and native code for some
// versions of this program.
const (
	maxCacheFiles = 256       // files and folders
	maxCacheBytes = 256 << 20 // of all files
)

// checkCache returns a SpoiledError for a folder, filled by another process, that must not
// be read. A folder that passes can be read in bounded time and memory, and no size or
// count in it makes the reader allocate more than the folder holds. checkCache cannot tell
// whether native code does what the module says: the process that fills the folder is
// trusted with that module, and with no other.
func checkCache(s *cacheDir) error {
	entries, size := 0, int64(0)
	err := filepath.WalkDir(filepath.Dir(s.native), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > maxCacheFiles {
			return fmt.Errorf("there are more than %d files", maxCacheFiles)
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		switch {
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file", d.Name())
		case info.Size() > maxCacheFile || size > maxCacheBytes:
			return fmt.Errorf("there are more than %d bytes in one file, or %d in all", maxCacheFile, maxCacheBytes)
		case filepath.Ext(path) == ".tmp" || filepath.Dir(filepath.Dir(path)) != s.native:
			return nil // no native code that is read
		}
		if err := checkNative(path, info.Size()); err != nil {
			return fmt.Errorf("%s: %w", d.Name(), err)
		}
		return nil
	})
	if err != nil {
		return &SpoiledError{err}
	}
	return nil
}

// nativeMagic begins a file of native code.
const nativeMagic = "WAZEVO"

// errNative is the error of a file that does not have the form of native code.
var errNative = errors.New("not native code of a version that can be read")

// checkNative compares the counts in a file of native code with its size. wazero
// trusts them. The file is: magic, a version (its length in one byte), the number of
// functions (u32), where each begins (u64), the length of the code (u64), the code,
// its checksum (u32, which wazero compares), and then a byte and a u32, both 0:
// there are no source lines and no handlers of exceptions. Integers are little
// endian.
func checkNative(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	head := make([]byte, len(nativeMagic)+1)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:len(nativeMagic)]) != nativeMagic {
		return errNative
	}
	version := make([]byte, head[len(nativeMagic)])
	var functions uint32
	if _, err := io.ReadFull(in, version); err != nil || binary.Read(in, binary.LittleEndian, &functions) != nil {
		return errNative
	}
	begin := int64(len(head) + len(version) + 4)
	const tail = 8 + 4 + 1 + 4 // the length of the code, the checksum and the end
	code := size - begin - 8*int64(functions) - tail
	if code < 0 {
		return errNative
	}
	var offset [8]byte
	for range functions {
		if _, err := io.ReadFull(in, offset[:]); err != nil || binary.LittleEndian.Uint64(offset[:]) >= uint64(code) {
			return errNative
		}
	}
	var length uint64
	if binary.Read(in, binary.LittleEndian, &length) != nil || length != uint64(code) {
		return errNative
	}
	end := make([]byte, 1+4)
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil || !bytes.Equal(end, make([]byte, len(end))) {
		return errNative
	}
	return nil
}

// mostWorkers is the most functions that are compiled at a time. Each takes up to the memory that
// Limits.BodyEffort allows: about 150 MB by default.
const mostWorkers = 4

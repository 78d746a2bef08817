package wasm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// unkept is for what is made and cannot be kept, on a disk that is full or cannot
// be written to: a module runs all the same, and is compiled anew next time.
// Whoever wants to hear of that is told once.
type unkept struct {
	hear func(error) // nil for nobody
	once sync.Once
}

func (u *unkept) tell(err error) {
	if u.hear != nil {
		u.once.Do(func() { u.hear(fmt.Errorf("plugin cache: %w", err)) })
	}
}

// ofDisk reports whether an error is one of the file system: the machine's, where
// all others are about the module or about who the folder belongs to.
func ofDisk(err error) bool {
	return errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))
}

// CheckCache says why nothing can be kept in dir, which it makes if it is missing
// as an Engine does.
func CheckCache(dir string) error {
	s, err := openShelf(dir, Limits{}, 0)
	if err != nil {
		return err
	}
	for _, d := range []string{s.metered, s.native} {
		f, err := os.CreateTemp(d, "new-*")
		if err != nil {
			return err
		}
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			return err
		}
	}
	return nil
}

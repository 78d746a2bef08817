package amend

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// Change is a change of a configuration that is not written yet.
type Change struct {
	File *tomledit.File
	Text []byte // the whole file as it will be

	Name string         // of the server that it is about; "" for [Edit]s
	Was  *config.Server // its entry before, nil for none
	Is   *config.Server // its entry then, nil for none

	// Lines are what a person is shown. No line can steer a terminal. None is cut.
	Lines []string

	// Grave are the keys that a person has to agree to, in the order of the file's tables: they add or
	// change what is run, reached or given away, or lose what a person wrote.
	Grave []string

	make func(*Change) error // sets all but File, from File
}

// TakenError says that a file has a server of that name already.
type TakenError struct{ Name, Path string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("there is a server %q in %s already", e.Name, e.Path)
}

// GoneError says that a file has no server of that name.
type GoneError struct{ Name, Path string }

func (e *GoneError) Error() string { return fmt.Sprintf("the server %q is not in %s", e.Name, e.Path) }

func newChange(f *tomledit.File, make func(*Change) error) (*Change, error) {
	c := &Change{File: f, make: make}
	if err := make(c); err != nil {
		return nil, err
	}
	return c, nil
}

// Write writes the change as it is. If the file is another by now, it writes nothing and returns
// [tomledit.ErrChanged].
func (c *Change) Write(ctx context.Context) error { return c.File.Write(ctx, c.Text) }

// Merge writes the change. If the file is another by now, the change is made again on that.
func (c *Change) Merge(ctx context.Context) error {
	err := c.Write(ctx)
	if errors.Is(err, tomledit.ErrChanged) {
		err = c.File.Rewrite(ctx, func() ([]byte, error) {
			err := c.make(c)
			return c.Text, err
		})
	}
	return err
}

// find returns the entry of a file, or nil.
func find(f *tomledit.File, name string) *config.Server {
	for _, s := range f.Read.Servers {
		if s.Name == name {
			return &s
		}
	}
	return nil
}

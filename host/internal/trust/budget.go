package trust

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of what is read of a project's own files.
const (
	maxPin   = 256 << 20 // bytes that one command line, or those of one file, may have read
	maxPins  = 64        // files that one command line names
	maxTried = 8 << 10   // names that are tried for one command line
	maxTries = 64 << 10  // and for all of a budget: a second, about
	maxMain  = 1 << 20   // bytes of a package.json in which "main" is looked for

	// A list of servers is for a look around: it must cost next to nothing,
	// whatever lies in the folder.
	listPin  = 64 << 20
	listTime = 2 * time.Second
)

// ErrBudget says that a look would cost more than it may.
var ErrBudget = errors.New("the project's files are too large, or too many, to be looked at each time")

// Budget bounds what looks at the files of projects may cost together. For one
// goroutine, and for as long as one question or one list takes: a file that several
// command lines name is read once.
type Budget struct {
	bytes int64             // that may still be read
	limit int64             // that might be read at the beginning
	until time.Time         // zero: as long as it takes
	known map[string]string // digests by the paths of files
	tried int               // names, for the command line under way
	tries int               // names, for all
}

// ForQuestion returns a budget for what a person is asked about, or has asked for.
func ForQuestion() *Budget {
	return &Budget{bytes: maxPin, limit: maxPin, known: make(map[string]string)}
}

// ForList returns a budget for a list, which begins now.
func ForList() *Budget {
	return &Budget{bytes: listPin, limit: listPin, until: time.Now().Add(listTime), known: make(map[string]string)}
}

// spend takes n bytes, and returns an error once there are no more, or no time.
func (b *Budget) spend(n int64) error {
	if b.bytes -= n; b.bytes < 0 {
		return b.tooLarge()
	}
	if !b.until.IsZero() && time.Now().After(b.until) {
		return fmt.Errorf("%w; a list takes at most %v for it", ErrBudget, listTime)
	}
	return nil
}

func (b *Budget) tooLarge() error {
	return fmt.Errorf("%w; at most %d MiB are", ErrBudget, b.limit>>20)
}

// begin is for a command line that is looked at.
func (b *Budget) begin() { b.tried = 0 }

// try counts a name that is looked for.
func (b *Budget) try() error {
	b.tried++
	b.tries++
	if b.tried > maxTried || b.tries > maxTries {
		return fmt.Errorf("%w; at most %d names are tried for a command", ErrBudget, maxTried)
	}
	return b.spend(0)
}

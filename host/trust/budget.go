package trust

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of what is read of a project's own files.
const (
	maxBytes    = 256 << 20 // bytes that one command line, or those of one file, may have read
	maxFiles    = 64        // files that one command line names
	maxNames    = 8 << 10   // names that are tried for one command line
	maxAllNames = 64 << 10  // and for all of a budget: a second, about
	maxMain     = 1 << 20   // bytes of a package.json in which "main" is looked for

	// An overview of servers must cost next to nothing, whatever lies in the
	// folder.
	listBytes = 64 << 20
	listTime  = 2 * time.Second
)

// errBudget ends a scan that would cost too much.
var errBudget = errors.New("the project's files are too large, or too many, to be looked at each time")

// budget bounds what reading the files of projects may cost. It is for one goroutine,
// and for one question or one list: a file that several command lines name is read
// once.
type budget struct {
	bytes int64             // that may still be read
	limit int64             // of bytes, at the start
	until time.Time         // zero: as long as it takes
	known map[string]string // digests by the paths of files
	tried int               // names, for the command line under way
	tries int               // names, for all
}

// questionBudget is for servers that a person is asked about, or has asked to see.
func questionBudget() *budget {
	return &budget{bytes: maxBytes, limit: maxBytes, known: make(map[string]string)}
}

// listBudget is for an overview. Its time starts now.
func listBudget() *budget {
	return &budget{bytes: listBytes, limit: listBytes, until: time.Now().Add(listTime), known: make(map[string]string)}
}

// spend takes n bytes. It returns an error once there are no bytes or no time left.
func (b *budget) spend(n int64) error {
	if b.bytes -= n; b.bytes < 0 {
		return b.tooLarge()
	}
	if !b.until.IsZero() && time.Now().After(b.until) {
		return fmt.Errorf("%w; a list takes at most %v for it", errBudget, listTime)
	}
	return nil
}

func (b *budget) tooLarge() error {
	return fmt.Errorf("%w; at most %d MiB are", errBudget, b.limit>>20)
}

// begin starts with another command line.
func (b *budget) begin() { b.tried = 0 }

// try counts a file name that is tried.
func (b *budget) try() error {
	b.tried++
	b.tries++
	if b.tried > maxNames || b.tries > maxAllNames {
		return fmt.Errorf("%w; at most %d names are tried for a command", errBudget, maxNames)
	}
	return b.spend(0)
}

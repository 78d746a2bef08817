package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Bounds of reading a project's own files.
const (
	maxBytes    = 256 << 20 // bytes that may be read to answer one question about servers
	maxTime     = 15 * time.Second
	maxFiles    = 64       // files that one command line may name
	maxNames    = 8 << 10  // names that are looked up for one command line, including those on the way of links
	maxAllNames = 64 << 10 // names that are looked up in a budget, which takes about a second
	maxMain     = 1 << 20  // bytes of a package.json in which "main" is looked for
	maxLinks    = 64       // links behind one name; no system follows more

	// Listing servers must cost next to nothing, whatever lies in the folder.
	listBytes = 64 << 20
	listTime  = 2 * time.Second
)

// errBudget ends a look at a server that would cost too much.
var errBudget = errors.New("the project's files are too large, or too many, to be looked at each time")

// budget bounds the cost of reading the files of projects. It belongs to one goroutine, and to
// one question or one list. A file that several command lines name is read once.
type budget struct {
	ctx   context.Context
	bytes int64 // that may still be read
	limit int64 // of bytes, at the start
	time  time.Duration
	until time.Time
	known map[string]string // digests by the paths of files
	tried int               // names that the command line under way has looked up; the caller sets it to 0 for each command line
	tries int               // names that all command lines have looked up
}

// questionBudget returns the budget for servers that a person is asked about, or has asked to see.
// Its time starts now.
func questionBudget(ctx context.Context) *budget { return newBudget(ctx, maxBytes, maxTime) }

// listBudget returns the budget for an overview of servers. Its time starts now.
func listBudget(ctx context.Context) *budget { return newBudget(ctx, listBytes, listTime) }

func newBudget(ctx context.Context, bytes int64, takes time.Duration) *budget {
	return &budget{ctx: ctx, bytes: bytes, limit: bytes, time: takes, until: time.Now().Add(takes), known: make(map[string]string)}
}

// spend takes n bytes from the budget. It returns an error if no bytes or no time are left, or
// the cause of the context if that has ended.
func (b *budget) spend(n int64) error {
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	if b.bytes -= n; b.bytes < 0 {
		return b.tooLarge()
	}
	if time.Now().After(b.until) {
		return fmt.Errorf("%w; a look takes at most %v", errBudget, b.time)
	}
	return nil
}

func (b *budget) tooLarge() error {
	return fmt.Errorf("%w; at most %d MiB are", errBudget, b.limit>>20)
}

// try counts a file name that is looked up.
func (b *budget) try() error {
	b.tried++
	b.tries++
	if b.tried > maxNames || b.tries > maxAllNames {
		return fmt.Errorf("%w; at most %d names are tried for a command", errBudget, maxNames)
	}
	return b.spend(0)
}

// real returns an absolute path with its links resolved. Links may lead over any number of names,
// so real takes each name on the way from the budget. The names of from, a folder without links,
// cost nothing. A name that does not exist counts as no link. For a path with more links than a
// system follows, real returns "".
func (b *budget) real(from, path string) (string, error) {
	at, rest := rootOf(path)
	if inside, below := strings.CutPrefix(path, from+string(filepath.Separator)); below {
		at, rest = from, inside
	}
	for links := 0; rest != ""; {
		var name string
		if name, rest, _ = strings.Cut(rest, string(filepath.Separator)); name == "" {
			continue
		}
		if err := b.try(); err != nil {
			return "", err
		}
		next := filepath.Join(at, name) // ".." is the parent of the folder that a link led to
		target, err := os.Readlink(next)
		if errors.Is(err, fs.ErrNotExist) && !strings.Contains(rest, "..") {
			return filepath.Join(next, rest), nil
		}
		if err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", nil
		}
		target = filepath.FromSlash(target)
		if filepath.IsAbs(target) {
			at, target = rootOf(target)
		}
		rest = target + string(filepath.Separator) + rest
	}
	return at, nil
}

// rootOf splits an absolute path behind its root.
func rootOf(path string) (root, rest string) {
	root = filepath.VolumeName(path) + string(filepath.Separator)
	return root, strings.TrimPrefix(path, root)
}

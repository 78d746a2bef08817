package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/private"
)

// The files of a ledger.
const (
	bookFile = "trust.json"
	lockFile = "trust.lock"
)

const (
	version    = 1
	maxFile    = 4 << 20
	maxRecords = 1024

	// poll is how often a lock is tried that another process has. No system call
	// waits for a lock and can be called off.
	poll = 5 * time.Millisecond
)

// Verdict is what a user decided.
type Verdict string

// The verdicts. Without a record there is none.
const (
	Approved Verdict = "approved"
	Denied   Verdict = "denied"
)

// Record is a decision about one entry.
type Record struct {
	Entry
	Hash    string    `json:"hash"` // of the entry that was decided about
	Verdict Verdict   `json:"verdict"`
	Decided time.Time `json:"decided"` // for people
}

// Ledger is a file of decisions that processes share. Its methods may be called
// at any time from any goroutine. Between two calls it holds nothing open.
type Ledger struct{ folder *private.Folder }

// Open returns the ledger in a folder, which is made when something is first
// kept. It touches nothing.
func Open(dir string) *Ledger { return &Ledger{private.In(dir)} }

// Path returns where the decisions are, whether or not there are any.
func (l *Ledger) Path() string { return l.folder.Path(bookFile) }

// About returns what was last decided about a key, or nil.
func About(records []Record, key Key) *Record {
	if i := find(records, key); i >= 0 {
		return &records[i]
	}
	return nil
}

func find(records []Record, key Key) int {
	return slices.IndexFunc(records, func(r Record) bool { return r.Key() == key })
}

// List returns all decisions, sorted by their keys. It waits for no lock: a ledger
// is only ever replaced as a whole.
func (l *Ledger) List() ([]Record, error) {
	text, err := l.folder.Read(bookFile, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		var records []Record
		if records, err = parse(text); err == nil {
			return records, nil
		}
		err = fmt.Errorf("%s is not what this program wrote: %w; restore it, or remove it to decide anew", l.Path(), err)
	}
	return nil, fmt.Errorf("trust: %w", err)
}

// Decide keeps a verdict in place of the one about the same key, and returns once
// it would outlive a loss of power.
func (l *Ledger) Decide(ctx context.Context, e Entry, v Verdict) error {
	r := Record{Entry: e, Hash: e.Hash(), Verdict: v, Decided: time.Now().UTC().Truncate(time.Second)}
	if err := r.check(); err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	_, err := l.change(ctx, func(records []Record) []Record {
		if i := find(records, e.Key()); i >= 0 {
			records[i] = r
			return records
		}
		return append(records, r)
	})
	return err
}

// Revoke removes the decisions that which picks, and returns how many those were.
func (l *Ledger) Revoke(ctx context.Context, which func(Record) bool) (removed int, err error) {
	if records, err := l.List(); err == nil && records == nil {
		return 0, nil // and no folder is made for it
	}
	return l.change(ctx, func(records []Record) []Record { return slices.DeleteFunc(records, which) })
}

// change lets edit change the records, under the lock that every writer takes,
// and returns how many fewer there are.
func (l *Ledger) change(ctx context.Context, edit func([]Record) []Record) (fewer int, err error) {
	if err := l.folder.Claim(); err != nil {
		return 0, fmt.Errorf("trust: %w", err)
	}
	lock := l.folder.Flock(lockFile)
	if _, err := lock.TryLockContext(ctx, poll); err != nil {
		return 0, fmt.Errorf("trust: %s: %w", lock.Path(), err)
	}
	defer lock.Close() // unlocks it first, which fails for no file that is open
	records, err := l.List()
	if err != nil {
		return 0, err
	}
	before := len(records)
	records = edit(records)
	text, err := format(records)
	if err == nil {
		err = l.folder.Write(bookFile, text)
	}
	if err != nil {
		return 0, fmt.Errorf("trust: %w", err)
	}
	return before - len(records), nil
}

// book is what the file says.
type book struct {
	Version int      `json:"version"`
	Records []Record `json:"records"`
}

// format returns what parse reads, or says that the ledger is full.
func format(records []Record) ([]byte, error) {
	slices.SortFunc(records, func(a, b Record) int { return compare(a.Key(), b.Key()) })
	text, err := private.Format(book{version, append([]Record{}, records...)})
	if err != nil {
		return nil, err
	}
	if len(records) > maxRecords || len(text) > maxFile {
		return nil, fmt.Errorf("%d decisions in %d bytes are more than are kept; revoke those about projects that are gone", len(records), len(text))
	}
	return text, nil
}

func compare(a, b Key) int {
	return slices.Compare([]string{a.Project, a.File, a.Server}, []string{b.Project, b.File, b.Server})
}

// parse reads the text of a ledger and believes nothing: what it returns could
// have been written by this program.
func parse(text []byte) ([]Record, error) {
	var b book
	err := private.Parse(text, &b)
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return nil, err
	}
	return b.Records, nil
}

func (b *book) check() error {
	switch {
	case b.Version != version:
		return fmt.Errorf("it is of version %d; expected %d", b.Version, version)
	case len(b.Records) > maxRecords:
		return fmt.Errorf("there are %d records; at most %d are kept", len(b.Records), maxRecords)
	}
	for i, r := range b.Records {
		if err := r.check(); err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
		if i > 0 && compare(b.Records[i-1].Key(), r.Key()) >= 0 {
			return fmt.Errorf("record %d is out of order, or there twice", i+1)
		}
	}
	return nil
}

func (r Record) check() error {
	switch {
	case r.Verdict != Approved && r.Verdict != Denied:
		return fmt.Errorf("its verdict is %q; expected %q or %q", r.Verdict, Approved, Denied)
	case r.Hash != r.Entry.Hash():
		return errors.New("its hash is not that of its facts")
	}
	return r.Entry.Check()
}

// SameHash reports whether a person named a hash: with or without what it begins
// with, in either case.
func SameHash(hash, named string) bool {
	return named != "" && strings.EqualFold(strings.TrimPrefix(hash, prefix), strings.TrimPrefix(strings.ToLower(named), prefix))
}

package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

const (
	recordsFile = "trust.json"
	lockFile    = "trust.lock"

	version    = 1
	maxFile    = 4 << 20
	maxRecords = 1024

	// poll is how often a lock that another process holds is tried again. No system call both
	// waits for a lock and can be cancelled.
	poll = 5 * time.Millisecond
)

// Record is a decision about one entry.
type Record struct {
	Entry
	Hash    string    `json:"hash"`    // of the entry that was decided about
	State   State     `json:"verdict"` // [Approved] or [Denied]
	Decided time.Time `json:"decided"` // for people
}

// Store holds the decisions of a user, in a file that processes share. Only the user may open
// the file: no file of a project can read or write it. Its methods may be called at any time from any goroutine.
// It holds nothing open between two calls.
type Store struct {
	folder  *securedir.Folder
	plugins map[string]config.Plugin
}

// Open returns the decisions in a folder, see [DefaultDir]. It does not touch the disk: the
// folder is made when the first decision is stored. plugins are the plugin files of the user's
// own configuration, by name.
func Open(dir string, plugins map[string]config.Plugin) *Store {
	return &Store{securedir.In(dir), plugins}
}

// DefaultDir returns the folder of the user's configuration for decisions about the
// servers of projects.
func DefaultDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "wharf", "trust"), nil
}

// Path returns the file of decisions, which need not exist.
func (s *Store) Path() string { return s.folder.Path(recordsFile) }

// about returns the decision about the server of a key, or nil.
func about(records []Record, k key) *Record {
	if i := slices.IndexFunc(records, func(r Record) bool { return r.key() == k }); i >= 0 {
		return &records[i]
	}
	return nil
}

// Records returns all decisions, sorted by project, file and server. It takes no lock,
// because the file is only ever replaced as a whole.
func (s *Store) Records() ([]Record, error) {
	text, err := s.folder.Read(recordsFile, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		var records []Record
		if records, err = parse(text); err == nil {
			return records, nil
		}
		err = fmt.Errorf("%s is not what this program wrote: %w; restore it, or remove it and decide again", s.Path(), err)
	}
	return nil, fmt.Errorf("trust: %w", err)
}

// Decide stores a decision about an approval that was shown. When it returns, the decision
// survives a loss of power. [NotNow] and [JustOnce] are not stored.
func (s *Store) Decide(ctx context.Context, a Approval, d Decision) error {
	switch d {
	case Always:
		return s.decide(ctx, a.Entry, Approved)
	case Never:
		return s.decide(ctx, a.Entry, Denied)
	}
	return nil
}

// decide stores a decision in place of the one about the same key.
func (s *Store) decide(ctx context.Context, e Entry, v State) error {
	r := Record{Entry: e, Hash: e.hash(), State: v, Decided: time.Now().UTC().Truncate(time.Second)}
	err := r.check()
	if v == Approved && e.Incomplete() {
		err = errors.New("a server of which something is missing cannot be approved")
	}
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	_, err = s.change(ctx, func(records []Record) []Record {
		if old := about(records, e.key()); old != nil {
			*old = r
			return records
		}
		return append(records, r)
	})
	return err
}

// Revoke removes each decision for which the function returns true, and returns their number.
func (s *Store) Revoke(ctx context.Context, which func(Record) bool) (removed int, err error) {
	if records, err := s.Records(); err == nil && records == nil {
		return 0, nil // change would make the folder
	}
	return s.change(ctx, func(records []Record) []Record { return slices.DeleteFunc(records, which) })
}

// change edits the records under the lock of all writers. It returns by how many their number
// fell.
func (s *Store) change(ctx context.Context, edit func([]Record) []Record) (fewer int, err error) {
	if err := s.folder.Claim(); err != nil {
		return 0, fmt.Errorf("trust: %w", err)
	}
	lock := s.folder.Flock(lockFile)
	if _, err := lock.TryLockContext(ctx, poll); err != nil {
		return 0, fmt.Errorf("trust: %s: %w", lock.Path(), err)
	}
	defer lock.Close() // unlocks it first, which fails for no file that is open
	records, err := s.Records()
	if err != nil {
		return 0, err
	}
	before := len(records)
	records = edit(records)
	text, err := format(records)
	if err == nil {
		err = s.folder.Write(recordsFile, text)
	}
	if err != nil {
		return 0, fmt.Errorf("trust: %w", err)
	}
	return before - len(records), nil
}

// fileV1 is the content of the file of decisions.
type fileV1 struct {
	Version int      `json:"version"`
	Records []Record `json:"records"`
}

// format returns the text of records, which parse reads again. Too many records are an error.
func format(records []Record) ([]byte, error) {
	slices.SortFunc(records, func(a, b Record) int { return compare(a.key(), b.key()) })
	text, err := securedir.Format(fileV1{version, append([]Record{}, records...)})
	if err != nil {
		return nil, err
	}
	if len(records) > maxRecords || len(text) > maxFile {
		return nil, fmt.Errorf("%d decisions in %d bytes are more than are kept; revoke those about projects that are gone", len(records), len(text))
	}
	return text, nil
}

func compare(a, b key) int {
	return slices.Compare([]string{a.Project, a.File, a.Server}, []string{b.Project, b.File, b.Server})
}

// parse reads the text of a file, and accepts only what this program could have written.
func parse(text []byte) ([]Record, error) {
	var f fileV1
	if err := securedir.Parse(text, &f); err != nil {
		return nil, err
	}
	switch {
	case f.Version != version:
		return nil, fmt.Errorf("it is of version %d; expected %d", f.Version, version)
	case len(f.Records) > maxRecords:
		return nil, fmt.Errorf("there are %d records; at most %d are kept", len(f.Records), maxRecords)
	}
	for i, r := range f.Records {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
		if i > 0 && compare(f.Records[i-1].key(), r.key()) >= 0 {
			return nil, fmt.Errorf("record %d is out of order, or there twice", i+1)
		}
	}
	return f.Records, nil
}

func (r Record) check() error {
	switch {
	case r.State != Approved && r.State != Denied:
		return fmt.Errorf("its verdict is %q; expected %q or %q", r.State, Approved, Denied)
	case r.Hash != r.Entry.hash():
		return errors.New("its hash is not that of its facts")
	}
	return r.Entry.check()
}

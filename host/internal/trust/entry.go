// Package trust keeps what a user has decided about servers that came with a
// project: which exact entry may be used, and which may not.
//
// # What is decided about
//
// An [Entry] is a list of facts: the command with its path, its arguments, the
// folder, the url, the names of variables, what was in the scripts. The same list
// is what a person is shown, what is hashed, what is kept, and what a later one is
// compared to. So nothing can be shown and not count, or count and not be told
// when it has changed.
//
// # What is kept
//
// A [Ledger] is one file in a folder of the user's alone, see the package
// private. It has one decision for each server of each file of each project, and
// the decision is for one hash: with any other it is as good as none. The values
// of variables and headers are in it as digests, for they may be secret.
//
// # What this cannot do
//
// It says that what is asked for is what was agreed to, and not that this was
// wise. Of a script the named file counts, not what that loads. A program that
// runs as the user can write the ledger, as it can do everything else.
package trust

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"unicode/utf8"
)

// Bounds of an entry. Nobody could look through more.
const (
	maxFacts = 4096
	maxEntry = 64 << 10 // bytes of all texts together
)

// Fact is one thing that is known of a server before it is used.
type Fact struct {
	Name   string   `json:"name"` // for people: "command", "arguments"
	Values []string `json:"values"`
	List   bool     `json:"list,omitempty"`   // it may have other than one value, each a word of its own
	Hidden bool     `json:"hidden,omitempty"` // only that it has changed is shown: the values are digests
}

// Entry is a server of a project, resolved as it would be used.
type Entry struct {
	Project string `json:"project"` // the folder, absolute and without links
	File    string `json:"file"`    // within it, with slashes
	Server  string `json:"server"`
	Facts   []Fact `json:"facts"` // always in the same order
}

// Key names what a decision is about: what became of it since is another
// question.
type Key struct{ Project, File, Server string }

// Key returns the key of the entry.
func (e Entry) Key() Key { return Key{e.Project, e.File, e.Server} }

// prefix of every hash, so that it is told from other digests.
const prefix = "sha256:"

// Hash returns "sha256:" and 64 hex digits, that no other entry has. It is part of
// the format of the ledger: an entry must have the same one in every version.
func (e Entry) Hash() string {
	h := digest{sha256.New()}
	h.texts("wharf trust 1", e.Project, e.File, e.Server)
	h.count(len(e.Facts))
	for _, f := range e.Facts {
		h.texts(f.Name)
		h.count(len(f.Values))
		h.texts(f.Values...)
	}
	return prefix + hex.EncodeToString(h.Sum(nil))
}

// digest takes in texts, each behind its length, so that no two lists of them
// look alike.
type digest struct{ hash.Hash }

func (d digest) count(n int) { d.Write(binary.AppendUvarint(nil, uint64(n))) }

func (d digest) texts(list ...string) {
	for _, text := range list {
		d.count(len(text))
		d.Write([]byte(text))
	}
}

// Digest stands for a text that is not kept.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return prefix + hex.EncodeToString(sum[:])
}

// Check refuses an entry that nobody could decide about: one that is too large to
// be looked through, or that would not come out of a file as it went in.
func (e Entry) Check() error {
	size, seen := 0, make(map[string]bool)
	texts := []string{e.Project, e.File, e.Server}
	for _, f := range e.Facts {
		texts = append(append(texts, f.Name), f.Values...)
		if seen[f.Name] {
			return fmt.Errorf("it has two facts that are called %q", f.Name)
		}
		seen[f.Name] = true
	}
	for _, text := range texts {
		if size += len(text) + 1; !utf8.ValidString(text) {
			return fmt.Errorf("%q is not UTF-8, and could not be shown as it is", text)
		}
	}
	switch {
	case e.Project == "" || e.File == "" || e.Server == "":
		return errors.New("an entry has a project, a file and a server")
	case len(e.Facts) > maxFacts || size > maxEntry:
		return fmt.Errorf("it is %d bytes of text; more than %d, nobody would look through", size, maxEntry)
	}
	return nil
}

// Difference is a fact that was otherwise.
type Difference struct {
	Was, Is *Fact // nil where there was, or is, none; never both
}

// Name returns which fact it is.
func (d Difference) Name() string {
	if d.Is != nil {
		return d.Is.Name
	}
	return d.Was.Name
}

// Differences returns in which facts two entries differ, in the order of the newer,
// and then those that are gone.
func Differences(was, is Entry) []Difference {
	var changes []Difference
	for _, f := range is.Facts {
		if old := was.fact(f.Name); old == nil || !slices.Equal(old.Values, f.Values) {
			changes = append(changes, Difference{old, &f})
		}
	}
	for _, f := range was.Facts {
		if is.fact(f.Name) == nil {
			changes = append(changes, Difference{&f, nil})
		}
	}
	return changes
}

// fact returns the fact of that name, or nil.
func (e Entry) fact(name string) *Fact {
	for _, f := range e.Facts {
		if f.Name == name {
			return &f
		}
	}
	return nil
}

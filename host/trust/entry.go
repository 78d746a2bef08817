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

// Bounds of an entry. A person could not look through a larger one.
const (
	maxFacts = 4096
	maxEntry = 64 << 10 // bytes of all texts together
)

// Fact is one known property of a server before it is used.
type Fact struct {
	Name   string   `json:"name"` // for people: "command", "arguments"
	Values []string `json:"values"`
	List   bool     `json:"list,omitempty"`   // any number of values, each a word of its own
	Hidden bool     `json:"hidden,omitempty"` // the values are digests: only that they changed is shown

	written string // what a digest is of, in an entry that was just described
}

// Entry is a server of a project, resolved as it would be used.
type Entry struct {
	Project string `json:"project"` // the folder, absolute and without links
	File    string `json:"file"`    // within it, with slashes
	Server  string `json:"server"`
	Facts   []Fact `json:"facts"` // always in the same order
}

// key identifies the server that a decision is about, whatever its entry says now.
type key struct{ Project, File, Server string }

func (e Entry) key() key { return key{e.Project, e.File, e.Server} }

// prefix begins every hash that this package returns, and names the algorithm.
const prefix = "sha256:"

// hash returns "sha256:" and 64 hex digits, which no other entry has. It is part of the file format:
// an entry must have the same hash in every version of this program.
func (e Entry) hash() string {
	h := hasher{sha256.New()}
	h.texts("wharf trust 1", e.Project, e.File, e.Server)
	h.count(len(e.Facts))
	for _, f := range e.Facts {
		h.texts(f.Name)
		h.count(len(f.Values))
		h.texts(f.Values...)
	}
	return prefix + hex.EncodeToString(h.Sum(nil))
}

// hasher writes each text behind its length, so that no two lists of texts hash alike.
type hasher struct{ hash.Hash }

func (h hasher) count(n int) { h.Write(binary.AppendUvarint(nil, uint64(n))) }

func (h hasher) texts(list ...string) {
	for _, text := range list {
		h.count(len(text))
		h.Write([]byte(text))
	}
}

// digestOf returns the digest that is stored in place of a text that may be secret.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return prefix + hex.EncodeToString(sum[:])
}

// check refuses an entry that a person cannot decide about: one that is too large to look
// through, or that a file could not hold unchanged.
func (e Entry) check() error {
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
		return fmt.Errorf("it is %d bytes of text; more than %d are too many to look through", size, maxEntry)
	}
	return nil
}

// Difference is a fact that has changed since the person last decided.
type Difference struct {
	Was, Is *Fact // nil for a fact that was not there, or is gone; never both
}

// Name returns the name of the fact.
func (d Difference) Name() string {
	if d.Is != nil {
		return d.Is.Name
	}
	return d.Was.Name
}

// Incomplete reports whether something of the server is missing. It can be denied, and not approved.
func (e Entry) Incomplete() bool { return e.fact(incompleteFact) != nil }

// differences returns the facts in which two entries differ: those of the newer entry
// in its order, then those that are gone.
func differences(was, is Entry) []Difference {
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
	if i := slices.IndexFunc(e.Facts, func(f Fact) bool { return f.Name == name }); i >= 0 {
		return &e.Facts[i]
	}
	return nil
}

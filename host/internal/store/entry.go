package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/host/internal/plugin"
)

// Kind is what a plugin is good for.
type Kind string

// The kinds of plugins.
const (
	Transport Kind = "transport"
	Provider  Kind = "auth"
)

// Discover is the access of an auth provider to every public https origin that it
// learns of. Its other accesses are origins, by their names.
const Discover = "discover"

// Accesses are what a server entry may give a transport: the kinds of things that
// it may open. What exactly it opens is for the entry to say.
var Accesses = []string{"process", "stream", "http"}

// Bounds of an entry.
const (
	maxText     = 1024 // bytes of a text in it
	maxAccesses = 64
)

// Entry is one installed plugin, as the lock has it.
type Entry struct {
	Name    string `json:"name"`             // what server entries call it
	Plugin  string `json:"plugin,omitempty"` // what it calls itself; "" where that was not kept yet
	Kind    Kind   `json:"kind"`
	Version string `json:"version"` // by its own account, like the name above and the text below
	Summary string `json:"summary"`

	Source string `json:"source"` // a path, an https URL, or oci://…
	SHA256 string `json:"sha256"` // of the file, lower-case hex
	Size   int64  `json:"size"`
	Former string `json:"former,omitempty"` // the hash before the last update, whose file is kept

	// A publisher's minisign key, and what it signed the file with; "" for none.
	Key       string `json:"key,omitempty"`
	Signature string `json:"signature,omitempty"`

	// Records names this installation, in hex: what an auth provider keeps in the vault
	// is bound to it. An update keeps it. It is "" for a transport, and for what was
	// installed before there was one.
	Records string `json:"records,omitempty"`

	Asked   []string  `json:"asked"`   // the accesses that it wants
	Granted []string  `json:"granted"` // those that the user gave it
	Time    time.Time `json:"time"`    // of the last change
}

// Grants reports whether an entry has an access.
func (e *Entry) Grants(access string) bool { return slices.Contains(e.Granted, access) }

// Clone returns a copy that shares nothing.
func (e Entry) Clone() Entry {
	e.Asked, e.Granted = slices.Clone(e.Asked), slices.Clone(e.Granted)
	return e
}

// hashPattern is what SHA-256 looks like. It is the name of a file as well.
var hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// recordsPattern is what [NewRecords] returns.
var recordsPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

// NewRecords returns a name for the records of an installation, which no other has.
func NewRecords() string {
	var id [8]byte
	rand.Read(id[:]) // which never fails
	return hex.EncodeToString(id[:])
}

// check finds what this program would not have written.
func (e *Entry) check() error {
	if err := CheckName(e.Name); err != nil {
		return err
	}
	from, err := ParseSource(e.Source)
	switch {
	case e.Kind != Transport && e.Kind != Provider:
		return fmt.Errorf("its kind is %q; expected %q or %q", e.Kind, Transport, Provider)
	case err != nil:
		return err
	case from.Text != e.Source:
		return fmt.Errorf("its source %s is not absolute", quote(e.Source))
	case !hashPattern.MatchString(e.SHA256) || e.Former != "" && !hashPattern.MatchString(e.Former):
		return errors.New("its sha256 is none")
	case e.Size <= 0 || e.Size > plugin.MaxSize:
		return fmt.Errorf("its size is %d", e.Size)
	case e.Records != "" && !recordsPattern.MatchString(e.Records):
		return errors.New("the name of its records is none")
	case (e.Key == "") != (e.Signature == ""):
		return errors.New("it has a key without a signature, or the other way round")
	}
	for _, text := range []string{e.Plugin, e.Version, e.Summary, e.Source, e.Key, e.Signature} {
		if len(text) > maxText || !utf8.ValidString(text) {
			return fmt.Errorf("a text of %d bytes; at most %d, in UTF-8", len(text), maxText)
		}
	}
	return errors.Join(e.checkAccesses(e.Asked), e.checkAccesses(e.Granted))
}

func (e *Entry) checkAccesses(accesses []string) error {
	if len(accesses) > maxAccesses {
		return fmt.Errorf("%d accesses; at most %d", len(accesses), maxAccesses)
	}
	for i, access := range accesses {
		if err := CheckAccess(e.Kind, access); err != nil {
			return err
		}
		if i > 0 && accesses[i-1] >= access {
			return fmt.Errorf("access %s is out of order, or there twice", access)
		}
	}
	return nil
}

// CheckAccess says what is wrong with an access for a kind of plugin.
func CheckAccess(kind Kind, access string) error {
	if kind == Transport {
		if !slices.Contains(Accesses, access) {
			return fmt.Errorf("%q is nothing that a transport may be given; expected %s", access, strings.Join(Accesses, ", "))
		}
		return nil
	}
	if access == Discover {
		return nil
	}
	u, err := url.Parse(access)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Opaque != "" ||
		u.Scheme+"://"+u.Host != access || len(access) > maxText {
		return fmt.Errorf(`%q is nothing that an auth provider may be given; expected "https://host", or %s for every public https origin that it learns of`,
			access, Discover)
	}
	return nil
}

// Sorted returns accesses as an entry has them.
func Sorted(accesses ...[]string) []string {
	all := slices.Concat(accesses...)
	slices.Sort(all)
	return append([]string{}, slices.Compact(all)...)
}

// devices are no names of files on Windows, whatever follows their dot.
var devices = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// CheckName says what is wrong with the name of a plugin. There is one alphabet:
// no name can be a path, an option or a device, and no two differ only in their
// case.
func CheckName(name string) error {
	switch {
	case !plugin.ValidName(name):
		return fmt.Errorf("%s is no name of a plugin; use up to 64 of a-z, 0-9 and '-', a letter or digit first", quote(name))
	case devices.MatchString(name) || name == "none":
		return fmt.Errorf("%q is no name of a plugin: it means something else", name)
	}
	return nil
}

func quote(text string) string {
	if len(text) > 80 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("%.80q", text)
	}
	return `"` + text + `"`
}

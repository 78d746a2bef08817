package pluginstore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Kind is what a plugin does.
type Kind string

// The kinds of plugins.
const (
	Transport Kind = "transport"
	Provider  Kind = "auth"
	Policy    Kind = "policy"
)

// Bounds of an entry.
const (
	maxText     = 1024 // bytes of a text in it
	maxAccesses = 64
)

// Installed is one installed plugin, as the lockfile has it.
type Installed struct {
	Name    string `json:"name"`             // what server entries call it
	Plugin  string `json:"plugin,omitempty"` // what it calls itself; "" if the version that installed it did not record that
	Kind    Kind   `json:"kind"`
	Version string `json:"version"` // what it says itself, as are Plugin and Summary
	Summary string `json:"summary"`

	Source string `json:"source"` // a path, an https URL, or oci://…
	SHA256 string `json:"sha256"` // of the file, lower-case hex
	Size   int64  `json:"size"`
	Former string `json:"former,omitempty"` // the hash before the last update, whose file is kept

	// The minisign key of the publisher, and its signature of the file. Both are "" if the file is
	// not signed.
	Key       string `json:"key,omitempty"`
	Signature string `json:"signature,omitempty"`

	// Records names this installation, in hex. The records that an auth provider stores in the
	// vault are bound to it, and an update keeps it. It is "" for a transport, and for plugins
	// that were installed by versions without it.
	Records string `json:"records,omitempty"`

	Asked   []string  `json:"asked"`           // the accesses that it wants
	Granted []string  `json:"granted"`         // those that the user gave it
	Wants   []string  `json:"wants,omitempty"` // [WantsRun] and the like; nil also if the version that installed it did not record them
	Time    time.Time `json:"time"`            // of the last change
}

// Grants reports whether the user gave the plugin an access.
func (e *Installed) Grants(access string) bool { return slices.Contains(e.Granted, access) }

// Clone returns a copy that shares nothing.
func (e Installed) Clone() Installed {
	e.Asked, e.Granted, e.Wants = slices.Clone(e.Asked), slices.Clone(e.Granted), slices.Clone(e.Wants)
	return e
}

// hashPattern matches a SHA-256, which also names a file.
var hashPattern = lazyregexp.New(`^[0-9a-f]{64}$`)

// recordsPattern matches the names that [newRecords] returns.
var recordsPattern = lazyregexp.New(`^[0-9a-f]{16}$`)

// newRecords returns a new, random name for the records of an installation.
func newRecords() string {
	var id [8]byte
	rand.Read(id[:]) // which never fails
	return hex.EncodeToString(id[:])
}

// check refuses an entry that this program would not have written.
func (e *Installed) check() error {
	if err := checkName(e.Name); err != nil {
		return err
	}
	from, err := parseSource(e.Source)
	switch {
	case e.Kind != Transport && e.Kind != Provider && e.Kind != Policy:
		return fmt.Errorf("its kind is %q; expected %q, %q or %q", e.Kind, Transport, Provider, Policy)
	case err != nil:
		return err
	case from.Text != e.Source:
		return fmt.Errorf("its source %s is not absolute", quote(e.Source))
	case !hashPattern.MatchString(e.SHA256) || e.Former != "" && !hashPattern.MatchString(e.Former):
		return errors.New("its sha256 is not a hash")
	case e.Size <= 0 || e.Size > plugin.MaxSize:
		return fmt.Errorf("its size is %d", e.Size)
	case e.Records != "" && !recordsPattern.MatchString(e.Records):
		return errors.New("the name of its records is not one")
	case (e.Key == "") != (e.Signature == ""):
		return errors.New("it has a key without a signature, or the other way round")
	}
	for _, text := range []string{e.Plugin, e.Version, e.Summary, e.Source, e.Key, e.Signature} {
		if len(text) > maxText || !utf8.ValidString(text) {
			return fmt.Errorf("a text of %d bytes; at most %d, in UTF-8", len(text), maxText)
		}
	}
	return errors.Join(e.checkAccesses(e.Asked), e.checkAccesses(e.Granted), e.checkWants())
}

// devices matches names that Windows reserves for devices, whatever follows their dot.
var devices = lazyregexp.New(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// checkName says what is wrong with the name of a plugin. All names have one alphabet: no name
// can be a path, an option or a device, and no two differ only in their case.
func checkName(name string) error {
	switch {
	case !plugin.ValidName(name):
		return fmt.Errorf("%s is no name of a plugin; use up to 64 of a-z, 0-9 and '-', a letter or digit first", quote(name))
	case devices.MatchString(name) || name == "none":
		return fmt.Errorf("%q is no name of a plugin: it means something else", name)
	}
	return nil
}

// quote returns the beginning of a text in quotes, for a message.
func quote(text string) string { return strconv.Quote(cleantext.Line(text, 80)) }

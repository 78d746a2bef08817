package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// Decision is a person's answer about a server of a project.
type Decision int

// The decisions. A server without a decision is not used.
const (
	NotNow   Decision = iota // refuse, and ask again the next time
	JustOnce                 // allow as long as the host is open
	Always                   // allow until something about the server changes
	Never                    // refuse until something about the server changes
)

// State says whether a server of a project may be used.
type State string

// The states. A server is used in the first one only.
const (
	Approved State = "approved"
	Denied   State = "denied"
	Changed  State = "changed" // since the decision
	New      State = "not approved"

	// Unseen is the state that a list has for a server that was too expensive to look at. The host
	// always looks at a server before it asks about it, and before it uses it.
	Unseen State = "not looked at"
)

// Approval describes a server of a project to a person: what exactly would be started or
// reached. A decision is for exactly that.
type Approval struct {
	Entry
	State    State
	Disabled bool         // an approval does not change that
	Hash     string       // of the entry
	Pin      string       // is shown in place of the hash: that of the entry as written, the same in each folder
	Command  string       // the path of the program that would be started; "" for none
	Warnings []string     // about dangers that the facts do not show at a glance
	Changes  []Difference // since Decided
	Decided  time.Time    // zero where there is no decision

	// FileEnv has the variables of the entry's env_file, from the very bytes that were
	// hashed; nil is no file. They may be secret, and must not be shown.
	FileEnv map[string]string
}

// Looked is what a look at a server has found. If Err is set, the server can be denied at most: then
// the approval has what the file of the project says of it.
type Looked struct {
	Approval Approval // with its project, file, server and state in any case; without a hash it cannot be denied either
	Err      error
}

// Path returns the file that has the server.
func (e Entry) Path() string { return filepath.Join(e.Project, filepath.FromSlash(e.File)) }

// Lines returns the approval as text. No line can steer a terminal. Lines are never cut, and can
// be long. A program that asks on a terminal should break long lines itself and mark the rows,
// so that no row looks like one of its own. Next to the answer, it should repeat what a yes
// allows.
func (a Approval) Lines() []string {
	lines := []string{fmt.Sprintf("%s is a server of the project %s, from %s:",
		cleantext.Visible(a.Server), cleantext.Visible(a.Project), cleantext.Visible(a.File))}
	for _, line := range a.lines(cmp.Or(a.Pin, a.Hash)) {
		lines = append(lines, "  "+line)
	}
	for _, w := range a.Warnings {
		lines = append(lines, "  ! "+cleantext.Visible(w))
	}
	if len(a.Changes) > 0 {
		lines = append(lines, fmt.Sprintf("It has changed since you decided on %s:", a.Decided.Local().Format(time.DateTime)))
	}
	for _, c := range a.Changes {
		lines = append(lines, "  "+c.String())
	}
	return lines
}

// Names reports whether hash, as a person has written it, is the pin of this approval, or its hash. The prefix may
// be missing, and letters may be in either case.
func (a Approval) Names(hash string) bool {
	hash = prefix + strings.TrimPrefix(strings.ToLower(hash), prefix)
	return IsHash(hash) && (hash == a.Pin || hash == a.Hash)
}

// IsHash reports whether a text could be a hash: 64 hex digits, with or without the prefix.
func IsHash(text string) bool {
	digits, err := hex.DecodeString(strings.TrimPrefix(strings.ToLower(text), prefix))
	return err == nil && len(digits) == sha256.Size
}

// UnapprovedError says that a server of a project is not used, because the user has
// not approved it as it is now. It is an ErrDenied of package host.
type UnapprovedError struct{ Approval Approval }

// Is makes the error a denial.
func (e *UnapprovedError) Is(target error) bool { return target == hosterr.ErrDenied }

func (e *UnapprovedError) Error() string {
	a := e.Approval
	from := cleantext.Visible(a.Path())
	switch a.State {
	case Changed:
		return fmt.Sprintf("%s of %s has changed since you decided about it (%s), and is not approved", a.Server, from, changeNames(a.Changes))
	case Denied:
		return fmt.Sprintf("%s of %s was denied by you", a.Server, from)
	case Approved: // of a program that wanted another
		return fmt.Sprintf("%s of %s is approved, and is not used", a.Server, from)
	}
	return fmt.Sprintf("%s of %s came with the project, and is not approved", a.Server, from)
}

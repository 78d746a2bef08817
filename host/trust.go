package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/trust"
)

// Decision is what a person says of a server of a project.
type Decision int

// The decisions. Without one there is no server.
const (
	NotNow   Decision = iota // and ask again the next time
	JustOnce                 // as long as the host is open
	Always                   // until something about it changes
	Never                    // likewise
)

// TrustState is how things stand with a server of a project.
type TrustState string

// The states of trust. In all but the first the server is not used.
const (
	TrustApproved TrustState = "approved"
	TrustDenied   TrustState = "denied"
	TrustChanged  TrustState = "changed" // since it was decided about
	TrustNew      TrustState = "not approved"

	// TrustUnseen is said in a list where a look would have cost too much: the
	// question and the use look all the same.
	TrustUnseen TrustState = "not looked at"
)

type (
	// Fact is one thing that is known of a server before it is used.
	//
	// Its fields:
	//
	//	Name   string // for people: "command", "arguments"
	//	Values []string
	//	List   bool // it may have other than one value, each a word of its own
	//	Hidden bool // only that it has changed is shown: the values are digests
	Fact = trust.Fact

	// Difference is a fact that was otherwise when somebody last decided.
	//
	// Its fields:
	//
	//	Was, Is *Fact // nil where there was, or is, none; never both
	Difference = trust.Difference

	// TrustRecord is what was decided about a server of a project.
	//
	// Its fields:
	//
	//	Hash    string // of the entry that was decided about
	//	Verdict Verdict
	//	Decided time.Time // for people
	TrustRecord = trust.Record
)

// Approval is what a person is asked about a server of a project: what exactly
// would be started or reached. The decision is for exactly that.
type Approval struct {
	Server  string
	Project config.Project
	State   TrustState
	Hash    string // of the facts
	Facts   []Fact

	Warnings []string     // what the facts do not say by themselves
	Changes  []Difference // since Decided; none if nobody has decided yet
	Decided  time.Time    // zero for never

	entry trust.Entry
}

// Lines returns the approval as text: no line of it can steer a terminal, and none is
// cut short. So they can be long, and a terminal breaks long lines: a program that
// asks on one breaks them by itself and marks the rows, so that none is taken for its
// own, and says next to the answer what a yes allows.
func (a Approval) Lines() []string {
	lines := []string{fmt.Sprintf("%s is a server of the project %s, from %s:", trust.Visible(a.Server),
		trust.Visible(a.Project.Folder), trust.Visible(a.Project.File))}
	for _, line := range a.entry.Lines() {
		lines = append(lines, "  "+line)
	}
	for _, w := range a.Warnings {
		lines = append(lines, "  ! "+trust.Visible(w))
	}
	if len(a.Changes) > 0 {
		lines = append(lines, fmt.Sprintf("It has changed since you decided on %s:", a.Decided.Local().Format(time.DateTime)))
	}
	for _, c := range a.Changes {
		lines = append(lines, "  "+c.String())
	}
	return lines
}

// Shown returns the facts that say something to a person.
func (a Approval) Shown() []Fact { return a.entry.Shown() }

// Names reports whether a person who writes down a hash means this approval.
func (a Approval) Names(hash string) bool { return trust.SameHash(a.Hash, hash) }

// Visible returns text of a stranger as a name is shown in a question: all that is
// in it is seen, on one line, and where it stands. What moves a cursor, reorders or
// hides is an escape.
func Visible(text string) string { return trust.Visible(text) }

// Readable returns text of a stranger as what they say is shown in a question: as
// Visible does, with the line breaks, marks and letters from right to left that
// languages need. A program that prints it has to see to it that no line of it looks
// like one of its own.
func Readable(text string) string { return trust.Readable(text) }

// DefaultTrustDir returns the folder of the user's configuration that keeps what
// they decided about servers of projects.
func DefaultTrustDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "wharf", "trust"), nil
}

// Trust is what a user has decided about the servers of projects. It is theirs
// alone: no file of a project can read or write it. Its methods may be called at
// any time from any goroutine, also in several processes.
type Trust struct {
	ledger *trust.Ledger
	files  map[string]config.Plugin
}

// OpenTrust returns the decisions in a folder, see [DefaultTrustDir]; it touches
// nothing. files are the plugins of the user's own configuration.
func OpenTrust(dir string, files map[string]config.Plugin) *Trust {
	return &Trust{trust.Open(dir), files}
}

// Look says what a server of a project is, and how things stand with it. Nothing
// is started, and no variable is shown or sent anywhere; what is read of the project
// are the files that the command names, see [Trust.LookAll].
func (t *Trust) Look(s Server) (Approval, error) {
	a, _, err := t.look(s)
	return a, err
}

// Decide keeps a decision about what was looked at. One that is not to be kept
// is not.
func (t *Trust) Decide(ctx context.Context, a Approval, d Decision) error {
	switch d {
	case Always:
		return t.ledger.Decide(ctx, a.entry, trust.Approved)
	case Never:
		return t.ledger.Decide(ctx, a.entry, trust.Denied)
	}
	return nil
}

// Path returns where the decisions are, whether or not there are any.
func (t *Trust) Path() string { return t.ledger.Path() }

// Records returns all that was decided, sorted by project, file and server.
func (t *Trust) Records() ([]TrustRecord, error) { return t.ledger.List() }

// Revoke forgets the decisions that which picks, and returns how many those were.
func (t *Trust) Revoke(ctx context.Context, which func(TrustRecord) bool) (int, error) {
	return t.ledger.Revoke(ctx, which)
}

// UnapprovedError says that a server of a project is not used, because the user
// has not approved of what it is now. It is an [ErrDenied].
type UnapprovedError struct{ Approval Approval }

// Is lets the error count as a denial.
func (e *UnapprovedError) Is(target error) bool { return target == ErrDenied }

func (e *UnapprovedError) Error() string {
	a := e.Approval
	from := trust.Visible(a.Project.Path())
	switch a.State {
	case TrustChanged:
		return fmt.Sprintf("%s of %s has changed since you decided about it (%s), and is not approved", a.Server, from, trust.Names(a.Changes))
	case TrustDenied:
		return fmt.Sprintf("%s of %s was denied by you", a.Server, from)
	}
	return fmt.Sprintf("%s of %s came with the project, and is not approved", a.Server, from)
}

func unapproved(a Approval) error {
	return &hosterr.Error{Kind: ErrDenied, Err: &UnapprovedError{a}, Hint: fmt.Sprintf(
		"`wharf trust approve %s` shows what it is and asks you; where there is no terminal, add --trust-hash %s", a.Server, a.Hash)}
}

// approvals are what a host knows of the consent to servers of projects.
type approvals struct {
	asking turn // one question at a time

	mu   sync.Mutex
	once []string // hashes that are approved as long as the host is open
}

func (p *approvals) remember(hash string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.once = append(p.once, hash)
}

func (p *approvals) has(hash string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.once, hash)
}

var errNoTrust = &hosterr.Error{Kind: ErrDenied, Err: errors.New("this program uses no servers of projects: it set no folder for approvals")}

// look is Trust.look with what was approved of just once.
func (h *Host) look(s Server) (a Approval, command string, err error) {
	if h.config.TrustDir == "" {
		return a, "", fmt.Errorf("server %s of %s: %w", s.Name, s.Project.Path(), errNoTrust)
	}
	a, command, err = OpenTrust(h.config.TrustDir, h.files()).look(s)
	if err == nil && h.approvals.has(a.Hash) {
		a.State = TrustApproved
	}
	return a, command, err
}

// admit returns an entry as it may be used. The user's own may be used as it is;
// one of a project if they approved of all that it is at this moment, which is
// looked at each time: what runs is the path that was shown, with the variables
// that were shown. It asks nobody, and refuses with an [UnapprovedError].
func (h *Host) admit(s Server) (Server, error) {
	if s.Project == nil {
		return s, nil
	}
	a, command, err := h.look(s)
	switch {
	case err != nil:
		return s, err
	case a.State != TrustApproved:
		return s, unapproved(a)
	}
	s, err = s.Release(s.Variables(), os.LookupEnv)
	if err != nil {
		return s, hosterr.Configf("%w", err)
	}
	s.Command = command
	return s, nil
}

// Approve asks the person about a server of a project, if they have not approved
// of it as it is now, and returns nil once they have. The user's own servers need
// no approval. Connecting and calling ask by themselves; this is for programs
// that want to ask before.
func (h *Host) Approve(ctx context.Context, s Server) error {
	if s.Project == nil {
		return nil
	}
	if err := h.approvals.asking.take(ctx); err != nil {
		return fmt.Errorf("approve %s: %w", s.Name, err)
	}
	defer h.approvals.asking.give()
	return h.approve(ctx, s)
}

// approve looks, and asks if need be. The caller holds approvals.asking: while it
// waited for that, the question may have been answered.
func (h *Host) approve(ctx context.Context, s Server) error {
	a, _, err := h.look(s)
	switch {
	case err != nil || a.State == TrustApproved:
		return err
	case a.State == TrustDenied || h.config.Approve == nil || ctx.Err() != nil:
		return unapproved(a)
	}
	d, err := h.config.Approve(ctx, a)
	if err != nil {
		return fmt.Errorf("approve %s: %w", s.Name, err)
	}
	if d == JustOnce || d == Always {
		h.approvals.remember(a.Hash) // whatever becomes of keeping it
	}
	if err := OpenTrust(h.config.TrustDir, nil).Decide(ctx, a, d); err != nil {
		h.warn(s.Name, err.Error())
	}
	if h.approvals.has(a.Hash) {
		return nil
	}
	if d == Never {
		a.State = TrustDenied
	}
	return unapproved(a)
}

// approvedAccount is account for a person who is there: they are asked before
// anything of a project is used.
func (h *Host) approvedAccount(ctx context.Context, s Server) (*account, error) {
	if err := h.Approve(ctx, s); err != nil {
		return nil, err
	}
	return h.account(s)
}

// approves asks the person about what a call has failed for, if it is that they
// have not approved of the server. Their time is not the call's: nothing was
// started by then, and it may be made anew.
func (s *Session) approves(ctx context.Context, err error) (again bool) {
	var refused *UnapprovedError
	if !errors.As(err, &refused) || ctx.Value(quiet{}) != nil {
		return false
	}
	ctx, over := s.lasting(ctx)
	defer over()
	if s.host.approvals.asking.take(ctx) != nil {
		return false
	}
	defer s.host.approvals.asking.give()
	if s.host.approve(ctx, *s.entry.Load()) != nil {
		return false
	}
	if s.driver.Status().State == manager.Failed { // or another call has got there first
		s.driver.Reload(nil)
	}
	return true
}

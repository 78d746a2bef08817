package guest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// ErrClosed says that the connection was closed on our side.
var ErrClosed = errors.New("closed by the host")

var (
	errNoManifest   = errors.New("the plugin did not answer DESCRIBE with report(MANIFEST)")
	errFuel         = errors.New("the plugin keeps using more computing time than a connection may")
	errEndless      = errors.New("the server sends a message without end")
	errEnded        = errors.New("the plugin said ENDED before CLOSE")
	errServerClosed = errors.New("the server closed the connection")
)

// PluginError says that a plugin broke a rule or could not go on.
type PluginError struct {
	Plugin string
	Op     string // its activity: "start", "DATA", "open"; "" if that does not matter
	Err    error
	Stderr string // the last lines it wrote to its standard error

	crashed bool
}

func (e *PluginError) Error() string {
	op := e.Op
	if op != "" {
		op += ": "
	}
	text := fmt.Sprintf("plugin %s: %s%v", e.Plugin, op, e.Err)
	if e.Stderr != "" {
		text += " (it said: " + e.Stderr + ")"
	}
	return text
}

func (e *PluginError) Unwrap() error { return e.Err }

// Crashed reports whether err, the error of a connection that has ended, says that the guest was
// stopped during its work: it trapped, used up its budget, or lost its process. A guest that
// reported that it could not go on has not crashed. Neither has one whose server left.
func Crashed(err error) bool {
	var fault *PluginError
	return errors.As(err, &fault) && fault.crashed
}

// StatusError is a failure that a guest reported.
type StatusError struct {
	Status abi.Status
	HTTP   int           // the status of the HTTP response that the failure is about, or 0
	Wait   time.Duration // that the response asks for, or 0
	Text   string        // the guest's words
	Err    error         // the end of the process that the failure is about, or nil
}

func (e *StatusError) Error() string {
	text := cmp.Or(e.Text, e.Status.String()) + hostio.AskedWait(e.Wait)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *StatusError) Unwrap() error { return e.Err }

// Final reports whether only a person can remove the cause.
func (e *StatusError) Final() bool {
	return e.Status == abi.Unauthorized || e.Status == abi.Malformed
}

// EndedError says that the other side ended the connection.
type EndedError struct{ Cause error }

func (e *EndedError) Error() string { return e.Cause.Error() }

func (e *EndedError) Unwrap() error { return e.Cause }

// UnsentError says that a message was in the mailbox when the guest ended, or came later. The
// server has certainly not seen it. Cause is why the guest ended.
type UnsentError struct{ Cause error }

func (e *UnsentError) Error() string { return e.Cause.Error() }

func (e *UnsentError) Unwrap() error { return e.Cause }

// ExitError says that a server process ended.
type ExitError struct {
	Code   int
	Detail string
	Unread bool // it certainly read nothing of its input
}

func (e *ExitError) Error() string {
	if e.Detail != "" {
		return "server exited: " + e.Detail
	}
	return fmt.Sprintf("server exited with code %d", e.Code)
}

// stderrTail keeps the last bytes that a guest writes to its standard error. A Go guest that panics
// gives the reason there.
type stderrTail struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 4 << 10

func (t *stderrTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	p = p[max(0, n-tailSize):]
	t.data = append(slices.Delete(t.data, 0, max(0, len(t.data)+len(p)-tailSize)), p...)
	return n, nil
}

// lines returns the first kept lines, joined into one. Of a stack trace, these tell the most.
func (t *stderrTail) lines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.data)), "\n")
	return cleantext.Line(strings.Join(lines[:min(3, len(lines))], "; "), maxWords)
}

// maxWords is the most bytes of a plugin's text in an error or a log.
const maxWords = 1 << 10

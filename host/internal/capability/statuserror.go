package capability

import (
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
)

// StatusError is an error with a status of its own for the guest.
type StatusError struct {
	status abi.Status
	text   string
}

// StatusErrorf returns a [StatusError].
func StatusErrorf(status abi.Status, format string, args ...any) *StatusError {
	return &StatusError{status, fmt.Sprintf(format, args...)}
}

func (e *StatusError) Error() string { return e.text }

// Status is what a guest may know of it.
func (e *StatusError) Status() abi.Status { return e.status }

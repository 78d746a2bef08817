package pluginstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// lockError says that the lockfile cannot be read, or that this program did not write it. err
// says what to do.
func lockError(err error) error {
	return &hosterr.Error{Kind: hosterr.ErrConfig, Err: fmt.Errorf("installed plugins: %w", err)}
}

// missing returns the error for a name under which no plugin is installed.
func missing(name string) error {
	return hosterr.Errorf(hosterr.ErrConfig, "`wharf plugin list` shows what is", "no plugin %s is installed", quote(name))
}

// taken returns the error for a name that belongs to another plugin.
func taken(name string) error {
	return hosterr.Errorf(hosterr.ErrConfig, fmt.Sprintf("`wharf plugin update %s` fetches it again; --name gives this one another name", name),
		"a plugin %q is installed already", name)
}

// unsigned returns the error for a file that lacks the signature that it must have.
func unsigned(problem, hint string) error {
	return &hosterr.Error{Kind: hosterr.ErrDenied, Err: errors.New(problem), Hint: hint}
}

// unreachable returns the error for a source that did not return the file that was asked for.
func unreachable(err error) error {
	kind := hosterr.ErrUnreachable
	if errors.Is(err, context.DeadlineExceeded) {
		kind = hosterr.ErrTimeout
	}
	return &hosterr.Error{Kind: kind, Err: err}
}

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

// missing says that no plugin of a name is installed.
func missing(name string) error {
	return &hosterr.Error{
		Kind: hosterr.ErrConfig,
		Err:  fmt.Errorf("no plugin %s is installed", quote(name)),
		Hint: "`wharf plugin list` shows what is",
	}
}

// taken says that a name belongs to another plugin.
func taken(name string) error {
	return &hosterr.Error{
		Kind: hosterr.ErrConfig,
		Err:  fmt.Errorf("a plugin %q is installed already", name),
		Hint: fmt.Sprintf("`wharf plugin update %s` fetches it again; --name gives this one another name", name),
	}
}

// unsigned says that a file lacks the signature that it must have.
func unsigned(problem, hint string) error {
	return &hosterr.Error{Kind: hosterr.ErrDenied, Err: errors.New(problem), Hint: hint}
}

// unreachable says that a source did not return the file that was asked for.
func unreachable(err error) error {
	kind := hosterr.ErrUnreachable
	if errors.Is(err, context.DeadlineExceeded) {
		kind = hosterr.ErrTimeout
	}
	return &hosterr.Error{Kind: kind, Err: err}
}

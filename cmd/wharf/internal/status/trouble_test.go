package status

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host/status"
)

// updates is a watch of these updates.
type updates []status.Status

func (u *updates) Next(context.Context) (next status.Update, err error) {
	if len(*u) == 0 {
		return next, io.EOF
	}
	next.Status, *u = (*u)[0], (*u)[1:]
	return next, nil
}

func (u *updates) Close() {}

// A failure is told once, however often it is tried, and so is its end. Of a server that is well nothing is told.
func TestTrouble(t *testing.T) {
	away := errors.New("away")
	fails := func(attempt int) status.Status {
		return status.Status{Name: "a", State: status.Connecting, Attempt: attempt, Err: away}
	}
	up := status.Status{Name: "a", State: status.Connected}
	news := updates{{Name: "a", State: status.Connecting}, up, up, fails(1), fails(2), {Name: "b", State: status.Connected}, up, up, fails(1)}
	var told []string
	Trouble(t.Context(), &news, func(server, text string) { told = append(told, server+": "+text) })
	if want := []string{"a: away", "a: ", "a: away"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// An error that a status keeps while there is a connection, and after it has ended unused, is told no second time.
func TestTroubleThatIsOver(t *testing.T) {
	lost := errors.New("lost")
	at := func(state status.State, why status.Reason) status.Status {
		return status.Status{Name: "a", State: state, Reason: why, Attempt: 1, Err: lost}
	}
	up := at(status.Connected, status.Ready)
	news := updates{at(status.Reconnecting, status.Lost), up, up, at(status.Disconnected, status.Idle), at(status.Reconnecting, status.Wanted), up, at(status.Closing, status.Closed)}
	var told []string
	Trouble(t.Context(), &news, func(server, text string) { told = append(told, server+": "+text) })
	if want := []string{"a: lost", "a: "}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// A failure is told also where the session is closed before anyone hears of it.
func TestTroubleOfAClosedSession(t *testing.T) {
	gone := errors.New("gone")
	news := updates{
		{ID: 1, Name: "a", State: status.Closing, Reason: status.Closed, Attempt: 1, Err: gone},
		{ID: 1, Name: "a", State: status.Disconnected, Reason: status.Closed, Attempt: 1, Err: gone},
		{ID: 2, Name: "b", State: status.Connected, Reason: status.Ready, Attempt: 1, Err: gone},
		{ID: 2, Name: "b", State: status.Disconnected, Reason: status.Closed, Attempt: 1, Err: gone},
		{ID: 3, Name: "c", State: status.Disconnected, Reason: status.Closed},
	}
	var told []string
	Trouble(t.Context(), &news, func(server, text string) { told = append(told, server+": "+text) })
	if want := []string{"a: gone"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

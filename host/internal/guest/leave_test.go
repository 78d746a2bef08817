package guest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// A guest that is left hears nothing of that, wherever it runs, and one that is
// closed does: what it has begun at its server it may then end.
func TestLeave(t *testing.T) {
	for place, program := range places {
		for _, leaves := range []bool{true, false} {
			t.Run(fmt.Sprint(place, leaves), func(t *testing.T) {
				var events []string
				r := open(t, stdioPackage, Config{Remote: program, Trace: func(line, _ []byte) {
					events = append(events, string(line))
				}})
				r.host.stream(0).sink.Opened()
				if leaves {
					r.Leave()
					r.Leave()
				} else {
					r.Close(context.Background())
				}
				<-r.inbox.closed
				heard := slices.ContainsFunc(events, func(line string) bool { return strings.Contains(line, "CLOSE") })
				if heard == leaves {
					t.Errorf("it has heard\n%s", strings.Join(events, "\n"))
				}
				if !errors.Is(r.inbox.cause, ErrClosed) || Crashed(r.inbox.cause) {
					t.Errorf("ended with %v", r.inbox.cause)
				}
			})
		}
	}
}

// That a guest says it is over is no accident, and neither is what its server does.
func TestNoAccident(t *testing.T) {
	r := open(t, hostilePackage, Config{}, abi.Pair{Key: "mode", Value: "ended"})
	s := r.host.stream(0)
	s.sink.Opened()
	s.sink.Data([]byte("go"), false)
	<-r.inbox.closed
	for _, err := range []error{nil, r.inbox.cause, r.pluginError("DATA", gaveUpError(-1)), &EndedError{errServerClosed}, ErrClosed} {
		if Crashed(err) {
			t.Errorf("%v is taken for an accident", err)
		}
	}
	if !Crashed(fmt.Errorf("%w: %w", ErrClosed, r.crashed("DATA", errFuel))) {
		t.Error("an accident is not known again")
	}
}

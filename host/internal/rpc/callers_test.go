package rpc

import (
	"context"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// callerIs wants the caller of a message that comes on an exchange.
func callerIs(exchange uint32, want uint64, certain bool) step {
	return func(s *scene) {
		s.t.Helper()
		if got, sure := s.peer.flight.callerOf(exchange); got != want || sure != certain {
			s.t.Errorf("on exchange %d the caller is %d, %v; want %d, %v", exchange, got, sure, want, certain)
		}
	}
}

func callsFor(name string, caller uint64) step {
	return requests(name, Call{Method: name, Caller: caller}, nil)
}

// TestCallers follows whose calls a message may belong to.
func TestCallers(t *testing.T) {
	play(t, Config{},
		callerIs(0, 0, true),
		callsFor("a", 7), // exchange 1
		asks("own"),      // 2
		callerIs(0, 7, true), callerIs(1, 7, true), callerIs(2, 0, true), callerIs(9, 7, true),
		callsFor("b", 8), // 3
		callerIs(0, 0, false), callerIs(1, 7, true), callerIs(3, 8, true),
		answers(1, `{}`),
		callerIs(0, 8, true),
		callsFor("c", 8), // 4
		callsFor("d", 7), // 5
		cancels("d"),
		callerIs(0, 0, false), callerIs(5, 7, true), // the server may not know yet
		answers(3, `{}`), answers(4, `{}`),
		callerIs(0, 7, true),
		delivers(0, `{"jsonrpc":"2.0","id":5,"result":{}}`, abi.VerdictLate),
		callerIs(0, 0, true),
	)
}

// TestCallersUnsent has the link refuse a call, about which the server cannot ask.
func TestCallersUnsent(t *testing.T) {
	play(t, Config{},
		does(func(s *scene) { s.link.refuse = ErrClosed }),
		callsFor("a", 7),
		fails("a", NotSent, ErrClosed),
		callerIs(0, 0, true),
	)
}

// TestCallersDropped cancels a call that had not left.
func TestCallersDropped(t *testing.T) {
	play(t, Config{},
		does(func(s *scene) { s.link.unsent = true }),
		callsFor("a", 7), cancels("a"),
		fails("a", NotSent, context.Canceled),
		callerIs(0, 0, true),
	)
}

// TestCallersAbandoned has more calls cancelled than are remembered.
func TestCallersAbandoned(t *testing.T) {
	var steps []step
	for range maxAbandoned {
		steps = append(steps, callsFor("a", 7), cancels("a"))
	}
	steps = append(steps, callerIs(0, 7, true), callsFor("a", 7), cancels("a"), callerIs(0, 0, false))
	play(t, Config{}, steps...)
}

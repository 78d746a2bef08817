package abi

import "strconv"

// Status is the result of a host call and the arg of an ERROR event. Zero is success, and
// everything below zero is a refusal or a failure. A status tells a guest no more than it may
// know; the host keeps the full error for its user.
type Status int32

// The statuses. Their numbers are part of the ABI.
const (
	OK             Status = 0
	Denied         Status = -1  // no grant of that name and kind, a target outside it, a sealed payload
	Unavailable    Status = -2  // this host has no such kind of open
	Malformed      Status = -3  // the request lacks what its kind needs, or has what it does not take
	LimitReached   Status = -4  // too many handles, timers or opens
	Closed         Status = -5  // the handle or the connection is closed
	NotFound       Status = -6  // no such command, file or host
	Unreachable    Status = -7  // refused, no route, not started
	TimedOut       Status = -8  // no progress within the limit
	Reset          Status = -9  // the other side broke the connection
	ProtocolFailed Status = -10 // the other side does not speak the protocol (TLS, HTTP)
	TooLarge       Status = -11 // larger than the limit for it
	Stalled        Status = -12 // the other side stopped reading
	Internal       Status = -13 // the host's own fault
	Refused        Status = -14 // the other side answered and did not take the message
	Unauthorized   Status = -15 // one side does not accept who the other is; a person has to act
	statusEnd      Status = -16
)

var statusNames = [...]string{
	"OK", "DENIED", "UNAVAILABLE", "MALFORMED", "LIMIT", "CLOSED", "NOT_FOUND", "UNREACHABLE",
	"TIMED_OUT", "RESET", "PROTOCOL", "TOO_LARGE", "STALLED", "INTERNAL", "REFUSED",
	"UNAUTHORIZED",
}

func (s Status) String() string {
	if s <= OK && s > statusEnd {
		return statusNames[-s]
	}
	return "status(" + itoa(int64(s)) + ")"
}

// Verdict is the host's judgement of delivered bytes, and the result of deliver and deliver_mem.
// With a verdict below zero the message was dropped.
type Verdict int32

// The verdicts. VerdictPending is the result of deliver without END.
const (
	VerdictPending   Verdict = 0
	VerdictAnswer    Verdict = 1   // a response, and its caller has it
	VerdictNote      Verdict = 2   // a notification
	VerdictRequest   Verdict = 3   // a request of the server
	VerdictBlank     Verdict = 4   // nothing but white space
	VerdictMalformed Verdict = -32 // not one well-formed JSON-RPC message
	VerdictWrongID   Verdict = -33 // a response with an id that the exchange does not have
	VerdictLate      Verdict = -34 // a response that no caller waits for any more
	VerdictTooBig    Verdict = -35 // longer than the message cap; dropped while it streamed
)

func (v Verdict) String() string {
	switch v {
	case VerdictPending:
		return "PENDING"
	case VerdictAnswer:
		return "ANSWER"
	case VerdictNote:
		return "NOTE"
	case VerdictRequest:
		return "REQUEST"
	case VerdictBlank:
		return "BLANK"
	case VerdictMalformed:
		return "MALFORMED"
	case VerdictWrongID:
		return "WRONG_ID"
	case VerdictLate:
		return "LATE"
	case VerdictTooBig:
		return "TOO_BIG"
	}
	return Status(v).String()
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

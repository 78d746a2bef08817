//go:build !wasip1

package sdktest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// names maps the texts that String returns to the numbers that they stand for.
type names[T ~int32 | ~uint32] map[string]T

func namesOf[T interface {
	~int32 | ~uint32
	String() string
}](from, to T) names[T] {
	m := names[T]{}
	for v := from; v <= to; v++ {
		m[v.String()] = v
	}
	return m
}

var (
	kinds    = namesOf(abi.EventDescribe, abi.EventClose)
	statuses = namesOf(abi.Unauthorized, abi.OK)
	good     = namesOf(abi.VerdictPending, abi.VerdictBlank)
	bad      = namesOf(abi.VerdictTooBig, abi.VerdictMalformed)
)

// parseEvent reads the line of an event; the payload comes later.
func parseEvent(text string) (s Step, size int, err error) {
	args := strings.Split(strings.TrimSuffix(strings.TrimPrefix(text, "--> event("), ")"), ", ")
	if len(args) != 4 {
		return s, 0, fmt.Errorf("an event has four arguments")
	}
	if s.Kind, err = parseKind(args[0]); err != nil {
		return s, 0, err
	}
	handle, err := strconv.ParseUint(args[1], 10, 32)
	if err != nil {
		return s, 0, err
	}
	s.Handle = uint32(handle)
	if s.Arg, err = parseArg(s.Kind, args[2]); err != nil {
		return s, 0, err
	}
	size, err = strconv.Atoi(args[3])
	return s, size, err
}

func parseKind(text string) (abi.Kind, error) {
	if k, ok := kinds[text]; ok {
		return k, nil
	}
	number, ok := strings.CutPrefix(strings.TrimSuffix(text, ")"), "event(")
	n, err := strconv.ParseUint(number, 10, 32)
	if !ok || err != nil {
		return 0, fmt.Errorf("unknown event %q", text)
	}
	return abi.Kind(n), nil
}

func parseArg(k abi.Kind, text string) (uint32, error) {
	switch k {
	case abi.EventError:
		if s, ok := statuses[text]; ok {
			return uint32(s), nil
		}
		return 0, fmt.Errorf("unknown status %q", text)
	case abi.EventOpened:
		if text == "SEALED" {
			return abi.Sealed, nil
		}
	case abi.EventData:
		if text == "LAST" {
			return abi.Last, nil
		}
	case abi.EventHead:
		code, last := strings.CutSuffix(text, "+LAST")
		n, err := strconv.ParseUint(code, 10, 16)
		if last {
			n |= uint64(abi.HeadLast)
		}
		return uint32(n), err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return uint32(n), err
}

// parseCall reads the line of a host call. Arguments stay text: a call is
// compared by its line.
func parseCall(text string) (Call, error) {
	c := Call{Line: "  " + text}
	name, rest, ok := strings.Cut(strings.TrimPrefix(text, "<-- "), "(")
	if !ok {
		return c, fmt.Errorf("a call has arguments")
	}
	if c.Op, ok = callNamed(name); !ok {
		return c, fmt.Errorf("unknown call %q", name)
	}
	if !c.Op.HasResult() {
		return c, nil
	}
	at := strings.LastIndex(rest, ") = ")
	if at < 0 {
		return c, fmt.Errorf("the call has no result")
	}
	c.Result, ok = parseResult(rest[at+len(") = "):])
	if !ok {
		return c, fmt.Errorf("unknown result %q", rest[at+len(") = "):])
	}
	return c, nil
}

func callNamed(name string) (abi.Call, bool) {
	for _, c := range abi.Calls() {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

func parseResult(text string) (int32, bool) {
	if v, ok := good[text]; ok {
		return int32(v), true
	}
	if v, ok := bad[text]; ok {
		return int32(v), true
	}
	if s, ok := statuses[text]; ok {
		return int32(s), true
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err == nil
}

// carried returns how many bytes a call carries, as its line says.
func carried(c *Call) (size int, ok bool) {
	args := c.Line[strings.Index(c.Line, "(")+1:]
	args, _, _ = strings.Cut(args, ")")
	list := strings.Split(args, ", ")
	at := -1
	switch c.Op {
	case abi.CallWrite, abi.CallDeliverMem, abi.CallLog:
		at = 1
	case abi.CallReport:
		at = 3
	case abi.CallSave:
		at = 0
	}
	if at < 0 || at >= len(list) {
		return 0, false
	}
	size, err := strconv.Atoi(list[at])
	return size, err == nil
}

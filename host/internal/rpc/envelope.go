package rpc

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// envelope holds the members of a message as written. A missing member is nil.
type envelope struct {
	id, method, params, result, fault []byte
	version                           bool
}

// Bounds of an envelope, far above those of any real server's.
const (
	maxToken  = 1 << 10 // bytes of an id or a method
	maxExtras = 16      // members that JSON-RPC does not define
)

var byteOrderMark = []byte("\xEF\xBB\xBF")

// parse checks a message and splits it into its members, in one pass. e is empty before. Every error is an
// ErrMalformed.
func (e *envelope) parse(msg []byte) error {
	var w strictjson.Walk
	w.Open(msg, strictjson.DefaultDepth)
	if w.Kind() != '{' {
		if bytes.HasPrefix(msg, byteOrderMark) {
			return malformed("it begins with a byte order mark")
		}
		return malformed("not a JSON object")
	}
	var extras [][]byte // few messages have any
	for key, value := range w.Parts() {
		if bytes.IndexByte(key, '\\') >= 0 {
			key = strictjson.Unquote(slices.Concat([]byte{'"'}, key, []byte{'"'}))
		}
		if slot := e.slot(key); slot != nil {
			if *slot != nil {
				return malformed("%.40q twice", key)
			}
			*slot = value
			continue
		}
		if string(key) == "jsonrpc" {
			if e.version {
				return malformed(`"jsonrpc" twice`)
			}
			if value[0] != '"' || string(strictjson.Unquote(value)) != "2.0" {
				return malformed(`"jsonrpc" is %.20s, want "2.0"`, value)
			}
			e.version = true
			continue
		}
		for _, extra := range extras {
			if bytes.Equal(extra, key) {
				return malformed("%.40q twice", key)
			}
		}
		if len(extras) == maxExtras {
			return malformed("more than %d members that JSON-RPC does not have", maxExtras)
		}
		extras = append(extras, key)
	}
	if err := w.Err(); err != nil {
		return malformed("%w", err)
	}
	return e.check()
}

// malformed is not inlined, so that its arguments take no room in the frame of parse.
//
//go:noinline
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

func (e *envelope) slot(key []byte) *[]byte {
	switch string(key) {
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.fault
	}
	return nil
}

// check returns an error if the members do not fit together.
func (e *envelope) check() error {
	switch {
	case !e.version:
		return malformed(`no "jsonrpc"`)
	case len(e.id) > maxToken:
		return malformed("id is longer than %d bytes", maxToken)
	case e.id != nil && e.id[0] != '"' && e.id[0] != 'n' && e.id[0] != '-' && e.id[0]-'0' > 9:
		return malformed("id is neither a string nor a number")
	case e.method != nil:
		return e.checkMethod()
	case e.result != nil && e.fault != nil:
		return malformed("result and error together")
	case e.result == nil && e.fault == nil:
		return malformed("neither method nor result nor error")
	case e.result != nil && e.isNullID():
		return malformed("result without an id")
	}
	return nil
}

func (e *envelope) checkMethod() error {
	switch {
	case e.method[0] != '"':
		return malformed("method is not a string")
	case len(e.method) == len(`""`):
		return malformed("method is empty")
	case len(e.method) > maxToken:
		return malformed("method is longer than %d bytes", maxToken)
	case e.result != nil || e.fault != nil:
		return malformed("method together with a result or an error")
	case e.id != nil && e.id[0] == 'n':
		return malformed("request with the id null")
	}
	if e.params != nil && e.params[0] == 'n' {
		e.params = nil // some servers write "params":null for none
	}
	if e.params != nil && e.params[0] != '{' && e.params[0] != '[' {
		return malformed("params is neither an object nor an array")
	}
	return nil
}

func (e *envelope) isNullID() bool { return e.id == nil || e.id[0] == 'n' }

// parseError reads an error object whose JSON has been checked.
func parseError(raw []byte) (*Error, error) {
	fault := Error{Raw: bytes.Clone(raw)}
	var code, message bool
	r := strictjson.Read(fault.Raw)
	for key := range r.Object() {
		switch string(key) {
		case "code":
			n := r.Int()
			fault.Code, code = int(n), int64(int(n)) == n
		case "message":
			fault.Message, message = r.String(), true
		case "data":
			fault.Data = r.Raw()
		}
	}
	if err := r.Err(); err != nil {
		return nil, malformed("error: %v", err)
	}
	if !code || !message {
		return nil, malformed("error without code or message")
	}
	return &fault, nil
}

// exactID returns the id if raw spells it as this package does.
func exactID(raw []byte) (id uint64, ok bool) {
	if len(raw) == 0 || raw[0] == '0' {
		return 0, false
	}
	for _, c := range raw {
		digit := uint64(c - '0')
		if digit > 9 || id > (1<<63)/10 {
			return 0, false
		}
		id = id*10 + digit
	}
	return id, true
}

// looseID returns the id that raw means in another spelling: the string "7", or 7.0. Such an answer
// is not accepted, but looseID tells for which call it was meant.
func looseID(raw []byte) (id uint64, ok bool) {
	if len(raw) != 0 && raw[0] == '"' {
		return exactID(raw[1 : len(raw)-1])
	}
	if len(raw) > 32 {
		return 0, false
	}
	x, _ := strconv.ParseFloat(view(raw), 64) // 0 or an infinity on an error
	if x < 1 || x >= 1<<53 || x != float64(uint64(x)) {
		return 0, false
	}
	return uint64(x), true
}

// scanBroken reads a broken or cut message. It reports whether the message may have been an answer,
// and returns its id, or 0 if no id can be read.
func scanBroken(msg []byte) (id uint64, answer bool) {
	r := strictjson.Read(msg)
	if r.Kind() != '{' {
		return 0, false
	}
	method, outcome := false, false
	for key := range r.Object() {
		switch string(key) {
		case "method":
			method = true
		case "result", "error":
			outcome = true
		case "id":
			if n, exact := exactID(r.Raw()); exact && id == 0 && !r.Cut() {
				id = n
			}
		}
	}
	return id, outcome || !method
}

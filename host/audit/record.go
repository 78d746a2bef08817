// Package audit keeps a line for each call that a host was asked to make: who called what, whether it was
// allowed, and how it ended.
//
//	{"at":"2026-07-28T09:00:00.000001Z","kind":"gateway","client":"claude","era":"legacy","server":"files",
//	 "method":"tools/call","name":"read","ms":1.203,"ok":true,"decision":"allow","argsBytes":17,"argsSha256":"…"}
//
// Several programs may write to one [Log]: each line is written at once, at the end of the file, under a
// lock. So a program that is killed leaves whole lines, save perhaps its last. The line of a call is written
// before the caller has its result; a call that a killed program had not finished has none.
package audit

import (
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/policy"
)

// Record is a line of a [Log].
type Record struct {
	At     time.Time // when the call came
	Caller policy.Caller

	Server string
	Method string
	Name   string        // of the tool or prompt, or the URI; cut after 1 KiB, as all texts
	Took   time.Duration // in all

	OK      bool   // there was a result
	IsError bool   // the result says that the tool failed
	Code    int    // of the error that the server answered
	Sent    string // of a call that was allowed and has no answer: "no", or "maybe" if the server may have it; "" otherwise
	Allowed bool   // otherwise it was denied
	Rule    string // what has decided; "" if every call was allowed
	Person  string // what a person who had to be asked said: "yes" or "no", or "none" without an answer; "" if none had to be
	Trace   string // the traceparent of the request

	ArgsBytes  int    // of the params, or of the arguments where those are known alone
	ArgsSHA256 string // of the same
	Args       []byte // the same, if the log keeps them and they have no more than 64 KiB

	// Missing is how many lines before this one could not be written. Then nothing else but At is
	// set.
	Missing int
}

// What a member "decision" says.
const (
	allow = "allow"
	deny  = "deny"
)

// members lists the members of a line, see [jsonl.Line].
func (r *Record) members(l *jsonl.Line) {
	l.Time("at", &r.At)
	jsonl.Count(l, "missing", &r.Missing)
	kind := string(r.Caller.Kind)
	l.Text("kind", &kind)
	r.Caller.Kind = policy.Kind(kind)
	l.Text("client", &r.Caller.Name)
	l.Text("principal", &r.Caller.Principal)
	l.Text("peer", &r.Caller.Peer)
	l.Text("era", &r.Caller.Era)
	l.Text("server", &r.Server)
	l.Text("method", &r.Method)
	l.Text("name", &r.Name)
	r.millis(l)
	l.Flag("ok", &r.OK)
	l.Flag("isError", &r.IsError)
	jsonl.Count(l, "code", &r.Code)
	l.Text("sent", &r.Sent)
	r.decision(l)
	l.Text("rule", &r.Rule)
	l.Text("person", &r.Person)
	l.Text("trace", &r.Trace)
	jsonl.Count(l, "argsBytes", &r.ArgsBytes)
	l.Text("argsSha256", &r.ArgsSHA256)
	l.Raw("args", &r.Args)
}

// millis writes or reads how long the call took, in milliseconds with three digits behind the point.
func (r *Record) millis(l *jsonl.Line) {
	if l.Writing() {
		if r.Missing > 0 {
			return
		}
		text := strconv.AppendFloat(nil, float64(r.Took.Microseconds())/1000, 'f', 3, 64)
		l.Raw("ms", &text)
		return
	}
	if l.Reads("ms") {
		var text []byte
		l.Raw("ms", &text)
		if n, err := strconv.ParseFloat(string(text), 64); err == nil && n >= 0 && n < 1e12 {
			r.Took = time.Duration(n * float64(time.Millisecond))
		}
	}
}

func (r *Record) decision(l *jsonl.Line) {
	said := deny
	if r.Allowed {
		said = allow
	}
	if r.Missing > 0 {
		said = ""
	}
	l.Text("decision", &said)
	r.Allowed = said == allow
}

// maxText is how much of a text is kept, in bytes.
const maxText = 1 << 10

// cut bounds the texts of a record, which clients have written.
func (r *Record) cut() {
	for _, text := range []*string{&r.Caller.Name, &r.Caller.Principal, &r.Caller.Peer, &r.Server, &r.Method, &r.Name, &r.Rule, &r.Trace} {
		if len(*text) > maxText {
			*text = strings.ToValidUTF8((*text)[:maxText], "") + "…"
		}
	}
}

// Line is a line that was read.
type Line struct {
	Record
	Raw    []byte // as it is written, without the line break; valid until the next line is read
	Offset int64  // at which Read found it
}

// maxLine is the longest line that is read, in bytes: longer than any that is written.
const maxLine = 1 << 20

// ErrBroken is the error of a line that cannot be read: a program was killed, or a disk was full, while the
// program wrote the line.
var ErrBroken = errors.New("it is not a whole line of an audit log")

// Read reads the lines of a log. For one that is broken it yields an [ErrBroken], and goes on. Any other
// error comes from in, and ends the sequence.
func Read(in io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		lines := jsonl.NewLines(in, maxLine)
		for {
			raw, err := lines.Next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.Is(err, jsonl.ErrTooLong):
				err = ErrBroken
			case err != nil:
				yield(Line{}, err)
				return
			case len(raw) == 0:
				continue
			}
			line := Line{Raw: raw}
			if err == nil {
				line, err = ReadLine(raw)
			}
			line.Offset = lines.Offset
			if !yield(line, err) {
				return
			}
		}
	}
}

// ReadLine reads a line without its line break. The error is [ErrBroken].
func ReadLine(raw []byte) (Line, error) {
	line := Line{Raw: raw}
	if jsonl.Read(raw, line.members) != nil || line.At.IsZero() {
		return line, ErrBroken
	}
	return line, nil
}

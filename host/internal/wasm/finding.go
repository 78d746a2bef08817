package wasm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Finding is one reason why a module is refused: what it has, or what it lacks. Names in
// it come from the module and are quoted.
type Finding struct{ Item, Want, Found string }

func (f Finding) String() string {
	switch {
	case f.Want == "":
		return f.Item + ": " + f.Found
	case f.Found == "":
		return f.Item + ": wanted " + f.Want
	default:
		return f.Item + ": wanted " + f.Want + ", found " + f.Found
	}
}

// Refusal is the error of Load for a module that could be read and will not be run. It
// lists every reason, so that its author can repair all at once.
type Refusal struct {
	Name     string
	Findings []Finding
	Omitted  int // findings past the first hundred
}

func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: this module is refused:", r.Name)
	for _, f := range r.Findings {
		b.WriteString("\n  " + f.String())
	}
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "\n  and %d more", r.Omitted)
	}
	return b.String()
}

// maxFindings bounds the error a hostile module can make us print.
const maxFindings = 100

type findings struct {
	list    []Finding
	omitted int
}

func (f *findings) add(item, want, found string) {
	if len(f.list) == maxFindings {
		f.omitted++
		return
	}
	f.list = append(f.list, Finding{item, want, found})
}

// refusal returns the findings as a *Refusal, or nil if there are no findings.
func (f *findings) refusal(name string) error {
	if len(f.list) == 0 {
		return nil
	}
	return &Refusal{Name: name, Findings: f.list, Omitted: f.omitted}
}

// excess is the error of a module that has more of something than a limit allows.
// It ends the reading: nothing after it has been read.
type excess struct{ Finding }

func newExcess(item string, found uint64, limit int, unit string) *excess {
	return &excess{Finding{item, fmt.Sprintf("at most %d%s", limit, unit), fmt.Sprint(found)}}
}

func (e *excess) Error() string { return e.String() }

// unreadable returns the error for a module whose reading ended with err. It is a *Refusal if a
// limit ended the reading.
func unreadable(name string, err error) error {
	var over *excess
	if errors.As(err, &over) {
		return &Refusal{Name: name, Findings: []Finding{over.Finding}}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// quote makes a name of the module fit for a message: escaped, and short.
func quote(name string) string {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return strconv.QuoteToASCII(name)
}

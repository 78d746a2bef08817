package flowrecord

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

// Format is the format name in each line.
const Format = "wharf-flow/1"

// Kind is the kind of a line that holds a flow.
const Kind = "flow"

// Bounds of a file.
const (
	maxLine  = 4 << 20  // bytes of a flow
	maxOther = 64 << 20 // bytes of a line without a flow
	maxFlows = 100
)

// Flow is one sign-in.
type Flow struct {
	Kind     string `json:"kind"`
	Format   string `json:"format"`
	Provider string `json:"provider"` // the name in its manifest
	Version  string `json:"version"`  // of the provider
	Steps    []Step `json:"steps"`

	Line int `json:"-"` // in its file, from 1
}

// Step is one event, and the provider's answer: its actions.
type Step struct {
	Event   step.Event    `json:"event"`
	Actions []step.Action `json:"actions"`
}

// digested is the text before the digest of a line.
const digested = `,"sha256":"`

// encode returns a flow as a line, without a line feed.
func (f *Flow) encode() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return nil, err
	}
	return seal(bytes.TrimSuffix(out.Bytes(), []byte("}\n"))), nil
}

// seal ends a line with the digest of everything before.
func seal(head []byte) []byte {
	sum := sha256.Sum256(head)
	return append(hex.AppendEncode(append(head, digested...), sum[:]), `"}`...)
}

var (
	errChanged = errors.New("the flow was changed after it was recorded: record it again")
	errForeign = errors.New("it is not a line that --record has written")
	errNoFlows = errors.New("there is no flow of an auth provider in it; --record writes one for each sign-in")
)

// decode reads a line. It returns nil for a line of a recording that holds no flow.
func decode(line []byte) (*Flow, error) {
	var is struct{ Kind string }
	if err := json.Unmarshal(line, &is); err != nil || is.Kind == "" {
		return nil, errForeign
	}
	if is.Kind != Kind {
		return nil, nil
	}
	tail := len(digested) + hex.EncodedLen(sha256.Size) + len(`"}`)
	if len(line) > maxLine || len(line) < tail {
		return nil, fmt.Errorf("a flow has at most %d bytes", maxLine)
	}
	head := line[:len(line)-tail]
	if !bytes.Equal(seal(bytes.Clone(head)), line) {
		return nil, errChanged
	}
	f := new(Flow)
	d := json.NewDecoder(io.MultiReader(bytes.NewReader(head), bytes.NewReader([]byte("}"))))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return nil, fmt.Errorf("the flow is not of this format: %s", cleantext.Line(err.Error(), 200))
	}
	return f, f.check()
}

// check checks that a flow obeys the contract of package step.
func (f *Flow) check() error {
	switch n := len(f.Steps); {
	case f.Format != Format:
		return fmt.Errorf("its format is %q; expected %s", cleantext.Line(f.Format, 40), Format)
	case n == 0 || n > step.MaxSteps+1:
		return fmt.Errorf("a flow has 1 to %d steps, and this one has %d", step.MaxSteps+1, n)
	}
	for i := range f.Steps {
		s := &f.Steps[i]
		if (s.Event.Kind == step.EventStart) != (i == 0) || i == 0 && s.Event.Start == nil {
			return errors.New("a flow begins with its only start event")
		}
		if n := len(s.Actions); n == 0 || n > step.MaxActions {
			return fmt.Errorf("step %d has %d actions; expected 1 to %d", i+1, n, step.MaxActions)
		}
	}
	return nil
}

// Read returns the flows in a file that --record has written, or in lines copied from one. The file
// may contain any bytes. Every error names the line.
func Read(file io.Reader) ([]*Flow, error) {
	lines := jsonl.NewLines(file, maxOther)
	var out []*Flow
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var f *Flow
		if err == nil {
			f, err = decode(line)
		}
		if err == nil && f != nil && len(out) == maxFlows {
			err = fmt.Errorf("a file has at most %d flows", maxFlows)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", lines.Number, err)
		}
		if f != nil {
			f.Line = lines.Number
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, errNoFlows
	}
	return out, nil
}

package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// If a modern server needs input from the person or the model, it answers with questions. The
// client sends the same request again with the answers. The server need not remember anything
// meanwhile (2026-07-28/basic/patterns/mrtr).

// maxRounds is how often a server may ask for more, [mcp.MaxAsked] things each time, before the
// request fails.
const maxRounds = 10

// The members that a further round adds to the params.
const (
	memberResponses = "inputResponses"
	memberState     = "requestState"
)

// gatherInput calls the callbacks for everything that the server asks for, and returns the answers
// as members of the params. It calls one at a time, because a person can look at one question at a
// time.
func (s *Session) gatherInput(ctx context.Context, w inputRequired) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })()
	var out []byte
	if w.requests != nil {
		out = append(out, `"`+memberResponses+`":{`...)
		for i, a := range w.requests {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(strictjson.AppendString(out, a.key), ':')
			var err error
			if out, err = s.appendAnswer(ctx, out, a); err != nil {
				return nil, err
			}
		}
		out = append(out, '}')
	}
	if w.state != nil {
		if out != nil {
			out = append(out, ',')
		}
		out = append(append(out, `"`+memberState+`":`...), w.state...)
	}
	return out, nil
}

// appendAnswer appends the answer to one request of the server.
func (s *Session) appendAnswer(ctx context.Context, dst []byte, a inputRequest) ([]byte, error) {
	write, err := s.represents.Load().respond(ctx, a.method, a.params)
	if err == nil {
		dst, err = write(dst)
	}
	switch {
	case err == nil:
		return dst, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errNoHandler):
		return nil, &UnansweredError{a.method}
	}
	if fault := (*rpc.Error)(nil); errors.As(err, &fault) {
		err = errors.New(fault.Message) // the text of our error must not look like the server's
	}
	return nil, fmt.Errorf("%w: %s: %w", ErrInputRequired, a.method, err)
}

// inputRequired is what a server asks for in a further round. It aliases the result.
type inputRequired struct {
	requests []inputRequest // nil if there was no such member
	state    []byte         // a string as it was written, sent back unchanged; or nil
}

type inputRequest struct {
	key, method string
	params      []byte
}

// readInputRequired reads an InputRequiredResult.
func readInputRequired(result []byte) (w inputRequired, err error) {
	r := strictjson.Read(result)
	for key := range r.Object() {
		switch string(key) {
		case "inputRequests":
			if !r.Null() {
				w.requests, err = readInputRequests(r)
			}
		case memberState:
			if r.Null() {
				continue
			}
			if r.Kind() != '"' {
				return w, fmt.Errorf("%w: %s is not a string", ErrInvalidResult, memberState)
			}
			w.state = r.Raw()
		}
		if err != nil {
			return w, err
		}
	}
	switch {
	case r.Err() != nil:
		return w, invalid(r.Err())
	case len(w.state) > mcp.MaxState:
		return w, fmt.Errorf("%w: %s is longer than %d bytes", ErrInvalidResult, memberState, mcp.MaxState)
	case w.requests == nil && w.state == nil:
		return w, fmt.Errorf("%w: input_required, and nothing is asked for", ErrInvalidResult)
	}
	return w, nil
}

func readInputRequests(r *strictjson.Reader) ([]inputRequest, error) {
	all, seen := []inputRequest{}, make(map[string]bool)
	for key := range r.Object() {
		a := inputRequest{key: string(key)}
		for name := range r.Object() {
			switch string(name) {
			case "method":
				a.method = r.String()
			case "params":
				a.params = r.Raw()
			}
		}
		if len(all) == mcp.MaxAsked || len(a.key) > mcp.MaxKey || seen[a.key] {
			return nil, fmt.Errorf("%w: inputRequests has more than %d members, or one twice, or a name of more than %d bytes",
				ErrInvalidResult, mcp.MaxAsked, mcp.MaxKey)
		}
		seen[a.key] = true
		all = append(all, a)
	}
	return all, nil
}

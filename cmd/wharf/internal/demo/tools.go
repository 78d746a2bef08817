package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

const tools = `[
{"description":"Add two numbers.",
	"inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false},"name":"add",
	"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"],"additionalProperties":false}},
{"description":"Say a message back.",
	"inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"what to say back"}},"required":["message"],"additionalProperties":false},"name":"echo"},
{"description":"Go wrong, with a message.",
	"inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"what to say about it"}},"additionalProperties":false},"name":"fail"},
{"description":"Tell the time, in a zone such as Europe/Lisbon or else in UTC.",
	"inputSchema":{"type":"object","properties":{"zone":{"type":"string","description":"a time zone of the IANA database"}},"additionalProperties":false},"name":"now"},
{"description":"Take some seconds, and report progress on the way.",
	"inputSchema":{"type":"object","properties":{"seconds":{"type":"integer","description":"how long to take"}},"required":["seconds"],"additionalProperties":false},"name":"slow"}]`

// call calls a tool. Arguments that are wrong are told in a result, for the model to read.
func (s *server) call(ctx context.Context, r *request) (object, error) {
	result, err := object(nil), error(nil)
	switch r.params.Name {
	case "echo":
		in := struct{ Message string }{}
		if err = readArguments(r.params.Arguments, &in, "message"); err == nil {
			result = said(in.Message)
		}
	case "add":
		in := struct{ A, B float64 }{}
		if err = readArguments(r.params.Arguments, &in, "a", "b"); err == nil {
			result = said(fmt.Sprint(in.A + in.B))
			result["structuredContent"] = object{"sum": in.A + in.B}
		}
	case "now":
		in := struct{ Zone string }{}
		var zone *time.Location
		if err = readArguments(r.params.Arguments, &in); err == nil {
			zone, err = time.LoadLocation(in.Zone)
		}
		if err == nil {
			result = said(time.Now().In(zone).Format(time.RFC3339))
		}
	case "fail":
		in := struct{ Message string }{"this tool always fails"}
		if err = readArguments(r.params.Arguments, &in); err == nil {
			err = errors.New(in.Message)
		}
	case "slow":
		in := struct{ Seconds int }{}
		if err = readArguments(r.params.Arguments, &in, "seconds"); err == nil {
			s.slow(ctx, r, in.Seconds)
			return nil, errLater
		}
	default:
		return nil, &refusal{Code: mcp.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", r.params.Name)}
	}
	if err != nil {
		result = said(err.Error())
		result["isError"] = true
	}
	return result, nil
}

// said returns a result with one text.
func said(text string) object { return object{"content": []textContent{{"text", text}}} }

// readArguments reads the arguments of a call: all that are required, and none that is
// unknown.
func readArguments(text json.RawMessage, into any, required ...string) error {
	if len(text) == 0 {
		text = json.RawMessage(`{}`)
	}
	var given map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := cmp.Or(json.Unmarshal(text, &given), d.Decode(into))
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("arguments: %q cannot be a %s", strings.ToLower(wrong.Field), wrong.Value)
	case err != nil:
		return fmt.Errorf("arguments: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	missing := slices.DeleteFunc(required, func(name string) bool { return given[name] != nil })
	if len(missing) > 0 {
		return fmt.Errorf("arguments: missing properties: %q", missing)
	}
	return nil
}

// slow answers after some seconds, and reports each to a client that asked for it. It ends
// without an answer when the call is cancelled.
func (s *server) slow(ctx context.Context, r *request, seconds int) {
	ctx, cancel := context.WithCancel(ctx)
	id := string(r.ID)
	s.mu.Lock()
	s.running[id] = cancel
	s.mu.Unlock()
	go func() {
		defer func() {
			s.mu.Lock()
			delete(s.running, id)
			s.mu.Unlock()
			cancel()
		}()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for second := range seconds {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if token := r.params.Meta.ProgressToken; token != nil {
				s.notify("notifications/progress", object{"progressToken": token, "progress": second + 1, "total": seconds})
			}
		}
		s.answer(r, said(fmt.Sprintf("took %d s", max(seconds, 0))), nil)
	}()
}

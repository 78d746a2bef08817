package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/audit"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// keeps reports whether a request has a line in the audit log. Lists, pings and the like have none: hosts
// and gateways ask for them on their own too.
func (s *Session) keeps(q *query) bool {
	return s.host.config.Audit != nil && !plain[q.method] && (q.filter == nil || len(q.filter.URIs)+len(q.filter.Tasks) > 0)
}

// maxKeptArgs is the longest arguments that are kept, in bytes. Of others the log has the size and the hash.
const maxKeptArgs = 64 << 10

// keep writes the line of a request that has ended.
func (s *Session) keep(q *query, began time.Time, result any, err error) {
	r := audit.Record{
		At: began, Caller: *q.caller, Server: q.entry.Name, Method: q.method, Name: q.about.name, Took: time.Since(began),
		OK: err == nil, IsError: err == nil && saysError(result), Allowed: q.admitted, Rule: q.said.Rule, Person: q.person,
	}
	var no *RPCError
	if errors.As(err, &no) {
		r.Code = no.Code
	}
	switch {
	case !q.admitted:
	case errors.Is(err, ErrNotSent):
		r.Sent = "no"
	case MaybeSent(err):
		r.Sent = "maybe"
	}
	arguments := q.params
	switch {
	case q.raw:
		arguments = describe(&r, q.params)
	case q.filter != nil:
		s.keepFilter(q, &r, result)
		return
	case q.arguments != nil:
		arguments, _ = json.Marshal(q.arguments)
	}
	s.host.keep(&r, arguments)
}

// keepFilter writes a line for each resource and task that a subscription names. Of one that is denied it has
// the one that it is denied for. The server may have agreed to a part of it.
func (s *Session) keepFilter(q *query, r *audit.Record, result any) {
	u, _ := result.(*Subscription)
	for _, about := range inFilter(q.filter) {
		if !q.admitted && q.decided != "" && q.decided != about.name {
			continue
		}
		if r.Name = about.name; u != nil {
			agreed := u.Honoured()
			r.OK = slices.Contains(agreed.URIs, about.name) && !about.task || slices.Contains(agreed.Tasks, about.name) && about.task
		}
		s.host.keep(r, nil)
	}
}

// Denied writes the line of a request to the audit log that is denied before there is a session for it,
// since its caller may call nothing of the server. params are its params, or nil. It returns the rule that
// decides.
func (h *Host) Denied(c *policy.Caller, server, method string, params json.RawMessage) (rule string) {
	rule = h.nothingFor(c, server).Rule
	if h.config.Audit == nil || plain[method] {
		return rule
	}
	r := audit.Record{At: time.Now(), Caller: *c, Server: server, Method: method, Rule: rule}
	h.keep(&r, describe(&r, params))
	return rule
}

// describe adds what the params of a request say, and returns the arguments in them, or nil if the params
// have no arguments.
func describe(r *audit.Record, params json.RawMessage) (arguments json.RawMessage) {
	in := strictjson.Read(params)
	if in.Kind() != '{' {
		return nil
	}
	name := named[r.Method].member
	for key := range in.Object() {
		switch string(key) {
		case "arguments":
			arguments = in.Raw()
		case "_meta":
			r.Trace = textIn(in.Raw(), "traceparent")
		case "ref": // of a request for completions
			describe(r, in.Raw())
		case name, "name", "uri":
			if text := unquoted(in.Raw()); r.Name == "" {
				r.Name = text
			}
		}
	}
	return arguments
}

// keep writes a line with the arguments of a call, or with their size and hash.
func (h *Host) keep(r *audit.Record, arguments json.RawMessage) {
	if len(arguments) > 0 {
		sum := sha256.Sum256(arguments)
		r.ArgsBytes, r.ArgsSHA256 = len(arguments), hex.EncodeToString(sum[:])
		if h.config.Audit.Full() && len(arguments) <= maxKeptArgs {
			if text, err := strictjson.AppendRaw(nil, []byte(h.Redact(string(arguments)))); err == nil {
				r.Args = text
			}
		}
	}
	err := h.config.Audit.Write(r)
	if before := h.unkept.Swap(err != nil); err != nil && !before {
		h.warn("", fmt.Sprintf("calls are not in the audit log: %v", err))
	}
}

// saysError reports whether a result says that a tool has failed.
func saysError(result any) bool {
	switch result := result.(type) {
	case *mcp.CallToolResult:
		return result != nil && result.IsError
	case json.RawMessage:
		in := strictjson.Read(result).Unbounded()
		if in.Kind() != '{' {
			return false
		}
		for key := range in.Object() {
			if string(key) == "isError" {
				return string(in.Raw()) == "true"
			}
		}
	}
	return false
}

// Package demo is the server that is always configured: a few tools, resources and a
// prompt to try things out with, over stdio, in each revision of MCP that has no batches.
package demo

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/wharf-mcp/wharf/host/mcp"
)

const instructions = "This server is for trying things out: nothing it does lasts."

// capabilities is the same in all revisions.
var capabilities = json.RawMessage(`{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`)

// Serve answers requests on in, one a line, until in or ctx ends. Neither is an error: clients
// close stdin first, and send a signal if the server is slow to notice
// (2025-11-25/basic/lifecycle#stdio). Calls that still run then are dropped.
func Serve(ctx context.Context, in io.Reader, out io.Writer, version string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		info: object{"name": "demo", "title": "Wharf demo", "version": version}, out: out,
		running: make(map[string]context.CancelFunc), listening: make(map[string]listener),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.read(ctx, in) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (s *server) read(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 4<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := s.take(ctx, line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take answers one message. It returns an error if writing fails.
func (s *server) take(ctx context.Context, line []byte) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return s.send(message{ID: json.RawMessage("null"), Error: &refusal{Code: mcp.CodeParseError, Message: "the message cannot be read"}})
	}
	var unreadable error
	if len(r.Params) > 0 {
		unreadable = json.Unmarshal(r.Params, &r.params)
	}
	if len(r.ID) == 0 || r.Method == "" {
		if r.Method == "notifications/cancelled" {
			return s.cancel(&r)
		}
		return nil
	}
	result, err := object(nil), error(&refusal{Code: mcp.CodeInvalidParams, Message: "invalid params"})
	if unreadable == nil {
		result, err = s.serve(ctx, &r)
	}
	return s.answer(&r, result, err)
}

// serve carries out a request.
func (s *server) serve(ctx context.Context, r *request) (object, error) {
	if v := r.params.Meta.Version; r.isModern() && !slices.Contains(modern, v) {
		return nil, &refusal{mcp.CodeUnsupportedVersion, "unsupported protocol version", object{"supported": slices.Concat(modern, legacy), "requested": v}}
	}
	s.mu.Lock()
	ready := s.greeted || r.isModern()
	s.mu.Unlock()
	switch r.Method {
	case mcp.MethodInitialize:
		return s.initialize(r)
	case mcp.MethodPing:
		if !r.isModern() {
			return object{}, nil
		}
	}
	if !ready {
		return nil, &refusal{Code: mcp.CodeInvalidRequest, Message: fmt.Sprintf("method %q is invalid during session initialization", r.Method)}
	}
	switch r.Method {
	case mcp.MethodListTools, mcp.MethodListResources, mcp.MethodListTemplates, mcp.MethodListPrompts:
		if r.params.Cursor != "" {
			return nil, &refusal{Code: mcp.CodeInvalidParams, Message: "invalid params"}
		}
		return cacheable(lists[r.Method]), nil
	case mcp.MethodCallTool:
		return s.call(ctx, r)
	case mcp.MethodReadResource:
		return readResource(r.params.URI)
	case mcp.MethodGetPrompt:
		return greet(r)
	case mcp.MethodComplete:
		return complete(r), nil
	}
	if r.isModern() {
		switch r.Method {
		case mcp.MethodDiscover:
			return cacheable(object{"supportedVersions": slices.Concat(modern, legacy), "capabilities": capabilities, "instructions": instructions}), nil
		case mcp.MethodListen:
			return nil, s.listen(ctx, r)
		}
	} else {
		switch r.Method {
		case mcp.MethodSetLevel:
			return object{}, nil
		case mcp.MethodSubscribe, mcp.MethodUnsubscribe:
			s.subscribe(ctx, r.params.URI, r.Method == mcp.MethodSubscribe)
			return object{}, nil
		}
	}
	return nil, &refusal{Code: mcp.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", r.Method)}
}

// initialize is the handshake of a legacy client (2025-11-25/basic/lifecycle#initialization).
func (s *server) initialize(r *request) (object, error) {
	s.mu.Lock()
	again := s.greeted
	s.greeted = true
	s.mu.Unlock()
	if again {
		return nil, &refusal{Code: mcp.CodeInvalidRequest, Message: `duplicate "initialize" received`}
	}
	version := legacy[0]
	if slices.Contains(legacy, r.params.ProtocolVersion) {
		version = r.params.ProtocolVersion
	}
	return object{"protocolVersion": version, "capabilities": capabilities, "serverInfo": s.info, "instructions": instructions}, nil
}

// cancel ends a call or a stream of notifications. A call that is cancelled has no answer
// (2025-11-25/basic/utilities/cancellation); a stream has one, as its end.
func (s *server) cancel(r *request) error {
	id := string(r.params.RequestID)
	s.mu.Lock()
	if end := s.running[id]; end != nil {
		end()
	}
	_, listened := s.listening[id]
	delete(s.listening, id)
	s.mu.Unlock()
	if !listened || id == "" {
		return nil
	}
	ended := &request{ID: r.params.RequestID}
	ended.params.Meta.Version = cmp.Or(r.params.Meta.Version, modern[0])
	return s.answer(ended, object{"_meta": object{mcp.MetaSubscriptionID: ended.ID}}, nil)
}

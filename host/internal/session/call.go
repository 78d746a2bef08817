package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Call sends a request of any method and decodes its result into result with [json.Unmarshal]. A
// *[json.RawMessage] keeps the result as it came, and nil drops it. Params is nil or a value that
// marshals to an object. In the modern era, Call adds the members of _meta that the protocol
// requires. It checks a call of a tool as CallTool does, but also decodes a result that does not
// match the tool's output schema.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	q := request{method: method, name: subject(method, params), given: params}
	if err := s.requestInto(ctx, &q, result); err != nil {
		return s.about(method, q.name, err)
	}
	return nil
}

// aboutError adds to an error the method, the subject and the server of a message.
type aboutError struct {
	method, name, server string
	err                  error
}

func (s *Session) about(method, name string, err error) error {
	return &aboutError{method, name, s.cfg.Name, err}
}

// Error names the method once, because most errors of the peer begin with the method.
func (e *aboutError) Error() string {
	what := e.method
	if e.name != "" {
		what += " " + clip(e.name)
	}
	return what + " on " + e.server + ": " + strings.TrimPrefix(e.err.Error(), e.method+": ")
}

func (e *aboutError) Unwrap() error { return e.err }

// requestResult makes a request and follows its results up to the final one.
func (s *Session) requestResult(ctx context.Context, q *request) ([]byte, *dialect, error) {
	ctx, over := s.track(ctx, optionsOf(ctx).Progress, nil)
	defer over()
	text, d, err := s.do(ctx, q)
	if err == nil {
		text, err = s.followResult(ctx, q, d, text)
	}
	return text, d, err
}

// requestInto calls requestResult and decodes the result, as [Session.Call] says.
func (s *Session) requestInto(ctx context.Context, q *request, result any) error {
	text, d, err := s.requestResult(ctx, q)
	if err != nil {
		return err
	}
	switch into := result.(type) {
	case nil:
	case *json.RawMessage:
		*into = text
	default:
		if err := json.Unmarshal(text, result); err != nil {
			return invalid(err)
		}
	}
	if q.toolSchemas == nil || q.toolSchemas.output.text == "" {
		return nil
	}
	if called, err := readCall(text); err == nil { // else the caller decodes it unchecked
		return s.checkResult(q, d, called)
	}
	return nil
}

// followResult follows a result of q up to the final one. The result may ask for input, see
// multiround.go, or be a task. An error is no [rpc.ErrNotSent]: the server has had the request.
func (s *Session) followResult(ctx context.Context, q *request, d *dialect, text []byte) ([]byte, error) {
	text, err := s.follow(ctx, q, d, text)
	if errors.Is(err, rpc.ErrNotSent) {
		err = &followError{q.method, err}
	}
	return text, err
}

// followError is the error of a request that the server has had, and that asked for something further, which was not
// sent.
type followError struct {
	method string
	err    error
}

func (e *followError) Error() string { return e.err.Error() }

// Is matches what err matches, but for [rpc.ErrNotSent].
func (e *followError) Is(target error) bool {
	return target != rpc.ErrNotSent && errors.Is(e.err, target)
}

// As finds what err has, and a [*rpc.CallError] of the request.
func (e *followError) As(target any) bool {
	if call, is := target.(**rpc.CallError); is {
		*call = &rpc.CallError{Method: e.method, Sent: rpc.MaybeSent, Err: e.err}
		return true
	}
	return errors.As(e.err, target)
}

func (s *Session) follow(ctx context.Context, q *request, d *dialect, text []byte) ([]byte, error) {
	for {
		switch t := readType(text); {
		case q.task && q.begun:
			return member(text, "task"), nil
		case q.task:
			return s.awaitLegacy(ctx, member(text, "task"))
		case t == mcp.ResultTask && q.begun && d.era == mcp.Modern:
			return text, nil
		case t == mcp.ResultTask && d.era == mcp.Modern && q.method == mcp.MethodCallTool:
			return s.await(ctx, text)
		case t != mcp.ResultInputRequired || d.era == mcp.Legacy || !named(q.method):
			return text, d.admit(t)
		case q.rounds == maxRounds:
			return nil, fmt.Errorf("%w: after %d rounds it is not content", ErrInputRequired, maxRounds)
		}
		q.rounds++
		q.solicited = true
		wanted, err := readInputRequired(text)
		if err == nil {
			q.extra, err = s.gatherInput(ctx, wanted)
		}
		if err == nil {
			text, d, err = s.do(ctx, q)
		}
		if err != nil {
			return nil, err
		}
	}
}

// Notify sends a notification. It returns when the transport has taken the message, and does not
// tell whether the server acts on it. Params is as for Call, and is sent unchanged in both eras.
func (s *Session) Notify(ctx context.Context, method string, params any) error {
	q := request{method: method, given: params}
	l, err := s.acquire(ctx)
	if err != nil {
		return s.about(method, "", s.unsent(method, err))
	}
	err = l.Peer.Notify(ctx, method, q.params(&dialect{}, nil))
	if err != nil && s.missed(ctx, l, err) {
		next, failed := s.acquire(ctx)
		if failed != nil {
			return s.about(method, "", s.unsent(method, failed))
		}
		if l.passes(next, err) {
			l, err = next, next.Peer.Notify(ctx, method, q.params(&dialect{}, nil))
		}
	}
	if err == nil {
		return nil
	}
	return s.about(method, "", s.explain(l, err))
}

// do sends one request on the present connection or, if there is none, on a new one. It returns the
// result and its dialect. The result belongs to the caller.
func (s *Session) do(ctx context.Context, q *request) ([]byte, *dialect, error) {
	l, err := s.acquire(ctx)
	if err != nil {
		return nil, nil, s.unsent(q.method, err)
	}
	text, d, err := s.try(ctx, l, q)
	q.over = l.Conn
	if err != nil && s.missed(ctx, l, err) {
		next, failed := s.acquire(ctx)
		if failed != nil {
			return nil, nil, s.unsent(q.method, failed)
		}
		if l.passes(next, err) {
			l = next
			text, d, err = s.try(ctx, l, q)
			q.over = l.Conn
		}
	}
	return text, d, s.explain(l, err)
}

// try sends a request on l. If the server refuses the request and says what to change, try sends the
// changed request once.
func (s *Session) try(ctx context.Context, l *agreedConn, q *request) ([]byte, *dialect, error) {
	text, err := s.send(ctx, l, &l.dialect, q)
	switch {
	case err == nil:
	case l.dialect.era == mcp.Modern:
		return s.tryChanged(ctx, l, q, err)
	case q.ours():
		text, err = s.elicitURLs(ctx, l, q, err)
	}
	return text, &l.dialect, err
}

// tryChanged is try for a request that failed with err in the modern era.
func (s *Session) tryChanged(ctx context.Context, l *agreedConn, q *request, err error) (text []byte, d *dialect, _ error) {
	d = &l.dialect
	switch codeOf(err) {
	case mcp.CodeUnsupportedVersion:
		supported, _ := refusedVersion(err)
		if version := common(supported); version != "" {
			changed := s.represents.Load().modern(version, d.paramHeaders)
			d = &changed
			text, err = s.send(ctx, l, d, q)
			s.adopt(l, changed, err)
		}
	case mcp.CodeHeaderMismatch:
		if q.method == mcp.MethodCallTool && d.paramHeaders && s.relist(ctx, q.listing) == nil {
			text, err = s.send(ctx, l, d, q)
		}
	case mcp.CodeMissingClientCapability:
		var fault *rpc.Error
		errors.As(err, &fault)
		if names := Required(fault); names != nil {
			err = fmt.Errorf("the server needs a client that offers %s: %w", strings.Join(names, ", "), err)
		}
	}
	return text, d, err
}

// Required returns the capabilities that a server wants of its client, by its [mcp.CodeMissingClientCapability].
func Required(fault *rpc.Error) []string { return namesOf(member(fault.Data, "requiredCapabilities")) }

// send sends a request on l in dialect d and waits for its answer. Its frame is small, because many callers
// may wait in it.
func (s *Session) send(ctx context.Context, l *agreedConn, d *dialect, q *request) ([]byte, error) {
	if err := l.lacks(q.needs); err != nil {
		return nil, err
	}
	t, _ := ctx.Value(trackerKey{}).(*tracker)
	var call rpc.Call
	meta, err := s.prepare(ctx, l, d, q, t, &call)
	if err != nil {
		return nil, &rpc.CallError{Method: q.method, Sent: rpc.NotSent, Err: err}
	}
	params := q.params(d, meta)
	if t != nil {
		return t.run(ctx, l, &call, params)
	}
	return l.Peer.Call(ctx, &call, params)
}

// prepare fills in the call of a request, but for its params, and returns the _meta member of these. An error says
// why the request is not sent.
func (s *Session) prepare(ctx context.Context, l *agreedConn, d *dialect, q *request, t *tracker, call *rpc.Call) (meta []byte, err error) {
	options := optionsOf(ctx)
	if meta, err = s.meta(d, options, t, q.relay); err != nil {
		return nil, err
	}
	*call = rpc.Call{
		Method: q.method, Name: q.name, Timeout: cmp.Or(q.limit, options.Timeout, l.timeout),
		Solicited: q.solicited, Background: q.method == mcp.MethodListen, Caller: options.Caller,
	}
	if d.revision != l.dialect.revision {
		call.Version = d.revision
	}
	if q.relay != nil {
		call.Placed = q.relay.Placed
	}
	var declared string // how the tool can run as a task

	switch { // what a request needs from the list of tools
	case l.dialect.paramHeaders:
		call.Headers, err = s.headers(ctx, q)
	case l.tasks && q.method == mcp.MethodCallTool && q.ours():
		def, failed := s.definition(ctx, q)
		declared = def.taskSupport
		q.task, err = def.task || q.begun && def.mayTask, failed
	}
	if err == nil && q.hasHeaders() && !l.dialect.paramHeaders && l.declares("tools") { // the server gets none to compare
		def, failed := s.definition(ctx, q)
		if err = failed; err == nil {
			err = def.checkHeaders(q)
		}
	}
	if err == nil && q.begun && !q.task && d.era == mcp.Legacy {
		refusal := &unsupportedError{want: "to run " + clip(q.name) + " as a task", have: namesOf(l.info.Capabilities)}
		switch {
		case l.tasks && declared != "":
			refusal.why = fmt.Sprintf("the tool declares execution.taskSupport %q", clip(declared))
		case l.tasks:
			refusal.why = "the tool does not declare execution.taskSupport"
		}
		err = refusal
	}
	if err == nil && q.method == mcp.MethodCallTool && q.relay == nil {
		err = s.checkArguments(q, l)
	}
	return meta, err
}

// adopt stores the revision that a server has asked for, unless the server refused the request in
// that revision too.
func (s *Session) adopt(l *agreedConn, d dialect, err error) {
	if d.revision == l.dialect.revision || codeOf(err) == mcp.CodeUnsupportedVersion {
		return
	}
	changed := *l
	changed.dialect, changed.info.Protocol = d, d.revision
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.agreed.CompareAndSwap(l, &changed) {
		s.info.CompareAndSwap(&l.info, &changed.info)
		l.Peer.Agree(terms(l.Dialed, l.epoch, d.revision))
	}
}

// missed reports whether a message that failed on l with err can go out on the next connection. It
// can in two cases: l has ended or takes no more calls, and the message was not sent; or the server
// refused the message because it had forgotten the session. In the first case, missed waits until
// the end of l is certain, which is soon. In the second, it may ask the server.
func (s *Session) missed(ctx context.Context, l *agreedConn, err error) bool {
	l.checkSession(ctx, err)
	if l.sessionForgotten() && (refused(err) || l.deniedAlike(err)) {
		return !s.isClosed()
	}
	closed := errors.Is(err, rpc.ErrClosed) || l.ended()
	if !closed || !errors.Is(err, rpc.ErrNotSent) || s.isClosed() {
		return false
	}
	select {
	case <-l.Done():
		return true
	case <-l.retired.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// refused reports whether err is a refusal that came before the server acted on the message.
func refused(err error) bool {
	var failure *rpc.StatusError
	return errors.As(err, &failure) && failure.Refused
}

// unsent returns the error of a message for which there was no connection.
func (s *Session) unsent(method string, err error) error {
	if !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("connect: %w", err)
	}
	return &rpc.CallError{Method: method, Sent: rpc.NotSent, Err: err}
}

// answered reports whether err is the server's answer, and not a failure of the message or the
// connection.
func answered(err error) bool {
	var fault *rpc.Error
	var failure *rpc.CallError
	return errors.As(err, &fault) || errors.As(err, &failure) && failure.Sent == rpc.Answered
}

// explain adds to the error of a call what the peer does not know: that the session was closed, or
// why the connection ended.
func (s *Session) explain(l *agreedConn, err error) error {
	if err == nil || answered(err) {
		return err
	}
	if s.isClosed() {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if l.ended() {
		if why := l.Err(); why != nil && !errors.Is(err, why) {
			return fmt.Errorf("%w: %w", err, why)
		}
	}
	return err
}

// readType returns the type of a result, or "" if it has none.
func readType(result []byte) mcp.ResultType {
	var t mcp.ResultType
	r := strictjson.Read(result)
	for key := range r.Object() {
		if string(key) == "resultType" {
			t = resultType(r)
		}
	}
	return t
}

// resultType reads the type. It does not allocate for "complete", which nearly all results have.
func resultType(r *strictjson.Reader) mcp.ResultType {
	if r.Kind() != '"' {
		return mcp.ResultType(r.Raw()) // not a string: no known type is equal to it
	}
	if text := r.Text(); string(text) != string(mcp.ResultComplete) {
		return mcp.ResultType(text)
	}
	return mcp.ResultComplete
}

// invalid makes err, from a decoder, an [ErrInvalidResult].
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalidResult, err)
}

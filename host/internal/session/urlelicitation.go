package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// A server of 2025-11-25 may refuse any request until the person has visited some web pages, which
// the error lists. The server has done nothing then, so the request is sent again. The session first
// waits until the person agrees to go, and then until the server says that a page is done, or a pause
// is over
// (2025-11-25/client/elicitation#url-elicitation-required-error).

// webPages holds the pages that requests wait for at present, by their ids. The person sees each
// page once, however many requests wait for it.
type webPages struct {
	mu   sync.Mutex
	open map[string]*webPage
}

// webPage is one page of webPages.
type webPage struct {
	visits   int           // the number of requests that wait for it; guarded by webPages.mu
	cancel   func()        // takes back the question to the person
	answered chan struct{} // closed when the person has answered
	err      error         // why the person will not visit; set before answered is closed
	complete chan struct{} // closed when the server says that the page is done
	over     bool          // complete is closed; guarded by webPages.mu
}

// urlElicitation is one request that waits for pages.
type urlElicitation struct {
	session *Session
	held    map[string]*webPage
}

// elicitURLs goes on with a request that a legacy server refused, if the error lists pages and
// there is a callback that shows pages to a person.
func (s *Session) elicitURLs(ctx context.Context, l *agreedConn, q *request, refusal error) ([]byte, error) {
	if codeOf(refusal) != mcp.CodeURLElicitationRequired || !s.represents.Load().elicits(mcp.ElicitURL) {
		return nil, refusal
	}
	if s.cfg.MaxTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.cfg.MaxTimeout, fmt.Errorf("%w after %v", ErrLongest, s.cfg.MaxTimeout))
		defer cancel()
	}
	v := urlElicitation{session: s, held: make(map[string]*webPage)}
	defer func() { // other requests may still wait for the pages
		s.pages.mu.Lock()
		defer s.pages.mu.Unlock()
		for id, p := range v.held {
			if p.visits--; p.visits == 0 {
				delete(s.pages.open, id)
				p.cancel()
			}
		}
	}()
	for pause := usualPoll; ; pause = min(2*pause, longestPoll) {
		asked, err := v.begin(refusal)
		if err == nil {
			err = v.await(ctx, asked, pause)
		}
		if err != nil && s.isClosed() {
			err = ErrClosed
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, refusal)
		}
		text, err := s.send(ctx, l, &l.dialect, q)
		if codeOf(err) != mcp.CodeURLElicitationRequired {
			return text, err
		}
		refusal = err
	}
}

// begin shows the pages of a refusal to the person, and returns all of them.
func (v *urlElicitation) begin(refusal error) (asked []*webPage, err error) {
	all, err := readPages(refusal)
	for _, e := range all {
		p := v.held[e.ElicitationID]
		if p == nil && len(v.held) == mcp.MaxAsked {
			return nil, fmt.Errorf("%w: after %d pages it is not content", ErrInputRequired, mcp.MaxAsked)
		}
		if p == nil {
			p = v.session.show(e)
			v.held[e.ElicitationID] = p
		}
		asked = append(asked, p)
	}
	return asked, err
}

// errPause ends the wait for a server that does not say when a page is done.
var errPause = errors.New("the pause is over")

// await returns when the person has agreed to visit all pages, and either the server says that all
// are done or the pause is over.
func (v *urlElicitation) await(ctx context.Context, asked []*webPage, pause time.Duration) error {
	for _, p := range asked {
		if err := v.wait(ctx, p.answered); err != nil {
			return err
		}
		if p.err != nil {
			return fmt.Errorf("%w: %w", ErrInputRequired, p.err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pause, errPause)
	defer cancel()
	for _, p := range asked {
		if err := v.wait(ctx, p.complete); err == errPause {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (v *urlElicitation) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-v.session.ctx.Done():
		return ErrClosed
	}
}

// show asks the person to visit a page, unless the person was asked already.
func (s *Session) show(e pageRequest) *webPage {
	s.pages.mu.Lock()
	defer s.pages.mu.Unlock()
	p := s.pages.open[e.ElicitationID]
	if p == nil {
		ctx, cancel := context.WithCancel(s.ctx)
		p = &webPage{cancel: cancel, answered: make(chan struct{}), complete: make(chan struct{})}
		if s.pages.open == nil {
			s.pages.open = make(map[string]*webPage)
		}
		s.pages.open[e.ElicitationID] = p
		go func() {
			defer close(p.answered)
			write, err := s.represents.Load().respond(ctx, mcp.MethodElicit, e.written)
			var result []byte
			if err == nil {
				result, err = write(nil)
			}
			if err == nil && memberText(result, "action") != mcp.ElicitAccept {
				err = fmt.Errorf("the person did not go to %s", clip(e.URL))
			}
			if fault := (*rpc.Error)(nil); errors.As(err, &fault) {
				err = errors.New(fault.Message) // ours: it must not look like the server's
			}
			p.err = err
		}()
	}
	p.visits++
	return p
}

// finish notes that the server says that a page is done.
func (p *webPages) finish(params []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done := p.open[memberText(params, "elicitationId")]; done != nil && !done.over {
		done.over = true
		close(done.complete)
	}
}

// pageRequest is a page that the refusal of a request lists, read and as it is written.
type pageRequest struct {
	mcp.Elicitation
	written []byte
}

// readPages reads the pages that the refusal of a request lists.
func readPages(refusal error) ([]pageRequest, error) {
	var fault *rpc.Error
	errors.As(refusal, &fault)
	var all []pageRequest
	r := strictjson.Read(member(fault.Data, "elicitations"))
	for range r.Array() {
		e := pageRequest{written: r.Raw()}
		var err error
		e.Elicitation, err = readElicitation(e.written)
		if err != nil || e.Mode != mcp.ElicitURL || e.ElicitationID == "" || len(all) == mcp.MaxAsked {
			return nil, fmt.Errorf("%w: want up to %d pages with a url and an elicitationId", ErrInvalidResult, mcp.MaxAsked)
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: it asks for pages, and names none", ErrInvalidResult)
	}
	return all, nil
}

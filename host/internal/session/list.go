package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// maxTTL is how long anything counts as fresh at most.
const maxTTL = 24 * time.Hour

// kind is one of the lists that servers have.
type kind[T any] struct {
	method string
	member string // of a page, that has the elements
	thing  string // what an element is
	needs  *capability

	// read reads an element in place, and what it is known by. What it has elements
	// of itself counts against the allowance of the list.
	read func(text []byte, a *strictjson.Allowance) (item T, name string, err error)
}

// listAll returns a whole list, from the listCache if it is fresh there.
func listAll[T any](ctx context.Context, s *Session, listCache *listCache[T], k *kind[T]) ([]T, error) {
	if items, ok := listCache.fresh(); ok {
		return items, nil
	}
	l, as := newList(k), listCache.count()
	if err := fetch(ctx, s, &l); err != nil {
		return nil, err
	}
	listCache.keep(l.items, l.until, as)
	l.tell(s.cfg.Warn)
	return l.items, nil
}

// fetch asks for a list, page after page.
func fetch[T any](ctx context.Context, s *Session, l *list[T]) error {
	for more := true; more; {
		q := request{method: l.kind.method, needs: l.kind.needs, page: l.page, prompted: l.cursor != nil}
		text, d, err := s.do(ctx, &q)
		if err == nil {
			l.came(q.over)
			more, err = l.add(text, d)
		}
		if err != nil {
			return fmt.Errorf("list %ss on %s: %w", l.kind.thing, s.cfg.Name, err)
		}
	}
	return nil
}

// list is a list that is being fetched.
type list[T any] struct {
	paging
	kind  *kind[T]
	items []T
	seen  map[string]bool

	// fits reports whether an element is to be kept; nil keeps all.
	fits func(item *T, d dialect) bool
}

func newList[T any](k *kind[T]) list[T] {
	return list[T]{kind: k, seen: make(map[string]bool), paging: newPaging()}
}

// add adds a page and reports whether there is another.
func (l *list[T]) add(text []byte, d dialect) (more bool, err error) {
	if err := l.weigh(len(text)); err != nil {
		return false, err
	}
	page, err := readPage(text, l.kind.member, l.allowance)
	if err == nil {
		err = d.admit(page.kind)
	}
	if err != nil {
		return false, err
	}
	l.expire(page.ttl, d)
	for _, raw := range page.elements {
		if err := l.keep(raw, d); err != nil {
			return false, err
		}
	}
	if page.next == nil {
		return false, nil
	}
	return l.turn(*page.next)
}

// keep adds an element. It leaves out what is not an element, and a second one of the
// same name, which could not be asked for. The others stay. An error is one of the whole
// list.
func (l *list[T]) keep(raw []byte, d dialect) error {
	item, name, err := l.kind.read(raw, l.allowance)
	switch {
	case err != nil && errors.As(err, new(*strictjson.TooManyError)):
		return invalid(err)
	case err != nil:
		l.warn("the server lists something that is no %s: %v: %s", l.kind.thing, err, clipText(raw))
		return nil
	case l.seen[name]:
		l.warn("the server lists %s %q more than once", l.kind.thing, clip(name))
		return nil
	}
	l.seen[name] = true
	l.items = append(l.items, item)
	if last := len(l.items) - 1; l.fits != nil && !l.fits(&l.items[last], d) {
		l.items = l.items[:last]
	}
	return nil
}

// paging is how far the fetching of a list has come
// (2026-07-28/server/utilities/pagination). A server that hands out a cursor
// twice would never end: the list then ends there, with a warning.
type paging struct {
	cursors  map[string]bool
	cursor   *string   // of the next page; nil is the first
	over     *Conn     // which the pages came over; nil where that is not one
	bytes    int       // of all pages
	until    time.Time // when the first of the pages is stale
	warnings []string

	allowance *strictjson.Allowance // of elements, for all pages together
}

func newPaging() paging {
	return paging{cursors: make(map[string]bool), until: time.Now().Add(maxTTL), allowance: strictjson.NewAllowance(mcp.MaxElements)}
}

// page writes the params that ask for the next page.
func (p *paging) page(dst, meta []byte) ([]byte, error) { return appendPage(dst, p.cursor, meta) }

// came notes what a page came over. The server of another connection may be another
// version of it, whose pages do not go with those of the first.
func (p *paging) came(over *Conn) {
	if p.cursor != nil && p.over != over {
		over = nil
	}
	p.over = over
}

// expire notes for how many milliseconds a page that has just come stays fresh.
func (p *paging) expire(ms float64, d dialect) {
	if until := freshUntil(ms, d); until.Before(p.until) {
		p.until = until
	}
}

// freshUntil returns when a result that has just come is stale. The legacy era
// has no such hints; a member of that name is the server's own.
func freshUntil(ms float64, d dialect) time.Time {
	if d.era == mcp.Legacy {
		ms = 0
	}
	return time.Now().Add(time.Duration(max(0, min(ms, float64(maxTTL/time.Millisecond))) * float64(time.Millisecond)))
}

// warn notes what is odd; a list can be odd very often.
func (p *paging) warn(format string, args ...any) {
	const most = 10
	if len(p.warnings) < most {
		p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
	}
}

// tell says what was odd about the list.
func (p *paging) tell(warn func(string)) {
	for _, text := range p.warnings {
		warn(text)
	}
}

// weigh counts a page of that many bytes.
func (p *paging) weigh(bytes int) error {
	if p.bytes += bytes; p.bytes > mcp.MaxListBytes {
		return fmt.Errorf("%w: want a list of at most %d bytes, its first %d pages have %d",
			ErrInvalidResult, mcp.MaxListBytes, len(p.cursors)+1, p.bytes)
	}
	return nil
}

// turn goes on to the page at cursor.
func (p *paging) turn(cursor string) (more bool, err error) {
	if p.cursors[cursor] {
		p.warn("the server repeats cursor %q; the list ends there", clip(cursor))
		return false, nil
	}
	p.cursors[cursor] = true
	p.cursor = &cursor
	if len(p.cursors) >= mcp.MaxPages {
		return false, fmt.Errorf("%w: want a list of at most %d pages, there is another", ErrInvalidResult, mcp.MaxPages)
	}
	return true, nil
}

// page is the result of a list request, elements as written. A nil next ends the
// list; an empty one is a cursor like any other.
type page struct {
	elements [][]byte
	next     *string
	kind     mcp.ResultType
	ttl      float64 // milliseconds
}

// readPage reads a page in place: it aliases text. Its elements count against a.
func readPage(text []byte, elements string, a *strictjson.Allowance) (p page, err error) {
	r := strictjson.Read(text).Within(a)
	for key := range r.Object() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case elements:
			for range r.Array() {
				p.elements = append(p.elements, r.Raw())
			}
		case "nextCursor":
			cursor := r.String()
			p.next = &cursor
		case "resultType":
			p.kind = resultType(r)
		case "ttlMs":
			p.ttl = number(r)
		}
	}
	return p, invalid(r.Err())
}

// number reads a number that is a hint. Anything else counts as 0.
func number(r *strictjson.Reader) float64 {
	if k := r.Kind(); k != '-' && k-'0' > 9 {
		return 0
	}
	n, err := strconv.ParseFloat(string(r.Raw()), 64)
	if err != nil {
		return 0
	}
	return n
}

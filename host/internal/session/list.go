package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// maxTTL is the longest time for which a result counts as fresh.
const maxTTL = 24 * time.Hour

// kind describes one kind of list, such as the list of tools.
type kind[T any] struct {
	method string
	member string // the member of a page that holds the elements
	thing  string // what an element is called
	key    string // what the key of an element is called, for errors
	needs  *capability

	// read reads an element and its key in place: raw members alias text. What the element itself
	// allocates counts against the allowance of the list.
	read func(text []byte, a *strictjson.Allowance) (item T, name string, err error)
}

// listAll returns a whole list. If listCache holds a fresh one, it does not ask the server.
func listAll[T any](ctx context.Context, s *Session, listCache *listCache[T], k *kind[T]) ([]T, error) {
	if items, ok := listCache.fresh(); ok {
		return items, nil
	}
	l, changesAtAsk := newList(k), listCache.count()
	if err := fetch(ctx, s, &l); err != nil {
		return nil, err
	}
	listCache.store(&l, changesAtAsk)
	s.cfg.Listed()
	l.tell(s.cfg.Warn)
	return l.items, nil
}

// fetch asks for a list, page after page.
func fetch[T any](ctx context.Context, s *Session, l *list[T]) error {
	for more := true; more; {
		var err error
		if more, err = fetchPage(ctx, s, l, l.cursor != nil); err != nil {
			return err
		}
	}
	return nil
}

// fetchPage asks for the next page of a list, and reports whether there are more. prompted says
// that the previous page asked for this one, and not the caller; then the request is solicited.
func fetchPage[T any](ctx context.Context, s *Session, l *list[T], prompted bool) (more bool, err error) {
	page := func(dst, meta []byte) ([]byte, error) {
		dst = append(dst, '{')
		if l.cursor != nil {
			dst = strictjson.AppendString(append(dst, `"cursor":`...), *l.cursor)
		}
		return closeObject(dst, meta), nil
	}
	q := request{method: l.kind.method, needs: l.kind.needs, page: page, solicited: prompted}
	text, d, err := s.doOn(ctx, l.on, &q)
	if err == nil {
		if l.cursor == nil {
			l.over = q.over
		} else if l.over != q.over { // another version of the server may have answered, whose pages do not fit the first
			l.over = nil
		}
		more, err = l.add(text, *d)
	}
	if err != nil {
		return false, fmt.Errorf("list %ss on %s: %w", l.kind.thing, s.cfg.Name, err)
	}
	return more, nil
}

// doOn sends a request on one connection, or, if on is nil, on any connection as do does.
func (s *Session) doOn(ctx context.Context, on *agreedConn, q *request) ([]byte, *dialect, error) {
	if on == nil {
		return s.do(ctx, q)
	}
	text, d, err := s.try(ctx, on, q)
	q.over = on.Conn
	return text, d, s.explain(on, err)
}

// Page returns one page of a list. A nil cursor stands for the first page. next is the cursor of
// the page after it, or nil after the last page. The session stores nothing of the page.
func Page[T mcp.Tool | mcp.Prompt | mcp.Resource | mcp.ResourceTemplate | mcp.Task](ctx context.Context, s *Session, cursor *string) (items []T, next *string, err error) {
	var l *list[T]
	switch into := any(&l).(type) {
	case **list[mcp.Tool]:
		*into = &newToolList(false).list
	case **list[mcp.Prompt]:
		*into = new(newList(&promptKind))
	case **list[mcp.Resource]:
		*into = new(newList(&resourceKind))
	case **list[mcp.ResourceTemplate]:
		*into = new(newList(&templateKind))
	case **list[mcp.Task]:
		*into = new(newList(&taskKind))
	}
	if cursor != nil {
		l.cursor, l.cursors[*cursor] = cursor, true
	}
	more, err := fetchPage(ctx, s, l, false)
	if err != nil {
		return nil, nil, err
	}
	l.tell(s.cfg.Warn)
	if more {
		next = l.cursor
	}
	return l.items, next, nil
}

// list is a list that is being fetched, page after page
// (2026-07-28/server/utilities/pagination).
type list[T any] struct {
	kind     *kind[T]
	on       *agreedConn // the connection for all pages; nil is any
	begun    time.Time
	items    []T
	elements [][]byte        // as written, also values that are no items
	others   []int           // indexes of the elements that are no items
	size     int             // bytes of the elements, with a comma after each
	seen     map[string]bool // the names of items
	cursors  map[string]bool // those that the server has given
	cursor   *string         // of the next page; nil is the first page
	over     *Conn           // the connection that all pages came over; nil if there were several
	bytes    int             // of all pages
	until    time.Time       // the earliest time at which a page becomes stale
	warnings []string

	allowance *strictjson.Allowance // for the elements of all pages together

	// fits reports whether an element is kept; nil keeps every element.
	fits func(item *T, d dialect) bool
}

func newList[T any](k *kind[T]) list[T] {
	return list[T]{
		kind: k, seen: make(map[string]bool), cursors: make(map[string]bool),
		begun: time.Now(), until: time.Now().Add(maxTTL), allowance: strictjson.NewAllowance(mcp.MaxElements),
	}
}

// add adds a page and reports whether there is another. A cursor that comes twice ends the list
// with a warning, because such a list would never end.
func (l *list[T]) add(text []byte, d dialect) (more bool, err error) {
	if l.bytes += len(text); l.bytes > mcp.MaxListBytes {
		return false, fmt.Errorf("%w: want a list of at most %d bytes, its first %d pages have %d",
			ErrInvalidResult, mcp.MaxListBytes, len(l.cursors)+1, l.bytes)
	}
	var elements [][]byte
	var next *string // nil ends the list; an empty string is a cursor like any other
	var kind mcp.ResultType
	var ttl float64 // milliseconds
	r := strictjson.Read(text).Within(l.allowance)
	var wrong error // the first mismatch, with the member that has it
	for key := range r.Members() {
		switch string(key) {
		case l.kind.member:
			for range r.Array() {
				elements = append(elements, r.Raw())
			}
		case "nextCursor":
			next = new(r.String())
		case "resultType":
			kind = resultType(r)
		case "ttlMs":
			ttl = number(r)
		}
		if wrong == nil && r.Err() != nil {
			wrong = fmt.Errorf("member %q: %w", key, r.Err())
		}
	}
	if err := cmp.Or(invalid(cmp.Or(wrong, r.Err())), d.admit(kind)); err != nil {
		return false, err
	}
	if l.cursor != nil && *l.cursor == "" && slices.EqualFunc(elements, l.elements, bytes.Equal) {
		return false, nil // the server has no pages, and writes an empty cursor for none
	}
	if until := freshUntil(ttl, d); until.Before(l.until) {
		l.until = until
	}
	for _, raw := range elements {
		if err := l.addElement(raw, d); err != nil {
			return false, err
		}
	}
	switch {
	case next == nil:
		return false, nil
	case l.cursors[*next]:
		l.warn("the server repeats cursor %q; the list ends there", clip(*next))
		return false, nil
	}
	l.cursor = next
	l.cursors[*next] = true
	if len(l.cursors) >= mcp.MaxPages {
		return false, fmt.Errorf("%w: want a list of at most %d pages, there is another", ErrInvalidResult, mcp.MaxPages)
	}
	return true, nil
}

// addElement adds an element. It leaves out a value that is no element, and a second element of the
// same name, which no request could name. An error concerns the whole list.
func (l *list[T]) addElement(raw []byte, d dialect) error {
	items := len(l.items)
	defer func() {
		if len(l.items) == items {
			l.others = append(l.others, len(l.elements))
		}
		l.elements = append(l.elements, raw)
		l.size += len(",") + len(raw)
	}()
	item, name, err := l.kind.read(raw, l.allowance)
	if err == nil && name == "" {
		err = errors.New("it has no " + l.kind.key)
	}
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

// text returns the elements as an array in memory of its own, so that the pages can be freed.
func (l *list[T]) text() []byte {
	text := append(make([]byte, 0, l.size+len("[]")), '[')
	for i, element := range l.elements {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, element...)
	}
	return append(text, ']')
}

// freshUntil returns the time until which a result that has just come is fresh: ms milliseconds
// from now, but at most maxTTL. In the legacy era a result is never fresh; a member of that name is
// the server's own.
func freshUntil(ms float64, d dialect) time.Time {
	if d.era == mcp.Legacy {
		ms = 0
	}
	return time.Now().Add(time.Duration(max(0, min(ms, float64(maxTTL/time.Millisecond))) * float64(time.Millisecond)))
}

// warn notes something odd about the list, up to ten times: a list may have many oddities.
func (l *list[T]) warn(format string, args ...any) {
	const most = 10
	if len(l.warnings) < most {
		l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
	}
}

// tell passes the notes to warn.
func (l *list[T]) tell(warn func(string)) {
	for _, text := range l.warnings {
		warn(text)
	}
}

// number reads a number that is a hint. A value that is no number counts as 0.
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

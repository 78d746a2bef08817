package host

import (
	"encoding/json"
	"time"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// relayedLists are the lists that clients of the program have asked for themselves, page by page. They are kept
// for later runs, and the session does not go by them.
type relayedLists struct {
	begun map[catalogue.Kind]*relayedPages
	whole map[catalogue.Kind]catalogue.List // the newest of each kind
}

// relayedPages are the first pages of a list.
type relayedPages struct {
	asked time.Time
	next  string // the cursor of the page that is missing
	items []byte // an array that is open
}

// add takes in a page that was asked for with params, and reports whether a list is whole with it. Pages that do
// not follow each other, and those of a list that is too long, are dropped.
func (l *relayedLists) add(kind catalogue.Kind, params, result json.RawMessage, asked time.Time) (whole bool) {
	pages := &relayedPages{asked: asked, items: []byte{'['}}
	if cursor, more := cursorIn(params, "cursor"); more {
		if pages = l.begun[kind]; pages == nil || pages.next != cursor {
			return false
		}
	}
	delete(l.begun, kind)
	r := strictjson.Read(result).Unbounded()
	for name := range r.Object() {
		if string(name) != string(kind) || r.Kind() != '[' {
			r.Skip()
			continue
		}
		for range r.Array() {
			if len(pages.items) > 1 {
				pages.items = append(pages.items, ',')
			}
			pages.items = append(pages.items, r.Raw()...)
		}
	}
	if len(pages.items) > mcp.MaxListBytes {
		return false
	}
	var more bool
	if pages.next, more = cursorIn(result, "nextCursor"); more {
		if l.begun == nil {
			l.begun = make(map[catalogue.Kind]*relayedPages)
		}
		l.begun[kind] = pages
		return false
	}
	if l.whole == nil {
		l.whole = make(map[catalogue.Kind]catalogue.List)
	}
	l.whole[kind] = catalogue.List{Items: append(pages.items, ']'), Listed: pages.asked}
	return true
}

// cursorIn returns the text of a member of an object, and whether it is there.
func cursorIn(object json.RawMessage, member string) (cursor string, found bool) {
	r := strictjson.Read(object).Unbounded()
	for name := range r.Object() {
		if string(name) == member && r.Kind() == '"' {
			cursor, found = r.String(), true
		} else {
			r.Skip()
		}
	}
	return cursor, found
}

// noteRelayed keeps a list, or a page of one, that was relayed for a client. of is the entry that the session had when
// it asked.
func (s *Session) noteRelayed(of *Server, r *Relay, result json.RawMessage, asked time.Time) {
	kind, list := kinds[r.Method]
	if !list || s.host.store == nil || s.private {
		return
	}
	s.loadSaved()
	s.savedLists.Lock()
	defer s.savedLists.Unlock()
	if s.entry.Load() == of && s.savedLists.relayed.add(kind, r.Params, result, asked) {
		s.host.queueSave(s)
	}
}

package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/host/catalogue"
)

// mergedList is a list of all servers, in the order of the servers and of each server's list. A page of it
// costs what is on the page, and little for each server.
type mergedList []*renamedList

// size returns the bytes of all elements.
func (m mergedList) size() (size int) {
	for _, r := range m {
		size += r.size
	}
	return size
}

// items returns all elements.
func (m mergedList) items(o *owners, kind catalogue.Kind) (items [][]byte) {
	for _, r := range m {
		n := &uriNaming{owners: o, server: r.server}
		for _, item := range r.items {
			items = append(items, n.listed(kind, item))
		}
	}
	return items
}

// page returns the elements on the page of a cursor as an array, and the cursor of the next one. A cursor
// is good only for the list that it was given out for.
func (m mergedList) page(o *owners, kind catalogue.Kind, cursor string) (page json.RawMessage, next string, err error) {
	at, total, mark := 0, 0, m.mark()
	for _, r := range m {
		total += len(r.items)
	}
	if cursor != "" {
		first, ours := strings.CutSuffix(cursor, mark)
		if at, err = strconv.Atoi(first); !ours || err != nil || at < 0 || at >= total {
			return nil, "", invalidParams("params.cursor was not given out by this server, or its list has changed: begin again without it")
		}
	}
	page = append(page, '[')
	skip := at
	for _, r := range m {
		if skip >= len(r.items) {
			skip -= len(r.items)
			continue
		}
		n := &uriNaming{owners: o, server: r.server}
		for _, item := range r.items[skip:] {
			item = n.listed(kind, item)
			switch {
			case len(page) == 1:
			case len(page)+len(item) > maxPage:
				return append(page, ']'), strconv.Itoa(at) + mark, nil
			default:
				page = append(page, ',')
			}
			page = append(page, item...)
			at++
		}
		skip = 0
	}
	return append(page, ']'), "", nil
}

// mark returns what ends the cursors of a list.
func (m mergedList) mark() string {
	h := sha256.New()
	for _, r := range m {
		h.Write(r.mark[:])
	}
	return "." + hex.EncodeToString(h.Sum(nil)[:8])
}

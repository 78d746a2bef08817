package session

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ListResources returns all resources that the server lists; see [Session.ListTools].
func (s *Session) ListResources(ctx context.Context) ([]mcp.Resource, error) {
	return listAll(ctx, s, &s.resources, &resourceKind)
}

// ListResourceTemplates returns the server's templates for resources that it does not list singly.
func (s *Session) ListResourceTemplates(ctx context.Context) ([]mcp.ResourceTemplate, error) {
	return listAll(ctx, s, &s.templates, &templateKind)
}

var resourceKind = kind[mcp.Resource]{
	method: mcp.MethodListResources, member: "resources", thing: "resource", key: "URI", needs: hasResources, read: readResource,
}

var templateKind = kind[mcp.ResourceTemplate]{
	method: mcp.MethodListTemplates, member: "resourceTemplates", thing: "resource template", key: "URI", needs: hasResources,
	read: func(text []byte, a *strictjson.Allowance) (mcp.ResourceTemplate, string, error) {
		r, uri, err := readResource(text, a)
		return mcp.ResourceTemplate{
			URITemplate: uri, Name: r.Name, Title: r.Title, Description: r.Description,
			MIMEType: r.MIMEType, Annotations: r.Annotations, Icons: r.Icons, Meta: r.Meta, Raw: r.Raw,
		}, uri, err
	},
}

// readResource reads a resource or a template in place: raw members alias text. The key of the one
// is uri, that of the other uriTemplate.
func readResource(text []byte, _ *strictjson.Allowance) (out mcp.Resource, uri string, err error) {
	r := strictjson.Read(text)
	out.Raw = text
	for key := range r.Members() {
		switch string(key) {
		case "uri", "uriTemplate":
			out.URI = r.String()
		case "name":
			out.Name = r.String()
		case "title":
			out.Title = r.String()
		case "description":
			out.Description = r.String()
		case "mimeType":
			out.MIMEType = r.String()
		case "size":
			out.Size = new(int64(number(r)))
		case "annotations":
			out.Annotations = r.Raw()
		case "icons":
			out.Icons = r.Raw()
		case "_meta":
			out.Meta = r.Raw()
		}
	}
	return out, out.URI, r.Err()
}

// ReadResource returns the contents of a resource. It returns a result that is still fresh without
// a request, until the server says that any resource changed.
func (s *Session) ReadResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	text, changesAtAsk, ok := s.reads.fresh(uri)
	var err error
	if !ok {
		q := request{method: mcp.MethodReadResource, name: uri, given: map[string]any{"uri": uri}, needs: hasResources}
		var d *dialect
		if text, d, err = s.requestResult(ctx, &q); err == nil && q.rounds == 0 {
			ttl := number(strictjson.Read(member(text, "ttlMs")))
			s.reads.store(uri, text, freshUntil(ttl, *d), changesAtAsk)
		}
	}
	result := &mcp.ReadResourceResult{}
	if err == nil {
		err = invalid(json.Unmarshal(text, result))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s on %s: %w", clip(uri), s.cfg.Name, err)
	}
	return result, nil
}

// reads holds the results of reading that are still fresh. A result that depends on answers of the
// person is not kept, because the key does not contain the answers
// (2026-07-28/server/utilities/caching#cache-key).
type reads struct {
	mu      sync.Mutex
	results map[string]freshText // by URI
	bytes   int
	changes uint64
}

type freshText struct {
	text  []byte
	until time.Time
}

// maxReads bounds the bytes of the kept results. Before it is exceeded, all of them are dropped.
const maxReads = 16 << 20

// fresh returns a result that is still fresh, and the count of changes so far, which the caller
// passes to store.
func (r *reads) fresh(uri string) (text []byte, changesAtAsk uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.results[uri]
	return f.text, r.changes, ok && time.Now().Before(f.until)
}

// change drops all results. A server may report a change of a part of a resource, so it is not
// known which results have changed.
func (r *reads) change() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	r.results, r.bytes = nil, 0
}

// store keeps a result, unless a resource has changed since changesAtAsk was returned by fresh.
func (r *reads) store(uri string, text []byte, until time.Time, changesAtAsk uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := len(uri) + len(text)
	if changesAtAsk != r.changes || size > maxReads || !until.After(time.Now()) {
		return
	}
	if old, again := r.results[uri]; again {
		r.bytes -= len(uri) + len(old.text)
	}
	if r.results == nil || r.bytes+size > maxReads {
		r.results, r.bytes = make(map[string]freshText), 0
	}
	r.bytes += size
	r.results[uri] = freshText{text, until}
}

package contestant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

// webFloor is the lower bound over HTTP. net/http posts finished requests over kept
// connections, as many as there are callers. The answer is read into memory that is used
// again, and the result is found in place.
type webFloor struct {
	transport *http.Transport
	to        *url.URL
	headers   http.Header
	desks     sync.Pool
}

// desk holds the buffers of one request in flight.
type desk struct {
	request []byte // asks for text to be echoed
	text    *Text
	answer  bytes.Buffer
}

// idle is how many connections are kept: more than there are callers.
const idle = 2_048

// client returns the HTTP client of the peers. Their default is that of net/http, which
// keeps two connections.
func (d Dock) client() *http.Client {
	if !d.Tuned {
		return new(http.Client)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = idle, idle
	return &http.Client{Transport: t}
}

func connectWebFloor(ctx context.Context, d Dock) (Client, error) {
	to, err := url.Parse(d.URL)
	if err != nil {
		return nil, err
	}
	f := &webFloor{
		transport: &http.Transport{MaxIdleConns: idle, MaxIdleConnsPerHost: idle, DisableCompression: true},
		to:        to,
		headers: http.Header{
			"Accept":               {"application/json, text/event-stream"},
			"Content-Type":         {"application/json"},
			"Mcp-Protocol-Version": {"2025-11-25"},
		},
		desks: sync.Pool{New: func() any { return new(desk) }},
	}
	_, err = f.ask(ctx, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1.0.0"}}`)
	return f, err
}

func (f *webFloor) Close() error {
	f.transport.CloseIdleConnections()
	return nil
}

func (f *webFloor) Tools(ctx context.Context) (int, error) {
	list, err := f.ask(ctx, "tools/list", `{}`)
	return bytes.Count(list, []byte(`"inputSchema"`)), err
}

// Flood is not part of the comparison over HTTP.
func (f *webFloor) Flood(context.Context, int) error { return errors.ErrUnsupported }

func (f *webFloor) Echo(ctx context.Context, text *Text) error {
	d := f.desks.Get().(*desk)
	defer f.desks.Put(d)
	if d.text != text {
		d.text, d.request = text, echoRequest(0, text)
	}
	result, err := f.post(ctx, d, d.request)
	if err != nil {
		return err
	}
	return check(text, server.Text(result))
}

// ask sends any request and returns its result.
func (f *webFloor) ask(ctx context.Context, method, params string) ([]byte, error) {
	return f.post(ctx, new(desk), request(0, method, params))
}

// post returns the result in the answer; the desk owns its bytes. The reader of the request
// is not used again, because net/http may still read from it when the answer is there.
func (f *webFloor) post(ctx context.Context, d *desk, request []byte) ([]byte, error) {
	r := &http.Request{
		Method: http.MethodPost, URL: f.to, Host: f.to.Host, Header: f.headers,
		Body: io.NopCloser(bytes.NewReader(request)), ContentLength: int64(len(request)),
	}
	answer, err := f.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	d.answer.Reset()
	if _, err := d.answer.ReadFrom(answer.Body); err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %s", answer.Status)
	}
	_, result := envelope(server.Message(d.answer.Bytes()))
	if result == nil {
		return nil, errNoResult
	}
	return result, nil
}

package gateway

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// heldChannel is the channel of a client that takes a notification once release is closed.
type heldChannel struct {
	clientChannel
	release chan struct{}
	heard   []string
}

func (c *heldChannel) notify(_ context.Context, _ string, params json.RawMessage) error {
	<-c.release
	c.heard = append(c.heard, string(params))
	return nil
}

// A question parks a call while the progress of the call is on its way to the client: the result that asks
// comes behind that progress. What is reported while the call is parked goes to the next request.
func TestProgressComesBeforeTheQuestion(t *testing.T) {
	synctest.Test(t, progressComesBeforeTheQuestion)
}

func progressComesBeforeTheQuestion(t *testing.T) {
	seal, err := newStateSealer()
	if err != nil {
		t.Fatal(err)
	}
	client := &modernClient{gateway: &Gateway{sealer: seal, parkTime: time.Minute}}
	table := &client.calls
	table.client = client
	channel := &heldChannel{release: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(t.Context())
	c := &parkableCall{
		capabilities: json.RawMessage(`{"sampling":{}}`), request: &request{channel: channel}, cancel: cancel,
		wake: make(chan struct{}, 1), ended: make(chan struct{}), reports: make(chan json.RawMessage),
	}
	table.calls = []*parkableCall{c}
	var result json.RawMessage
	await := func(r *request, token string) {
		result = nil
		go func() { result, _ = table.awaitOutcome(ctx, c, r, json.RawMessage(token)) }()
		synctest.Wait()
	}
	await(c.request, `"a"`)
	go c.report(ctx, json.RawMessage(`{"progressToken":7,"progress":1}`))
	synctest.Wait()
	go table.ask(ctx, c, mcp.MethodCreateMessage, nil)
	synctest.Wait()
	if result != nil {
		t.Errorf("%s came before the progress", result)
	}
	close(channel.release)
	synctest.Wait()
	if text(result, "resultType") != string(mcp.ResultInputRequired) {
		t.Fatalf("the request got %s", result)
	}

	go c.report(ctx, json.RawMessage(`{"progressToken":7,"progress":2}`))
	synctest.Wait()
	if len(channel.heard) != 1 || channel.heard[0] != `{"progressToken":"a","progress":1}` {
		t.Errorf("while the call is parked, the client heard %s", channel.heard)
	}
	table.mu.Lock()
	c.unpark()
	c.request = &request{channel: channel}
	table.mu.Unlock()
	await(c.request, `"b"`)
	if len(channel.heard) != 2 || channel.heard[1] != `{"progressToken":"b","progress":2}` {
		t.Errorf("the next request heard %s", channel.heard)
	}
	cancel(nil)
	close(c.ended)
	synctest.Wait()
}

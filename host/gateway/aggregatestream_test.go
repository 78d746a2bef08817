package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// recordingChannel is a client that is told of a change before it has read that its stream is open.
type recordingChannel struct {
	aggregate *aggregate
	told      []string
}

func (c *recordingChannel) ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("nothing is asked")
}

func (c *recordingChannel) notify(_ context.Context, method string, params json.RawMessage) error {
	if c.told = append(c.told, method); method == mcp.NotificationAcknowledged {
		c.aggregate.notifyListChanged(listingOf(catalogue.Tools))
		c.aggregate.notifyListChanged(listingOf(catalogue.Prompts)) // which it does not want to hear of
	}
	return nil
}

// A list that changes while a stream is acknowledged is told after that.
func TestAggregateStreamMissesNothing(t *testing.T) {
	a := newAggregate(t.Context(), &Gateway{}, mcp.Modern, nil, origin{})
	c := &recordingChannel{aggregate: a}
	a.inputEnded()
	r := &request{id: quote("s"), params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), channel: c}
	if _, err := a.listen(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if want := []string{mcp.NotificationAcknowledged, mcp.NotificationToolsListChanged}; !reflect.DeepEqual(c.told, want) {
		t.Errorf("the client was told %q, want %q", c.told, want)
	}
}

// The first request of a client to a server may be long, and only its _meta is kept.
func TestBackendKeepsOnlyMeta(t *testing.T) {
	long := json.RawMessage(`{"arguments":"` + strings.Repeat("x", 1<<20) + `","_meta":{"a":1}}`)
	if kept := onlyMeta(long); string(kept) != `{"_meta":{"a":1}}` || cap(kept) > 1<<10 {
		t.Errorf("kept are %d bytes of %.50s", cap(kept), kept)
	}
}

package gateway

import (
	"testing"
	"time"
)

// A client that is being ended ends no other to make room: two that wait for each other's end would wait
// for ever.
func TestAClientAtItsEndMakesNoRoom(t *testing.T) {
	h := &handler{}
	newClient := func() *keptClient {
		return &keptClient{handler: h, removeFromMaps: func() {}, timer: time.NewTimer(time.Hour)}
	}
	a, b := newClient(), newClient()
	var all copies
	if removed := all.removeClients(&upstream{origin: origin{kept: a}}, []*keptClient{b}); len(removed) != 1 {
		t.Errorf("%d clients make room", len(removed))
	}
	if removed := all.removeClients(&upstream{origin: origin{kept: b}}, []*keptClient{a}); len(removed) != 0 {
		t.Error("a client that makes room has another make room")
	}
}

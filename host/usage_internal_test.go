package host

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// scene is the usage of a session, whose server rests as often as was noted.
type scene struct {
	usage
	rests           []time.Duration // since the beginning
	idle            atomic.Int64    // a duration
	isLegacy, watch atomic.Bool
}

func newScene() *scene {
	s, began := new(scene), time.Now()
	s.usage = usage{
		stops: func() bool { return true }, limit: func() time.Duration { return time.Duration(s.idle.Load()) },
		legacy: func() bool { return s.isLegacy.Load() }, watching: func() bool { return s.watch.Load() },
		rest: func() { s.rests = append(s.rests, time.Since(began)) },
	}
	s.connected()
	return s
}

func (s *scene) request(method string, result string) {
	s.begin()
	s.answered([]byte(result))
	s.end(method)
}

func TestWhenAServerRests(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(*scene)
		want []time.Duration // within two hours
	}{
		"without a request":    {func(*scene) {}, []time.Duration{coldTime}},
		"after one":            {func(s *scene) { time.Sleep(30 * time.Second); s.request(mcp.MethodCallTool, "{}") }, []time.Duration{90 * time.Second}},
		"after some":           {func(s *scene) { s.times(warmNumber + 1) }, []time.Duration{warmTime}},
		"after many":           {func(s *scene) { s.times(hotNumber + 1) }, []time.Duration{hotTime}},
		"as the entry says":    {func(s *scene) { s.idle.Store(int64(7 * time.Minute)) }, []time.Duration{7 * time.Minute}},
		"never by the entry":   {func(s *scene) { s.idle.Store(int64(-1)) }, nil},
		"after a long request": {func(s *scene) { s.begin(); time.Sleep(20 * time.Minute); s.end(mcp.MethodCallTool) }, []time.Duration{21 * time.Minute}},
		"with a task":          {func(s *scene) { s.request(mcp.MethodCallTool, `{"resultType":"task","taskId":"1"}`) }, nil},
		"with a task, by entry": {func(s *scene) {
			s.idle.Store(int64(time.Minute))
			s.request(mcp.MethodCallTool, `{"task":{"taskId":"1"}}`)
		}, nil},
		"after a question":    {func(s *scene) { s.request(mcp.MethodCallTool, `{"resultType":"input_required"}`) }, []time.Duration{questionTime}},
		"with a subscription": {func(s *scene) { s.watch.Store(true); time.Sleep(10*time.Minute + time.Second); s.watch.Store(false) }, []time.Duration{11 * time.Minute}},
		"with a subscription, by entry": {func(s *scene) {
			s.idle.Store(int64(2 * time.Second))
			s.watch.Store(true)
			time.Sleep(10*time.Minute + time.Second)
			s.watch.Store(false)
		}, []time.Duration{10*time.Minute + 2*time.Second}},
		"legacy, read":   {func(s *scene) { s.isLegacy.Store(true); s.request(mcp.MethodListTools, "{}") }, []time.Duration{coldTime}},
		"legacy, called": {func(s *scene) { s.isLegacy.Store(true); s.request(mcp.MethodCallTool, "{}") }, nil},
		"legacy, by entry": {func(s *scene) {
			s.isLegacy.Store(true)
			s.idle.Store(int64(2 * time.Minute))
			s.request(mcp.MethodCallTool, "{}")
		}, []time.Duration{2 * time.Minute}},
		"closed": {func(s *scene) { s.usage.close() }, nil},
		"connected anew": {func(s *scene) {
			s.request(mcp.MethodCallTool, `{"taskId":"1"}`)
			time.Sleep(2 * time.Minute)
			s.connected()
		}, []time.Duration{3 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene()
				tc.do(s)
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				s.usage.close()
				if !slices.Equal(s.rests, tc.want) {
					t.Errorf("rests after %v, want %v", s.rests, tc.want)
				}
			})
		})
	}
}

func (s *scene) times(n int) {
	for range n {
		s.request(mcp.MethodReadResource, "{}")
	}
}

// The two calls that each request costs allocate nothing.
func TestUsageCosts(t *testing.T) {
	s := newScene()
	defer s.usage.close()
	result := []byte(`{"content":[{"type":"text","text":"x"}],"resultType":"complete"}`)
	if n := testing.AllocsPerRun(100, func() { s.begin(); s.answered(result); s.end(mcp.MethodCallTool) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

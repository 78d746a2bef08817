package manager

import (
	"context"
	"slices"

	"github.com/wharf-mcp/wharf/host/status"
)

// Subscription is one reader's view of a registry. A reader that is slow, or that never reads,
// costs one update per server and delays no writer. It gets only the newest update of each server.
type Subscription struct {
	registry *StatusRegistry
	ready    chan struct{} // holds a token while there may be updates
	ended    chan struct{} // closed when the subscription or the registry is closed

	// Guarded by the mutex of the registry.
	queue []uint64                 // IDs of servers with updates, the longest waiting first
	news  map[uint64]status.Update // the updates that Next has not returned yet
	told  map[uint64]struct{}      // servers that Next has returned, but not their removal
}

// Next waits for the next update until ctx ends. After Close, and at the end of a closed registry,
// it returns [ErrRegistryClosed].
func (s *Subscription) Next(ctx context.Context) (status.Update, error) {
	for {
		if n, ok := s.take(); ok {
			return n, nil
		}
		select {
		case <-s.ready:
		case <-s.ended:
			if n, ok := s.take(); ok {
				return n, nil
			}
			return status.Update{}, ErrRegistryClosed
		case <-ctx.Done():
			return status.Update{}, context.Cause(ctx)
		}
	}
}

// Close ends the subscription. It makes a waiting Next return.
func (s *Subscription) Close() {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	if _, open := s.registry.readers[s]; open {
		delete(s.registry.readers, s)
		close(s.ended)
	}
	s.queue, s.news, s.told = nil, nil, nil
}

// put replaces the waiting update of a server. It drops the removal of a server that the reader
// never heard of: otherwise servers that come and go would fill the memory for a reader that never
// reads.
func (s *Subscription) put(n *status.Update) {
	_, waits := s.news[n.ID]
	if _, told := s.told[n.ID]; n.Gone && !told {
		delete(s.news, n.ID)
		s.queue = slices.DeleteFunc(s.queue, func(id uint64) bool { return id == n.ID })
		return
	}
	s.news[n.ID] = *n
	if !waits {
		s.queue = append(s.queue, n.ID)
	}
	s.wake()
}

func (s *Subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take returns the update that has waited longest. If more wait, it puts the token back for another
// reader of the same subscription.
func (s *Subscription) take() (n status.Update, ok bool) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	if len(s.queue) == 0 {
		return n, false
	}
	n = s.news[s.queue[0]]
	delete(s.news, n.ID)
	if s.queue = s.queue[1:]; len(s.queue) > 0 {
		s.wake()
	}
	if s.told[n.ID] = struct{}{}; n.Gone {
		delete(s.told, n.ID)
	}
	return n, true
}

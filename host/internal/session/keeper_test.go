package session

import (
	"context"
	"fmt"
)

// keeper has a session connected when somebody needs it, and never by itself.
type keeper struct {
	session *Session
	turn    chan struct{} // holds a token while somebody connects
}

// Open returns a session that is connected. On an error nothing is left of it.
func Open(ctx context.Context, cfg Config) (*Session, error) {
	k := &keeper{turn: make(chan struct{}, 1)}
	cfg.Acquire = k.acquire
	s, err := New(cfg)
	if err == nil {
		k.session = s
		_, err = s.reach(ctx)
	}
	if err != nil {
		if s != nil {
			s.Close()
		}
		return nil, fmt.Errorf("connect %s: %w", cfg.Name, err)
	}
	return s, nil
}

func (k *keeper) acquire(ctx context.Context, forgotten *Link) error {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if k.session.live.Load().alive() {
		return nil
	}
	if forgotten != nil {
		forgotten.Close()
	}
	_, err := k.session.Connect(ctx, nil)
	return err
}

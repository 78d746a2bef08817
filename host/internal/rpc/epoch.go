package rpc

import "sync/atomic"

// epochs tells which handshake the messages of a connection belong to, where a
// transport has sessions that a server can forget (2025-11-25/basic/transports,
// "Session Management"). Messages are numbered in order and an epoch begins
// between two of them, so one number is all there is to remember, also about
// exchanges that ended long ago.
type epochs struct {
	first     uint64        // the last number before the epoch of the terms; guarded by flight.mu
	forgotten atomic.Uint32 // the newest epoch that the server has forgotten
}

// Expired is the transport's word that the server has forgotten the session
// that an exchange belonged to. If that is the session of the terms, its epoch
// is over; a late word about an older one says nothing new. Exchange 0 counts
// as the session of the terms. Expired does not wait.
//
// A transport says it before it says that the exchange has failed, so that the
// caller who hears of the failure finds the epoch over.
func (p *Peer) Expired(exchange uint32) {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	age := uint64(uint32(p.flight.lastID) - exchange)
	if exchange == 0 || age < p.flight.lastID-p.epochs.first {
		p.epochs.forgotten.Store(p.flight.terms.Load().Epoch)
	}
}

// Forgot reports whether the server has forgotten the session of that epoch.
// Epoch 0, before the first handshake, has none.
func (p *Peer) Forgot(epoch uint32) bool { return epoch <= p.epochs.forgotten.Load() && epoch != 0 }

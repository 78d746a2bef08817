package rpc

import "sync/atomic"

// epochs tells to which handshake a message belongs, for transports with sessions that a server can
// forget (2025-11-25/basic/transports, "Session Management"). Messages are numbered in order, and
// an epoch begins between two of them. So one number suffices, also for exchanges that ended long
// ago.
type epochs struct {
	first     uint64        // the last number before the present epoch; guarded by flight.mu
	forgotten atomic.Uint32 // the newest epoch that the server has forgotten
}

// Expired says that the server has forgotten the session of an exchange. If that is the present
// session, its epoch is over. If it is an older one, Expired has no effect. Exchange 0 stands for
// the present session. Expired does not wait.
//
// A transport calls Expired before it reports the failure of the exchange, so that a caller who
// learns of the failure finds the epoch over.
func (p *Peer) Expired(exchange uint32) {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	age := uint64(uint32(p.flight.lastID) - exchange)
	if exchange == 0 || age < p.flight.lastID-p.epochs.first {
		p.epochs.forgotten.Store(p.flight.terms.Load().Epoch)
	}
}

// Forget says that the server has forgotten the session of an epoch, where not the transport but a
// caller found that out.
func (p *Peer) Forget(epoch uint32) {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	p.epochs.forgotten.Store(max(epoch, p.epochs.forgotten.Load()))
}

// Forgot reports whether the server has forgotten the session of an epoch. Epoch 0 is before the
// first handshake and has no session.
func (p *Peer) Forgot(epoch uint32) bool { return epoch <= p.epochs.forgotten.Load() && epoch != 0 }

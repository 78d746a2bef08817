package main

import (
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// session is the session that the server opened with its answer to initialize (2025-11-25,
// basic/transports, session management). The modern era has none, and a legacy server
// need not give an id: the zero value sends no header.
//
// A session is of the epoch after that of its initialize. A message says which epoch it is
// of, so the server's answer to it is judged by the session that it was sent in: a late 404
// of an old one does not end the new one.
type session struct {
	id      string
	version string // of the protocol, in the messages of the session
	epoch   uint32
	gone    uint32 // the newest epoch that the server has forgotten, or 0
}

// modern is the first revision without sessions, listeners and resumption.
const modern = "2026-07-28"

// lost reports whether a message belongs to a session that no longer exists. An
// initialize, which begins the next epoch, is recognized by its lack of a version.
func (s *session) lost(f *abi.FactsReader) bool {
	epoch := f.Epoch()
	return epoch > 0 && epoch <= s.epoch && !s.lives(epoch) && legacy(f.Version())
}

// legacy reports whether a version is one of the era that has sessions.
func legacy(version []byte) bool { return len(version) > 0 && string(version) < modern }

// lives reports whether the session is of that epoch, and the server knows it.
func (s *session) lives(epoch uint32) bool { return epoch == s.epoch && epoch > s.gone }

// meet reports whether a message belongs to the session, and the id to send it with.
// Messages of the modern era never do, nor does an initialize, which is of the epoch
// before. The session learns its version from the messages that belong to it.
func (s *session) meet(f *abi.FactsReader) (member bool, id string) {
	if f.Epoch() == 0 || f.Epoch() != s.epoch || !legacy(f.Version()) {
		return false, ""
	}
	if version := f.Version(); string(version) != s.version {
		s.version = string(version)
	}
	return true, s.id
}

// begin starts the session with the answer to an initialize of the epoch before.
func (s *session) begin(epoch uint32, id string) { *s = session{id: id, epoch: epoch} }

// forget ends the session of an epoch, and reports whether it was this one.
func (s *session) forget(epoch uint32) bool {
	if !s.lives(epoch) {
		return false
	}
	s.gone, s.id = epoch, ""
	return true
}

// keep saves the session for a later instance, with the id of the last event that the
// listener saw. If that is too much to be saved, the later instance starts without
// it.
func (s *session) keep(c *sdk.Conn, last []byte) {
	var b []byte
	b = strconv.AppendUint(append(b, "epoch "...), uint64(s.epoch), 10)
	b = append(b, '\n')
	if s.id != "" {
		b = append(append(append(b, "session "...), s.id...), '\n')
	}
	if len(last) > 0 {
		b = append(append(append(b, "last "...), last...), '\n')
	}
	c.Save(b)
}

// restore is the inverse of keep.
func (s *session) restore(state string) (last string) {
	for line := range strings.Lines(state) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch name {
		case "epoch":
			if n, err := strconv.ParseUint(value, 10, 32); err == nil {
				s.epoch = uint32(n)
			}
		case "session":
			s.id = value
		case "last":
			last = value
		}
	}
	return last
}

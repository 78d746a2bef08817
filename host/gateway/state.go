package gateway

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// A modern client gets a requestState with each question, and sends it back with its answers
// (2026-07-28/basic/patterns/mrtr). The state is sealed: a client can neither read nor change it.
// Only the run of the program that sealed a state can open it. A sealed state names a parked call, or
// has the state of a modern server in it, see [modernClient.relayModern].

// stateSealer seals and opens states.
type stateSealer struct {
	runID [8]byte // names this run in every state
	aead  cipher.AEAD
}

// newStateSealer returns a sealer with a new random key.
func newStateSealer() (*stateSealer, error) {
	var key [32]byte
	s := &stateSealer{}
	rand.Read(key[:])
	rand.Read(s.runID[:])
	block, err := aes.NewCipher(key[:])
	if err == nil {
		s.aead, err = cipher.NewGCMWithRandomNonce(block)
	}
	return s, err
}

// requestState is the content of a sealed requestState.
type requestState struct {
	call    uint64    // the parked call
	round   uint32    // how often the client was asked for this call
	expires time.Time // in whole seconds
	binding [32]byte  // the request that it belongs to, see bindingOf
}

// The reasons why a state is refused. The developer or the user of a client reads them.
var (
	errForeignState = errors.New("requestState was not given out by this server")
	errOldState     = errors.New("requestState is from before this server was restarted: make the request anew, without it")
	errOtherRequest = errors.New("requestState belongs to another request")
	errExpiredState = errors.New("requestState has expired, and the request was cancelled: make it anew, without requestState")
	errUsedState    = errors.New("requestState was used before")
	errBusyState    = errors.New("requestState: a request with it is being answered")
	stateEncoding   = base64.RawURLEncoding.Strict()
	stateVersion    = "w1." // of a state of our own
	serverVersion   = "w2." // of one that a modern server has given out
	stateBytes      = 8 + 4 + 8 + 32
)

// seal returns the text of a state.
func (s *stateSealer) seal(st requestState) string {
	plain := make([]byte, 0, stateBytes)
	plain = binary.BigEndian.AppendUint64(plain, st.call)
	plain = binary.BigEndian.AppendUint32(plain, st.round)
	plain = binary.BigEndian.AppendUint64(plain, uint64(st.expires.Unix()))
	plain = append(plain, st.binding[:]...)
	return s.close(stateVersion, plain, nil)
}

// close seals plain, and returns the text of it. open needs the same version and binding.
func (s *stateSealer) close(version string, plain, binding []byte) string {
	id := s.runID[:len(s.runID):len(s.runID)]
	return version + stateEncoding.EncodeToString(s.aead.Seal(id, nil, plain, append(id, binding...)))
}

// open returns what close has sealed with this version and binding.
func (s *stateSealer) open(version, text string, binding []byte) (plain []byte, err error) {
	encoded, ours := strings.CutPrefix(text, version)
	sealed, err := stateEncoding.DecodeString(encoded)
	id := s.runID[:len(s.runID):len(s.runID)]
	if !ours || err != nil || len(sealed) < len(id)+s.aead.Overhead() {
		return nil, errForeignState
	}
	if !bytes.HasPrefix(sealed, id) {
		return nil, errOldState
	}
	if plain, err = s.aead.Open(nil, nil, sealed[len(id):], append(id, binding...)); err != nil {
		return nil, errForeignState
	}
	return plain, nil
}

// unseal opens a state that a client sent. It returns an error if the state does not belong
// to the request with this binding, or has expired.
func (s *stateSealer) unseal(text string, binding [32]byte, now time.Time) (st requestState, err error) {
	plain, err := s.open(stateVersion, text, nil)
	if err != nil {
		return st, err
	}
	st.call, st.round = binary.BigEndian.Uint64(plain), binary.BigEndian.Uint32(plain[8:])
	st.expires = time.Unix(int64(binary.BigEndian.Uint64(plain[12:])), 0)
	st.binding = [32]byte(plain[20:])
	switch {
	case st.binding != binding:
		return st, errOtherRequest
	case !now.Before(st.expires):
		return st, errExpiredState
	}
	return st, nil
}

// bindingOf returns a hash of a request: its principal, server, method and params. The order of
// members does not change it, and neither do the members that differ from round to round.
func bindingOf(principal, server, method string, params []byte) [32]byte {
	type member struct {
		name  string
		value []byte
	}
	var own []member
	r := strictjson.Read(params)
	if r.Kind() == '{' {
		for key := range r.Object() {
			switch string(key) {
			case "_meta", memberResponses, memberState:
			default:
				own = append(own, member{string(key), r.Raw()})
			}
		}
	}
	slices.SortStableFunc(own, func(a, b member) int { return strings.Compare(a.name, b.name) })
	h := sha256.New()
	for _, part := range []string{principal, server, method} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	for _, m := range own {
		fmt.Fprintf(h, "%d:%s%d:", len(m.name), m.name, len(m.value))
		h.Write(m.value)
	}
	return [32]byte(h.Sum(nil))
}

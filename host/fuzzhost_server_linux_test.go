//go:build !race

package host_test

import (
	"testing"
	"time"
)

// serverAllowance is what a connection to a random server may cost: the share of the
// shipped transport and 4n + 16 MiB for the n bytes that the server has sent, twice
// for the collector; and the time to read them.
func serverAllowance(s *script) func(took time.Duration) allowance {
	const share, message = 16<<20 + 2*jobCap + 8<<20, 16 << 20
	const most, perByte = 3 * time.Second, 4 * time.Microsecond
	return func(took time.Duration) allowance {
		sent := min(s.sent.Load(), scriptBytes)
		return allowance{
			memory:    2 * (share + 4*sent + message),
			processor: most + time.Duration(sent)*perByte + time.Duration(took.Seconds()*float64(rateTime)),
		}
	}
}

// FuzzHostServer has a host use a random server, of either era, over a stream or
// HTTP. Its process, seen from outside, costs no more than what the server has sent
// may, and has nothing left of it in the end.
func FuzzHostServer(f *testing.F) {
	addSeeds(f, 24)
	hosts := newWatchedHosts(f)
	at := newScriptedSocket(f)
	f.Fuzz(func(t *testing.T, kind, server, steps []byte) {
		c := &choices{data: kind}
		job := &hostJob{Protocol: []string{"2026-07-28", "legacy", ""}[c.next(3)], Steps: steps}
		if c.next(2) == 0 {
			job.Address = at.address
		} else {
			job.URL = at.url
		}
		s := &script{choices: choices{data: server[:min(len(server), 8<<10)]}}
		at.play(s)
		report := hosts.do(t, job, serverAllowance(s))
		s.cancel()
		notice(report)
	})
}

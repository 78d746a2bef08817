//go:build amd64 || arm64

package confine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// The offsets of the data that a filter reads (struct seccomp_data): the number of the call, the
// processor, and the low half of the first argument. The high half and the other arguments follow.
const (
	atCall  = 0
	atArch  = 4
	atArgs  = 16
	argSize = 8
)

// Instructions of a filter.
const (
	load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	give  = unix.BPF_RET | unix.BPF_K
)

// filter is the program that the kernel runs: a call that is not in the list, or
// has other arguments, fails with refusal. Numbers of another processor's calls are not
// understood, and refused.
func filter(calls []call, refusal syscall.Errno) []unix.SockFilter {
	deny := unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(refusal)}
	code := []unix.SockFilter{
		{Code: load, K: atArch},
		{Code: equal, K: auditArch, Jt: 1}, deny,
		{Code: load, K: atCall},
	}
	for _, c := range calls {
		var body []unix.SockFilter
		for _, a := range c.args { // goes on if each argument is allowed
			at := atArgs + a.index*argSize
			body = append(body,
				unix.SockFilter{Code: load, K: at + 4}, unix.SockFilter{Code: equal, K: 0, Jt: 1}, deny,
				unix.SockFilter{Code: load, K: at}, unix.SockFilter{Code: and, K: a.mask})
			for n, value := range a.values {
				body = append(body, unix.SockFilter{Code: equal, K: value, Jt: uint8(len(a.values) - n)})
			}
			body = append(body, deny)
		}
		body = append(body, unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW})
		code = append(code, unix.SockFilter{Code: equal, K: c.number, Jf: uint8(len(body))})
		code = append(code, body...)
	}
	return append(code, deny)
}

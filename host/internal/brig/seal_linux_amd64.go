package brig

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// older are the calls of this processor that newer ones do without.
var older = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_ARCH_PRCTL}

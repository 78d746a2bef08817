package brig

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// older are the calls of this processor that newer ones do without.
var older []uint32

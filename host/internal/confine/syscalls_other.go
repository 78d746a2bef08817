//go:build !linux || !(amd64 || arm64)

package confine

func syscalls() error { return ErrNoFilter }

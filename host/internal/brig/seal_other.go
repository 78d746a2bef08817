//go:build !linux || !(amd64 || arm64)

package brig

func seal() bool { return false }

//go:build !unix && !windows

package confine

func resources(Limits) error { return nil }

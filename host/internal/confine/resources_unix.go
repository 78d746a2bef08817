//go:build unix && !linux

package confine

func resources(l Limits) error { return resourcesAlways(l) }

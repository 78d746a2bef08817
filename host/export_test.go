package host

// WarnForTest is what a warning of this package does.
func (h *Host) WarnForTest(server, text string) { h.warn(server, text) }

//go:build unix && !darwin

package vault

import "testing"

// An address that would have a bus started is no bus.
func TestSessionBus(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	without := reachable()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "autolaunch:")
	if got := reachable(); (got == nil) != (without == nil) {
		t.Errorf("autolaunch: %v, and without an address %v", got, without)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus")
	if err := reachable(); err != nil {
		t.Error(err)
	}
}

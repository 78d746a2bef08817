//go:build unix && !darwin

package vault

import (
	"errors"
	"fmt"
	"os"
)

// reachable returns an error if there is no session bus. Without one, the D-Bus library would run
// dbus-launch, which leaves a daemon behind that has no keyring either.
func reachable() error {
	if a := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); a != "" && a != "autolaunch:" {
		return nil
	}
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(fmt.Sprintf("/run/user/%d/%s", os.Getuid(), name)); err == nil {
			return nil
		}
	}
	return errors.New("there is no D-Bus session")
}

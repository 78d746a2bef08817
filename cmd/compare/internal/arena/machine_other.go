//go:build !linux

package arena

import (
	"errors"
	"os/exec"
	"time"
)

// CanPin says whether processes can be pinned here.
const CanPin = false

func startOn(command *exec.Cmd, pinned bool) error {
	if pinned {
		return errors.New("pinning to one processor works on Linux only; use -pin=off")
	}
	return command.Start()
}

// busyTime returns 0, which means unknown: then no foreign load is reported.
func busyTime() time.Duration { return 0 }

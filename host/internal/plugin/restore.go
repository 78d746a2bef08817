package plugin

import "fmt"

// RestoreHint says how an installed plugin gets its file and its signature back. It does not offer to
// accept the present file, because the lockfile holds the hash that the user was shown.
func RestoreHint(name string) string {
	return fmt.Sprintf("it is not used like this; `wharf plugin update %s` fetches it again", name)
}

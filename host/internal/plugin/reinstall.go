package plugin

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
)

// ReinstallHint says how to reinstall a plugin whose file is not the one that was installed.
// It does not offer to accept the file as it is now: the lockfile has the hash that the user
// was shown.
func ReinstallHint(name string, i *config.Installed) string {
	add := "wharf plugin add " + shellWord(i.Source)
	if i.Plugin != name {
		add += " --name " + name
	}
	if i.Key != "" {
		add += " --key " + i.Key
	}
	return fmt.Sprintf("it is not used like this; to install it anew: wharf plugin remove %s && %s", name, add)
}

// shellWord quotes a word of a command line that a shell would read as something else.
func shellWord(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

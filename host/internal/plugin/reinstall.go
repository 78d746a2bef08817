package plugin

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
)

// ReinstallHint says how to reinstall a plugin whose file is not the installed one. It does not
// offer to accept the present file, because the lockfile holds the hash that the user was shown.
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

// shellWord quotes a word that a shell would otherwise interpret.
func shellWord(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

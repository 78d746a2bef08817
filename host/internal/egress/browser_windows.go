package egress

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// systemBrowsers returns the programs that show a page on this system, with their first arguments.
// start is not among them: it belongs to cmd.exe, which interprets characters of a URL.
func systemBrowsers() [][]string {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return nil
	}
	return [][]string{{filepath.Join(dir, "rundll32.exe"), "url.dll,FileProtocolHandler"}}
}

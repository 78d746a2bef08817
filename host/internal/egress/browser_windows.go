package egress

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// systemBrowsers are the programs that show a page here, with their first arguments.
// start is not among them: it belongs to cmd.exe, which reads more into a URL than is
// in it.
func systemBrowsers() [][]string {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return nil
	}
	return [][]string{{filepath.Join(dir, "rundll32.exe"), "url.dll,FileProtocolHandler"}}
}

//go:build unix

package egress

import "runtime"

// systemBrowsers returns the programs that show a page on this system, with their first arguments.
// wslview is for a Linux within Windows.
func systemBrowsers() [][]string {
	if runtime.GOOS == "darwin" {
		return [][]string{{"/usr/bin/open"}}
	}
	return [][]string{{"xdg-open"}, {"wslview"}, {"x-www-browser"}}
}

//go:build unix

package egress

import "runtime"

// systemBrowsers are the programs that show a page here, with their first arguments.
// wslview is what there is for a Linux within Windows.
func systemBrowsers() [][]string {
	if runtime.GOOS == "darwin" {
		return [][]string{{"/usr/bin/open"}}
	}
	return [][]string{{"xdg-open"}, {"wslview"}, {"x-www-browser"}}
}

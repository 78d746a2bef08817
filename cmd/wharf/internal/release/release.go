// Package release tells which release of the program this is.
package release

import "runtime/debug"

// Version returns the version of the module that the program was built from: a release for `go
// install …@v1.2.3`, and (devel) for a build from a working tree.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

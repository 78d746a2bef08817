package process

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// NestedEnv is the variable in which a child learns how many hosts are above it.
const NestedEnv = "WHARF_NESTED"

// Nested returns how many hosts are above this process.
func Nested() int {
	n, _ := strconv.Atoi(os.Getenv(NestedEnv)) // 0 where it is not set
	return n
}

// The variables that a child gets without a declaration: enough to find its home, its
// programs and its language, and no secret. In particular none that changes which code a
// program loads (LD_*, DYLD_*, NODE_OPTIONS, BASH_FUNC_*).
var (
	unixNames = []string{
		"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "TZ", "XDG_RUNTIME_DIR",
	}
	windowsNames = []string{
		"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
		"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
	}
)

// childEnv returns the environment of a child: the inherited variables and [NestedEnv], then the declared
// ones. The last value of a name counts.
func childEnv(declared []string) []string {
	env := append(inherited(os.Environ(), runtime.GOOS), NestedEnv+"="+strconv.Itoa(Nested()+1))
	for _, entry := range declared {
		name, _, _ := strings.Cut(entry, "=")
		env = slices.DeleteFunc(env, func(e string) bool { return isNamed(e, name) })
		env = append(env, entry)
	}
	return env
}

// inherited returns those entries of all that every child gets. goos is the system.
func inherited(all []string, goos string) []string {
	var env []string
	for _, entry := range all {
		name, value, ok := strings.Cut(entry, "=")
		isFunction := strings.HasPrefix(value, "()") // a function of an old bash, which would run it
		if ok && isInherited(name, goos) && !isFunction {
			env = append(env, entry)
		}
	}
	return env
}

func isInherited(name, goos string) bool {
	if goos == "windows" {
		return slices.Contains(windowsNames, strings.ToUpper(name))
	}
	return slices.Contains(unixNames, name) || strings.HasPrefix(name, "LC_")
}

// Inherits reports whether every child gets the variable, if this process has it.
func Inherits(name string) bool { return isInherited(name, runtime.GOOS) }

// LookupEnv returns the value of a variable in env, or nothing.
func LookupEnv(env []string, name string) string {
	for _, entry := range env {
		if isNamed(entry, name) {
			return entry[len(name)+1:]
		}
	}
	return ""
}

// isNamed reports whether entry sets the variable name, by the rules of the
// system that this runs on.
func isNamed(entry, name string) bool {
	have, _, ok := strings.Cut(entry, "=")
	if runtime.GOOS == "windows" {
		return ok && strings.EqualFold(have, name)
	}
	return ok && have == name
}

package registry

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
)

// maxCautions is how many cautions an entry may have. A person would not read more.
const maxCautions = 12

// Cautions returns what a person should look at before they approve an entry of this option. It
// quotes the registry in a form that is safe to show.
func (o *Option) Cautions(s config.Server) []string {
	cautions := slices.Clone(o.notes)
	if missing := o.Missing(); missing != "" {
		cautions = append(cautions, missing)
	}
	if found := o.notOfCargo(); found != "" {
		cautions = append(cautions, found)
	}
	cautions = append(cautions, o.placeCautions(s.Args)...)
	for i, arg := range s.Args {
		if found := shellCharacters(arg); found != "" {
			cautions = append(cautions, fmt.Sprintf("argument %d has characters that a shell would act upon: %s; wharf runs no shell, and the program may", i+1, found))
		}
		cautions = appendUnseen(cautions, fmt.Sprintf("argument %d", i+1), arg)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if loads(name) {
			cautions = append(cautions, fmt.Sprintf("the variable %s makes programs load code", name))
		}
		cautions = appendUnseen(cautions, "the variable "+name, s.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		cautions = appendUnseen(cautions, "the header "+name, s.Headers[name])
	}
	if strings.Contains(s.URL, "xn--") || strings.ContainsFunc(s.URL, func(r rune) bool { return r > 0x7f }) {
		cautions = append(cautions, "the url has letters that can look like others")
	}
	if more := len(cautions) - maxCautions; more > 0 {
		cautions = append(cautions[:maxCautions:maxCautions], fmt.Sprintf("and %d more of this kind", more))
	}
	for i := range cautions {
		cautions[i] = cleantext.Visible(cautions[i])
	}
	return cautions
}

// Missing says that the program of a package is not on this machine, or returns "".
func (o *Option) Missing() string {
	if o.program == "" {
		return ""
	}
	if _, err := (process.Process{Command: o.program}).Locate(); err != nil {
		return err.Error()
	}
	return ""
}

// notOfCargo says that the program of a package of cargo is not where cargo installs programs,
// so that it may be another one. It returns "" otherwise.
func (o *Option) notOfCargo() string {
	if o.Kind != "cargo" {
		return ""
	}
	found, err := (process.Process{Command: o.program}).Locate()
	if err != nil {
		return ""
	}
	home := os.Getenv("CARGO_HOME")
	if user, err := os.UserHomeDir(); err == nil && home == "" {
		home = filepath.Join(user, ".cargo")
	}
	places := []string{filepath.Join(home, "bin"), filepath.Join(os.Getenv("CARGO_INSTALL_ROOT"), "bin")}
	if slices.Contains(places, filepath.Dir(found)) {
		return ""
	}
	return fmt.Sprintf("the program %s is %s; cargo installs programs into %s, so it may be another program of that name", o.program, found, places[0])
}

// packageAt returns the index of the package among the arguments, or their number if it is not among
// them. The arguments before it belong to
// the program that runs the package.
func (o *Option) packageAt(args []string) int {
	if at := slices.Index(args, escaped(o.Runs)); at >= 0 {
		return at
	}
	return len(args)
}

// loads reports whether a variable can have programs load other code.
func loads(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasSuffix(name, "_OPTIONS") ||
		slices.Contains([]string{"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "NODE_PATH", "BASH_ENV", "ENV", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "DOTNET_STARTUP_HOOKS"}, name)
}

func appendUnseen(cautions []string, where, text string) []string {
	if cleantext.Visible(text) == text {
		return cautions
	}
	return append(cautions, where+" has characters that cannot be seen, or that change how text is read")
}

// shellCharacters returns the characters of an argument that mean something to a shell.
func shellCharacters(arg string) string {
	var found []string
	for _, c := range ";|&`<>\n" {
		if strings.ContainsRune(arg, c) {
			found = append(found, strings.Trim(fmt.Sprintf("%q", string(c)), `"`))
		}
	}
	if strings.Contains(arg, "$(") || strings.Contains(arg, "$$(") {
		found = append(found, "$(")
	}
	return strings.Join(found, " ")
}

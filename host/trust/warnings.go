package trust

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// A warning is never a verdict: any command can do what its user can, and a list
// of good ones would only teach to trust the wrong thing. Warnings say what a look
// at a line of arguments does not.

// commandWarnings returns what a person should know before they agree to a command. args
// are what it would get with no variables set, and pins what [budget.fileHashes] found for
// it.
func commandWarnings(command string, args []string, pins []fileHash) []string {
	w := warnings{}
	if letters := foreign(command + strings.Join(args, "")); letters != "" {
		w.add("it has letters that may look like others: %s", letters)
	}
	for _, r := range runs(command, args) {
		w.judge(r, pins)
	}
	return w
}

func (w *warnings) judge(r run, pins []fileHash) {
	i, interprets := interpreterOf(r.name)
	switch {
	case slices.Contains(wrappers, r.name):
		w.add("%s runs the program that its arguments name", r.name)
	case slices.Contains(shells, r.name):
		w.shell(r.name, r.args)
	case slices.Contains(containers, r.name):
		w.container(r.name, r.args)
	case slices.Contains(builders, r.name):
		w.add(mayChange, r.name)
	case interprets:
		w.interpreter(r, i, pins)
	}
	w.packages(r, pins)
}

// mayChange is said of programs that look for work in the folder they run in.
const mayChange = "%s runs what files of the project say; they can change without you being asked again"

// interpreter warns of code that is not in a file that is compared each time.
func (w *warnings) interpreter(r run, i interpreter, pins []fileHash) {
	_, _, _, fetches := r.fetches()
	switch {
	case fetches: // bun x, of which packages tells
		return
	case hasFlag(r.args, i.inline...):
		w.add("%s runs code that stands in its arguments: read them all", r.name)
		return
	case hasFlag(r.args, i.project...):
		w.add(mayChange, r.name)
		return
	case hasFlag(r.args, "-m"):
		w.add("%s -m runs a module by its name, which may be one of the project", r.name)
	}
	if !slices.ContainsFunc(pins, func(p fileHash) bool { return p.by == r.name }) {
		w.add("%s is given no file of the project that could be compared: what it runs can change without you being asked again", r.name)
	}
}

type warnings []string

func (w *warnings) add(format string, a ...any) { *w = append(*w, fmt.Sprintf(format, a...)) }

func (w *warnings) shell(name string, args []string) {
	if slices.ContainsFunc(args, isLine) {
		w.add("%s runs a line of shell, which may be many commands: read it to its end", name)
		return
	}
	w.add("%s runs a script: look into it", name)
}

func (w *warnings) container(name string, args []string) {
	if hasFlag(args, "-v", "--volume", "--mount", "--privileged", "--pid", "--device", "--cap-add", "--volumes-from") ||
		hasFlag(args, "--net", "--network") && slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "host") }) {
		w.add("it gives the container some of this machine: look at its options")
	}
	w.add("%s can reach all that you can, and more", name)
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "@sha256:") }) {
		w.add("no image is named by its digest (@sha256:…): what it runs can change without you being asked again")
	}
}

// packages warns of what is downloaded to be run.
func (w *warnings) packages(r run, pins []fileHash) {
	_, name, packages, ok := r.fetches()
	if _, known := fetchers[r.name]; known && !ok {
		if _, interprets := interpreterOf(r.name); !interprets {
			w.add(mayChange, name)
		}
		return
	}
	if !ok {
		return
	}
	if strings.HasPrefix(name, "np") && hasFlag(r.args, "-c", "--call") {
		w.add("%s -c runs a line of shell: read it to its end", name)
	}
	w.add("%s downloads a package and runs it", name)
	for _, p := range packages {
		if !isPinned(p) {
			w.add("%s has no exact version: what it runs can change without you being asked again", cleantext.Word(short(p)))
		}
	}
	if slices.ContainsFunc(pins, func(p fileHash) bool { return p.by == r.name }) {
		w.add("%s takes it from node_modules of the project, and not from the registry", name)
	}
}

var pinned = regexp.MustCompile(`.@v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$|.==[0-9][0-9A-Za-z.+-]*$|[#@][0-9a-f]{40}$`)

// isPinned reports whether a package is named with one version: name@1.2.3 or
// name==1.2.3, or the commit of a repository.
func isPinned(name string) bool { return pinned.MatchString(name) }

// maxWord is how much of a word of a project stands within a warning, in letters.
const maxWord = 100

// short cuts a word to what fits into a warning.
func short(word string) string {
	if letters := []rune(word); len(letters) > maxWord {
		return string(letters[:maxWord-1]) + "…"
	}
	return word
}

// foreign returns the letters of a text beyond ASCII, as escapes: some look like
// others.
func foreign(text string) string {
	var found []string
	for _, r := range text {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			found = append(found, fmt.Sprintf("U+%04X", r))
		}
	}
	return strings.Join(found[:min(len(found), 4)], " ")
}

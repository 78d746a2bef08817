package trust

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// A warning is never a verdict. Any command can do whatever its user can, and a list of good
// commands would only teach people to trust the wrong thing. Warnings tell what the arguments do
// not show at a glance.

// warnings are for a person who decides. The worst come first, since a question shows only a
// few.
type warnings struct{ worst, others []string }

func (w *warnings) worse(format string, a ...any) {
	w.worst = append(w.worst, fmt.Sprintf(format, a...))
}

func (w *warnings) add(format string, a ...any) {
	w.others = append(w.others, fmt.Sprintf(format, a...))
}

// command warns of a command. args are the arguments that it would get with no variables set,
// and f is the result of [budget.code] for it. The values that variables lead to are not quoted.
func (w *warnings) command(command string, args []string, f findings) {
	if len(f.unpinned) > 0 {
		which := ""
		shown := strings.Join(args, " ")
		if i := slices.IndexFunc(f.unpinned, func(word string) bool { return word != "" && strings.Contains(shown, word) }); i >= 0 {
			which = " (" + cleantext.Word(short(f.unpinned[i])) + ")"
		}
		w.worse("the code that this runs is not pinned%s: it can change without you being asked again", which)
	}
	if letters := foreign(command + strings.Join(args, "")); letters != "" {
		w.worse("it has letters that may look like others: %s", letters)
	}
	for _, r := range runs(command, args) {
		w.run(r)
		if slices.Contains(f.local, r.name) {
			w.add("%s takes it from node_modules of the project, and not from the registry", r.name)
		}
	}
}

// run warns of a program.
func (w *warnings) run(r run) {
	switch {
	case r.is == shell && r.text:
		w.worse("%s runs a line of shell, which may be many commands: read it to its end; what they run is not pinned", r.name)
	case r.is == shell:
		w.worse("%s runs a script: look into it", r.name)
	case r.is == fetcher && r.text:
		w.worse("%s -c runs a line of shell: read it to its end", r.name)
	case r.text:
		w.worse("%s runs code that stands in its arguments: read them all", r.name)
	case r.is == carrier:
		w.worse("%s may run what stands in its arguments: read them all", r.name)
	case r.is == builder:
		w.worse("%s runs what files of the project say; they can change without you being asked again", r.name)
	case r.is == container:
		w.container(r.name, strings.Join(r.args, " "))
	}
	if r.is == wrapper {
		w.add("%s runs the program that its arguments name", r.name)
	}
	if r.is == fetcher {
		w.add("%s downloads a package and runs it", r.name)
	}
	for _, p := range r.packages {
		if !pinned.MatchString(p) {
			w.add("%s has no exact version: what it runs can change without you being asked again", cleantext.Word(short(p)))
		}
	}
}

// ofMachine matches the options that give a container access to the machine it runs on.
var ofMachine = lazyregexp.New(`(^| )(-v|--(volume|volumes-from|mount|privileged|pid|device|cap-add)\b|--net(work)?[= ].*host)`)

func (w *warnings) container(name, args string) {
	if ofMachine.MatchString(args) {
		w.worse("it gives the container some of this machine: look at its options")
	}
	w.add("%s can reach all that you can, and more", name)
	if !strings.Contains(args, "@sha256:") {
		w.add("no image is named by its digest (@sha256:…): what it runs can change without you being asked again")
	}
}

// pinned matches packages that are named with one version: name@1.2.3 or name==1.2.3, or the
// commit of a repository. A folder is never pinned, whatever its name.
var pinned = lazyregexp.New(`^(@[\w.-]+/)?\w[\w.-]*(\[[\w,.-]+\])?(@v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?|==[0-9][0-9A-Za-z.+-]*)$|` +
	`^(git\+https|git\+ssh|github|gitlab|bitbucket):[^.].*[#@][0-9a-f]{40}$`)

// maxWord bounds how much of a project's word a warning quotes, in letters.
const maxWord = 100

// short cuts a word to maxWord letters.
func short(word string) string {
	if letters := []rune(word); len(letters) > maxWord {
		return string(letters[:maxWord-1]) + "…"
	}
	return word
}

// foreign returns the letters of a text beyond ASCII as escapes, since some look like other
// letters.
func foreign(text string) string {
	var found []string
	for _, r := range text {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			found = append(found, fmt.Sprintf("U+%04X", r))
		}
	}
	return strings.Join(found[:min(len(found), 4)], " ")
}

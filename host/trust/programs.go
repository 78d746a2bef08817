package trust

import (
	"cmp"
	_ "embed"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// The kinds of programs, by what they do with their arguments.
const (
	wrapper     = "wrapper"     // runs the program that its first operand names
	interpreter = "interpreter" // runs the code that its first operand names
	shell       = "shell"       // is an interpreter whose code is more than a file
	fetcher     = "fetcher"     // downloads the package that its first operand names, and runs it
	container   = "container"   // runs an image
	builder     = "builder"     // runs what files of the folder say
	carrier     = "carrier"     // may run any of its arguments
	unknown     = ""
)

// The meanings of the values of flags. Two more exist: a flag with the meaning "value" has a
// value, and a flag without a meaning has none. Neither of these decides what runs.
const (
	aDoubt   = "doubt"   // decides what runs, in a way that this package does not follow
	aCode    = "file"    // the name of code that runs as well
	aMain    = "main"    // the name of the code; what follows is the code's own
	aModule  = "module"  // what python -m takes
	aPath    = "path"    // where code is looked for
	aText    = "inline"  // code
	aLine    = "line"    // a command line that the following arguments continue
	aPackage = "package" // of a registry
)

// program is a line of the table. An argument that is not in args is not understood.
type program struct {
	is, args, reads                string
	assigns, skips, verbs, modules bool
}

//go:embed programs.txt
var table string

// programs returns the programs of the table by their names.
var programs = sync.OnceValue(func() map[string]program {
	all := make(map[string]program)
	for line := range strings.Lines(table) {
		fields := strings.Split(strings.TrimSpace(line), "; ")
		is, names, found := strings.Cut(fields[0], ": ")
		if !found || is[0] == '#' {
			continue
		}
		p := program{is: is}
		for _, field := range fields[1:] {
			switch key, value, _ := strings.Cut(field, ": "); key {
			case "args":
				p.args += " " + value
			case "as":
				p.args += all[value].args
			case "reads":
				p.reads = value
			case "assigns":
				p.assigns = true
			case "skips":
				p.skips = true
			case "verbs":
				p.verbs = true
			case "modules":
				p.modules = true
			}
		}
		for name := range strings.SplitSeq(names, ", ") {
			all[name] = p
		}
	}
	return all
})

// run is a program that a command line starts, with its arguments as the program reads them.
type run struct {
	program
	name    string   // without the folder and the ending that Windows adds, and with the words that count as one name
	command string   // as it is written
	args    []string // all of them

	odd      string   // the first argument that is not understood
	text     bool     // code stands in the arguments
	module   string   // that is run by its name
	files    []string // code that is loaded first
	paths    []string // where code is looked for
	packages []string
	rest     []string // from the first operand on
}

// RunsOthers reports whether a program is known to run what its arguments or the files of its
// folder say. Such programs are shells, interpreters, fetchers of packages and the like.
func RunsOthers(program string) bool { return read(program, nil).is != unknown }

// Main returns what a command line has an interpreter or a shell run: a file, or a module of Python. Both
// are "" if it is another program, has its code in an argument, or has one that is not understood.
func Main(command string, args []string) (file, module string) {
	r := read(command, args)
	switch {
	case r.is != interpreter && r.is != shell, r.text, r.odd != r.module:
	case r.module != "":
		return "", r.module
	case len(r.rest) > 0:
		return r.rest[0], ""
	}
	return "", ""
}

// Inner returns the command line in the arguments of a program that runs another, such as env, sudo or npx, where
// the package stands for its program; nil if there is none.
func Inner(command string, args []string) []string {
	r := read(command, args)
	return r.inner()
}

const (
	maxWrapped = 4 // bounds how many programs are looked through because each runs another
	maxLetters = 8 // flags in one argument
)

// runs returns the programs that a command line starts: the command itself, and those that it is
// told to run. If there are too many, the last of them runs another that is not returned.
func runs(command string, args []string) []run {
	all := []run{read(command, args)}
	for len(all) <= maxWrapped {
		inner := all[len(all)-1].inner()
		if len(inner) == 0 {
			break
		}
		all = append(all, read(inner[0], inner[1:]))
	}
	return all
}

// versioned matches a name that ends in the version of a program: python3.12.
var versioned = lazyregexp.New(`^([a-z]+)-?[0-9][0-9.]*[a-z]?$`)

// read returns a program with its arguments, as the program would read them.
func read(command string, args []string) run {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, end := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, end)
	}
	name, _, _ = strings.Cut(name, "@") // of a package: its version
	r := run{name: name, command: command, args: args}
	known := name
	if v := versioned.FindStringSubmatch(name); v != nil {
		known = v[1]
	}
	for words := min(len(args), 2); words >= 0; words-- {
		verbs := append([]string{""}, args[:words]...)
		if p, found := programs()[known+strings.Join(verbs, " ")]; found {
			r.program, r.name = p, name+strings.Join(verbs, " ")
			r.parse(args[words:])
			break
		}
	}
	return r
}

// parse reads arguments up to the first operand that counts.
func (r *run) parse(args []string) {
	skips := 0
	if r.skips {
		skips = 1
	}
	for len(args) > 0 && r.rest == nil {
		arg, all := args[0], args
		args = args[1:]
		means, value, attached, known := r.flag(arg)
		if means != "" && !attached && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		switch {
		case arg == "--":
			r.rest = args[min(skips, len(args)):]
		case !known && (arg == "-" || !strings.HasPrefix(arg, "-")):
			if name, _, assigned := strings.Cut(arg, "="); r.assigns && assigned {
				if loading(name) != noLoader {
					r.odd = cmp.Or(r.odd, arg)
				}
			} else if skips--; skips < 0 {
				r.rest = all
			}
		case !known, means == aDoubt, means == aLine && strings.ContainsAny(value, `"'\$#`):
			r.odd = cmp.Or(r.odd, arg)
		}
		switch means {
		case aText:
			r.text = true
		case aCode:
			r.files = append(r.files, value)
		case aPath:
			r.paths = append(r.paths, filepath.SplitList(value)...)
		case aPackage:
			r.packages = append(r.packages, value)
		case aModule:
			r.odd = cmp.Or(r.odd, value) // a cache beside it may be what runs
			r.module, r.rest = value, []string{}
		case aMain:
			r.rest = []string{value}
		case aLine:
			r.rest = append(strings.Fields(value), args...)
		}
	}
	if r.is == fetcher && r.packages == nil && len(r.rest) > 0 {
		r.packages = r.rest[:1]
	}
}

// flag returns the meaning of an argument for a program, and the value inside of the argument.
func (r *run) flag(arg string) (means, value string, attached, known bool) {
	if r.is == shell {
		arg = strings.ToLower(arg)
	}
	name, value, attached := strings.Cut(arg, "=")
	if means, known = r.meaning(name); known || len(arg) < 2 || arg[0] != '-' || arg[1] == '-' {
		return means, value, attached, known
	}
	for i := 1; i < len(arg) && i <= maxLetters; i++ { // several in one: -um
		if means, known = r.meaning("-" + arg[i:i+1]); means != "" || !known {
			return means, arg[i+1:], i+1 < len(arg), known
		}
	}
	return "", "", false, len(arg) <= 1+maxLetters
}

func (r *run) meaning(flag string) (means string, known bool) {
	for arg := range strings.FieldsSeq(r.program.args) {
		pattern, means, _ := strings.Cut(arg, "=")
		if known, _ := path.Match(pattern, flag); known {
			return means, true
		}
	}
	return "", false
}

// inner returns the command line in the arguments of a program that runs another. If the
// arguments are not understood, the command line begins at the first program that runs code.
func (r *run) inner() []string {
	switch {
	case r.is == interpreter, r.is == shell, r.is == container:
		return nil
	case (r.is == wrapper || r.is == fetcher) && r.odd == "":
		return r.rest
	}
	for i, arg := range r.args {
		switch read(arg, r.args[i+1:]).is {
		case interpreter, shell, fetcher:
			return r.args[i:]
		}
	}
	if r.is == wrapper || r.is == fetcher {
		return r.rest
	}
	return nil
}

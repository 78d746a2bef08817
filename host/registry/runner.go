package registry

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/trust"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// runner says how packages of one type are run.
type runner struct {
	programs   []string           // the first one, unless the registry hints at another
	hosts      []string           // what registryBaseUrl may name: the hosts from which the program takes packages by itself
	identifier *lazyregexp.Regexp // matches the name of a package, which can be neither an option nor a place on the network
	version    *lazyregexp.Regexp // matches one version, and no tag or range; nil if the identifier contains the version
	variables  []string           // beginnings of the names of variables that decide where the program takes packages from
	switches   []string           // flags of the program that take no value
	options    []string           // flags of the program that take a value; like switches, they do no harm unless in rights
	rights     map[string]string  // the harm that a flag can do, by its name; it takes a value unless it is in switches
}

// The patterns that match exactly one version. The program would read "1" as a range, and a word
// as a tag.
var (
	semantic = lazyregexp.New(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)
	numbered = lazyregexp.New(`^[0-9]+(\.[0-9]+)*([0-9A-Za-z.+_-]*)$`)
)

const (
	elsewhere = "takes packages from a place of its own choice"
	other     = "makes it run another package"
	adds      = "adds another package"
	python    = "chooses the Python that runs it"
	settings  = "reads settings of another place"
	container = "gives the container more of this machine"
)

// runners maps each type of package to the way to run it: npx -y ID@VERSION, uvx ID@VERSION, dnx
// ID@VERSION --yes -- ARGUMENTS, docker run -i --rm IMAGE, and for cargo a program in PATH.
var runners = map[string]runner{
	"npm": {
		[]string{"npx", "bunx"}, []string{"registry.npmjs.org"}, lazyregexp.New(`^(@[A-Za-z0-9~][A-Za-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$`), semantic, []string{"NPM_CONFIG_", "BUN_CONFIG_"},
		[]string{"-y", "--yes", "-q", "--quiet", "--silent", "--no-install", "--prefer-offline", "--prefer-online", "--offline", "--bun"}, []string{"--loglevel"},
		map[string]string{
			"--@:registry": elsewhere, "--userconfig": settings, "--globalconfig": settings, "--prefix": settings, "--workspace": settings, "-w": settings,
			"--cache": elsewhere, "--script-shell": "makes it run another shell",
			"--registry": elsewhere, "-p": other, "--package": other, "-c": other, "--call": other, "--node-options": "gives options to node",
		},
	},
	"pypi": {
		[]string{"uvx"}, []string{"pypi.org", "files.pythonhosted.org"}, lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?$`), numbered, []string{"UV_", "PIP_"},
		[]string{"-q", "--quiet", "-v", "--verbose", "--isolated", "--offline", "--no-cache", "-n", "--refresh", "--no-progress", "--no-config", "--native-tls"}, []string{"--color", "--refresh-package"},
		map[string]string{
			"--with-editable": adds, "--with-requirements": adds, "-w": adds, "--constraints": settings, "-c": settings, "--overrides": settings,
			"--config-file": settings, "--env-file": settings, "--directory": settings, "--project": settings, "--cache-dir": elsewhere,
			"--python": python, "-p": python,
			"--from": other, "--with": adds, "--index": elsewhere, "--index-url": elsewhere, "-i": elsewhere, "--default-index": elsewhere, "--extra-index-url": elsewhere, "--find-links": elsewhere, "-f": elsewhere,
		},
	},
	"nuget": {
		[]string{"dnx"}, []string{"api.nuget.org", "www.nuget.org", "nuget.org"}, lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`), numbered, []string{"NUGET_"},
		[]string{"--yes", "--interactive", "--allow-roll-forward"}, []string{"--verbosity", "-v"},
		map[string]string{"--source": elsewhere, "--add-source": elsewhere, "--configfile": elsewhere},
	},
	"oci": {
		[]string{"docker", "podman"}, nil, lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*(:[0-9]+)?(/[A-Za-z0-9][A-Za-z0-9._-]*)*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?$`), nil, []string{"DOCKER_", "CONTAINER_", "CONTAINERS_", "REGISTRY_"},
		[]string{"-i", "--interactive", "--rm", "-t", "--tty", "-it", "--init", "--read-only", "--privileged", "--no-healthcheck"},
		[]string{"-e", "--env", "--name", "-l", "--label", "-m", "--memory", "--memory-swap", "--cpus", "-u", "--user", "-w", "--workdir", "-h", "--hostname", "--tmpfs", "--shm-size", "--pids-limit", "--ulimit", "--pull", "--platform", "--stop-timeout"},
		map[string]string{
			"--privileged": container, "-v": container, "--volume": container, "--mount": container, "--device": container, "--cap-add": container,
			"--network": container, "--net": container, "--pid": container, "--ipc": container, "--userns": container, "--uts": container,
			"--security-opt": container, "--volumes-from": container, "--env-file": "reads a file into its environment", "--entrypoint": "makes another program of the image run",
		},
	},
	"cargo": {nil, []string{"crates.io"}, lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]*$`), semantic, nil, nil, nil, nil},
}

// option returns the way to run a package.
func (p *Package) option() *Option {
	kind := strings.ToLower(p.RegistryType)
	o := &Option{Kind: kind, Runs: p.Identifier}
	r, known := runners[kind]
	switch {
	case kind != "mcpb" && !known:
		o.Unusable = fmt.Sprintf("its type %.40q is not known here", p.RegistryType)
	case p.Transport.Type != "stdio" && p.Transport.Type != "":
		o.Unusable = fmt.Sprintf("it is a program that listens for %.40q, and wharf starts none of those: start it, and add its url", p.Transport.Type)
	case kind == "mcpb":
		p.bundle(o)
	default:
		if err := p.compile(o, r); err != nil {
			o.Unusable = err.Error()
		}
	}
	return o
}

// compile makes the command of a package: the program, the program's own arguments, the package,
// and the package's arguments.
func (p *Package) compile(o *Option, r runner) error {
	spec, err := p.spec(o.Kind, r)
	if err != nil {
		return err
	}
	o.Runs = spec
	if o.program, err = p.program(o, r); err != nil {
		return err
	}
	own, err := o.arguments(p.RuntimeArguments, true)
	if err != nil {
		return err
	}
	own = slices.DeleteFunc(own, func(w word) bool {
		return w.text() == p.Identifier || w.text() == spec || slices.Contains(given, w.text())
	})
	rest, err := o.arguments(p.PackageArguments, false)
	if err != nil {
		return err
	}
	for _, v := range p.Environment {
		decides := func(prefix string) bool { return strings.HasPrefix(strings.ToUpper(v.Name), prefix) }
		if strings.EqualFold(v.Name, "PATH") || slices.ContainsFunc(r.variables, decides) {
			return fmt.Errorf("its variable %.80q decides what %s runs", v.Name, o.program)
		}
		o.env = append(o.env, o.inputs.variable(v, "variable"))
	}
	named := o.fixed(spec)
	switch {
	case o.Kind == "cargo": // the program is the package
		named = nil
	case o.Kind == "nuget" && len(rest) > 0:
		named = o.fixed(spec, "--yes", "--")
	case o.Kind == "nuget":
		named = o.fixed(spec, "--yes")
	}
	o.words = slices.Concat(o.before(), own, named, rest)
	return cmp.Or(o.checkPlaces(r, own), o.checkParts())
}

// spec returns the name of the package for its program, with an exact version.
func (p *Package) spec(kind string, r runner) (string, error) {
	id := p.Identifier
	if kind == "oci" {
		id = p.image()
	}
	base, err := url.Parse(p.RegistryBaseURL)
	switch {
	case len(id) > 500 || !r.identifier.MatchString(id):
		return "", fmt.Errorf("%.80q is not the name of a package of type %s", p.Identifier, kind)
	case err != nil || p.RegistryBaseURL != "" && r.hosts != nil && !slices.Contains(r.hosts, strings.ToLower(base.Host)):
		return "", fmt.Errorf("it is published at %.80q, and a package of the same name at %s would run instead", p.RegistryBaseURL, r.hosts[0])
	case kind == "oci" && !strings.ContainsAny(id[strings.LastIndexByte(id, '/')+1:], ":@"):
		return "", errors.New("its image has no tag and no digest, so it is another one tomorrow")
	case kind == "oci":
		return id, nil
	case len(p.Version) > 255 || !r.version.MatchString(p.Version):
		return "", fmt.Errorf("%.40q is no exact version, so it is another package tomorrow", p.Version)
	case kind == "cargo":
		return id, nil
	}
	return id + "@" + p.Version, nil
}

// image returns the name of an image. In descriptions for schemas before 2025-12-11, other
// fields hold its host and its tag.
func (p *Package) image() string {
	id := p.Identifier
	base, err := url.Parse(p.RegistryBaseURL)
	if err == nil && base.Host != "" && base.Host != "docker.io" && !strings.HasPrefix(id, base.Host+"/") {
		id = base.Host + "/" + id
	}
	if tags.MatchString(p.Version) && p.Version != "latest" && !strings.ContainsAny(id[strings.LastIndexByte(id, '/')+1:], ":@") {
		id += ":" + p.Version
	}
	return id
}

// program returns the program that runs the package. A hint at a program that is not known for
// the type is ignored, because the arguments that go with it could be anything.
func (p *Package) program(o *Option, r runner) (string, error) {
	switch {
	case o.Kind == "cargo" && runsArguments(p.Identifier):
		return "", fmt.Errorf("%.40q is a program that runs what its arguments say, and no server", p.Identifier)
	case o.Kind == "cargo":
		o.notes = append(o.notes, fmt.Sprintf("its program has to be in your PATH, from cargo install %s@%s", p.Identifier, p.Version))
		return p.Identifier, nil
	case p.RuntimeHint == "" || slices.Contains(r.programs, p.RuntimeHint):
		return cmp.Or(p.RuntimeHint, r.programs[0]), nil
	case len(p.RuntimeArguments) > 0:
		return "", fmt.Errorf("it is run by %.40q with arguments of its own, and wharf knows only %s for packages of type %s", p.RuntimeHint, strings.Join(r.programs, " and "), o.Kind)
	}
	o.notes = append(o.notes, fmt.Sprintf("the registry would run it by %.40q; it is run by %s", p.RuntimeHint, r.programs[0]))
	return r.programs[0], nil
}

// runsArguments reports whether a program is known to run code that its arguments name.
func runsArguments(program string) bool {
	program = strings.ToLower(program)
	for _, r := range runners {
		if slices.Contains(r.programs, program) {
			return true
		}
	}
	return trust.RunsOthers(program) || slices.Contains(bundlePrograms, program)
}

// arguments reads arguments. The program's own ones are joined with their values.
func (o *Option) arguments(list []Argument, own bool) (words []word, err error) {
	for i, a := range list {
		w, err := o.inputs.argument(a, i+1, own)
		if err != nil {
			return nil, err
		}
		words = append(words, w)
	}
	return words, nil
}

func (o *Option) fixed(texts ...string) (words []word) {
	for _, text := range texts {
		words = append(words, word{texts: []template{{{text: text}}}})
	}
	return words
}

// before returns the words before the program's own arguments.
func (o *Option) before() (words []word) {
	switch {
	case o.program == "npx":
		return o.fixed("-y")
	case o.Kind != "oci":
		return nil
	}
	words = o.fixed("run", "-i", "--rm")
	for _, v := range o.env {
		words = append(words, word{texts: []template{{{text: "-e"}}, {{text: v.name}}}, ifSet: v.name})
	}
	return words
}

// given are words that [Option.before] adds already, or that a server on stdio cannot have.
var given = []string{"-y", "--yes", "run", "-i", "--interactive", "--rm", "-it", "-t", "--tty"}

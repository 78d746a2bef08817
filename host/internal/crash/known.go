package crash

import "github.com/wharf-mcp/wharf/internal/lazyregexp"

// pattern is one way to fail: the text that a server writes then, and what it means. The first
// group that matches is a name, which replaces %s.
type pattern struct {
	says       *lazyregexp.Regexp
	what, hint string
}

// known are the patterns, those that say most first.
var known = []pattern{
	// Programs, files and modules that are not there.
	{lazyregexp.New(`npm (?:ERR!|error) (?:404)?\s*(?:The requested resource )?'?((?:@[\w.-]+/)?[\w.-]+)@?[^'\s]*'? (?:is not in (?:this|the npm) registry|could not be found)`),
		"npm knows no package called %s", "is the name of the package spelled as its README has it?"},
	{lazyregexp.New(`npm (?:ERR!|error) 404[^\n]* - GET \S+/([^\s/]+) `),
		"npm knows no package called %s", "is the name of the package spelled as its README has it?"},
	{lazyregexp.New(`could not determine executable to run`),
		"the npm package has no command that could be run", "is that the package of an MCP server?"},
	{lazyregexp.New(`npm (?:ERR!|error) (?:code )?(ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ECONNRESET)`),
		"npm does not reach its registry (%s)", behindProxy},
	{lazyregexp.New(`Cannot find module '((?:/|\.|[A-Za-z]:\\|file:)[^']*)'`),
		"Node.js finds no file %s", "look at the path in its command; a server in TypeScript may have to be built first"},
	{lazyregexp.New(`Cannot find (?:module|package) '([^']+)'`),
		"the Node.js module %s is not installed", "run `npm install` in the folder of the server"},
	{lazyregexp.New(`Unknown file extension "(\.tsx?)"`),
		"Node.js does not run %s files", "build the server and run its .js file, or run it with npx tsx"},
	{lazyregexp.New(`(Cannot use import statement outside a module|ERR_REQUIRE_ESM)`),
		"its modules are of another kind than its package.json says", `is the server built? A package.json with "type": "module" runs files with import`},
	{lazyregexp.New(`No module named '?([\w.]+)`),
		"the Python module %s is not installed", "install it for the Python of its command, or run the server with uvx"},
	{lazyregexp.New(`can't open file '([^']+)'`),
		"Python finds no file %s", "look at the path in its command"},
	{lazyregexp.New(`(?:Because|×) (\S+) was not found in the package registry`),
		"uv knows no package called %s", "is the name of the package spelled as its README has it?"},
	{lazyregexp.New(`Unable to access jarfile (\S+)`),
		"Java finds no file %s", "look at the path in its command"},
	{lazyregexp.New(`Could not find or load main class (\S+)`),
		"Java finds no class %s", "look at the class path in its command"},
	{lazyregexp.New(`(UnsupportedClassVersionError)`),
		"the server was built for a newer Java", "install a newer Java, or name it with its full path in the command"},
	{lazyregexp.New(`error while loading shared libraries: ([^:\s]+)`),
		"the library %s is not installed", "install it, or a build of the server for this system"},
	{lazyregexp.New(`version .?(GLIBC_[\d.]+).? not found`),
		"it was built for a newer system (%s)", "install a build of the server for this system"},
	{lazyregexp.New(`(?m)env: [‘'"]?([\w.+-]+)[’'"]?: No such file`),
		"it needs the program %s, which is not in PATH", "install it, or name it with its full path in the command"},
	{lazyregexp.New(`(?m)^(?:\S*sh: )?(?:\d+: |line \d+: )?([\w.+-]+): (?:command )?not found$`),
		"it needs the program %s, which is not in PATH", "install it, or name it with its full path in the command"},
	{lazyregexp.New(`exec: "([^"]+)": executable file not found`),
		"it needs the program %s, which is not in PATH", "install it, or name it with its full path in the command"},
	{lazyregexp.New(`spawn (\S+) ENOENT`),
		"it needs the program %s, which is not in PATH", "install it, or name it with its full path in the command"},

	// What it needs from outside.
	{lazyregexp.New(`(?i)(cannot connect to the docker daemon|docker daemon is not running|failed to connect to the docker API)`),
		"Docker is not running", "start Docker, and try `docker ps`; another DOCKER_HOST goes into its env"},
	{lazyregexp.New(`pull access denied for ([^\s,]+)`),
		"there is no Docker image %s, or it wants a sign-in", "is the name of the image right? `docker login` signs in"},
	{lazyregexp.New(`manifest for (\S+) not found`),
		"there is no Docker image %s", "are the name of the image and its tag right?"},
	{lazyregexp.New(`(?:EADDRINUSE|[Aa]ddress already in use|Only one usage of each socket address)(?:[^\n]*?:(\d+)\b)?`),
		"its port is in use", "another copy of it may be running: end that, or give the server another port"},
	{lazyregexp.New(`(?i)(self[- ]signed certificate|unable to get local issuer certificate|CERTIFICATE_VERIFY_FAILED|certificate signed by unknown authority)`),
		"it does not trust the certificate of a server that it calls", behindAuthority},
	{lazyregexp.New(`getaddrinfo (?:ENOTFOUND|EAI_AGAIN) (\S+)`),
		"it cannot look up the host %s", behindProxy},
	{lazyregexp.New(`connect ECONNREFUSED (\S+)`),
		"what it needs at %s does not answer", "start that first, or give the server another address"},
	{lazyregexp.New(`JavaScript heap out of (memory)`),
		"it ran out of memory", "NODE_OPTIONS=--max-old-space-size=4096 in its env gives it more"},

	// What its user has to give it.
	{lazyregexp.New(`(?:KeyError: '|(?i:environment variables?:?) ["'` + "`" + `]?)([A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])`),
		"it needs the variable %s", missing},
	{lazyregexp.New(`\b([A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])\b[^\n]{0,60}\b(?i:environment variable|(?:is|are) required|must be (?:set|provided|defined)|not set|missing|not (?:found|defined|provided))`),
		"it needs the variable %s", missing},
	{lazyregexp.New(`(?i:missing|required|please set|set the|must set|provide)[^\n]{0,60}\b([A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])\b`),
		"it needs the variable %s", missing},
	{lazyregexp.New(`EACCES: permission denied, \w+ '([^']+)'`),
		"it may not use %s", "look at the permissions of that path, or name another in the arguments of the server"},
	{lazyregexp.New(`PermissionError: [^\n]*'([^']+)'`),
		"it may not use %s", "look at the permissions of that path, or name another in the arguments of the server"},
	{lazyregexp.New(`ENOENT: no such file or directory, \w+ '([^']+)'`),
		"there is no %s", "make it, or name another path in the arguments of the server"},
	{lazyregexp.New(`FileNotFoundError: [^\n]*'([^']+)'`),
		"there is no %s", "make it, or name another path in the arguments of the server"},
	{lazyregexp.New(`(?mi)^\s*(usage:)`),
		"it says how it is used", "an argument of it is missing or wrong"},
}

// missing is the hint for a variable that the shell does not have either.
const missing = "write env = { %s = \"…\" } in its entry, or -e %s=… before the --"

// The hints for a network that is not reached, where the shell has no variable for it either.
const (
	behindProxy     = "is there a network? Behind a proxy, the server needs your HTTPS_PROXY in its env"
	behindAuthority = "behind a company's proxy, NODE_EXTRA_CA_CERTS (Node.js) or SSL_CERT_FILE (Python, Go) in its env names the file of the authority"
)

// lacksNetwork reports whether a server that fails in this way does not reach what it needs on the network.
func (p *pattern) lacksNetwork() bool { return p.hint == behindProxy || p.hint == behindAuthority }

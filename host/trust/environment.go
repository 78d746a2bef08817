package trust

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// worstLoaders matches the variables that most directly make a program load other code. A
// warning names them first, because a project may set many of the other loaders to hide one.
var worstLoaders = lazyregexp.New(`^(LD_(PRELOAD|AUDIT|LIBRARY_PATH)|DYLD_(INSERT_LIBRARIES|LIBRARY_PATH|FRAMEWORK_PATH)|PATH|ENV|BASH_ENV|NODE_(OPTIONS|PATH|COMPILE_CACHE)|` +
	`BUN_OPTIONS|PYTHON(PATH|HOME|STARTUP)|PERL5(OPT|LIB)|RUBY(OPT|LIB)|PHPRC|LUA_INIT|_?JAVA_(TOOL_)?OPTIONS|JDK_JAVA_OPTIONS|DOTNET_STARTUP_HOOKS|GIT_SSH_COMMAND|HOME)$`)

// loaders matches the variables that change which code programs load, or whom they connect to
// and trust. They are sorted by the program or library that reads them. A variable that says
// where a program looks for its configuration is one too: configuration names plugins,
// registries and helpers.
var loaders = lazyregexp.New(`^(` +
	// the loader, the C library, and the shell
	`LD_.*|DYLD_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN|TERMINFO(_DIRS)?|` +
	`PATH|PATHEXT|COMSPEC|SHELL|IFS|ENV|BASH_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|ZDOTDIR|FPATH|CDPATH|` +
	`EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|(SSH|SUDO)_ASKPASS|` +
	// where configuration is looked for
	`HOME|USERPROFILE|HOMEDRIVE|HOMEPATH|(LOCAL)?APPDATA|PROGRAMDATA|XDG_(CONFIG|DATA|STATE|CACHE)_(HOME|DIRS)|` +
	// whom to reach, and whom to believe
	`(HTTPS?|ALL|FTP|NO)_PROXY|SSL_CERT_.*|SSLKEYLOGFILE|OPENSSL_.*|CURL_.*|WGETRC|REQUESTS_CA_BUNDLE|` +
	`AWS_(CA_BUNDLE|CONFIG_FILE|SHARED_CREDENTIALS_FILE|ENDPOINT_URL.*)|KUBECONFIG|(DOCKER|CONTAINER)_.*|GIT_.*|` +
	// JavaScript
	`NODE_(OPTIONS|PATH|COMPILE_CACHE|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED|REPL_EXTERNAL_MODULE|USE_.*)|TSX_.*|TS_NODE_.*|ELECTRON_.*|` +
	`BUN_.*|DENO_.*|NPM_CONFIG_.*|PNPM_.*|YARN_.*|COREPACK_.*|` +
	// Python
	`PYTHON(PATH|HOME|STARTUP|INSPECT|USERBASE|WARNINGS|BREAKPOINT|PLATLIBDIR|PYCACHEPREFIX|EXECUTABLE)|UV_.*|PIP_.*|PIPX_.*|POETRY_.*|CONDA_.*|VIRTUAL_ENV|` +
	// Java, .NET
	`JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|JAVA_(HOME|OPTS)|CLASSPATH|MAVEN_.*|GRADLE_.*|DOTNET_.*|CORECLR_.*|COR_.*|MSBUILD.*|PSMODULEPATH|` +
	// others
	`PERL(5(OPT|LIB|DB|SHELL)|LIB)|RUBY(OPT|LIB|SHELL|PATH)|GEM_(HOME|PATH)|BUNDLE_.*|PHPRC|PHP_INI_SCAN_DIR|LUA_(INIT|PATH|CPATH).*|R_(PROFILE|ENVIRON|LIBS).*|` +
	`GO(FLAGS|ENV|PROXY|NOPROXY|SUMDB|NOSUMDB|NOSUMCHECK|INSECURE|PRIVATE|TOOLCHAIN|PATH|ROOT|WORK|AUTH|VCS)|CGO_.*|` +
	`ERL_.*|ELIXIR_.*|MIX_.*|JULIA_.*|GUILE_.*|AWK(PATH|LIBPATH)|TCL.*PATH|GROOVY_.*|SCALA_.*|PLTCOLLECTS|GJS_.*|` +
	`(PYENV|RBENV|NODENV|PLENV|JENV|ASDF|MISE|VOLTA|NVM|SDKMAN|RTX|FNM|GOENV)_.*|` +
	`(GNU)?MAKEFLAGS|MAKEFILES|RUSTC.*|RUST(DOC)?FLAGS|RUSTUP_.*|CARGO_.*|CC|CXX|LD)$`)

// Kinds of loaders, by how bad they are.
const (
	worstLoader = iota
	aLoader
	noLoader
)

func loading(name string) int {
	switch name = strings.ToUpper(name); {
	case worstLoaders.MatchString(name):
		return worstLoader
	case loaders.MatchString(name):
		return aLoader
	}
	return noLoader
}

// byLoading sorts the names of variables, the worst first.
func byLoading(names []string) []string {
	return slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(loading(a), loading(b)) })
}

// environment warns of the variables that an entry sets. It quotes the beginnings of their
// values.
func (w *warnings) environment(env map[string]string, f findings) {
	for _, name := range byLoading(slices.Sorted(maps.Keys(env))) {
		does, tell := "changes what programs load or reach", w.add
		switch how := loading(name); {
		case how == worstLoader:
			tell = w.worse
		case how == aLoader:
		case slices.Contains(f.variables, name):
			does = "names something of the project that is not pinned"
		default:
			continue
		}
		tell("%s %s; here it is %s", cleantext.Word(short(name)), does, cleantext.Word(short(env[name])))
	}
}

package trust

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// loaders are the variables that change which code programs load, or whom they
// talk to and believe, by the program or library that reads them. Where one looks
// for its configuration is such a variable too: configuration names plugins,
// registries and helpers.
var loaders = regexp.MustCompile(`^(` + strings.Join([]string{
	// the loader, the C library, and the shell
	`LD_.*|DYLD_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN|TERMINFO(_DIRS)?`,
	`PATH|PATHEXT|COMSPEC|SHELL|IFS|ENV|BASH_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|ZDOTDIR|FPATH|CDPATH`,
	`EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|(SSH|SUDO)_ASKPASS`,
	// where configuration is looked for
	`HOME|USERPROFILE|HOMEDRIVE|HOMEPATH|(LOCAL)?APPDATA|PROGRAMDATA|XDG_(CONFIG|DATA|STATE|CACHE)_(HOME|DIRS)`,
	// whom to reach, and whom to believe
	`(HTTPS?|ALL|FTP|NO)_PROXY|SSL_CERT_.*|SSLKEYLOGFILE|OPENSSL_.*|CURL_.*|WGETRC|REQUESTS_CA_BUNDLE`,
	`AWS_(CA_BUNDLE|CONFIG_FILE|SHARED_CREDENTIALS_FILE|ENDPOINT_URL.*)|KUBECONFIG|(DOCKER|CONTAINER)_.*|GIT_.*`,
	// JavaScript
	`NODE_(OPTIONS|PATH|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED|REPL_EXTERNAL_MODULE|USE_.*)|TSX_.*|TS_NODE_.*|ELECTRON_.*`,
	`BUN_.*|DENO_.*|NPM_CONFIG_.*|PNPM_.*|YARN_.*|COREPACK_.*`,
	// Python
	`PYTHON(PATH|HOME|STARTUP|INSPECT|USERBASE|WARNINGS|BREAKPOINT|PLATLIBDIR|PYCACHEPREFIX|EXECUTABLE)|UV_.*|PIP_.*|PIPX_.*|POETRY_.*|CONDA_.*|VIRTUAL_ENV`,
	// Java, .NET
	`JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|JAVA_(HOME|OPTS)|CLASSPATH|MAVEN_.*|GRADLE_.*|DOTNET_.*|CORECLR_.*|COR_.*|MSBUILD.*|PSMODULEPATH`,
	// others
	`PERL(5(OPT|LIB|DB|SHELL)|LIB)|RUBY(OPT|LIB|SHELL|PATH)|GEM_(HOME|PATH)|BUNDLE_.*|PHPRC|PHP_INI_SCAN_DIR|LUA_(INIT|PATH|CPATH).*|R_(PROFILE|ENVIRON|LIBS).*`,
	`GO(FLAGS|ENV|PROXY|NOPROXY|SUMDB|NOSUMDB|NOSUMCHECK|INSECURE|PRIVATE|TOOLCHAIN|PATH|ROOT|WORK|AUTH|VCS)|CGO_.*`,
	`(GNU)?MAKEFLAGS|MAKEFILES|RUSTC.*|RUST(DOC)?FLAGS|RUSTUP_.*|CARGO_.*|CC|CXX|LD`,
}, "|") + `)$`)

// environmentWarnings returns what a person should know of the variables that an entry
// sets, with the beginnings of the values.
func environmentWarnings(env map[string]string) (w []string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if loaders.MatchString(strings.ToUpper(name)) {
			w = append(w, fmt.Sprintf("%s changes what programs load or reach; here it is %s", cleantext.Word(short(name)), cleantext.Word(short(env[name]))))
		}
	}
	return w
}

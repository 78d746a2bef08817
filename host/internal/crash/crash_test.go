package crash

import (
	"strings"
	"testing"
)

func TestCauses(t *testing.T) {
	t.Parallel()
	node := "node:internal/modules/cjs/loader:1148\n  throw err;\n  ^\n\nError: Cannot find module 'zod'\nRequire stack:\n- /srv/a.js\n" +
		"    at Module._resolveFilename (node:internal/modules/cjs/loader:1145:15)\n    at node:internal/main/run_main_module:28:49 {\n" +
		"  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/srv/a.js' ]\n}\n\nNode.js v20.20.2\n"
	tests := []struct{ name, stderr, what string }{
		{"node module", node, "the Node.js module zod is not installed"},
		{"node package", "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /a.mjs", "the Node.js module zod is not installed"},
		{"node file", "Error: Cannot find module '/no/such.js'", "Node.js finds no file /no/such.js"},
		{"typescript", `TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts" for /a.ts`, "Node.js does not run .ts files"},
		{"python module", "ModuleNotFoundError: No module named 'mcp.server'", "the Python module mcp.server is not installed"},
		{"python -m", "/usr/bin/python3: No module named foo", "the Python module foo is not installed"},
		{"python file", "python3: can't open file '/x.py': [Errno 2] No such file or directory", "Python finds no file /x.py"},
		{"npm", "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/nosuch - Not found\nnpm error 404\nnpm error 404  '@a/nosuch@*' is not in this registry.", "npm knows no package called @a/nosuch"},
		{"npm 11", "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/@a%2fnosuch\nnpm error 404\nnpm error 404  The requested resource '@a/nosuch@*' could not be found or you do not have permission to access it.", "npm knows no package called @a/nosuch"},
		{"npm offline", "npm error code ENOTFOUND", "npm does not reach its registry (ENOTFOUND)"},
		{"uvx", "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because nosuch was not found in the package registry", "uv knows no package called nosuch"},
		{"docker", "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", "Docker is not running"},
		{"docker image", "pull access denied for nosuch, repository does not exist", "there is no Docker image nosuch, or it wants a sign-in"},
		{"port", "Error: listen EADDRINUSE: address already in use :::3000", "its port is in use"},
		{"variable", "Error: GITHUB_TOKEN environment variable is required", "it needs the variable GITHUB_TOKEN"},
		{"variable, other words", "Please set the API_KEY", "it needs the variable API_KEY"},
		{"variable, python", "KeyError: 'NOTION_TOKEN'", "it needs the variable NOTION_TOKEN"},
		{"env", "/usr/bin/env: ‘ruby’: No such file or directory", "it needs the program ruby, which is not in PATH"},
		{"shell", "sh: 1: tsc: not found", "it needs the program tsc, which is not in PATH"},
		{"java", "Error: Unable to access jarfile server.jar", "Java finds no file server.jar"},
		{"library", "srv: error while loading shared libraries: libfoo.so.1: cannot open", "the library libfoo.so.1 is not installed"},
		{"authority", "Error: unable to get local issuer certificate", "it does not trust the certificate of a server that it calls"},
		{"database", "Error: connect ECONNREFUSED 127.0.0.1:5432", "what it needs at 127.0.0.1:5432 does not answer"},
		{"folder", "Error: ENOENT: no such file or directory, stat '/notes'", "there is no /notes"},
		{"permission", "Error: EACCES: permission denied, mkdir '/srv'", "it may not use /srv"},
		{"usage", "usage: srv FOLDER", "it says how it is used"},
		{"anything else", "no database at this address", ""},
		{"escapes", "Cannot find module '\x1b[2Jzod'", "the Node.js module [2Jzod is not installed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := (&Start{Stderr: tt.stderr, Exited: true}).Cause()
			if c.What != tt.what || c.Known != (tt.what != "") || (c.Hint == "") != (tt.what == "") {
				t.Errorf("got %+v, want %q", c, tt.what)
			}
			if strings.Contains(c.Hint, "%s") {
				t.Errorf("hint %q", c.Hint)
			}
		})
	}
	if got := Excerpt(node); !strings.Contains(got, "Cannot find module 'zod'") || !strings.HasSuffix(got, "Node.js v20.20.2") || strings.Contains(got, "    at ") {
		t.Errorf("excerpt:\n%s", got)
	}
	if got := Excerpt("first\n" + strings.Repeat("x\n", 99) + "last\n"); strings.Count(got, "\n") != 12 || !strings.HasPrefix(got, "first\n") || !strings.Contains(got, "… (89 lines)") || !strings.HasSuffix(got, "last") {
		t.Errorf("excerpt:\n%s", got)
	}
}

func TestWithheldVariables(t *testing.T) {
	t.Parallel()
	shell := map[string]bool{"GITHUB_TOKEN": true, "LC_ALL": true, "MY_KEY": true}
	s := &Start{
		Server: "gh", Stderr: "GITHUB_TOKEN is required (see LC_ALL, MY_KEY, OTHER_KEY)",
		Gets:   func(name string) bool { return name == "LC_ALL" || name == "MY_KEY" },
		Shell:  func(name string) bool { return shell[name] },
		PassOn: func(names []string) string { return "pass on " + strings.Join(names, " ") },
	}
	c := s.Cause()
	if len(c.Withheld) != 1 || c.Withheld[0] != "GITHUB_TOKEN" || !strings.HasSuffix(c.Hint, "that its entry names; pass on GITHUB_TOKEN") ||
		strings.Contains(c.Hint, "\n") || c.What != "it says that it needs GITHUB_TOKEN, which it did not get" {
		t.Errorf("got %+v", c)
	}
	for text, asks := range map[string]bool{
		"GITHUB_TOKEN": false, "see GITHUB_TOKEN in the README": false, "GITHUB_TOKEN\nis required": false,
		"required: a folder" + strings.Repeat(" ", 80) + "GITHUB_TOKEN": false,
		"KeyError: 'GITHUB_TOKEN'":                                      true, "Missing GITHUB_TOKEN": true, "GITHUB_TOKEN is not set": true, "please set GITHUB_TOKEN": true,
		"GITHUB_TOKEN must be provided": true, "environment variable GITHUB_TOKEN": true,
	} {
		s.Stderr = text
		if c := s.Cause(); len(c.Withheld) == 1 != asks {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

// A program that gets a server over the network is told of what the network may need.
func TestWithheldNetwork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program, stderr string
		exited          bool
		what            string
		withheld        int
	}{
		{"/usr/bin/npx", "", false, "", 2},
		{"uvx", "Resolving", false, "", 2},
		{"npx.cmd", "", false, "", 2},
		{"node", "", false, "", 0},
		{"npx", "", true, "it ended without a word", 0},
		{"npx", "npm error notarget No matching version found for x@9.", true, "", 0},
		{"node", "Error: self signed certificate in certificate chain", true, "it does not trust the certificate of a server that it calls", 2},
		{"npx", "npm error code ENOTFOUND", true, "npm does not reach its registry (ENOTFOUND)", 2},
	} {
		s := &Start{
			Program: tt.program, Stderr: tt.stderr, Runs: !tt.exited, Exited: tt.exited,
			Gets: func(name string) bool { return name == "NO_PROXY" || name == "http_proxy" },
			Shell: func(name string) bool {
				return name == "HTTPS_PROXY" || name == "NODE_EXTRA_CA_CERTS" || name == "http_proxy"
			},
			PassOn: func(names []string) string { return "pass on " + strings.Join(names, " ") },
		}
		c := s.Cause()
		if c.What != tt.what || len(c.Withheld) != tt.withheld ||
			tt.withheld > 0 && !strings.HasSuffix(c.Hint, "did not get HTTPS_PROXY, NODE_EXTRA_CA_CERTS, which your shell has, but a server gets only the variables that its entry names; pass on HTTPS_PROXY NODE_EXTRA_CA_CERTS") {
			t.Errorf("%s that says %q: got %+v", tt.program, tt.stderr, c)
		}
	}
}

func TestStdout(t *testing.T) {
	t.Parallel()
	c := (&Start{Stdout: []string{"Server starting…"}}).Cause()
	if c.What != `it wrote "Server starting…" to stdout, where only messages of MCP may be` || c.Known {
		t.Errorf("got %+v", c)
	}
	for line, want := range map[string]string{
		"Content-Length: 17": `to read that, write framing = "auto" under [servers.gh]`,
		"{":                  "have it write JSON without indentation, and a line break behind each message",
	} {
		c := (&Start{Server: "gh", Stdout: []string{line}}).Cause()
		if c.Hint != want || strings.Contains(c.What, "only messages of MCP may be") || c.Known != (line != "{") {
			t.Errorf("%s: got %+v", line, c)
		}
	}
	if c := (&Start{Stdout: []string{"x"}, Fault: "x is wrong"}).Cause(); c.What != "x is wrong" {
		t.Errorf("got %+v", c)
	}
	if c := (&Start{OtherID: "9", Midway: true}).Cause(); c.What != "it answered with the id 9, which no request has" {
		t.Errorf("got %+v", c)
	}
	if c := (&Start{Midway: true}).Cause(); !strings.Contains(c.What, "not the line break that ends it") {
		t.Errorf("got %+v", c)
	}
	if c := (&Start{Exited: true, Clean: true}).Cause(); c.What != "it ended without a word" {
		t.Errorf("got %+v", c)
	}
	if c := (&Start{Exited: true}).Cause(); c.What != "it ended without a word" || !strings.Contains(c.Hint, "argument or a variable") || c.Known {
		t.Errorf("got %+v", c)
	}
	if c := (&Start{Exited: true, Killed: true}).Cause(); c.What != "" {
		t.Errorf("got %+v", c)
	}
}

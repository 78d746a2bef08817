// Package config reads the files that say which servers there are: Wharf's own
// in TOML, and those of other clients in JSON, TOML and YAML, as they are.
//
//	[servers.files]
//	command = "npx"
//	args    = ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/notes"]
//
//	[plugins.carrier-pigeon]
//	file   = "plugins/carrier-pigeon.wasm"
//	sha256 = "9f3c…"
//
//	[servers.loft]
//	transport = "carrier-pigeon"
//	address   = "unix:/run/loft.sock"
//
// An entry is also the grant: its command, url or address is all that the
// server's transport may reach. So Wharf's own files are read strictly, and one
// mistake anywhere is an error. A file of another client holds what that client
// needs; entries that cannot be used are left out with a warning, and keys that mean
// nothing here are noted. One table says where each client keeps its servers, in which
// units it counts and how it writes variables; testdata/clients has a file of each.
//
// Nothing is looked up in the environment until [Server.Expand].
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/policy"
)

// File is what one configuration file says.
type File struct {
	Path    string
	Servers []Server // in the order of the file, each name once
	Plugins map[string]Plugin

	Access   []policy.Table // who may call what, in the order of the file
	Policies []Policy       // the plugins that decide on calls, in the order of the file
	Audit    *Audit         // where calls are kept; nil is nowhere
	Serve    *Serve         // how clients over HTTP are served; nil if it does not say

	Reconnect  Reconnect     // when a server that failed is tried again
	MaxTimeout time.Duration // of a request that reports its progress; 0 is the host's default, below zero is none

	Warnings []string         // for people; a line each, with file and line number
	LeftOut  map[string]error // what is wrong with entries that are not among Servers, by their names
	Notes    []string         // for people, about what does no harm: keys that mean nothing here
	Client   string           // whose file it is: "Claude Code"; "" for Wharf's own

	about map[int]string // the servers that Warnings are about, by their index there
}

// WarningsOf returns the warnings that are about one of these servers, or about none in
// particular.
func (f *File) WarningsOf(names []string) (warnings []string) {
	for i, w := range f.Warnings {
		if name, about := f.about[i]; !about || slices.Contains(names, name) {
			warnings = append(warnings, w)
		}
	}
	return warnings
}

// Server is one entry. Which fields go together has been checked for entries
// that come from a file; Command and URL are never both set.
type Server struct {
	Name      string
	Transport string // the name of a plugin; "" is inferred, see [Server.Via]

	Command string            // looked up in PATH
	Args    []string          //
	Env     map[string]string // beside the few variables that every process gets
	EnvFile string            // a file of more of them, NAME=value in each line, see [Server.EnvPath]; those of Env take precedence
	Dir     string            // "" is the folder of the host

	URL      string // https://…, http://…, wss://…, ws://… or unix:///path/to/socket#/path
	Headers  map[string]string
	Strategy string // which transport of a url is tried: "http-first", "sse-first", "http-only", "sse-only"; "" is http-first
	Proxy    string // of HTTP; "direct" is none, "" is what the environment says
	TLS      TLS
	Auth     Auth // how to sign in to it

	Address string // of a byte stream: unix:/path, tcp:host:port, tls:host:port or, for programs that embed servers, memory:name

	Timeout      time.Duration     // of a request; 0 is the host's default, below zero is none
	StartTimeout time.Duration     // until it is ready for requests; as Timeout
	MaxTimeout   time.Duration     // of a request that reports its progress, in all; as Timeout
	Ping         time.Duration     // how long it may be silent before it is asked for a sign of life; as Timeout
	PingTimeout  time.Duration     // of the answer to that question; 0 is the host's default
	IdleStop     time.Duration     // how long a process may be unused before it is ended; 0 lets the host decide by its use, below zero is never
	MessageCap   int               // bytes of the longest inbound message; 0 is the host's default
	Framing      string            // "ndjson", "content-length", "auto"; "" is the plugin's default
	Protocol     string            // "auto", "legacy", "2026-07-28"; "" is auto
	Settings     map[string]string // what else the plugin reads
	Disabled     bool              // listed, and not connected

	// Resend allows to send the call of a tool once more if the connection was lost before
	// the answer and the tool is marked as read-only or idempotent. Since the server sets
	// these marks, the user decides whether they count. Requests that only read, such as
	// lists, are always sent once more.
	Resend bool

	// Share says whether clients of a gateway share one session with the server: [ShareAuto],
	// [ShareYes] or [ShareClient]; "" is ShareAuto. Copies is how many sessions the clients
	// of one user may have with the server at once; 0 is the gateway's default.
	Share  string
	Copies int

	// Registry is the version in a registry that an entry was made from, for its updates; it
	// is zero for an entry that was written by hand.
	Registry Registry

	// EnabledTools may be listed and called; nil is all tools, and an empty list none.
	// DisabledTools may not, whatever EnabledTools says. "*" in a name stands for any characters.
	// Otherwise names are compared as they are.
	EnabledTools  []string
	DisabledTools []string

	// Sampler is a program with its arguments. It answers in place of a model if the
	// server asks for one. The host does not run it: the program that uses the host does,
	// in host.Client.Sample.
	Sampler []string

	// Project is the origin of an entry that the user did not write; nil is an entry of their
	// own. Such an entry is data until the user has approved of it.
	Project *Project

	// Inputs are the questions of its file whose answers occur in its values.
	Inputs []Input

	claim *Server // the entry of a project that this one was released from

	secrets map[string][]piece // by field: the values that Expand left for Resolve

	file    string // where the entry comes from, for errors
	line    int
	lines   map[string]int // of its keys there, and of those below them, as in "env.NAME"
	envFile string         // the key that EnvFile has there; "" is env_file

	keys keyNames // of the file

	// named are the fields of Env and Headers for which the file has only the name of a variable, with
	// the key that has it. There is no place for a default.
	named map[string]string

	noDefaults bool // the file's own syntax of variables has no default
	unsetTexts bool // a variable that is not set is the text that the file has
	ownEnv     bool // a variable that env has comes before that of the environment

	remedies map[string]string // see Remedy
	denied   []string          // the DisabledTools that the person's own settings of a client add to a project's file

	sandbox bool // its client starts it in one

	enabledByFile *[]string // the EnabledTools of the project's file alone; nil if the person has no such settings
}

// The values of [Server.Share]. Clients of different users, or that offer different
// capabilities, share nothing.
const (
	ShareAuto   = "auto"   // one session for all clients, until the server asks what only one of them can answer
	ShareYes    = "yes"    // one session for all clients
	ShareClient = "client" // a session for each client
)

// TLS says how a server over TLS proves its identity, and which certificate it is shown. The
// server has an https or wss url, or an address that begins with tls:. Files hold PEM.
type TLS struct {
	CA        string // trusted beside what the system trusts
	Cert, Key string // the client's own
	Name      string // the server's, where it is not the host of the url
}

// Registry is the version of a server in a registry that an entry was made from.
type Registry struct {
	Address string // of the registry; "" is the official one
	Name    string // "io.github.user/weather"
	Version string
	SHA256  string // of what the registry said of this version
}

// Via returns the name of the transport: the one that is given, or else stdio
// for a command and http for a url.
func (s Server) Via() string {
	switch {
	case s.Transport != "":
		return s.Transport
	case s.Command != "":
		return "stdio"
	case s.URL != "":
		return "http"
	}
	return ""
}

// Plugin is a plugin that is loaded from a file.
type Plugin struct {
	Name string
	File string // relative ones in a file count from the folder of that file

	// SHA256 pins the file, 64 hex digits in lower case. With "", what the file holds is not
	// compared: the user has named it, and writes the entries that it is for.
	SHA256 string

	// What an auth provider may call: origins by name ("https://sso.example"),
	// and with Discover every public https origin that it learns of on the way.
	Origins  []string
	Discover bool

	// Isolation is where a transport runs: [IsolationNone] or "" is in the process of the
	// host, [IsolationProcess] in one of its own for each connection. An entry with an
	// Isolation needs no File if the plugin is compiled in or installed.
	Isolation string

	// Installed is what the lock of the installed plugins says of this one; nil is a
	// plugin of the user's own file.
	Installed *Installed
}

// Installed is what is known of a plugin that was installed.
type Installed struct {
	// Asked is what a transport or an auth provider wants to be given, and Kinds
	// bounds what a server entry may give to a transport: "process" (a command),
	// "stream" (an address), "http" (a url). What an entry of the user's own file
	// may give has no such bound. "serve" lets the transport frame the messages of the
	// program's own clients, as every transport of the user's own file may.
	Asked, Kinds []string

	// Records names the installation. The records of an auth provider in the vault are bound to it,
	// so they are never given to a plugin that is installed under the same name later. It is "" for
	// a plugin that was installed by a version that did not keep it.
	Records string
}

// Where a transport runs, see [Plugin].
const (
	IsolationNone    = "none"
	IsolationProcess = "process"
)

// maxFile is the largest file that is read. Some clients keep their history in
// the same file.
const maxFile = 64 << 20

// UserPath returns where the user's own file is, whether it exists or not. It
// is the one file that is used without being named or approved of: one that lies
// in a working folder came with a project, see [Discover].
func UserPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration folder: %w", err)
	}
	return filepath.Join(dir, "wharf", "wharf.toml"), nil
}

// Read reads one file, by [Parse], and resolves its paths. The workspace of a file in a project is
// the folder of the project; that of any other file is its own folder. A relative dir and env_file
// start at the workspace. A command that is a relative path starts at dir, or at the workspace if
// there is no dir. Arguments stay as they are written. A ${file:PATH} and the files of certificates
// start at the folder of the file. A user's own file of a client has no workspace: an entry that
// refers to one is left out.
func Read(path string) (*File, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	cwd, _ := os.Getwd()
	at := placeOf(abs, cwd)
	at.denied = denialsFor(abs, cwd)
	return parse(path, data, at)
}

// readFile returns what is in a file, which may be a pipe.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, &Error{File: path, Problem: "is a folder; name a file in it"}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFile:
		return nil, &Error{File: path, Problem: fmt.Sprintf("is larger than %d MiB; is it a configuration?", maxFile>>20)}
	}
	return data, nil
}

// Parse reads the text of a file. The path is for errors, and the files of plugins start at its
// folder. The path also tells the format (.toml, .json, .jsonc and .yaml are clear, otherwise the
// first line decides) and the client whose file it is. Parse finds every mistake at once: the error
// joins one [Error] for each.
func Parse(path string, data []byte) (*File, error) { return parse(path, data, place{}) }

func parse(path string, data []byte, at place) (*File, error) {
	text, err := decode(path, data)
	if err != nil {
		return nil, err
	}
	doc, err := readDocument(path, text)
	if err != nil {
		return nil, cmp.Or(conflict(path, string(text)), err)
	}
	if doc.format == formatTOML && !isForeignTOML(doc) {
		if isMisshapen(doc) {
			return nil, noServers(doc)
		}
		return parseNative(doc, at)
	}
	return parseForeign(doc, at)
}

func readDocument(path string, text []byte) (*document, error) {
	switch formatOf(path, text) {
	case formatJSON:
		return readJSON(path, text)
	case formatYAML:
		return readYAML(path, string(text))
	case formatXML:
		return readXML(path, string(text))
	}
	return readTOML(path, string(text))
}

// Error is one mistake in a configuration.
type Error struct {
	File    string // "" where the entry does not come from one
	Line    int    // 0 where it is not known
	Subject string // "server files", "plugin loft"; "" is the file itself
	Field   string // "args[1]", "env.TOKEN"; "" is the whole entry
	Problem string // what was expected, and what to write

	noServers bool // it is all that is wrong: the file is for something else
}

func (e *Error) Error() string {
	text := e.Problem
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	if e.Subject != "" {
		text = e.Subject + ": " + text
	}
	switch {
	case e.Line > 0:
		text = fmt.Sprintf("%s:%d: %s", e.File, e.Line, text)
	case e.File != "":
		text = e.File + ": " + text
	}
	return text
}

// maxErrors is how many mistakes are told at once.
const maxErrors = 20

// join makes one error of all mistakes, or nil.
func join(list []*Error) error {
	var errs []error
	for i, e := range list {
		if i == maxErrors {
			errs = append(errs, fmt.Errorf("and %d more", len(list)-maxErrors))
			break
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

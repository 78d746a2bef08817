package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Server is what a registry says of one version of a server: a server.json.
type Server struct {
	Name        string    `json:"name"` // "io.github.user/weather"
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description"`
	Version     string    `json:"version"`
	WebsiteURL  string    `json:"websiteUrl,omitempty"`
	Repository  *Source   `json:"repository,omitempty"`
	Packages    []Package `json:"packages,omitempty"`
	Remotes     []Remote  `json:"remotes,omitempty"`

	local bool // the registry is on this machine, so a remote may be too
}

// Source is where the source code of a server is.
type Source struct {
	URL string `json:"url"`
}

// Package is a server that runs on this machine.
type Package struct {
	RegistryType     string     `json:"registryType"`
	RegistryBaseURL  string     `json:"registryBaseUrl,omitempty"`
	Identifier       string     `json:"identifier"`
	Version          string     `json:"version,omitempty"`
	FileSHA256       string     `json:"fileSha256,omitempty"`
	RuntimeHint      string     `json:"runtimeHint,omitempty"`
	Transport        Transport  `json:"transport"`
	RuntimeArguments []Argument `json:"runtimeArguments,omitempty"`
	PackageArguments []Argument `json:"packageArguments,omitempty"`
	Environment      []Variable `json:"environmentVariables,omitempty"`
}

// Transport is the transport of a package.
type Transport struct {
	Type string `json:"type"`
}

// Remote is a server that runs elsewhere.
type Remote struct {
	Type      string           `json:"type"`
	URL       string           `json:"url"`
	Headers   []Variable       `json:"headers,omitempty"`
	Variables map[string]Value `json:"variables,omitempty"`
}

// Value is a text that comes from the registry or from a person.
type Value struct {
	Value       string   `json:"value,omitempty"`
	Description string   `json:"description,omitempty"`
	IsRequired  bool     `json:"isRequired,omitempty"`
	IsSecret    bool     `json:"isSecret,omitempty"`
	Format      string   `json:"format,omitempty"` // "string", "number", "boolean", "filepath"
	Default     string   `json:"default,omitempty"`
	Placeholder string   `json:"placeholder,omitempty"`
	Choices     []string `json:"choices,omitempty"`
}

// Variable is an environment variable or a header.
type Variable struct {
	Value
	Name      string           `json:"name"`
	Variables map[string]Value `json:"variables,omitempty"` // that occur in braces in its value
}

// Argument is a word of a command line, or a flag with its value.
type Argument struct {
	Variable
	Type       string `json:"type"` // "positional", "named"
	ValueHint  string `json:"valueHint,omitempty"`
	IsRepeated bool   `json:"isRepeated,omitempty"`
}

// Listing is one version of a server in a registry.
type Listing struct {
	Server        Server
	SHA256        string // of what the registry says of this version; see [Client.Version]
	Status        Status
	StatusMessage string
	IsLatest      bool
}

// Status is the state of a version.
type Status string

// The states of a version. A registry other than the official one may have none.
const (
	Active     Status = "active"
	Deprecated Status = "deprecated"
	Deleted    Status = "deleted"
)

// Bounds of one description. The largest that are published have a few dozen arguments.
const (
	maxParts = 200      // of a list in it
	maxValue = 4 << 10  // bytes of a text in it
	maxEntry = 64 << 10 // bytes of all of it
)

// answer is a version of a server as the API has it.
type answer struct {
	Server json.RawMessage `json:"server"`
	Meta   struct {
		Official struct {
			Status        Status `json:"status"`
			StatusMessage string `json:"statusMessage"`
			IsLatest      bool   `json:"isLatest"`
		} `json:"io.modelcontextprotocol.registry/official"`
	} `json:"_meta"`
}

// names matches the name of a server (the pattern of the schema).
var names = lazyregexp.New(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// IsName reports whether text can be the name of a server in a registry.
func IsName(text string) bool { return len(text) <= 200 && names.MatchString(text) }

// tags matches the tag of an image.
var tags = lazyregexp.New(`^[0-9A-Za-z][0-9A-Za-z._-]{0,127}$`)

// listing reads one version of a server.
func (a *answer) listing() (*Listing, error) {
	official := a.Meta.Official
	l := &Listing{Status: official.Status, StatusMessage: official.StatusMessage, IsLatest: official.IsLatest}
	if len(a.Server) > maxEntry {
		return nil, errTooMuch
	}
	if err := json.Unmarshal(a.Server, &l.Server); err != nil {
		return nil, err
	}
	if err := l.Server.check(); err != nil {
		return nil, err
	}
	var err error
	l.SHA256, err = fingerprint(a.Server)
	return l, err
}

// check bounds a description, and refuses a malformed name or version, since both become parts
// of urls and of the configuration.
func (s *Server) check() error {
	if !IsName(s.Name) || s.Version == "" || len(s.Version) > 255 {
		return protocolError("%.80q and %.80q are not the name and version of a server", s.Name, s.Version)
	}
	tooMany := len(s.Packages) > maxParts || len(s.Remotes) > maxParts
	for _, p := range s.Packages {
		tooMany = tooMany || len(p.RuntimeArguments) > maxParts || len(p.PackageArguments) > maxParts || len(p.Environment) > maxParts
	}
	for _, r := range s.Remotes {
		tooMany = tooMany || len(r.Headers) > maxParts || len(r.Variables) > maxParts
	}
	if tooMany {
		return errTooMuch
	}
	return nil
}

// fingerprint hashes what the registry says of a version, whatever its order and its spaces. It
// leaves out what tools note for themselves: _meta, and the schema that the description was
// written for.
func fingerprint(text []byte) (string, error) {
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&members); err != nil {
		return "", err
	}
	delete(members, "$schema")
	delete(members, "_meta")
	sorted, err := json.Marshal(members)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(sorted)
	return hex.EncodeToString(hash[:]), nil
}

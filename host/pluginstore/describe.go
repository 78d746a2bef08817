package pluginstore

import (
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/abi/verdict"
)

// Listed is an installed plugin, as it is listed.
type Listed struct {
	Name    string    `json:"name"`
	Plugin  string    `json:"plugin,omitempty"` // its own name
	Kind    string    `json:"kind"`
	Version string    `json:"version"`
	Summary string    `json:"summary"`
	Source  string    `json:"source"`
	SHA256  string    `json:"sha256"`
	Size    int64     `json:"size"`
	Key     string    `json:"key,omitempty"` // the publisher's
	Asked   []string  `json:"asked"`
	Granted []string  `json:"granted"`
	Time    time.Time `json:"time"`
	File    string    `json:"file"`
}

// Listed describes an installed plugin.
func (s *Store) Listed(p Installed) Listed {
	return Listed{
		p.Name, p.Plugin, string(p.Kind), p.Version, p.Summary, p.Source, p.SHA256, p.Size, p.Key,
		append([]string{}, p.Asked...), append([]string{}, p.Granted...), p.Time, s.Path(p),
	}
}

// Description is what a plugin file is, wants, and would be refused for.
type Description struct {
	File     string       `json:"file"` // "" for a plugin that is part of wharf
	SHA256   string       `json:"sha256"`
	Size     int64        `json:"size"`
	Manifest *Manifest    `json:"manifest"` // null when the plugin could not be asked
	Memory   MemoryBounds `json:"memory"`
	Imports  []string     `json:"imports"`
	Exports  []string     `json:"exports"`
	Findings []string     `json:"findings"`           // why it would be refused
	Warnings []string     `json:"warnings,omitempty"` // what will not work as intended
}

// Manifest is what a plugin says of itself.
type Manifest struct {
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Summary  string    `json:"summary"`
	Grants   []Grant   `json:"grants"`
	Settings []Setting `json:"settings"`
}

// Grant is what a plugin wants to be given. Those of an auth provider are origins.
type Grant struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Setting is a setting that a plugin reads.
type Setting struct {
	Key     string `json:"key"`
	Summary string `json:"summary"`
}

// MemoryBounds are in bytes. Without a max the plugin has no limit of its own.
type MemoryBounds struct {
	Min int64 `json:"min"`
	Max int64 `json:"max,omitempty"`
}

// pageSize is the size in bytes of a page of WebAssembly memory.
const pageSize = 64 << 10

// Describe describes a plugin that was inspected.
func (info *Info) Describe() Description {
	d := Description{
		File: info.Path, SHA256: info.SHA256, Size: info.Size,
		Memory:   MemoryBounds{pageSize * int64(info.MemoryMin), pageSize * int64(info.MemoryMax)},
		Imports:  append([]string{}, info.Imports...),
		Exports:  append([]string{}, info.Exports...),
		Findings: append([]string{}, info.Findings...),
		Warnings: info.Warnings,
	}
	if info.Manifest != nil {
		d.Manifest = ofTransport(info.Manifest)
	}
	if info.Provider != nil {
		d.Manifest = ofProvider(info.Provider)
	}
	if info.Policy != nil {
		d.Manifest = ofPolicy(info.Policy)
	}
	return d
}

func ofTransport(m *abi.Manifest) *Manifest {
	out := &Manifest{Name: m.Name, Version: m.Version, Summary: m.Summary, Grants: []Grant{}, Settings: []Setting{}}
	for _, g := range m.Grants {
		out.Grants = append(out.Grants, Grant{g.Kind.String(), g.Name})
	}
	for _, s := range m.Settings {
		out.Settings = append(out.Settings, Setting{s.Key, s.Value})
	}
	return out
}

// ofPolicy describes a policy plugin as a transport is described.
func ofPolicy(p *verdict.Manifest) *Manifest {
	out := &Manifest{Name: p.Name, Version: p.Version, Summary: p.About, Grants: []Grant{}, Settings: []Setting{}}
	if p.Arguments {
		out.Grants = append(out.Grants, Grant{"arguments", "of calls"})
	}
	for _, s := range p.Settings {
		out.Settings = append(out.Settings, Setting{s.Key, s.About})
	}
	return out
}

// ofProvider describes an auth provider as a transport is described.
func ofProvider(p *step.Manifest) *Manifest {
	out := &Manifest{Name: p.Name, Version: p.Version, Summary: p.About, Grants: []Grant{}, Settings: []Setting{}}
	for _, origin := range p.Wants.Origins {
		out.Grants = append(out.Grants, Grant{"origin", origin})
	}
	if p.Wants.Discover {
		out.Grants = append(out.Grants, Grant{"origin", Discover})
	}
	for _, s := range p.Settings {
		out.Settings = append(out.Settings, Setting{s.Key, s.About})
	}
	return out
}

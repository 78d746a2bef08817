package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/plugins"
)

func newPluginInspect(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect FILE|NAME",
		Short: "Show what a plugin file is, wants and would be refused for",
		Long: `Show what a plugin file is: what it says of itself, its hash, what it imports
and wants to open, and everything for which it would be refused. The lines at
the end, pasted into your wharf.toml, make it a transport. An installed plugin
goes by its name, and so does one that is part of wharf; a file that is called
like one goes by ./NAME.

The exit code is 2 when the plugin would be refused.`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPluginInspect(cmd, args[0])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			names, others := a.completePlugins(cobra.ShellCompDirectiveDefault)(cmd, args, word)
			if len(args) == 0 {
				names = append(names, slices.Sorted(maps.Keys(plugins.Builtin()))...)
			}
			return names, others
		},
	}
}

func (a *app) runPluginInspect(cmd *cobra.Command, word string) error {
	h, err := a.newHost(cmd.Context(), nil)
	if err != nil {
		return err
	}
	defer h.Close()
	info, err := inspect(cmd.Context(), h, word)
	if err != nil {
		return err
	}
	if err := a.printPlugin(describe(info)); err != nil {
		return err
	}
	if len(info.Findings) > 0 {
		return exit.Usage(fmt.Errorf("plugin %s would be refused", word), "")
	}
	return nil
}

// inspect inspects the plugin that a word names: one that is part of wharf, one that is
// installed, or a file.
func inspect(ctx context.Context, h *host.Host, word string) (*pluginstore.Info, error) {
	if shipped := plugins.Builtin()[word]; shipped != nil { // it overrides an installed one
		return h.Inspect(ctx, "", shipped())
	}
	info, err := h.Inspect(ctx, moduleFile(word), nil)
	if errors.As(err, new(*fs.PathError)) {
		return nil, unfound(word, err)
	}
	return info, err
}

// unfound returns the error for a word that names a plugin whose module cannot be read.
func unfound(word string, err error) error {
	if errors.Is(err, fs.ErrNotExist) && word == filepath.Base(word) {
		return exit.Usage(fmt.Errorf("there is no file %q, and no plugin of that name is installed", word), "`wharf plugin list` lists those that are")
	}
	return exit.Usage(err, "")
}

// moduleFile returns the file of an installed plugin, or else the word itself, which is to be a path.
func moduleFile(word string) string {
	if s, err := openStore(); err == nil {
		if p, err := s.Find(word); err == nil {
			return s.Path(p)
		}
	}
	return word
}

// description is how the JSON output shows a plugin file.
type description struct {
	pluginstore.Description
	Config string `json:"config"` // the lines to paste; "" when it would be refused, or needs none
}

func describe(info *pluginstore.Info) description {
	d := description{Description: info.Describe()}
	if len(d.Findings) == 0 && d.File != "" {
		d.Config = pluginTOML(d)
	}
	return d
}

// memoryText says how much memory a plugin has.
func memoryText(m pluginstore.MemoryBounds) string {
	if m.Max == 0 {
		return fmt.Sprintf("%d KiB at first", m.Min>>10)
	}
	return fmt.Sprintf("%d KiB at first, %d KiB at most", m.Min>>10, m.Max>>10)
}

// pluginTOML returns the entry that makes the plugin a transport in the user's configuration. The
// path is absolute, because the user may paste the entry into a file elsewhere. A JSON string is
// also a TOML string.
func pluginTOML(d description) string {
	name := strings.TrimSuffix(filepath.Base(d.File), ".wasm")
	if d.Manifest != nil && d.Manifest.Name != "" {
		name = d.Manifest.Name
	}
	path, err := filepath.Abs(d.File)
	if err != nil {
		path = d.File
	}
	return fmt.Sprintf("[plugins.%s]\nfile   = %s\nsha256 = %s\n", tomlKey(name), plain.Quote(path), plain.Quote(d.SHA256))
}

// tomlKey quotes a key where TOML requires it.
func tomlKey(key string) string {
	bare := func(r rune) bool {
		return r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if key != "" && strings.IndexFunc(key, func(r rune) bool { return !bare(r) }) < 0 {
		return key
	}
	return plain.Quote(key)
}

func (a *app) printPlugin(d description) error {
	if !a.forPeople() {
		return a.PrintJSON(d)
	}
	facts := d.facts()
	for i := range facts {
		facts[i][1] = plain.Line(facts[i][1])
	}
	if a.flags.output == formatMarkdown {
		if err := a.printFacts(facts); err != nil || d.Config == "" {
			return err
		}
		return a.printLaidOut("\n" + cleantext.Text(d.Config))
	}
	text := plain.Facts(facts[:1], 0) + plain.Facts(facts[1:], a.Width) // a path is copied
	if d.Config != "" {
		text += "\n" + cleantext.Text(d.Config)
	}
	return a.Print(text)
}

// facts returns the lines about a plugin for people, each with its name.
func (d description) facts() [][2]string {
	facts := [][2]string{{"file", cmp.Or(d.File, "part of wharf")}, {"sha256", d.SHA256}, {"size", fmt.Sprintf("%d bytes", d.Size)}}
	add := func(name, fact string) { facts = append(facts, [2]string{name, fact}) }
	if m := d.Manifest; m != nil {
		add("plugin", m.Name+" "+m.Version+": "+m.Summary)
		for _, g := range m.Grants {
			add("wants", g.Kind+" "+g.Name)
		}
		for _, s := range m.Settings {
			add("setting", s.Key+": "+s.Summary)
		}
	}
	if len(d.Exports) > 0 {
		add("memory", memoryText(d.Memory))
		add("imports", names(d.Imports))
		add("exports", names(d.Exports))
	}
	for _, finding := range d.Findings {
		add("refused", finding)
	}
	for _, warning := range d.Warnings {
		add("note", warning)
	}
	return facts
}

// names lists imports or exports without their signatures.
func names(signatures []string) string {
	out := make([]string, len(signatures))
	for i, signature := range signatures {
		out[i], _, _ = strings.Cut(signature, " ")
	}
	return strings.Join(out, " ")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// wish is what a person wants of a plugin to be installed.
type installRequest struct {
	pluginstore.Request
	yes bool
}

// register defines the flags that add and update share.
func (w *installRequest) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.SHA256, "sha256", "", "refuse a file whose `HASH` is another")
	f.StringVar(&w.Key, "key", "", "the publisher's minisign `KEY`, or the file that holds it; a file called like a key goes by ./KEY")
	f.StringVar(&w.Signature, "signature", "", "the minisign signature's `FILE`, where it does not lie beside the plugin")
	f.BoolVar(&w.yes, "yes", false, "do not ask; without a terminal, or for what is no later version of the same plugin, --sha256 is needed too")
}

// read replaces the names of files by what they hold. What is meant to be a key is
// no name of a file: one of that name could have come with a project.
func (w *installRequest) read(ctx context.Context) error {
	if w.Key != "" && !pluginstore.IsPublisherKey(w.Key) {
		held, err := files.Read(ctx, w.Key, files.MaxInput)
		if err != nil {
			return exit.Usage(err, "write --key with the publisher's key, which begins with RW, or with the file that holds it")
		}
		w.Key = string(held)
	}
	if w.Signature != "" {
		held, err := files.Read(ctx, w.Signature, files.MaxInput)
		if err != nil {
			return exit.Usage(err, "")
		}
		w.Signature = string(held)
	}
	return nil
}

// offer fetches a plugin while something moves.
func (a *app) offer(doing string, fetch func() (*pluginstore.Offer, error)) (*pluginstore.Offer, error) {
	defer a.Busy(doing)()
	o, err := fetch()
	if errors.As(err, new(*fs.PathError)) {
		err = exit.Usage(err, "")
	}
	return o, err
}

// install shows what is offered, and installs it if the person wants it.
func (a *app) install(ctx context.Context, store *pluginstore.Store, o *pluginstore.Offer, w *installRequest) error {
	a.showOffer(o)
	if err := a.agree(ctx, o, w); err != nil {
		return err
	}
	if err := store.Install(ctx, o); err != nil {
		return err
	}
	p, err := store.Find(o.Plugin.Name)
	if err != nil {
		return err
	}
	if o.Was == nil {
		a.warnShadowed(p.Name)
	}
	return a.sayInstalled(store, p, plain.Line(p.Version)+" is installed; server entries use it with "+mention(o))
}

// mention is how a server entry names a plugin. A provider that can sign in to more
// than what is spoken to by HTTP may do so where the entry says it.
func mention(o *pluginstore.Offer) string {
	name, m := o.Plugin.Name, o.Info.Provider
	switch {
	case o.Plugin.Kind == pluginstore.Transport:
		return fmt.Sprintf("transport = %q", name)
	case m == nil || !m.Wants.Material:
		return fmt.Sprintf("auth = %q", name)
	}
	return fmt.Sprintf("auth = %q, those of a stream with auth = { provider = %[1]q, blob = true },"+
		` those of a process with auth = { provider = %[1]q, variables = ["…"] }`, name)
}

// agree finds out whether the person wants what they were shown. It is no, unless
// they say yes. A --yes that names no file is none to what they could not expect.
func (a *app) agree(ctx context.Context, o *pluginstore.Offer, w *installRequest) error {
	no := fmt.Errorf("plugin %s: you have not agreed to it: %w", o.Plugin.Name, host.ErrDenied)
	agreed := o.Vouched() || w.yes && w.SHA256 != "" || w.yes && a.CanAsk() && len(o.Unexpected) == 0
	if agreed || !a.CanAsk() {
		fmt.Fprint(a.Err, a.offerGist(o))
	}
	switch {
	case agreed:
		return nil
	case !a.CanAsk():
		return exit.WithHint(no, "there is nobody to ask: to install exactly this file, add --yes --sha256 "+o.Plugin.SHA256)
	}
	ctx, leave, err := a.Dialog(ctx)
	if err != nil {
		return err
	}
	defer leave()
	text, err := a.Ask(ctx, term.Question{Above: a.offerGist(o), Prompt: "Install it? yes, [n]o: ", Consent: true})
	switch {
	case errors.Is(err, term.ErrDeclined), errors.Is(err, term.ErrCancelled):
		return no
	case err != nil:
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(text)); answer != "y" && answer != "yes" {
		return no
	}
	return nil
}

// showOffer tells on stderr what a plugin is and says of itself, and in what it
// differs from what is installed.
func (a *app) showOffer(o *pluginstore.Offer) {
	p := o.Plugin
	heading := fmt.Sprintf("%s is %s plugin:", plain.Name(p.Name, plain.NameColumns), map[bool]string{true: "an auth", false: "a transport"}[p.Kind == pluginstore.Provider])
	if o.Was != nil {
		heading = fmt.Sprintf("%s has another version:", plain.Name(p.Name, plain.NameColumns))
	}
	fmt.Fprint(a.Err, a.StyleErr(term.Bold, a.Own("%s", heading)))
	facts, missing := offerFacts(o), 0
	for i := range facts {
		shown := plain.CutBytes(facts[i].Text, factBytes)
		missing += len(facts[i].Text) - len(shown)
		facts[i].Text = cleantext.Visible(shown)
	}
	fmt.Fprint(a.Err, a.Facts(facts, ofFacts, missing, ""))
	for _, w := range o.Warnings {
		fmt.Fprint(a.Err, a.Own("! %s", plain.Name(w, 4*plain.TargetColumns)))
	}
}

// offerGist returns what a yes to a plugin is a yes to, for right above the question.
func (a *app) offerGist(o *pluginstore.Offer) string {
	p := o.Plugin
	able := "asks for no access"
	var rows []term.Fact
	for _, access := range p.Asked {
		able = "would be able"
		rows = append(rows, term.Fact{Name: plain.Name(access, plain.NameColumns), Text: meaning(access)})
	}
	text := a.Own("%s %s is signed by %s, and %s", plain.Name(p.Name, plain.NameColumns), plain.Name(p.Version, plain.NameColumns), signer(p.Key), able)
	if len(rows) > 0 {
		text += a.Facts(rows, ofGist, 0, "; it stands above")
	}
	if o.Was != nil {
		for _, more := range o.More() {
			text += a.Own("! it asks for %s now, and did not before", plain.Name(more, plain.TargetColumns))
		}
	}
	for _, change := range o.Unexpected {
		text += a.Own("! %s", plain.Name(change, 4*plain.TargetColumns))
	}
	return text
}

// offerFacts are what there is to tell, each with its name. Of an update, what has
// changed is told with what it was.
func offerFacts(o *pluginstore.Offer) []term.Fact {
	p, was := o.Plugin, o.Was
	if was == nil {
		was = &p
	}
	var facts []term.Fact
	add := func(name, now, before string) {
		if now != before {
			now += " (was " + before + ")"
		}
		facts = append(facts, term.Fact{Name: name, Text: now})
	}
	add("source", p.Source, p.Source)
	add("summary", p.Summary, was.Summary)
	add("version", p.Version, was.Version)
	add("sha256", p.SHA256, was.SHA256)
	add("size", fmt.Sprintf("%d bytes", p.Size), fmt.Sprintf("%d bytes", was.Size))
	add("signed by", signer(p.Key), signer(was.Key))
	if o.Comment != "" {
		add("signed as", o.Comment, o.Comment)
	}
	for _, access := range p.Asked {
		facts = append(facts, term.Fact{Name: "asks for", Text: access + ": " + meaning(access)})
	}
	if m := o.Info.Manifest; m != nil {
		for _, s := range m.Settings {
			facts = append(facts, term.Fact{Name: "setting", Text: s.Key + ": " + s.Value})
		}
	}
	if m := o.Info.Provider; m != nil {
		for _, s := range m.Settings {
			facts = append(facts, term.Fact{Name: "setting", Text: s.Key + ": " + s.About})
		}
	}
	return facts
}

// meaning says what an access lets a plugin do.
func meaning(access string) string {
	switch access {
	case "process":
		return "to run the command of a server entry that uses it"
	case "stream":
		return "to connect to the address of a server entry that uses it"
	case "http":
		return "to send requests to the url of a server entry that uses it"
	case pluginstore.Discover:
		return "to call every public https origin that it learns of"
	}
	return "to call this origin"
}

// warnShadowed tells of a plugin of the configuration that has the name, or one
// that is easily taken for it.
func (a *app) warnShadowed(name string) {
	s, err := a.readSettings()
	if err != nil {
		return // whoever needs the configuration is told
	}
	for other, p := range s.plugins {
		if strings.EqualFold(other, name) && p.File != "" {
			fmt.Fprintf(a.Err, "warning: [plugins.%s] in %s goes before it\n", tomlKey(other), cleantext.Text(s.path))
		}
	}
}

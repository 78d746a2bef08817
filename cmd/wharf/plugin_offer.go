package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// installRequest holds what the user wants installed, by the arguments and flags of add and
// update.
type installRequest struct {
	pluginstore.Request
	yes bool
}

// register defines the flags that add and update share.
func (r *installRequest) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.SHA256, "sha256", "", "refuse a file whose `HASH` is another")
	f.StringVar(&r.Key, "key", "", "the publisher's minisign `KEY`, or the file that holds it; ./KEY is a file whose name looks like a key")
	f.StringVar(&r.Signature, "signature", "", "the `FILE` of the minisign signature, if it is not beside the plugin")
	f.BoolVar(&r.yes, "yes", false, "do not ask; without a terminal, or for what is no later version of the same plugin, --sha256 is needed too")
}

// sha256Text matches what --sha256 takes.
var sha256Text = lazyregexp.New(`^(?i:sha256:)?[0-9A-Fa-f]{64}$`)

// read checks the hash, and replaces the names of files by their contents. If a text can be a key, it is never
// taken for the name of a file, because a project could have brought a file of that name.
func (r *installRequest) read(ctx context.Context) error {
	if r.SHA256 != "" && !sha256Text.MatchString(r.SHA256) {
		return exit.Usage(fmt.Errorf("--sha256 %s: expected 64 hex digits", plain.Clip(plain.Line(r.SHA256), 40)), "`wharf plugin inspect FILE` prints that of a file")
	}
	if r.Key != "" && !pluginstore.IsPublisherKey(r.Key) {
		held, err := files.Read(ctx, r.Key, files.MaxInput)
		if err != nil {
			return exit.Usage(err, "write --key with the publisher's key, which begins with RW, or with the file that holds it")
		}
		r.Key = string(held)
	}
	if r.Signature != "" {
		held, err := files.Read(ctx, r.Signature, files.MaxInput)
		if err != nil {
			return exit.Usage(err, "")
		}
		r.Signature = string(held)
	}
	return nil
}

// offer fetches a plugin, and shows that it is under way. gone is the hint where its source is a file that is not there.
func (a *app) offer(doing, gone string, fetch func() (*pluginstore.Offer, error)) (*pluginstore.Offer, error) {
	defer a.Busy(doing)()
	o, err := fetch()
	if errors.As(err, new(*fs.PathError)) {
		err = exit.Usage(err, "%s", gone)
	}
	return o, err
}

// install shows what is offered, and installs it if the user agrees.
func (a *app) install(ctx context.Context, store *pluginstore.Store, o *pluginstore.Offer, r *installRequest) error {
	a.showOffer(o)
	if err := a.agree(ctx, o, r); err != nil {
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
	return a.sayInstalled(store, p, plain.Line(p.Version)+" is installed; "+mention(o))
}

// mention says how the configuration names a plugin. For a provider that can also sign in to
// streams and processes, it shows how an entry asks for that.
func mention(o *pluginstore.Offer) string {
	name, m := o.Plugin.Name, o.Info.Provider
	const entries = "server entries use it with "
	switch {
	case o.Plugin.Kind == pluginstore.Policy:
		return fmt.Sprintf("a table [policy.NAME] uses it with plugin = %q", name)
	case o.Plugin.Kind == pluginstore.Transport:
		return fmt.Sprintf(entries+"transport = %q", name)
	case m != nil && m.Wants.Body:
		return fmt.Sprintf(entries+"auth = { provider = %q, request_body = true }", name)
	case m == nil || !m.Wants.Material:
		return fmt.Sprintf(entries+"auth = %q", name)
	}
	return fmt.Sprintf(entries+"auth = %q, those of a stream with auth = { provider = %[1]q, blob = true },"+
		` those of a process with auth = { provider = %[1]q, variables = ["…"] }`, name)
}

// agree returns nil if the user agrees to what they were shown, else an error. --yes without
// --sha256 does not agree to unexpected changes.
func (a *app) agree(ctx context.Context, o *pluginstore.Offer, r *installRequest) error {
	no := fmt.Errorf("plugin %s: you have not agreed to it: %w", o.Plugin.Name, host.ErrDenied)
	agreed := o.Vouched() || r.yes && r.SHA256 != "" || r.yes && a.CanAsk() && len(o.Unexpected) == 0
	if agreed || !a.CanAsk() {
		fmt.Fprint(a.Err, a.offerSummary(o))
	}
	switch {
	case agreed:
		return nil
	case !a.CanAsk():
		return exit.WithHint(no, "there is no terminal to ask at: to install exactly this file, add --yes --sha256 "+o.Plugin.SHA256)
	}
	return a.consent(ctx, term.Question{Above: a.offerSummary(o), Prompt: "Install it? yes, [n]o: ", Consent: true}, no)
}

// showOffer shows on stderr what a plugin is and says of itself, and how it differs
// from the installed version.
func (a *app) showOffer(o *pluginstore.Offer) {
	p := o.Plugin
	heading := fmt.Sprintf("%s is %s plugin:", plain.Name(p.Name, plain.NameColumns), map[pluginstore.Kind]string{pluginstore.Provider: "an auth", pluginstore.Policy: "a policy", pluginstore.Transport: "a transport"}[p.Kind])
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
	for _, warning := range o.Warnings {
		fmt.Fprint(a.Err, a.Own("! %s", plain.Name(warning, 4*plain.TargetColumns)))
	}
}

// offerSummary returns a text for right above the question: what the user would agree to.
func (a *app) offerSummary(o *pluginstore.Offer) string {
	p := o.Plugin
	able := "asks for no access"
	var rows []term.Fact
	for _, access := range slices.Concat(p.Asked, p.Wants) {
		able = "would be able"
		rows = append(rows, term.Fact{Name: plain.Name(access, plain.NameColumns), Text: meaning(access)})
	}
	text := a.Own("%s %s is signed by %s, and %s", plain.Name(p.Name, plain.NameColumns), plain.Name(p.Version, plain.NameColumns), signer(p.Key), able)
	if len(rows) > 0 {
		text += a.Facts(rows, ofSummary, 0, "; it stands above")
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

// offerFacts returns the facts about a plugin. In an update, a fact that changed has its old value
// too.
func offerFacts(o *pluginstore.Offer) []term.Fact {
	p := o.Plugin
	was := cmp.Or(o.Was, &p)
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
	for _, access := range slices.Concat(p.Asked, p.Wants) {
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
	if m := o.Info.Policy; m != nil {
		if m.Arguments {
			facts = append(facts, term.Fact{Name: "asks for", Text: "arguments: to see those of calls, where its table says arguments = true"})
		}
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
	case pluginstore.WantsBrowser:
		return "to open pages to sign in at"
	case pluginstore.WantsPrompt:
		return "to ask you for secrets"
	case pluginstore.WantsRun:
		return "to have the command of the server's auth entry run"
	case pluginstore.WantsKeys:
		return "to keep keys, and sign with them"
	case pluginstore.WantsRequests:
		return "to see each request that it signs"
	case pluginstore.WantsBody:
		return "to see the whole body of each request that it signs, where the entry of the server says request_body = true"
	case pluginstore.WantsMaterial:
		return "to hand credentials to the server as variables or a blob"
	}
	return "to call this origin"
}

// warnShadowed warns of a plugin of the configuration that has the name, or one that
// differs only in case.
func (a *app) warnShadowed(name string) {
	s, err := a.readSettings()
	if err != nil {
		return // commands that need the configuration report it
	}
	for other, p := range s.plugins {
		if strings.EqualFold(other, name) && p.File != "" {
			a.Warn("[plugins.%s] in %s is used in its place", tomlKey(other), s.path)
		}
	}
}

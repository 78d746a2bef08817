package pluginstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
)

// Request is what a user wants to install.
type Request struct {
	Source    string // a file, https://…, oci://… or that of an extra
	Name      string // "" for the name that the plugin gives itself
	Key       string // the publisher's, as in minisign.pub; "" for the one beside the source
	Signature string // "" for the one beside the source
	SHA256    string // what the file must hash to; "" for any
}

// Info is what an inspection found in a plugin file.
type Info struct {
	Path      string
	SHA256    string            // lower-case hex
	Size      int64             // bytes
	Manifest  *abi.Manifest     // what a transport says of itself; nil where it could not be asked
	Provider  *step.Manifest    // what an auth provider says of itself; nil for other plugins
	Policy    *verdict.Manifest // what a policy plugin says of itself; nil for other plugins
	Imports   []string          // with signatures
	Exports   []string
	Functions int
	MemoryMin uint32   // pages of 64 KiB
	MemoryMax uint32   // 0 for no limit of its own
	Findings  []string // why it would be refused; empty when it can be used
	Warnings  []string // parts that will not work as they are meant to
}

// Offer is a plugin that was fetched and can be used, but is not installed yet. A person is
// asked about it. It may be installed once at most.
type Offer struct {
	Plugin   Installed  // as it would be installed, with all that it asks for
	Was      *Installed // what it would replace; nil for a new plugin
	Info     *Info
	Comment  string // what its publisher signed with it; "" for nothing
	Warnings []string

	// Unexpected has a line for each change that a later version of the same plugin would not
	// make: another name for itself, or a version that is not later. The user is asked about
	// these even if the plugin is signed.
	Unexpected []string

	binary []byte
}

// More returns what the plugin asks for and did not ask for before: accesses, and those wants of
// a provider that no access bounds.
func (o *Offer) More() []string {
	more := slices.Concat(o.Plugin.Asked, o.Plugin.Wants)
	if o.Was == nil {
		return more
	}
	return slices.DeleteFunc(more, func(a string) bool { return slices.Contains(o.Was.Asked, a) || slices.Contains(o.Was.Wants, a) })
}

// Same reports whether the installed file is this very file.
func (o *Offer) Same() bool {
	return o.Was != nil && o.Was.SHA256 == o.Plugin.SHA256 && o.Was.Key == o.Plugin.Key
}

// Vouched reports whether the user need not be asked: a publisher that they have accepted signed
// the plugin, it is a later version of the same one, and it asks for nothing new.
func (o *Offer) Vouched() bool {
	return o.Was != nil && o.Was.Key != "" && o.Was.Key == o.Plugin.Key && len(o.More()) == 0 && len(o.Unexpected) == 0
}

// Offer fetches a plugin and inspects it. The error is an ErrPluginRefused if the plugin cannot
// be used, and an ErrDenied if it is not the expected one.
func (s *Store) Offer(ctx context.Context, r Request) (*Offer, error) {
	if r.Name != "" { // before anything is fetched
		if err := s.free(r.Name); err != nil {
			return nil, err
		}
	}
	o, err := s.fetch(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	if o.Plugin.Kind == Provider {
		o.Plugin.Records = newRecords()
	}
	if o.Plugin.Name = cmp.Or(r.Name, o.Plugin.Name); r.Name == "" {
		if err := s.free(o.Plugin.Name); err != nil {
			return nil, err
		}
	}
	return o, s.compare(o)
}

// free returns why a new plugin cannot have a name, or nil.
func (s *Store) free(name string) error {
	err := checkName(name)
	if err == nil && slices.Contains(s.config.Reserved, name) {
		err = fmt.Errorf("%s is the name of a plugin that is part of this program", name)
	}
	if err != nil {
		return &hosterr.Error{Kind: hosterr.ErrConfig, Err: err, Hint: "give it another name with --name"}
	}
	installed, err := s.List()
	if err == nil && index(installed, name) >= 0 {
		err = taken(name)
	}
	return err
}

// Update fetches an installed plugin again from its source. A signed plugin stays with its key:
// without a signature, or with that of another key, it is refused. A plugin without a signature
// may now come with one.
func (s *Store) Update(ctx context.Context, name string, r Request) (*Offer, error) {
	was, err := s.Find(name)
	if err != nil {
		return nil, err
	}
	r.Source = cmp.Or(r.Source, was.Source)
	o, err := s.fetch(ctx, r, &was)
	if err != nil {
		return nil, fmt.Errorf("update %s: %w", name, err)
	}
	if o.Plugin.Kind != was.Kind {
		return nil, hosterr.Errorf(hosterr.ErrDenied, "if that is right, remove it and add it again",
			"update %s: it is of kind %s now, and was of kind %s", name, o.Plugin.Kind, was.Kind)
	}
	o.Unexpected = unexpectedChanges(was, o.Plugin)
	o.Plugin.Name, o.Plugin.Records = name, was.Records
	accesses := slices.DeleteFunc(o.More(), func(a string) bool { return slices.Contains(o.Plugin.Wants, a) })
	o.Plugin.Granted = sorted(was.Granted, accesses)
	return o, s.compare(o)
}

// Install installs the plugin of an offer. The user must have agreed to it. Of one that is the same, it
// puts back the file and the signature, and nothing else changes.
func (s *Store) Install(ctx context.Context, o *Offer) error {
	switch {
	case o.Same():
		return s.restore(ctx, *o.Was, o.Plugin.Signature, o.binary)
	case o.Was != nil:
		return s.replace(ctx, *o.Was, o.Plugin, o.binary)
	}
	return s.add(ctx, o.Plugin, o.binary)
}

// fetch reads a plugin, and finds out who signed it and what it is. The order matters: the bytes
// are inspected only once they are known to be the right ones.
func (s *Store) fetch(ctx context.Context, r Request, was *Installed) (*Offer, error) {
	source, err := parseSource(r.Source)
	if err != nil {
		return nil, hosterr.Configf("%w", err)
	}
	var fetched *download
	if source.extra != "" {
		fetched, err = s.readExtra(ctx, source.extra)
	} else {
		fetched, err = source.Read(ctx)
	}
	if err != nil {
		return nil, err
	}
	hash := plugin.Hash(fetched.Binary)
	if r.SHA256 != "" && !strings.EqualFold(hash, strings.TrimPrefix(strings.ToLower(r.SHA256), "sha256:")) {
		err := &plugin.HashError{Path: source.Text, Want: r.SHA256, Got: hash}
		return nil, &hosterr.Error{Kind: hosterr.ErrDenied, Err: err, Hint: "it is another file than the one that you expect: ask where you have the hash from"}
	}
	o := &Offer{Was: was, binary: fetched.Binary}
	o.Plugin = Installed{Source: source.Text, SHA256: hash, Size: int64(len(fetched.Binary))}
	if err := o.vouch(r, fetched); err != nil {
		return nil, fmt.Errorf("%s: %w", source.Text, err)
	}
	if o.Info, err = s.inspect(ctx, source.Text, o.binary); err != nil {
		return nil, err
	}
	o.describe()
	if err := o.checkComment(); err != nil {
		return nil, fmt.Errorf("%s: %w", source.Text, err)
	}
	return o, nil
}

// inspect looks at a module, and refuses one that a host would refuse.
func (s *Store) inspect(ctx context.Context, path string, binary []byte) (*Info, error) {
	if s.config.Inspector == nil {
		return nil, hosterr.Configf("the store of plugins has no inspector")
	}
	info, err := s.config.Inspector.Inspect(ctx, path, binary)
	if err == nil && len(info.Findings) > 0 {
		err = errors.New(strings.Join(info.Findings, "; "))
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &hosterr.Error{Kind: hosterr.ErrPluginRefused, Err: fmt.Errorf("the plugin would be refused: %w", err)}
	}
	return info, nil
}

// vouch checks the signature, if there is one or must be one. The key is the one that was
// accepted before, else the one that the user names, else the one beside the plugin. The last
// case is trust on first use, and the user is told of it.
func (o *Offer) vouch(r Request, fetched *download) error {
	signature := cmp.Or(r.Signature, fetched.Signature)
	known := ""
	if o.Was != nil {
		known = o.Was.Key
	}
	switch {
	case signature == "" && known != "":
		return unsigned("it has no signature, and was signed before",
			"do not use it, and tell the publisher; or remove the plugin and add it anew")
	case signature == "" && r.Key != "":
		return unsigned("it has no signature",
			"where the signature does not lie beside it, name it with --signature")
	case signature == "" && fetched.known:
		return nil // its hash vouches for it
	case signature == "":
		o.Warnings = append(o.Warnings, "it has no signature: what vouches for it is where it came from")
		return nil
	}
	given := cmp.Or(r.Key, known, fetched.Key)
	if given == "" {
		return unsigned("it is signed, and no key is named",
			"have the publisher's key from where you trust it, and name it with --key")
	}
	key, err := parseKey(given)
	if err != nil {
		return unsigned(err.Error(),
			"name the publisher's key with --key")
	}
	if known != "" && key != known {
		return unsigned(fmt.Sprintf("its key is %s, and was %s", KeyID(key), KeyID(known)),
			"a changed key is refused; if the publisher told you of it, remove the plugin and add it with --key")
	}
	if o.Comment, err = checkSignature(key, signature, o.binary); err != nil {
		return err
	}
	o.Comment = cleantext.Line(o.Comment, maxTold)
	o.Plugin.Key, o.Plugin.Signature = key, signature
	if r.Key == "" && known == "" {
		o.Warnings = append(o.Warnings, fmt.Sprintf("the key %s lay beside it: from now on it has to be signed by that, which proves nothing about this time", KeyID(key)))
	}
	return nil
}

// maxTold is how much is kept of a text that a plugin says of itself, in bytes.
const maxTold = 200

// describe fills in what the plugin says of itself.
func (o *Offer) describe() {
	p := &o.Plugin
	if m := o.Info.Provider; m != nil {
		p.Kind, p.Plugin, p.Version, p.Summary = Provider, m.Name, m.Version, m.About
		p.Asked = sorted(m.Wants.Origins)
		if m.Wants.Discover {
			p.Asked = sorted(p.Asked, []string{Discover})
		}
		for want, wanted := range map[string]bool{
			WantsBrowser: m.Wants.Browser, WantsPrompt: m.Wants.Prompt, WantsRun: m.Wants.Run,
			WantsKeys: m.Wants.Keys, WantsRequests: m.Wants.Requests, WantsBody: m.Wants.Body, WantsMaterial: m.Wants.Material,
		} {
			if wanted {
				p.Wants = sorted(p.Wants, []string{want})
			}
		}
	} else if m := o.Info.Policy; m != nil {
		p.Kind, p.Plugin, p.Version, p.Summary = Policy, m.Name, m.Version, m.About
	} else if m := o.Info.Manifest; m != nil {
		p.Kind, p.Plugin, p.Version, p.Summary = Transport, m.Name, m.Version, m.Summary
		for _, g := range m.Grants {
			p.Asked = append(p.Asked, g.Kind.String())
		}
		p.Asked = sorted(p.Asked)
	}
	o.Warnings = append(o.Warnings, o.Info.Warnings...)
	p.Plugin, p.Version, p.Summary = cleantext.Line(p.Plugin, maxTold), cleantext.Line(p.Version, maxTold), cleantext.Line(p.Summary, maxTold)
	p.Name = p.Plugin
	p.Granted = slices.Clone(p.Asked)
}

// compare refuses accesses that the lockfile cannot hold. It warns if plugins from the same host
// are signed by another key.
func (s *Store) compare(o *Offer) error {
	for _, access := range o.Plugin.Asked {
		if err := checkAccess(o.Plugin.Kind, access); err != nil {
			return &hosterr.Error{Kind: hosterr.ErrPluginRefused, Err: err}
		}
	}
	installed, err := s.List()
	if err != nil {
		return err
	}
	place := hostOf(o.Plugin.Source)
	for _, p := range installed {
		if p.Name != o.Plugin.Name && place != "" && hostOf(p.Source) == place && p.Key != "" && p.Key != o.Plugin.Key {
			o.Warnings = append(o.Warnings, fmt.Sprintf("%s, which is from %s too, is signed by another key, %s", p.Name, place, KeyID(p.Key)))
		}
	}
	return nil
}

// hostOf returns the host in a source, or "" if the source has none.
func hostOf(source string) string {
	_, rest, _ := strings.Cut(source, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

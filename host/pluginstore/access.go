package pluginstore

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// Discover is an auth provider's access to every public https origin that it learns of. Its
// other accesses are origins, by their names.
const Discover = "discover"

// The wants of an auth provider that no access bounds. A user cannot take them from the plugin.
const (
	WantsBrowser  = "browser"  // to open pages to sign in at
	WantsPrompt   = "prompt"   // to ask the person for secrets
	WantsRun      = "run"      // to have the command of the server's auth entry run
	WantsKeys     = "keys"     // to keep keys, and sign with them
	WantsRequests = "requests" // to see each request that it signs
	WantsBody     = "body"     // to see the body of each request that it signs, where an entry allows it
	WantsMaterial = "material" // to hand credentials to the server as variables or a blob
)

// wants are all wants, sorted.
var wants = []string{WantsBody, WantsBrowser, WantsKeys, WantsMaterial, WantsPrompt, WantsRequests, WantsRun}

// checkWants says what is wrong with the wants of an entry.
func (e *Installed) checkWants() error {
	for i, want := range e.Wants {
		if e.Kind != Provider || !slices.Contains(wants, want) || i > 0 && e.Wants[i-1] >= want {
			return fmt.Errorf("%q is nothing that it wants", want)
		}
	}
	return nil
}

// Serve is the access of a transport to the clients of this program. Such a transport frames what
// clients send, and could invent requests to every server that they reach. No plugin asks for it,
// and installing one does not grant it.
const Serve = "serve"

// transportAccesses are the accesses that a transport may be granted: three kinds of things that it
// may open, and Serve. The server entry says which thing of a kind it opens.
var transportAccesses = []string{"process", "stream", "http", Serve}

func (e *Installed) checkAccesses(accesses []string) error {
	if len(accesses) > maxAccesses {
		return fmt.Errorf("%d accesses; at most %d", len(accesses), maxAccesses)
	}
	for i, access := range accesses {
		if err := checkAccess(e.Kind, access); err != nil {
			return err
		}
		if i > 0 && accesses[i-1] >= access {
			return fmt.Errorf("access %s is out of order, or there twice", access)
		}
	}
	return nil
}

// checkAccess says what is wrong with an access for a kind of plugin.
func checkAccess(kind Kind, access string) error {
	if kind == Policy {
		return fmt.Errorf("a policy is given nothing, and so not %q: it is shown calls, and decides on them", access)
	}
	if kind == Transport {
		if !slices.Contains(transportAccesses, access) {
			return fmt.Errorf("%q is nothing that a transport may be given; expected %s", access, strings.Join(transportAccesses, ", "))
		}
		return nil
	}
	if access == Discover {
		return nil
	}
	u, err := url.Parse(access)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Opaque != "" ||
		u.Scheme+"://"+u.Host != access || len(access) > maxText {
		return fmt.Errorf(`%q is nothing that an auth provider may be given; expected "https://host", or %s for every public https origin that it learns of`,
			access, Discover)
	}
	return nil
}

// sorted joins lists of accesses into one, sorted, with each access once.
func sorted(accesses ...[]string) []string {
	all := slices.Concat(accesses...)
	slices.Sort(all)
	return append([]string{}, slices.Compact(all)...)
}

// askedFor returns an error if a plugin does not ask for an access and so cannot use it. A provider
// that wants [Discover] may be granted any origin by its name, even one that is not public.
func askedFor(p Installed, access string) error {
	if slices.Contains(p.Asked, access) || access == Serve && (slices.Contains(p.Asked, "process") || slices.Contains(p.Asked, "stream")) {
		return nil
	}
	if p.Kind == Provider && access != Discover && slices.Contains(p.Asked, Discover) {
		web, err := egress.NewFetcher(egress.Policy{Origins: []string{access}})
		if err != nil {
			return hosterr.Configf("plugin %s: %w", p.Name, err)
		}
		web.Close()
		return nil
	}
	return hosterr.Errorf(hosterr.ErrConfig, "`wharf plugin inspect "+p.Name+"` shows all that it wants",
		"plugin %s asks for %s, and not for %s", p.Name, cmp.Or(strings.Join(p.Asked, ", "), "nothing"), access)
}

package auth

import (
	"net/url"
	"slices"

	"github.com/go-jose/go-jose/v4"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// CheckAction returns why a host refuses an action before it begins: the manifest does not declare
// it, or no provider may ask for it. It does not check what depends on the state of the flow or on
// the grants of the entry. An error that is a *step.Problem goes to the provider; any other ends
// the flow.
func CheckAction(a *step.Action, w *step.Wants, s *step.Server) error {
	if !wanted(a.Kind, w) {
		return violationf("it asks for %s, which its manifest does not want", a.Kind)
	}
	switch a.Kind {
	case step.ActionLoad:
		return checkRecordKey(a.Load.Key, s)
	case step.ActionForget:
		return checkRecordKey(a.Forget.Key, s)
	case step.ActionStore:
		if n := len(a.Store.Value); n > step.MaxRecord || n == 0 {
			return violationf("it stores a record of %d bytes, there may be 1 to %d", n, step.MaxRecord)
		}
		return checkRecordKey(a.Store.Key, s)
	case step.ActionHTTP:
		if _, err := wantedOrigin(a.HTTP.URL, w); err != nil {
			return err
		}
		if err := fetchRequest(a.HTTP).Check(); err != nil {
			return &step.Problem{Code: step.ProblemRefused, Text: err.Error()}
		}
	case step.ActionListen:
		switch l := a.Listen; {
		case l.Host != "" && l.Host != "127.0.0.1" && l.Host != "localhost":
			return violationf("it wants its callback on %q, and not on 127.0.0.1 or localhost", cleantext.Line(l.Host, 64))
		case l.Port < 0 || l.Port > 65535:
			return violationf("it wants its callback on the port %d", l.Port)
		case l.Path != "" && (l.Path[0] != '/' || len(l.Path) > 200):
			return violationf("it wants its callback at %q, which is no path", cleantext.Line(l.Path, 64))
		}
	case step.ActionOpenBrowser:
		_, err := pageURL(a.OpenBrowser.URL, url.Values{"state": nil})
		return err
	case step.ActionShow:
		_, err := pageURL(a.Show.URL, nil)
		if err == nil && a.Show.Complete != "" {
			_, err = pageURL(a.Show.Complete, nil)
		}
		return err
	case step.ActionKey:
		switch k := a.Key; {
		case !recordShape.MatchString(k.Name):
			return violationf("it names a key %q", cleantext.Line(k.Name, 64))
		case !slices.Contains(algs, jose.SignatureAlgorithm(k.Alg)):
			return violationf("it asks for a key for %q: ES256, RS256, PS256 or EdDSA are there", cleantext.Line(k.Alg, 64))
		case k.Do != step.KeyImport && (k.Do != step.KeyOpen || k.PEM != ""):
			return violationf("it asks for a key to %q, which is neither open nor import", cleantext.Line(k.Do, 64))
		}
	case step.ActionWait:
		if a.Wait.Milliseconds < 0 || a.Wait.Milliseconds > maxWait.Milliseconds() {
			return violationf("it wants to sleep for %d ms, it may for %d", a.Wait.Milliseconds, maxWait.Milliseconds())
		}
	case step.ActionCredentials:
		_, err := readCredentials(a.Credentials, map[string]*key{a.Credentials.DPoP: {}}) // checked as if the flow had the key
		return err
	}
	return nil
}

// wanted reports whether a manifest declares an action.
func wanted(kind string, w *step.Wants) bool {
	switch kind {
	case step.ActionHTTP:
		return w.Discover || len(w.Origins) > 0
	case step.ActionListen, step.ActionOpenBrowser:
		return w.Browser
	case step.ActionPrompt, step.ActionShow:
		return w.Prompt
	case step.ActionRun:
		return w.Run
	case step.ActionKey, step.ActionSign:
		return w.Keys
	case step.ActionMaterial:
		return w.Material
	}
	return true
}

package authtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
)

// line describes an action: what the flow does, without any secret.
func line(a *step.Action) string {
	switch a.Kind {
	case step.ActionLoad:
		if a.Load.Lock {
			return "load " + a.Load.Key.Name + ", locked"
		}
		return "load " + a.Load.Key.Name
	case step.ActionStore:
		return "store " + a.Store.Key.Name
	case step.ActionForget:
		return "forget " + a.Forget.Key.Name
	case step.ActionHTTP:
		return exchangeLine(a.HTTP)
	case step.ActionOpenBrowser:
		page, _, _ := strings.Cut(a.OpenBrowser.URL, "?")
		return "open_browser " + page
	case step.ActionKey:
		return "key " + a.Key.Do + " " + a.Key.Name + " " + a.Key.Alg
	case step.ActionSign:
		return "sign " + a.Sign.Key
	case step.ActionWait:
		return fmt.Sprintf("wait %d", a.Wait.Milliseconds)
	case step.ActionShow:
		return "show " + a.Show.Code
	case step.ActionCredentials:
		return strings.TrimSpace("credentials " + a.Credentials.Scheme)
	case step.ActionFail:
		return "fail " + a.Fail.Class
	}
	return a.Kind
}

// exchangeLine describes an exchange. It includes the grant type of a token request, since those
// differ by nothing else.
func exchangeLine(r *step.HTTP) string {
	text := "http " + r.Method + " " + r.URL
	form, err := url.ParseQuery(r.Body)
	if grant := form.Get("grant_type"); err == nil && grant != "" {
		text += " " + grant
	}
	if r.DPoP != "" {
		text += " +dpop"
	}
	return text
}

// Claims reads the claims of a JWT that a Host has signed, and the name of the key.
func Claims(jwt string) (claims map[string]any, key string) {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return nil, ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return nil, ""
	}
	name, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, ""
	}
	return claims, string(name)
}

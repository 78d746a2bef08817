package flowrecord

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// standIns rewrites the events of one flow, in order.
type standIns struct {
	manifest *step.Manifest
	secrets  *redact.Set
	harmless map[string]bool   // texts of the server entry that are not secret
	names    map[string]string // the stand-in for each text
	known    map[string]bool   // texts that are surely secret, wherever they stand
}

func newStandIns(m *step.Manifest, secrets *redact.Set) *standIns {
	return &standIns{m, secrets, map[string]bool{}, map[string]string{}, map[string]bool{}}
}

// Names of members of JSON, of parameters and of headers whose texts are not secret, and
// texts that are not secret wherever they stand. They are those of RFC 6749, 6750, 7591,
// 8414, 8628, 9207, 9449 and 9728, and the names that providers give to types.
var (
	publicNames = []string{
		"issuer", "iss", "scope", "scopes", "token_type", "issued_token_type", "grant_type", "grant_types", "response_type",
		"response_types", "token_endpoint_auth_method", "error", "realm", "kind", "method", "type", "version", "status", "alg",
		"kty", "crv", "use", "typ", "redirect", "redirect_uri", "redirect_uris", "grant", "scheme",
	}
	publicTexts = []string{
		"Bearer", "DPoP", "Basic", "S256", "ES256", "RS256", "PS256", "EdDSA", "none", "client_secret_basic", "client_secret_post",
		"private_key_jwt", "authorization_code", "refresh_token", "client_credentials", "access_token", "id_token",
	}
	publicHeaders = []string{
		"content-type", "cache-control", "date", "retry-after", "host", "accept", "accept-encoding", "user-agent", "mcp-protocol-version",
	}
)

// isPublic reports whether a text under a name is defined by a standard.
func isPublic(name, text string) bool {
	isNamed := slices.Contains(publicNames, name) || strings.HasSuffix(name, "_supported")
	isPlain := len(text) <= longestPublic && !strings.ContainsAny(text, "?#@") && !isRandom(text) // a URL may have a code or a password
	return isNamed && isPlain || slices.Contains(publicTexts, text)
}

// isRandom reports whether a text has a word that no standard defines, and that may be a
// token whatever its name is.
func isRandom(text string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(c rune) bool {
		return c != '-' && c != '_' && c != '+' && c != '=' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}), func(word string) bool {
		return len(word) >= longWord && strings.ContainsFunc(word, unicode.IsDigit) || len(word) >= 2*longWord
	})
}

// Lengths, in bytes.
const (
	longestPublic = 200 // no longer text is the name of something
	surelySecret  = 16  // a text of unknown meaning from this length on is replaced wherever it stands
	leastSwept    = 6   // a secret that is shorter is replaced only where it stands alone
	longWord      = 20  // a word with a digit is random from this length on, and any word at twice that
)

// of returns the stand-in for a text. A text that is certain to be a secret is replaced
// where it is a part of other texts, too.
func (s *standIns) of(text string, certain bool) string {
	if text == "" {
		return ""
	}
	if s.names[text] == "" {
		s.names[text] = fmt.Sprintf("stand-in-%d", len(s.names)+1)
	}
	if len(text) >= leastSwept && (certain || len(text) >= surelySecret) {
		s.known[text] = true
	}
	return s.names[text]
}

// hidden reports whether the host knows that a text has a secret in it.
func (s *standIns) hidden(text string) bool {
	return s.secrets != nil && len(s.secrets.Spans([]byte(text))) > 0
}

// text returns the replacement for a text under a name.
func (s *standIns) text(name, text string) string {
	named := secret.Key(name)
	if !s.hidden(text) {
		if isPublic(name, text) || !named && s.harmless[text] {
			return text
		}
		if out, ok := s.url(text); ok && !named {
			return out
		}
	}
	if out, ok := s.object(text); ok {
		return out
	}
	if out, ok := s.jwt(text); ok {
		s.known[text], s.names[text] = true, out
		return out
	}
	return s.of(text, named)
}

// value returns the replacement for a JSON value under a name.
func (s *standIns) value(name string, v any) any {
	switch v := v.(type) {
	case string:
		return s.text(name, v)
	case []any:
		for i := range v {
			v[i] = s.value(name, v[i])
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = s.value(key, v[key])
		}
	}
	return v
}

// object rewrites a text that is an object or array of JSON.
func (s *standIns) object(text string) (string, bool) {
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return "", false
	}
	out, ok := s.json([]byte(text))
	return string(out), ok
}

// json rewrites JSON. It returns false for anything else.
func (s *standIns) json(text []byte) (json.RawMessage, bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	out, err := json.Marshal(s.value("", v))
	return out, err == nil
}

// url rewrites an http URL. A part of its path that looks random may be the key of an API,
// a webhook or an account.
func (s *standIns) url(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", false
	}
	parts := strings.Split(u.EscapedPath(), "/")
	for i, part := range parts {
		if isRandom(part) {
			parts[i] = s.of(part, true)
		}
	}
	out := u.Scheme + "://" + u.Host + strings.Join(parts, "/")
	if u.RawQuery != "" {
		out += "?" + s.form(u.Query())
	}
	if u.Fragment != "" {
		out += "#" + s.of(u.Fragment, false)
	}
	return out, true
}

// form rewrites parameters. A query that is one token is a parameter without a value.
func (s *standIns) form(values url.Values) string {
	out := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		to := name
		if isRandom(name) {
			to = s.of(name, true)
		}
		for _, value := range values[name] {
			out.Add(to, s.text(name, value))
		}
	}
	return out.Encode()
}

// jwt rewrites a text that is a JWT. Its claims stay readable: their numbers and names.
func (s *standIns) jwt(text string) (string, bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return "", false
	}
	for i, part := range parts[:2] {
		plain, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			return "", false
		}
		out, ok := s.object(string(plain))
		if !ok {
			return "", false
		}
		parts[i] = base64.RawURLEncoding.EncodeToString([]byte(out))
	}
	parts[2] = base64.RawURLEncoding.EncodeToString([]byte(s.of(parts[2], true)))
	return strings.Join(parts, "."), true
}

// document rewrites the body of an answer, or what a command has printed. If all of it is a
// number, that may be a code.
func (s *standIns) document(media, text string) string {
	_, notNumber := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if out, ok := s.json([]byte(text)); ok && notNumber != nil {
		return string(out)
	}
	if values, err := url.ParseQuery(strings.TrimSpace(text)); err == nil && strings.HasPrefix(media, "application/x-www-form-urlencoded") {
		return s.form(values)
	}
	return s.of(text, true)
}

var (
	parameter = lazyregexp.New(`([A-Za-z][\w-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",=]+))`)
	token68   = lazyregexp.New(`[^\s",=]{20,}=*`) // a parameter without a name
)

// challenge rewrites a WWW-Authenticate field.
func (s *standIns) challenge(field string) string {
	at, out := 0, ""
	between := func(text string) string {
		return token68.ReplaceAllStringFunc(text, func(word string) string { return s.of(word, true) })
	}
	for _, m := range parameter.FindAllStringSubmatchIndex(field, -1) {
		from, to := max(m[4], m[6]), max(m[5], m[7]) // in quotes, or without
		out += between(field[at:from]) + s.text(field[m[2]:m[3]], field[from:to])
		at = to
	}
	return out + between(field[at:])
}

// headers rewrites the headers of an answer or a request.
func (s *standIns) headers(values map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch value := values[name]; {
		case name == "www-authenticate":
			out[name] = s.challenge(value)
		case slices.Contains(publicHeaders, name) && !s.hidden(value):
			out[name] = value
		default:
			out[name] = s.text(name, value)
		}
	}
	return out
}

// event returns a copy of the nth event of a flow, with stand-ins for its secrets and its entropy.
func (s *standIns) event(n int, e *step.Event) step.Event {
	out := step.Event{Kind: e.Kind, Now: e.Now, Entropy: entropy(n), Listening: e.Listening, Key: e.Key}
	switch {
	case e.Problem != nil: // its text may name machines in the user's network
		out.Problem = &step.Problem{Code: e.Problem.Code, Text: "it could not be done"}
	case e.Start != nil:
		out.Start = s.start(e.Start)
	case e.Record != nil:
		value, ok := s.json(e.Record.Value)
		if !ok {
			value = json.RawMessage("null")
		}
		out.Record = &step.Record{Value: value}
	case e.Response != nil:
		r := *e.Response
		r.URL, r.Headers = s.text("", r.URL), s.headers(r.Headers)
		r.Body = s.document(r.Headers["content-type"], r.Body)
		out.Response = &r
	case e.Listening != nil:
		s.harmless[e.Listening.RedirectURI] = true
	case e.Redirect != nil:
		params := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(e.Redirect.Params)) {
			value := e.Redirect.Params[name]
			if params[name] = s.text(name, value); params[name] != value {
				s.of(value, true)
			}
		}
		out.Redirect = &step.Redirect{Params: params}
	case e.Input != nil:
		out.Input = &step.Input{Text: s.of(e.Input.Text, true)}
	case e.Run != nil:
		out.Run = &step.RunResult{Code: e.Run.Code, Stdout: s.document("", e.Run.Stdout), Stderr: s.of(e.Run.Stderr, false)}
	case e.Signed != nil:
		out.Signed = &step.Signed{JWT: s.text("jwt", e.Signed.JWT)}
	case e.Request != nil:
		out.Request = s.request(e.Request)
	}
	return out
}

// entropy returns the entropy of the nth event, which is the same in every recorded flow.
func entropy(n int) []byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(Format), uint64(n)))
	return sum[:]
}

func (s *standIns) start(e *step.Start) *step.Start {
	out := *e
	for _, text := range []string{e.Server.Name, e.Client.Name, e.Client.Version, e.Server.Revision} {
		s.harmless[text] = true
	}
	out.Server.URL, out.Server.Resource = s.text("", e.Server.URL), s.text("", e.Server.Resource)
	out.Settings = s.settings(e.Settings)
	if e.Challenge != nil {
		c := step.Challenge{Status: e.Challenge.Status, Token: s.of(e.Challenge.Token, true)}
		for _, field := range e.Challenge.Authenticate {
			c.Authenticate = append(c.Authenticate, s.challenge(field))
		}
		out.Challenge = &c
	}
	return &out
}

// settings rewrites the settings that are secret by the manifest or by their name.
func (s *standIns) settings(text json.RawMessage) json.RawMessage {
	var values map[string]any
	if json.Unmarshal(text, &values) != nil {
		return json.RawMessage("{}")
	}
	isSecret := map[string]bool{}
	for _, setting := range s.manifest.Settings {
		isSecret[setting.Key] = setting.Secret
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		values[key] = s.setting(key, isSecret[key], values[key])
	}
	out, err := json.Marshal(values)
	if err != nil {
		panic(err) // it was JSON
	}
	return out
}

// setting rewrites one setting: a text, a flag, a list or a table of texts.
func (s *standIns) setting(key string, isSecret bool, v any) any {
	switch v := v.(type) {
	case string:
		if isSecret || secret.Key(key) || s.hidden(v) {
			if out, ok := s.object(v); ok {
				s.known[v], s.names[v] = true, out
				return out
			}
			return s.of(v, true)
		}
		if out, ok := s.url(v); ok && out != v {
			return out
		}
		s.harmless[v] = true
	case []any:
		for i := range v {
			v[i] = s.setting(key, isSecret, v[i])
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = s.setting(name, isSecret, v[name])
		}
	}
	return v
}

// request returns a request that a provider signs, without its secrets. A fixed text replaces the
// body.
func (s *standIns) request(r *step.Request) *step.Request {
	body := []byte(`{"stand-in":"body"}`)
	sum := sha256.Sum256(body)
	out := &step.Request{Method: r.Method, URL: s.text("", r.URL), Headers: s.headers(r.Headers), BodySHA256: hex.EncodeToString(sum[:])}
	if len(r.Body) > 0 { // this provider may see the body
		out.Body = body
	}
	return out
}

// sweep replaces known secrets within the texts of an event. It is called after all events of the
// flow were rewritten.
func (s *standIns) sweep(e *step.Event) error {
	longest := slices.SortedFunc(maps.Keys(s.known), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	var pairs []string
	for _, text := range longest {
		pairs = append(pairs, text, s.names[text])
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return err
	}
	kind, entropy := v["kind"], v["entropy"]
	swept(v, strings.NewReplacer(pairs...))
	v["kind"], v["entropy"] = kind, entropy
	if text, err = json.Marshal(v); err != nil {
		return err
	}
	*e = step.Event{}
	return json.Unmarshal(text, e)
}

// swept returns a value with r applied to all of its texts.
func swept(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case []any:
		for i := range v {
			v[i] = swept(v[i], r)
		}
	case map[string]any:
		for key := range v {
			v[key] = swept(v[key], r)
		}
	}
	return v
}

// leaked reports whether a text that is surely secret stands in a line, such as in the name
// of a member.
func (s *standIns) leaked(line []byte) bool {
	if s.hidden(string(line)) {
		return true
	}
	for text := range s.known {
		if bytes.Contains(line, []byte(text)) {
			return true
		}
	}
	return false
}

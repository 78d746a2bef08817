package policy

import (
	"bytes"
	"strings"
)

// reading is a way to bring a URI into its normal form (RFC 3986, section 6): the case of its scheme and its
// host, escapes that are not needed, dot segments, default ports. For "file" that is the path of a file:
// with "localhost" for no host, and with one slash for several.
type reading struct {
	pattern bool // it is a pattern: "*" stays, and nothing is left out
	loose   bool // as lenient servers read it, without what does not name the resource: a user, a fragment
}

// The reasons why a URI may be read in two ways.
const (
	hasControl   = "a control character"
	hasBackslash = "a backslash"
	hasSlash     = "an encoded slash or backslash"
	isRelative   = "a relative path"
	leavesRoot   = `a ".." beyond the root`
	leavesQuery  = `a ".." behind a "?" or "#"`
)

// normal returns the normal form of a URI, and why servers may read the URI in another way; "" is that
// they may not. A URI that is not hierarchical only has its case and its escapes changed.
func (r reading) normal(uri string) (form, doubt string) {
	scheme, rest := cutScheme(uri)
	if scheme == "" && r.loose && strings.HasPrefix(uri, "/") {
		scheme, rest = "file", "/"+strings.TrimLeft(uri, "/") // a server that opens what is behind an optional "file://"
	}
	tail := ""
	if at := strings.IndexAny(rest, "?#"); at >= 0 {
		rest, tail = rest[:at], rest[at:]
	}
	doubt = control(uri)
	out := make([]byte, 0, 256) // on the stack
	if scheme != "" {
		out = append(append(out, scheme...), ':')
		out = lower(out, 0)
		scheme = string(out[:len(scheme)])
	}
	file, web := scheme == "file", ports[scheme] != ""
	if !file && !(web && r.loose) && (scheme == "" || !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, `\`)) {
		return same(uri, r.decode(r.decode(out, rest, r.loose), tail, false)), doubt
	}
	switch {
	case doubt != "":
	case strings.Contains(rest, `\`):
		doubt = hasBackslash
	case file && rest != "" && rest[0] != '/':
		doubt = isRelative
	case file && leaves(tail):
		doubt = leavesQuery
	}
	host, path, named := cutHost(rest, web && r.loose)
	if named || file || r.loose {
		out = append(out, "//"...)
	}
	out = r.host(out, host, scheme)
	if path == "" && web && !(r.pattern && strings.Contains(rest, "*")) {
		path = "/"
	}
	out, wrong := r.path(out, path, file)
	if doubt == "" {
		doubt = wrong
	}
	return same(uri, r.decode(out, r.counting(tail, file), false)), doubt
}

// same returns the text of a form, which most often is the URI itself.
func same(uri string, form []byte) string {
	if string(form) == uri {
		return uri
	}
	return string(form)
}

// counting returns what of a query and a fragment names the resource.
func (r reading) counting(tail string, file bool) string {
	switch {
	case !r.loose || r.pattern:
		return tail
	case file:
		return ""
	}
	tail, _, _ = strings.Cut(tail, "#")
	return tail
}

// cutScheme cuts a URI behind its scheme. The scheme is "" if there is none.
func cutScheme(uri string) (scheme, rest string) {
	for i := range len(uri) {
		switch c := uri[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return uri[:i], uri[i+1:]
		default:
			return "", uri
		}
	}
	return "", uri
}

// cutHost cuts what is behind a scheme into the authority and the path. With anyway, the authority is there
// with any number of slashes before it, as browsers read it.
func cutHost(rest string, anyway bool) (host, path string, named bool) {
	after, named := strings.CutPrefix(rest, "//")
	if anyway {
		after, named = strings.TrimLeft(rest, "/"), true
	}
	if !named {
		return "", rest, false
	}
	if at := strings.Index(after, "/"); at >= 0 {
		return after[:at], after[at:], true
	}
	return after, "", true
}

// ports are the default ports of schemes whose path is "/" if it is empty.
var ports = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443"}

// host appends an authority.
func (r reading) host(out []byte, host, scheme string) []byte {
	file := scheme == "file"
	begin := len(out)
	if r.pattern && strings.Contains(host, "*") {
		return lower(r.decode(out, host, false), begin)
	}
	if at := strings.LastIndex(host, "@"); at >= 0 {
		if !file && (!r.loose || r.pattern) {
			out = r.decode(out, host[:at+1], false)
			begin = len(out)
		}
		host = host[at+1:]
	}
	port := ""
	if at := strings.LastIndex(host, ":"); at >= 0 && strings.Trim(host[at+1:], "0123456789") == "" {
		host, port = host[:at], host[at+1:]
	}
	out = lower(r.decode(out, host, false), begin)
	out = out[:begin+len(bytes.TrimRight(out[begin:], "."))]
	switch {
	case file && (string(out[begin:]) == "localhost" || r.loose && !r.pattern):
		return out[:begin]
	case port == "" || port == ports[scheme]:
		return out
	}
	return append(append(out, ':'), port...)
}

// path appends a path without dot segments, and says why servers may read it in another way.
func (r reading) path(out []byte, path string, file bool) (_ []byte, doubt string) {
	begin, merges := len(out), file || r.loose
	segment, more := "", path != ""
	for path = strings.TrimPrefix(path, "/"); more; {
		segment, path, more = strings.Cut(path, "/")
		start := len(out)
		out = r.decode(append(out, '/'), segment, merges)
		decoded := out[start+1:]
		if bytes.Contains(decoded, []byte("%2F")) || bytes.Contains(decoded, []byte("%5C")) {
			doubt = hasSlash
		}
		end := start
		switch string(decoded) {
		case ".":
		case "":
			if !more || !merges {
				continue
			}
		case "..":
			if end = begin + bytes.LastIndexByte(out[begin:start], '/'); end < begin {
				end, doubt = begin, leavesRoot
			}
		default:
			continue
		}
		if out = out[:end]; !more {
			out = append(out, '/')
		}
	}
	if r.loose && len(out) > begin+1 {
		out = bytes.TrimSuffix(out, []byte("/"))
	}
	return out, doubt
}

// decode appends a text without escapes that are not needed: of letters, digits, "-._~" and of what is not
// ASCII; with all also those of other characters that mean nothing special in a path. Those that stay are in
// upper case. A "*" becomes an escape unless it is one of a pattern.
func (r reading) decode(out []byte, text string, all bool) []byte {
	for i := 0; i < len(text); i++ {
		c, escaped := unhex(text[i:])
		switch {
		case escaped && (plainInURI(c) || all && c >= ' ' && c != 0x7f && strings.IndexByte(`/\%?#*`, c) < 0):
			out = append(out, c)
		case escaped || c == '%' || c == '*' && !r.pattern:
			out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
		default:
			out = append(out, c)
		}
		if escaped {
			i += 2
		}
	}
	return out
}

const (
	hexDigits  = "0123456789ABCDEF"
	bothDigits = "00112233445566778899AaBbCcDdEeFf"
)

func plainInURI(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0
}

// unhex returns the character at the beginning of a text, which may be an escape of three bytes.
func unhex(text string) (c byte, escaped bool) {
	if text[0] != '%' || len(text) < 3 {
		return text[0], false
	}
	high, low := strings.IndexByte(bothDigits, text[1]), strings.IndexByte(bothDigits, text[2])
	if high < 0 || low < 0 {
		return text[0], false
	}
	return byte(high/2<<4 | low/2), true
}

// lower puts the ASCII letters from an index on into lower case.
func lower(out []byte, from int) []byte {
	for i := from; i < len(out); i++ {
		if out[i] >= 'A' && out[i] <= 'Z' {
			out[i] |= 0x20
		}
	}
	return out
}

// control says that a text has a control character, which some readers leave out, or an escaped NUL, at
// which others end.
func control(uri string) string {
	if strings.Contains(uri, "%00") || strings.ContainsFunc(uri, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return hasControl
	}
	return ""
}

// unescaped returns a URI without its escapes, as far as they are valid.
func unescaped(uri string) string {
	if !strings.Contains(uri, "%") {
		return uri
	}
	out := make([]byte, 0, len(uri))
	for i := 0; i < len(uri); i++ {
		c, escaped := unhex(uri[i:])
		if out = append(out, c); escaped {
			i += 2
		}
	}
	return string(out)
}

// leaves reports whether a URI has a segment "..", escaped or not, which a server may resolve after the
// URI was compared.
func leaves(uri string) bool {
	for rest, more := unescaped(uri), true; more; {
		at := strings.IndexAny(rest, `/\?#`)
		if at < 0 {
			at, more = len(rest), false
		}
		if rest[:at] == ".." {
			return true
		}
		rest = rest[min(at+1, len(rest)):]
	}
	return false
}

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

const hidden = "s3cr3t/of+me \"here\"" // one that every encoding writes otherwise

// written are forms of hidden.
var written = []string{
	hidden,
	`s3cr3t\/of+me \"here\"`,
	`s3cr3t\u002fof\u002Bme\u0020\u0022here\u0022`,
	`\u0073\u0033cr3t/of+me \u0022here\"`,
	`s3cr3t\\\/of+me \\\"here\\\"`,
	`s3cr3t\\u002fof+me \\u0022here\\\"`,
	url.PathEscape(hidden), url.QueryEscape(hidden),
	strings.ToLower(url.PathEscape(hidden)), strings.ToLower(url.QueryEscape(hidden)),
	url.QueryEscape(url.QueryEscape(hidden)),
	url.QueryEscape(`s3cr3t\/of\u002bme \"here\"`),
	`s3cr3t\u00252Fof%2Bme%20%22here%22`,
	`%73%33cr3t/of%2bme+%22here"`,
	hex.EncodeToString([]byte(hidden)), strings.ToUpper(hex.EncodeToString([]byte(hidden))),
	`s3cr3t\x2fof\x2Bme\x20\x22here\x22`, `s3cr3t\\x2fof+me \"here\"`, `\x73\x33\x63\x72\x33t/of+me "here"`,
	`s3cr3t/of+me &quot;here&quot;`, `s3cr3t&#47;of&#x2B;me &#34;here&#X22;`, `\u0026#115;3cr3t\/of+me \u0026quot;here\u0026quot;`,
	`&#92;u00733cr3t\/of+me \&quot;here\&quot;`, `s3cr3t%26%2347%3Bof%2Bme+%26quot%3Bhere%26quot%3B`,
	separated(":"), separated(" "), separated("-"), separated("\r\n"), separated(`\n`), separated(": "), strings.ToUpper(separated(":")),
	"73" + "336372" + "33742F6f662b6D652022" + "6865726522",
}

// separated is hidden as hexadecimal digits with something between the bytes.
func separated(by string) string {
	return strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf("% x", hidden)), " ", by)
}

// encodedTwice are encodings of encodings of hidden.
func encodedTwice() (all []string) {
	digits := hex.EncodeToString([]byte(hidden))
	inner := append(inBase64s(hidden), digits, strings.ToUpper(digits), `s3cr3t\/of+me \"here\"`, `s3cr3t/of+me \"here\"`,
		url.PathEscape(hidden), url.QueryEscape(hidden), strings.ReplaceAll(url.QueryEscape(hidden), "%2F", "%2f"), strings.ReplaceAll(url.PathEscape(hidden), "%2F", "%2f"))
	for i, text := range inner {
		outer := inBase64s(text)
		all = append(all, outer[i%len(outer)], outer[(i+7)%len(outer)], hex.EncodeToString([]byte(text)))
	}
	return all
}

// wrapped breaks a text into lines, as MIME does (RFC 2045, section 6.8).
func wrapped(text, end string, columns int) string {
	var out strings.Builder
	for len(text) > columns {
		out.WriteString(text[:columns] + end)
		text = text[columns:]
	}
	return out.String() + text
}

// TestPackedForms: line breaks in base64, and encodings of encodings. A short line stands
// for one of 76 columns, since a secret is shorter.
func TestPackedForms(t *testing.T) {
	known := new(Set)
	known.Hide(hidden)
	var forms []string
	for _, form := range inBase64s(hidden) {
		forms = append(forms, wrapped(form, "\r\n", 8), wrapped(form, "\n", 9), wrapped(form, `\r\n`, 10))
	}
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 50) + hidden + strings.Repeat("y", 50)))
	forms = append(forms, wrapped(long, "\r\n", 76), wrapped(long, "\n ", 64))
	for _, form := range append(forms, encodedTwice()...) {
		text := `{"a":"` + form + `","b":1}`
		out := string(known.Redact([]byte(text)))
		if !strings.Contains(out, secret.Mark) || decodable(out, hidden) {
			t.Errorf("%s becomes %s", text, out)
		}
	}
	for _, text := range []string{"", "a + b - c : d", "73 33 63", "s3:cr", "MIME\r\nlines\r\n"} {
		if got := string(known.Redact([]byte(text))); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestFormsAreBounded: what one secret costs is bounded by its length.
func TestFormsAreBounded(t *testing.T) {
	for _, n := range []int{LeastText, 40, mostTwice, mostTwice + 1, mostEncoded} {
		known := new(Set)
		known.Hide(strings.Repeat("Ab/\"", n/4))
		p := known.patterns()
		most := 14 * n * (1 + 2*2 + 4*4 + 32 + 16 + 16) * 3 // a percent form has three bytes
		if n > mostTwice {
			most = 14 * n * 3 * (1 + 2*2 + 4*4)
		}
		if got := len(p.spelled.nodes) + len(p.plain.nodes) + len(p.packed.nodes); got > most {
			t.Errorf("%d bytes: %d nodes; want %d at most", n, got, most)
		}
	}
}

func inBase64s(text string) (all []string) {
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for _, before := range []string{"", "x", "me", "abc", "user:"} {
			for _, behind := range []string{"", "!", "!!", "\x00\xff\xfe"} {
				all = append(all, e.EncodeToString([]byte(before+text+behind)))
			}
		}
	}
	return all
}

// whole are where nothing of hidden may be seen.
func showsNothing(t *testing.T, form, out string) {
	t.Helper()
	for _, part := range []string{"s3cr", "here", "of+m", "u0073", "733363", "czNjcj", "NjcjN0L"} {
		if strings.Contains(out, part) {
			t.Errorf("%s\nbecomes %s", form, out)
			return
		}
	}
}

func TestForms(t *testing.T) {
	known := new(Set)
	known.Hide(hidden)
	for _, form := range append(written, inBase64s(hidden)...) {
		for _, around := range [][2]string{{"", ""}, {"it is ", "."}, {`{"a":"`, `","b":1}`}, {"%", "%"}, {`\`, `\`}, {"a=", "&b=%41"}} {
			text := around[0] + form + around[1]
			showsNothing(t, text, string(known.Redact([]byte(text))))
			for cut := range text {
				s := known.Stream()
				var out []byte
				for _, piece := range []string{text[:cut], text[cut:]} {
					p := []byte(piece)
					for _, span := range s.Spans([]byte(piece)) {
						copy(p[span[0]:span[1]], bytes.Repeat([]byte{'*'}, span[1]-span[0]))
					}
					out = append(out, p...)
				}
				if len(out) != len(text) || strings.Contains(string(out), form) {
					t.Errorf("%s, cut at %d, becomes %s", text, cut, out)
				}
			}
		}
	}
}

// Escapes that a % or \ right before a secret seems to begin.
func TestWhatIsBeforeASecret(t *testing.T) {
	for text, want := range map[string]string{
		`100%deadbeef\/01`: `100[secret]`, `C:\\nautilus\/x`: `C:[secret]`, `%%deadbeef%2F01`: `%[secret]`,
		`\udeadbeef\u002f01`: `[secret]`, `beef/01 and autilus/x`: `beef/01 and autilus/x`, `\\\deadbeef\/01`: `[secret]`,
	} {
		known := new(Set)
		known.Hide("deadbeef/01", "nautilus/x")
		if got := string(known.Redact([]byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// What is not secret stays, also where it has escapes of all kinds.
func TestNothingElseIsHidden(t *testing.T) {
	known := new(Set)
	known.Hide(hidden, "short", "%41%42%43")
	known.HideNamed("abc", "pass")
	for _, text := range []string{
		"", "s3cr3t", `{"text":"s3cr3t\/of","n":"\u00e4\ud83d\ude00%zz%4\\\\"}`, "a short one", "ABC", "abc", "%", `\`, `\u00`,
		base64.StdEncoding.EncodeToString([]byte("pas")), "\xf0\x9f\x98\x80\xf0\x9f\xff",
	} {
		if got := string(known.Redact([]byte(text))); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := string(known.Redact([]byte("it is %41%42%43 and pass"))); got != "it is [secret] and [secret]" {
		t.Error(got)
	}
}

// What signs in changes all the time; the newest are remembered, and those of the
// configuration are never pushed out.
func TestRecentTexts(t *testing.T) {
	known := new(Set)
	known.Hide("configured")
	for i := range 3 * mostRecent {
		known.HideRecent(fmt.Sprintf("signature-%d", i))
	}
	if n := len(known.recent); n > mostRecent {
		t.Errorf("%d secrets are remembered", n)
	}
	for _, s := range []string{"configured", fmt.Sprintf("signature-%d", 3*mostRecent-1)} {
		if got := string(known.Redact([]byte(s))); got != secret.Mark {
			t.Errorf("%s: got %s", s, got)
		}
	}
}

// A text that is added while a stream is read is found where it began before.
func TestATextIsAddedOnTheWay(t *testing.T) {
	known := new(Set)
	s := known.Stream()
	first := s.Redact([]byte("here is a sec"))
	known.Hide("secret-of-late")
	second := s.Redact([]byte(`ret\u002dof-late, and more`))
	if got := string(first) + string(second); got != "here is a sec[secret], and more" {
		t.Error(got)
	}
}

// scrambler writes texts in many ways. Its choices come from a seed.
type scrambler struct{ *rand.Rand }

// alphabets are what secrets are made of.
var alphabets = []string{"abcdefXYZ0123456789", "ab/\\\"%+ _-nrtu01", "äöü€😀\u2028ab/", "abc%2f\\u004 "}

// jsonEscape writes a text as every encoder of JSON does.
func jsonEscape(text string) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.Encode(text)
	return out.String()[1 : out.Len()-2]
}

func (s scrambler) secret() string {
	letters := []rune(alphabets[s.IntN(len(alphabets))])
	var out strings.Builder
	for n := 8 + s.IntN(30); out.Len() < n; {
		out.WriteRune(letters[s.IntN(len(letters))])
	}
	return out.String()
}

// percent writes some characters as percent forms, and those that it has to: no URI has a
// backslash or a quote (RFC 3986, appendix A).
func (s scrambler) percent(text string) string {
	var out strings.Builder
	often := s.IntN(4)
	for _, c := range []byte(text) {
		switch {
		case c == ' ' && s.IntN(2) == 0:
			out.WriteByte('+')
		case c == '%' || c == '+' || c == '\\' || c == '"' || c <= ' ' || c >= 0x80 || s.IntN(4) < often:
			fmt.Fprintf(&out, []string{"%%%02x", "%%%02X"}[s.IntN(2)], c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// json writes some characters as escapes of a string, and those that it has to.
func (s scrambler) json(text string) string {
	var out strings.Builder
	often := s.IntN(4)
	for _, r := range text {
		switch {
		case s.IntN(4) < often && r < 0x80 && s.IntN(2) == 0:
			fmt.Fprintf(&out, []string{`\x%02x`, `\x%02X`}[s.IntN(2)], r)
		case s.IntN(4) < often && r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04X`, 0xd800|r>>10, 0xdc00|r&0x3ff)
		case s.IntN(4) < often && r <= 0xffff:
			fmt.Fprintf(&out, []string{`\u%04x`, `\u%04X`}[s.IntN(2)], r)
		case r == '"' || r == '\\' || r == '/' && s.IntN(2) == 0:
			out.WriteString(`\` + string(r))
		case r < ' ':
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// entities writes some characters as entities of HTML, and those that it has to.
func (s scrambler) entities(text string) string {
	var out strings.Builder
	often := s.IntN(4)
	for _, r := range text {
		switch name := map[rune]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&quot;", '\'': "&apos;"}[r]; {
		case s.IntN(4) < often:
			fmt.Fprintf(&out, []string{"&#%d;", "&#x%x;", "&#X%X;"}[s.IntN(3)], r)
		case name != "":
			out.WriteString(name)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

func (s scrambler) base64(text string) string {
	encodings := []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}
	around := func() string { return "\x00 Z:\xff"[:s.IntN(6)] }
	return encodings[s.IntN(4)].EncodeToString([]byte(around() + text + around()))
}

// lines breaks a text into lines, or leaves it as it is.
func (s scrambler) lines(text string) string {
	if s.IntN(2) == 0 {
		return text
	}
	return wrapped(text, []string{"\n", "\r\n", "\n\t"}[s.IntN(3)], 4+s.IntN(73))
}

func (s scrambler) hex(text string) string {
	out := []byte(hex.EncodeToString([]byte(text)))
	if s.IntN(2) == 0 {
		for i, c := range out {
			if s.IntN(2) == 0 {
				out[i] = bytes.ToUpper([]byte{c})[0]
			}
		}
		return string(out)
	}
	between := []string{"", ":", " ", "-", "\n"}[s.IntN(5)]
	return strings.TrimSuffix(regexp.MustCompile("..").ReplaceAllString(string(out), "$0"+between), between)
}

// escapes is a text with up to three rounds of escapes, in or behind entities.
func (s scrambler) escapes(text string) string {
	where := s.IntN(8)
	if where == 0 {
		text = s.entities(text)
	}
	out := s.rounds(text)
	if where == 1 {
		return s.entities(out)
	}
	return out
}

// rounds is a text with up to three rounds of escapes.
func (s scrambler) rounds(text string) string {
	for range s.IntN(4) {
		text = []func(string) string{s.percent, s.json}[s.IntN(2)](text)
	}
	return text
}

// form is a secret in some form, and what it has to be read as to be had again.
func (s scrambler) form(text string) string {
	switch s.IntN(7) {
	case 0:
		return s.escapes(s.lines(s.base64(text)))
	case 1:
		return s.escapes(s.hex(text))
	case 2:
		return s.escapes(s.lines(s.base64(s.base64(text))))
	case 3:
		digits := hex.EncodeToString([]byte(text))
		return s.escapes(s.lines(s.base64([]string{digits, strings.ToUpper(digits)}[s.IntN(2)])))
	case 4:
		escaped := []func(string) string{url.PathEscape, url.QueryEscape, jsonEscape}[s.IntN(3)](text)
		return s.escapes(s.lines([]func(string) string{s.base64, s.hex}[s.IntN(2)](escaped)))
	}
	return s.escapes(text)
}

// decodable reports whether a text has a secret in it in any of the forms, read without
// knowing which: it undoes escapes as often as there may be, one way after the other.
func decodable(out, secret string) bool {
	todo, seen := []string{out}, map[string]bool{}
	for rounds := 0; rounds < 6 && len(todo) > 0; rounds++ {
		var next []string
		for _, text := range todo {
			if seen[text] {
				continue
			}
			seen[text] = true
			if plainly(text, secret, 2) {
				return true
			}
			next = append(next, unpercent(text, false), unpercent(text, true), unescape(text), html.UnescapeString(text))
		}
		todo = next
	}
	return false
}

// plainly reports whether a secret is in a text as it is, in base64 or as digits, or so in
// one of these.
func plainly(text, secret string, levels int) bool {
	if strings.Contains(text, secret) || strings.Contains(text, jsonEscape(secret)) ||
		strings.Contains(text, url.PathEscape(secret)) || strings.Contains(text, url.QueryEscape(secret)) {
		return true
	}
	if levels == 0 {
		return false
	}
	for _, run := range digitRuns.FindAllString(text, -1) {
		run = between.ReplaceAllString(run, "")
		for at := range 2 {
			digits := run[min(at, len(run)):]
			if bin, err := hex.DecodeString(digits[:len(digits)/2*2]); err == nil && plainly(string(bin), secret, levels-1) {
				return true
			}
		}
	}
	for _, run := range base64Runs.FindAllString(text, -1) {
		run = strings.NewReplacer("-", "+", "_", "/").Replace(lineEnds.ReplaceAllString(run, ""))
		for at := range 4 {
			digits := run[min(at, len(run)):]
			if bin, err := base64.RawStdEncoding.DecodeString(digits[:len(digits)/4*4]); err == nil && plainly(string(bin)+lastOf(digits), secret, levels-1) {
				return true
			}
		}
	}
	return false
}

// lastOf decodes the last characters of base64, which are no whole group.
func lastOf(digits string) string {
	bin, _ := base64.RawStdEncoding.DecodeString(digits[len(digits)/4*4:])
	return string(bin)
}

var (
	digitRuns  = regexp.MustCompile(`[0-9a-fA-F]([: \-\n]*[0-9a-fA-F])+`)
	between    = regexp.MustCompile(`[: \-\n]`)
	base64Runs = regexp.MustCompile(`[A-Za-z0-9+/_\-]([\r\n\t]*[A-Za-z0-9+/_\-])+`)
	lineEnds   = regexp.MustCompile(`[\r\n\t]`)
)

func unpercent(text string, plus bool) string {
	var out []byte
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			out = append(out, byte(hexDigit(text[i+1])<<4|hexDigit(text[i+2])))
			i += 2
		case text[i] == '+' && plus:
			out = append(out, ' ')
		default:
			out = append(out, text[i])
		}
	}
	return string(out)
}

func unescape(text string) string {
	var out []byte
	var high rune
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		i++
		if n := min(len(text), i+3); text[i] == 'x' && n == i+3 && isHex(text[i+1]) && isHex(text[i+2]) {
			out = append(out, byte(hexDigit(text[i+1])<<4|hexDigit(text[i+2])))
			i += 2
			continue
		}
		var code rune
		if _, err := fmt.Sscanf(text[i:min(len(text), i+5)], "u%04x", &code); err != nil || len(text) < i+5 {
			out = append(out, strings.NewReplacer("n", "\n", "r", "\r", "t", "\t", "b", "\b", "f", "\f").Replace(text[i:i+1])...)
			continue
		}
		i += 4
		switch {
		case code>>10 == 0xd800>>10:
			high = code
		case code>>10 == 0xdc00>>10 && high != 0:
			out = append(out, string(0x10000+(high&0x3ff)<<10+code&0x3ff)...)
		default:
			out = append(out, string(code)...)
		}
	}
	return string(out)
}

// unfinished is a text whose end could be the beginning of an escape.
var unfinished = regexp.MustCompile(`[%\\][%\\ux0-9a-fA-F]*$|&[#a-zA-Z0-9]*$`)

// short reports whether too little of a text is left without its escapes.
func short(text string) bool {
	_, complete := decoded([]byte(text))
	return len(complete) < LeastText
}

// FuzzForms writes a secret in some form into some text, in some pieces, and holds that
// no form of it can be read out of what is left, and that as many bytes are left.
func FuzzForms(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, "it is ", " there")
	}
	f.Add(uint64(7), `{"a":"\u0041`, `\n%","b":"`)
	f.Add(uint64(8), `C:\`, `%`)
	f.Add(uint64(250), "%", `\Q`)
	f.Add(uint64(77), "%%", "\xc1")
	f.Fuzz(func(t *testing.T, seed uint64, before, behind string) {
		s := scrambler{rand.New(rand.NewPCG(seed, 1))}
		text := strings.TrimSpace(s.secret())
		if len(text) < LeastText || len(before)+len(behind) > 1<<10 || short(text) {
			return
		}
		known := new(Set)
		known.Hide(text, "another-secret")
		if once := html.UnescapeString(unescape(unpercent(text, false))); html.UnescapeString(unescape(unpercent(once, false))) != once {
			return // it has escapes within escapes itself, which count among those that are undone
		}
		form := s.form(text)
		whole := before + form + behind
		if decodable(before+behind, text) {
			return
		}
		if unfinished.MatchString(before) && !plainly(form, text, 2) {
			return // what escapes follow that may be part of it: they are found nearly always
		}
		if out := known.Redact([]byte(whole)); decodable(string(out), text) {
			t.Fatalf("%q in %q becomes %q", text, whole, out)
		}
		stream := known.Stream()
		var out []byte
		for rest := []byte(whole); len(rest) > 0; {
			n := min(1+s.IntN(40), len(rest))
			piece := bytes.Clone(rest[:n])
			for _, span := range stream.Spans(rest[:n]) {
				for i := span[0]; i < span[1]; i++ {
					piece[i] = '*'
				}
			}
			out, rest = append(out, piece...), rest[n:]
		}
		if len(out) != len(whole) || decodable(string(out), text) {
			t.Fatalf("%q in pieces of %q becomes %q", text, whole, out)
		}
	})
}

// BenchmarkCover is what a message of 64 KiB costs: plain JSON, and full of escapes.
func BenchmarkCover(b *testing.B) {
	known := new(Set)
	for i := range 10 {
		known.Hide(fmt.Sprintf("secret/number %d-of-many", i))
	}
	for name, piece := range map[string]string{
		"plain":   `{"type":"text","text":"A harbour is a place on the coast where ships may moor."},`,
		"escapes": `{"text":"{\"type\":\"text\",\"path\":\"C:\\\\ships\\/moor%2Fhere\",\"t\":\"\u00e4\"}"},`,
	} {
		text := []byte(strings.Repeat(piece, 64<<10/len(piece)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				known.Redact(text)
			}
		})
	}
}

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Lengths of secrets, in bytes.
const (
	LeastText   = 8       // of any text: shorter ones occur by chance
	LeastNamed  = 4       // of a text whose name sounds secret
	leastBase64 = 5       // of one that is looked for in base64, where shorter ones have six characters
	leastForm   = 4       // of a decoded form; shorter ones are looked for only as they are written
	mostEncoded = 8 << 10 // of one that is looked for in base64 and hexadecimal digits
	mostTwice   = 256     // of one that is looked for in an encoding of an encoding
)

// spellings returns the exact texts that are looked for: the secret as it is, without the
// scheme of a header, and escaped as a whole.
func spellings(least int, text string) []string {
	text = strings.TrimSpace(text)
	plain := []string{text}
	if _, bare, found := strings.Cut(text, " "); found && !strings.Contains(bare, " ") {
		plain = append(plain, bare)
	}
	var out []string
	for _, text := range plain {
		var quoted bytes.Buffer
		e := json.NewEncoder(&quoted)
		e.SetEscapeHTML(false)
		_ = e.Encode(text) // a string always encodes
		json := string(quoted.Bytes()[1 : quoted.Len()-2])
		query, path := url.QueryEscape(text), url.PathEscape(text)
		out = append(out, text, json, strings.ReplaceAll(json, "/", `\/`), query, path, lowerPercent(query), lowerPercent(path))
	}
	out = slices.DeleteFunc(out, func(form string) bool { return len(form) < least })
	slices.Sort(out)
	return slices.Compact(out)
}

// lowerPercent writes percent forms in small letters.
func lowerPercent(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c == '%' {
			copy(out[i:], strings.ToLower(text[i:i+3]))
		}
	}
	return string(out)
}

// patterns holds three automatons: spelled searches the text as it is, plain its decoded form, and
// packed that form without the bytes that an encoder puts between digits.
//
// For each spelling of a secret (one for letters and digits, at most 14) there are, with the
// bytes of the patterns for each of its own:
//
//	as it is                      1 in spelled and plain       1
//	hexadecimal digits            1 in packed, 2 in spelled    2
//	base64                        3 in packed, 6 in spelled    4
//	base64 of base64              18 in packed                 32
//	base64 of hexadecimal digits  6 in packed                  16
//	hexadecimal of base64         6 in packed                  16
//
// base64 stands in three ways in its groups of three bytes, and in two alphabets.
type patterns struct{ spelled, plain, packed automaton }

// add adds a secret. If encoded is true, it also adds the secret in base64 and in hexadecimal
// digits.
func (p *patterns) add(text string, encoded bool) {
	p.spelled.add([]byte(text), 0)
	whole, complete := decoded([]byte(text))
	addDecoded(&p.plain, whole)
	addDecoded(&p.plain, complete)
	if !encoded || len(text) > mostEncoded {
		return
	}
	for _, form := range encodings(text) {
		p.spelled.add([]byte(form), 0)
		p.addPacked(form)
		if len(text) > mostTwice {
			continue
		}
		for _, again := range encodings(form) {
			p.addPacked(again)
		}
	}
}

// encodings returns a text in hexadecimal digits and in base64.
func encodings(text string) []string {
	digits := hex.EncodeToString([]byte(text))
	out := []string{digits, strings.ToUpper(digits)}
	if len(text) >= leastBase64 {
		for offset := range 3 {
			standard := string(inBase64(text, offset))
			out = append(out, standard, strings.NewReplacer("+", "-", "/", "_").Replace(standard))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// addPacked adds an encoded text without the bytes that are left out of packed texts.
func (p *patterns) addPacked(text string) {
	var form []byte
	for _, c := range []byte(text) {
		if c = packed[same(c)]; c != 0 {
			form = append(form, c)
		}
	}
	addDecoded(&p.packed, form)
}

// packed maps a decoded byte to the byte that stands for it in a packed text. It maps letters to
// one case, and the bytes that encoders put between digits to 0, which is left out.
var packed = func() (to [256]byte) {
	for c := range to {
		to[c] = byte(c)
	}
	for c := byte('A'); c <= 'Z'; c++ {
		to[c] = c | 0x20
	}
	to[' '], to[':'] = 0, 0
	return to
}()

// addDecoded adds a decoded form. If the beginning of the form makes an escape with a % or \ right
// before it, it also adds the form without that beginning; such a pattern counts only behind an
// escape.
func addDecoded(to *automaton, form []byte) {
	if len(form) < leastForm {
		return
	}
	to.add(form, 0)
	if bytes.IndexByte([]byte("nrtbf"), form[0]) >= 0 {
		to.add(form[1:], 1)
	}
	for lost := 1; lost <= 4 && len(form)-lost >= leastForm-1 && isHex(form[lost-1]); lost++ {
		to.add(form[lost:], lost)
	}
}

// inBase64 returns the base64 characters of a text, which begins at an offset into a group of three
// bytes. It leaves out characters at the edges that also depend on the bytes beside the text.
func inBase64(text string, offset int) []byte {
	all := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), text...))
	whole := (offset + len(text)) * 8 / 6
	return []byte(all[(offset*8+5)/6 : whole])
}

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
	LeastNamed  = 4       // of a text that is called a secret
	leastBase64 = 5       // of one that is looked for in base64, where shorter ones have six characters
	leastForm   = 4       // of a decoded form; shorter ones are looked for only as they are written
	mostEncoded = 8 << 10 // of one that is looked for in base64 and hexadecimal digits
)

// spellings returns the exact texts that are looked for: the secret as it is, without the
// scheme of a header, and escaped as a whole.
func spellings(least int, text string) []string {
	text = strings.TrimSpace(text)
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	out := []string{text, url.QueryEscape(text), url.PathEscape(text), string(quoted.Bytes()[1 : quoted.Len()-2])}
	if _, bare, found := strings.Cut(text, " "); found && !strings.Contains(bare, " ") {
		out = append(out, bare)
	}
	out = slices.DeleteFunc(out, func(form string) bool { return len(form) < least })
	slices.Sort(out)
	return slices.Compact(out)
}

// patterns is what a text is searched for: spelled in the text as it is, plain in its
// decoded form.
type patterns struct{ spelled, plain automaton }

// add adds a secret; encoded says whether also in base64 and hexadecimal digits.
func (p *patterns) add(text string, encoded bool) {
	p.addForm([]byte(text))
	if !encoded || len(text) > mostEncoded {
		return
	}
	digits := hex.EncodeToString([]byte(text))
	p.addForm([]byte(digits))
	p.addForm([]byte(strings.ToUpper(digits)))
	if len(text) >= leastBase64 {
		for offset := range 3 {
			standard := inBase64(text, offset)
			p.addForm(standard)
			p.spelled.add([]byte(strings.NewReplacer("+", "-", "/", "_").Replace(string(standard))), 0)
		}
	}
}

// addForm adds a text as it is spelled and in its decoded form. It also adds the decoded
// form without a beginning that forms an escape with a % or \ right before it; such a
// pattern counts only behind an escape.
func (p *patterns) addForm(text []byte) {
	p.spelled.add(text, 0)
	form := decoded(text)
	if len(form) < leastForm {
		return
	}
	p.plain.add(form, 0)
	if bytes.IndexByte([]byte("nrtbf"), form[0]) >= 0 {
		p.plain.add(form[1:], 1)
	}
	for lost := 1; lost <= 4 && len(form)-lost >= leastForm-1 && isHex(form[lost-1]); lost++ {
		p.plain.add(form[lost:], lost)
	}
}

// inBase64 returns the base64 characters of a text that begins at an offset into a group of
// three bytes, without those at its edges that also depend on the bytes beside it.
func inBase64(text string, offset int) []byte {
	all := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), text...))
	whole := (offset + len(text)) * 8 / 6
	return []byte(all[(offset*8+5)/6 : whole])
}

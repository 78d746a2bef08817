// Package secret holds texts that must not be shown: tokens, keys, passwords.
//
// Only [Secret.Reveal] returns the text of a [Secret]. Code that prints, logs, marshals or
// walks over values gets a mark instead, so a struct with secrets can be logged safely.
//
// [Key] and [Flag] recognise names of secrets.
package secret

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// Mark is shown in place of a secret. It reveals neither the length of the text nor whether there
// is one.
const Mark = "[secret]"

// Secret is a text that shows itself as [Mark]. The zero Secret is the empty
// text. Copies share the text; it is safe for concurrent use.
//
// The text lies in a closure. A field would be within the reach of reflection:
// fmt prints the unexported fields of a struct without asking their methods, and
// so does everything that dumps values. It also makes == between secrets an error
// of the compiler, which leaves [Secret.Equal], and makes reflect.DeepEqual say
// no. What it cannot do is to wipe the memory: a Go text is copied at will.
type Secret struct {
	reveal func() string
}

// New returns the secret whose text is text.
func New(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return text }}
}

// Reveal returns the text. A secret can leak at each call, so the call should be next to the single
// use of the text.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero reports whether the text is empty. With the option omitzero, JSON omits an empty secret.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Equal reports whether two texts are the same, in a time that depends on their
// lengths alone.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String returns [Mark].
func (s Secret) String() string { return Mark }

// GoString returns [Mark].
func (s Secret) GoString() string { return Mark }

// Format writes [Mark], whatever the verb and its flags. Without it, verbs for numbers would print
// the content.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mark) }

// MarshalJSON returns [Mark]. Unmarshalling a text into a Secret is an error, so a mark cannot be
// taken for the secret.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Mark + `"`), nil }

// MarshalText returns [Mark], for XML, TOML and other encodings of text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Mark), nil }

// LogValue returns [Mark].
func (s Secret) LogValue() slog.Value { return slog.StringValue(Mark) }

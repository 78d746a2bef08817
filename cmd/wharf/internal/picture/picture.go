// Package picture writes images so that a terminal shows them in place. What a server sent
// is decoded and encoded again, so that nothing but base64 reaches the terminal.
package picture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
)

// Protocol is the way in which a terminal takes pictures.
type Protocol int

// The protocols. Their documents: sw.kovidgoyal.net/kitty/graphics-protocol and
// iterm2.com/documentation-images.html.
const (
	None Protocol = iota
	Kitty
	ITerm2
)

// Of finds out how the terminal of this environment takes pictures. No question is asked of
// it: one that is not known by name gets none. A multiplexer in between shows none.
func Of(getenv func(string) string) Protocol {
	program, kind := getenv("TERM_PROGRAM"), getenv("TERM")
	switch {
	case getenv("TMUX") != "" || strings.HasPrefix(kind, "screen") || strings.HasPrefix(kind, "tmux") || kind == "dumb":
		return None
	case getenv("KITTY_WINDOW_ID") != "" || strings.Contains(kind, "kitty") || program == "ghostty":
		return Kitty
	case program == "iTerm.app" || program == "WezTerm":
		return ITerm2
	}
	return None
}

const (
	largest    = 4 << 20 // bytes of a picture that is shown
	chunkBytes = 4096    // of base64 that kitty takes at once
)

// Formats are known by how they begin.
var (
	png  = []byte("\x89PNG\r\n\x1a\n")
	jpeg = []byte("\xff\xd8\xff")
	gif  = []byte("GIF8")
)

// Sequence returns what has a terminal show a picture that is given in base64, or "" for one
// that it cannot show.
func (p Protocol) Sequence(data string) string {
	if p == None || len(data) > base64.StdEncoding.EncodedLen(largest) {
		return ""
	}
	image, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return ""
	}
	isPNG := bytes.HasPrefix(image, png)
	encoded := base64.StdEncoding.AppendEncode(nil, image)
	switch {
	case p == Kitty && isPNG:
		return kitty(encoded)
	case p == ITerm2 && (isPNG || bytes.HasPrefix(image, jpeg) || bytes.HasPrefix(image, gif)):
		return fmt.Sprintf("\x1b]1337;File=inline=1;size=%d:%s\a", len(image), encoded)
	}
	return ""
}

// kitty sends a PNG in chunks. The terminal is told not to answer: nothing would read it.
func kitty(encoded []byte) string {
	var out strings.Builder
	options := "a=T,f=100,q=2,"
	for len(encoded) > 0 {
		n := min(len(encoded), chunkBytes)
		more := 1
		if n == len(encoded) {
			more = 0
		}
		fmt.Fprintf(&out, "\x1b_G%sm=%d;%s\x1b\\", options, more, encoded[:n])
		encoded, options = encoded[n:], ""
	}
	return out.String()
}

// Package picture writes images so that a terminal shows them in place. It decodes and encodes a
// server's image again, so that only base64 or sixels reach the terminal.
package picture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"strconv"
	"strings"
)

// Protocol is the way in which a terminal takes pictures.
type Protocol int

// The protocols. Their documents: sw.kovidgoyal.net/kitty/graphics-protocol,
// iterm2.com/documentation-images.html and chapter 14 of the manual of the VT330 and VT340.
const (
	None Protocol = iota
	Kitty
	ITerm2
	Sixel
)

// Of finds out how the terminal of this environment shows pictures. It asks the terminal
// nothing. An unknown terminal gets no pictures, and neither does a multiplexer, unless
// $WHARF_PICTURES names a protocol.
func Of(getenv func(string) string) Protocol {
	program, kind := getenv("TERM_PROGRAM"), getenv("TERM")
	konsole, _ := strconv.Atoi(getenv("KONSOLE_VERSION"))
	switch chosen := getenv("WHARF_PICTURES"); {
	case chosen != "":
		return map[string]Protocol{"kitty": Kitty, "iterm2": ITerm2, "sixel": Sixel}[chosen]
	case getenv("TMUX") != "" || strings.HasPrefix(kind, "screen") || strings.HasPrefix(kind, "tmux") || kind == "dumb":
		return None
	case getenv("KITTY_WINDOW_ID") != "" || strings.Contains(kind, "kitty") || program == "ghostty":
		return Kitty
	case program == "iTerm.app" || program == "WezTerm":
		return ITerm2
	case program == "mintty" || konsole >= 220400 || getenv("WT_SESSION") != "":
		return Sixel
	case strings.HasPrefix(kind, "foot") || strings.HasPrefix(kind, "mlterm") || strings.HasPrefix(kind, "contour") || strings.HasPrefix(kind, "yaft") || kind == "vt340":
		return Sixel
	}
	return None
}

const (
	largest    = 4 << 20 // bytes of a picture that is shown
	chunkBytes = 4096    // of base64 that kitty takes at once
)

// Sequence returns the text that makes a terminal show a picture. data is the picture in
// base64, and columns is the width of the terminal; 0 is unknown. Sequence returns "" for
// a picture that the terminal cannot show.
func (p Protocol) Sequence(data string, columns int) string {
	if p == None || len(data) > base64.StdEncoding.EncodedLen(largest) {
		return ""
	}
	file, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return ""
	}
	f := formatOf(file)
	switch {
	case f == nil:
		return ""
	case p == Kitty && f.name != formatPNG:
		decoded := f.decode(file)
		if decoded == nil {
			return ""
		}
		var again bytes.Buffer
		if png.Encode(&again, fitted(decoded, widest, highest)) != nil {
			return ""
		}
		return kitty(base64.StdEncoding.AppendEncode(nil, again.Bytes()))
	case p == Kitty:
		return kitty(base64.StdEncoding.AppendEncode(nil, file))
	case p == ITerm2:
		return fmt.Sprintf("\x1b]1337;File=inline=1;size=%d:%s\a", len(file), base64.StdEncoding.AppendEncode(nil, file))
	}
	return sixels(f.decode(file), columns)
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

package picture

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

// TestOf finds terminals by their variables.
func TestOf(t *testing.T) {
	for env, want := range map[string]Protocol{
		"": None, "TERM=xterm-256color": None, "TERM=xterm-kitty": Kitty, "KITTY_WINDOW_ID=1": Kitty, "TERM_PROGRAM=ghostty": Kitty,
		"TERM_PROGRAM=iTerm.app": ITerm2, "TERM_PROGRAM=WezTerm": ITerm2, "TERM=foot": Sixel, "TERM=foot-extra": Sixel, "TERM=mlterm": Sixel, "TERM=vt340": Sixel, "TERM=xterm-256color WT_SESSION=x": Sixel,
		"KONSOLE_VERSION=220400": Sixel, "KONSOLE_VERSION=210800": None, "TERM_PROGRAM=mintty": Sixel, "TERM=foot TMUX=x": None, "TERM=screen WT_SESSION=x": None,
		"TERM=screen WHARF_PICTURES=sixel": Sixel, "TERM=foot WHARF_PICTURES=none": None, "WHARF_PICTURES=kitty": Kitty, "WHARF_PICTURES=iterm2": ITerm2, "TERM=foot WHARF_PICTURES=odd": None,
		"TERM=xterm-kitty TMUX=x": None, "TERM=screen KITTY_WINDOW_ID=1": None,
	} {
		variables := make(map[string]string)
		for _, word := range strings.Fields(env) {
			name, value, _ := strings.Cut(word, "=")
			variables[name] = value
		}
		if got := Of(func(name string) string { return variables[name] }); got != want {
			t.Errorf("%s: %d, want %d", env, got, want)
		}
	}
}

var pngBegins = formats[0].begins

// TestSequence: a terminal gets frames of base64 and nothing else, and the whole picture.
func TestSequence(t *testing.T) {
	frame := regexp.MustCompile(`^(\x1b_G[a-zA-Z0-9=,]+;([A-Za-z0-9+/=]+)\x1b\\)+$`)
	chunk := regexp.MustCompile(`;([A-Za-z0-9+/=]+)\x1b\\`)
	image := pngBegins + strings.Repeat("\x1b\\\a", 5000)
	data := base64.StdEncoding.EncodeToString([]byte(image))
	shown := Kitty.Sequence(data, 80)
	if !frame.MatchString(shown) || !strings.HasPrefix(shown, "\x1b_Ga=T,f=100,q=2,m=1;") || strings.Count(shown, "m=0;") != 1 {
		t.Errorf("kitty gets %.100q…", shown)
	}
	var sent string
	for _, m := range chunk.FindAllStringSubmatch(shown, -1) {
		if sent += m[1]; len(m[1]) > chunkBytes {
			t.Errorf("kitty gets %d bytes at once", len(m[1]))
		}
	}
	if sent != data {
		t.Error("kitty gets another picture")
	}
	shown = ITerm2.Sequence(data, 80)
	if !regexp.MustCompile(`^\x1b\]1337;File=[a-z0-9=;]+:[A-Za-z0-9+/=]+\a$`).MatchString(shown) || !strings.Contains(shown, "inline=1") || !strings.Contains(shown, ":"+data+"\a") {
		t.Errorf("iTerm2 gets %.100q…", shown)
	}
	for name, c := range map[string]struct {
		to   Protocol
		data string
	}{
		"nothing":      {Kitty, ""},
		"no base64":    {Kitty, data + "\x1b\\"},
		"no picture":   {ITerm2, base64.StdEncoding.EncodeToString([]byte("<svg/>"))},
		"no PNG":       {Kitty, base64.StdEncoding.EncodeToString([]byte("\xff\xd8\xff\x01"))},
		"too large":    {ITerm2, base64.StdEncoding.EncodeToString(append([]byte(pngBegins), make([]byte, largest)...))},
		"no terminal":  {None, data},
		"line breaks…": {Kitty, "\x1b" + data},
	} {
		if shown := c.to.Sequence(c.data, 80); shown != "" {
			t.Errorf("%s: %.100q", name, shown)
		}
	}
	if ITerm2.Sequence(base64.StdEncoding.EncodeToString([]byte("GIF8\x01")), 80) == "" {
		t.Error("a GIF is not shown")
	}
}

func FuzzSequence(f *testing.F) {
	f.Add(base64.StdEncoding.EncodeToString([]byte(pngBegins)))
	f.Fuzz(func(t *testing.T, data string) {
		shown := Kitty.Sequence(data, 80)
		if strings.Count(shown, "\x1b") != 2*strings.Count(shown, "\x1b_G") {
			t.Errorf("%q", shown)
		}
	})
}

package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// drawn is a picture of two colours, half of each, with a hole in it.
func drawn(width, height int) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			switch {
			case x < width/2:
				p.Set(x, y, color.NRGBA{255, 0, 0, 255})
			case y > 0:
				p.Set(x, y, color.NRGBA{0, 0, 255, 255})
			}
		}
	}
	return p
}

func pngOf(t testing.TB, p image.Image) string {
	var out bytes.Buffer
	if err := png.Encode(&out, p); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// sixelFrame is all that a terminal may get: one frame of sixels, whose bytes print.
var sixelFrame = regexp.MustCompile(`^\x1bP0;1;8q"1;1;(\d+);(\d+)[-!#$0-9;?-~]*\x1b\\$`)

// TestSixels: a picture keeps its size where it fits, and is made smaller where it does not.
func TestSixels(t *testing.T) {
	for _, c := range []struct {
		width, height, columns int
		want                   string
	}{
		{12, 12, 80, "12x12"},
		{1, 1, 80, "1x1"},
		{1280, 10, 80, "640x5"},
		{1280, 10, 0, "640x5"},
		{4000, 1000, 400, "1600x400"},
		{10, 3000, 80, "3x900"},
		{3000, 1, 1, "8x1"},
	} {
		m := sixelFrame.FindStringSubmatch(Sixel.Sequence(pngOf(t, drawn(c.width, c.height)), c.columns))
		if m == nil || m[1]+"x"+m[2] != c.want {
			t.Errorf("%dx%d in %d columns: %q, want %s", c.width, c.height, c.columns, m, c.want)
		}
	}
	shown := Sixel.Sequence(pngOf(t, drawn(4, 6)), 80)
	if !strings.Contains(shown, "#0;2;") || !strings.Contains(shown, "~~") || !strings.Contains(shown, "}}") { // whole columns, and those with the hole
		t.Errorf("shown %q", shown)
	}
}

// TestFormats: what a terminal does not take itself is decoded for it.
func TestFormats(t *testing.T) {
	var jpg, animated bytes.Buffer
	if err := jpeg.Encode(&jpg, drawn(8, 8), nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&animated, drawn(8, 8), nil); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{jpg.String(), animated.String()} {
		data := base64.StdEncoding.EncodeToString([]byte(file))
		if shown := Sixel.Sequence(data, 80); !sixelFrame.MatchString(shown) {
			t.Errorf("sixels of %.4q: %q", file, shown)
		}
		if shown := Kitty.Sequence(data, 80); !strings.Contains(shown, base64.StdEncoding.EncodeToString([]byte(pngBegins))[:8]) {
			t.Errorf("kitty gets of %.4q: %q", file, shown)
		}
	}
}

// TestHostilePictures: a file that says that it is large is not decoded, and a bad one shows
// nothing.
func TestHostilePictures(t *testing.T) {
	whole, err := base64.StdEncoding.DecodeString(pngOf(t, drawn(8, 8)))
	if err != nil {
		t.Fatal(err)
	}
	sized := func(width, height uint32) []byte { // with the head of a picture of another size
		file := bytes.Clone(whole)
		binary.BigEndian.PutUint32(file[16:], width)
		binary.BigEndian.PutUint32(file[20:], height)
		binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(file[12:29]))
		return file
	}
	for name, file := range map[string][]byte{
		"cut short":   whole[:40],
		"its head":    whole[:33],
		"4 Gpixel":    sized(1<<16, 1<<16),
		"long":        sized(1<<30, 1),
		"just over":   sized(2049, 2048),
		"no pixels":   sized(0, 8),
		"a gif":       append([]byte("GIF89a\xff\xff\xff\xff"), 0, 0, 0),
		"a jpeg":      []byte("\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01"),
		"other bytes": []byte("BM\x00\x00"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		shown := Sixel.Sequence(base64.StdEncoding.EncodeToString(file), 80)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; shown != "" || taken > 1<<20 {
			t.Errorf("%s: %d bytes, %.100q", name, taken, shown)
		}
	}
}

func FuzzSixels(f *testing.F) {
	f.Add([]byte(pngBegins))
	f.Add([]byte("GIF89a\x02\x00\x02\x00\x80\x00\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if shown := Sixel.Sequence(base64.StdEncoding.EncodeToString(file), 20); shown != "" && !sixelFrame.MatchString(shown) {
			t.Errorf("%q", shown)
		}
	})
}

package picture

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/mattn/go-sixel"
)

// format is a kind of picture, known by how it begins.
type format struct {
	name   string
	begins string
	config func(io.Reader) (image.Config, error)
	read   func(io.Reader) (image.Image, error)
}

const formatPNG = "png"

var formats = []format{
	{formatPNG, "\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode},
	{"jpeg", "\xff\xd8\xff", jpeg.DecodeConfig, jpeg.Decode},
	{"gif", "GIF8", gif.DecodeConfig, gif.Decode},
}

// formatOf returns the format of a file, nil for one that is not known.
func formatOf(file []byte) *format {
	for i := range formats {
		if bytes.HasPrefix(file, []byte(formats[i].begins)) {
			return &formats[i]
		}
	}
	return nil
}

// Bounds of a picture that is decoded here. A file of a few bytes may say that it has any
// number of pixels, and each takes up to 16 bytes.
const (
	largestArea = 4 << 20 // pixels
	longestSide = 16 << 10
)

// decode returns the first image of a file, or nil for one that cannot be read or is larger
// than the bounds.
func (f *format) decode(file []byte) image.Image {
	c, err := f.config(bytes.NewReader(file))
	if err != nil || c.Width < 1 || c.Height < 1 || c.Width > longestSide || c.Height > longestSide || c.Width*c.Height > largestArea {
		return nil
	}
	decoded, err := f.read(bytes.NewReader(file))
	if err != nil || decoded.Bounds().Empty() {
		return nil
	}
	return decoded
}

// Bounds of what is shown in sixels, in pixels. A terminal is not asked how large its letters
// are.
const (
	columnWidth = 8
	widest      = 1600
	highest     = 900
)

// sixels returns a picture in sixels, made smaller if it is wider than the terminal. Transparent
// parts show the background.
func sixels(picture image.Image, columns int) string {
	if picture == nil {
		return ""
	}
	var out bytes.Buffer
	e := sixel.NewEncoder(&out)
	e.Dither, e.Transparent = true, true
	if e.Encode(fitted(picture, min(cmp.Or(columns, 80)*columnWidth, widest), highest)) != nil {
		return ""
	}
	return out.String()
}

// fitted returns a picture that is no wider and no higher than that: each of its pixels is the
// mean of those that it stands for.
func fitted(picture image.Image, width, height int) *image.RGBA {
	from := picture.Bounds()
	whole := image.NewRGBA(image.Rect(0, 0, from.Dx(), from.Dy()))
	draw.Draw(whole, whole.Bounds(), picture, from.Min, draw.Src)
	w, h := from.Dx(), from.Dy()
	if w > width {
		w, h = width, max(1, h*width/w)
	}
	if h > height {
		w, h = max(1, w*height/h), height
	}
	if w == from.Dx() && h == from.Dy() {
		return whole
	}
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			small.SetRGBA(x, y, mean(whole, image.Rect(x*from.Dx()/w, y*from.Dy()/h, (x+1)*from.Dx()/w, (y+1)*from.Dy()/h)))
		}
	}
	return small
}

// mean is the mean colour of a part of a picture, which is not empty.
func mean(picture *image.RGBA, part image.Rectangle) color.RGBA {
	var sum [4]int
	for y := part.Min.Y; y < part.Max.Y; y++ {
		row := picture.Pix[picture.PixOffset(part.Min.X, y):picture.PixOffset(part.Max.X, y)]
		for i, value := range row {
			sum[i%4] += int(value)
		}
	}
	n := part.Dx() * part.Dy()
	return color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), uint8(sum[3] / n)}
}

package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
)

// The background is that of the page, which is light or dark, so all colours have a medium
// lightness.
var (
	ink  = color.NRGBA{0x80, 0x80, 0x80, 0xff}
	rule = color.NRGBA{0x80, 0x80, 0x80, 0x60}
	hues = map[string]color.Color{
		contestant.Floor: color.NRGBA{0x8a, 0x8a, 0x8a, 0xff},
		contestant.Wharf: color.NRGBA{0x1f, 0x83, 0xe0, 0xff},
		contestant.GoSDK: color.NRGBA{0xdb, 0x7b, 0x00, 0xff},
		contestant.MCPGo: color.NRGBA{0xc2, 0x4f, 0xa8, 0xff},
	}
	signs = map[string]draw.GlyphDrawer{
		contestant.Floor: draw.CrossGlyph{},
		contestant.Wharf: draw.CircleGlyph{},
		contestant.GoSDK: draw.BoxGlyph{},
		contestant.MCPGo: draw.PyramidGlyph{},
	}
)

// The picture has a strip with the title and the contestants, and four panels.
const (
	width  = 620
	height = 500
	strip  = 40
)

// svg draws the panels. A figure of 0 is not known on the machine.
func (d data) svg() []byte {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	d.heading(draw.Crop(all, 8, -8, height-strip, -4))
	panels := [][]*plot.Plot{
		{d.panel(measure.Rate), d.panel(measure.P50, measure.P99)},
		{d.panel(measure.Spent), d.panel(measure.Once, measure.Peak)},
	}
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadTop: strip + 8, PadBottom: 4, PadLeft: 6, PadRight: 14, PadX: 16, PadY: 10}
	for i, line := range plot.Align(panels, tiles, all) {
		for j, c := range line {
			panels[i][j].Draw(c)
		}
	}
	var out bytes.Buffer
	canvas.WriteTo(&out)
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// heading writes the title, and below it the contestants in their colours.
func (d data) heading(c draw.Canvas) {
	title := plot.NewLegend()
	title.Top, title.Left, title.ThumbnailWidth = true, true, 0
	title.TextStyle.Color, title.TextStyle.Font.Size = ink, 12
	title.Add(d.curve.Title)
	title.Draw(c)
	for i, who := range d.contestants() {
		l := plot.NewLegend()
		l.Left = true
		l.TextStyle.Color, l.TextStyle.Font.Size = ink, 10
		line, points := styled(who, nil, false)
		l.Add(who, line, points)
		l.Draw(draw.Crop(c, vg.Length(i)*90, 0, 0, 0))
	}
}

// contestants lists the contestants with data, in the order of the report.
func (d data) contestants() []string {
	return slices.DeleteFunc(contestant.Names(), func(who string) bool {
		return !slices.ContainsFunc(d.rows, func(r row) bool { return r.contestant == who })
	})
}

// panel shows one figure, or two in one unit, of which the second is dashed.
func (d data) panel(names ...string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text = d.curve.Axis
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = rule, rule
	p.Add(grid)
	dashed := false
	for i, m := range d.curve.Metrics() {
		if !slices.Contains(names, m.Name) {
			continue
		}
		for _, who := range d.contestants() {
			line, points := styled(who, d.points(who, i), dashed)
			p.Add(line, points)
		}
		if !dashed {
			p.Title.Text = labels[m.Name] + ", " + m.Unit
		}
		dashed = true
	}
	p.Title.TextStyle.Color, p.Title.TextStyle.Font.Size, p.Title.Padding = ink, 10, 4
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color = ink, ink
		a.Label.TextStyle.Color, a.Tick.Label.Color = ink, ink
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = 10, 9
		a.Scale, a.Tick.Marker = plot.LogScale{}, decades{}
	}
	p.Y.Min, p.Y.Max = whole(p.Y.Min, p.Y.Max)
	if p.X.Min >= p.X.Max {
		p.X.Min, p.X.Max = whole(p.X.Min, p.X.Max)
	}
	return p
}

// labels are the names of the upright axes, which stand above them.
var labels = map[string]string{
	measure.Rate:  "throughput",
	measure.P50:   "latency, p50 and (dashed) p99",
	measure.Spent: "processor time of a call",
	measure.Once:  "memory at rest",
	measure.Peak:  "memory at most",
}

// points returns the points of one contestant, with the figure of that number.
func (d data) points(who string, figure int) (all plotter.XYs) {
	for _, r := range d.rows {
		if r.contestant == who && r.figures[figure] > 0 {
			all = append(all, plotter.XY{X: r.at, Y: r.figures[figure]})
		}
	}
	return all
}

// styled returns the line of a contestant and its points.
func styled(who string, all plotter.XYs, dashed bool) (*plotter.Line, *plotter.Scatter) {
	line := &plotter.Line{XYs: all, LineStyle: draw.LineStyle{Color: hues[who], Width: 1.6}}
	if dashed {
		line.Width, line.Dashes = 1.1, []vg.Length{4, 3}
	}
	return line, &plotter.Scatter{XYs: all, GlyphStyle: draw.GlyphStyle{Color: hues[who], Radius: 2.6, Shape: signs[who]}}
}

// whole widens a range to powers of ten.
func whole(least, most float64) (float64, float64) {
	if least > most { // there is nothing
		return 1, 10
	}
	low, high := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	return math.Pow(10, low), math.Pow(10, max(high, low+1))
}

// decades marks powers of ten, and values between them if there are few.
type decades struct{}

func (decades) Ticks(least, most float64) (all []plot.Tick) {
	low, high := int(math.Floor(math.Log10(least))), int(math.Ceil(math.Log10(most)))
	for exponent := low; exponent <= high; exponent++ {
		power := math.Pow10(exponent)
		all = append(all, plot.Tick{Value: power, Label: short(power)})
		for n := 2.0; n < 10 && high-low < 4; n++ {
			all = append(all, plot.Tick{Value: n * power})
		}
	}
	return all
}

// short writes a power of ten.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.0f M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0f k", v/1e3)
	default:
		return fmt.Sprintf("%g", math.Round(v*1e6)/1e6)
	}
}

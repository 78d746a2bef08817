package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
)

// drawn writes the lines of a curve's data, draws them, and returns the picture.
func drawn(t *testing.T, c measure.Curve, lines ...string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	text := strings.Join(c.Columns(), `","`)
	if err := os.WriteFile(filepath.Join(folder, c.Name+".csv"), []byte(`"`+text+"\"\n"+strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := drawAll(folder); err != nil {
		return "", err
	}
	svg, err := os.ReadFile(filepath.Join(folder, c.Name+".svg"))
	if err != nil {
		t.Fatal(err)
	}
	return string(svg), nil
}

func TestEveryCurveHasAPicture(t *testing.T) {
	for _, c := range measure.Curves() {
		var lines []string
		for _, who := range contestant.Names() {
			lines = append(lines, "1,"+who+",1,20,300,4,50", "10,"+who+",2,20,300,4,50")
		}
		svg, err := drawn(t, c, lines...)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range append(contestant.Names(), c.Title, c.Axis, "throughput, ", "latency, ", "memory at ") {
			if !strings.Contains(svg, want) {
				t.Errorf("%s: no %q", c.Name, want)
			}
		}
		wellFormed(t, svg)
		if len(svg) > 40_000 {
			t.Errorf("%s has %d bytes", c.Name, len(svg))
		}
	}
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader([]byte(svg))); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Error(err)
			return
		}
	}
}

// TestAFigureThatIsNotKnownHasNoPoint has memory that is known on Linux only, and a
// contestant that was left out.
func TestAFigureThatIsNotKnownHasNoPoint(t *testing.T) {
	svg, err := drawn(t, measure.Curves()[0], "1,wharf,1,2,3,4,0")
	if err != nil || strings.Contains(svg, contestant.GoSDK) || !strings.Contains(svg, contestant.Wharf) {
		t.Errorf("error %v, got %s", err, svg)
	}
	if svg, err = drawn(t, measure.Curves()[0]); err != nil {
		t.Error(err)
	}
	wellFormed(t, svg)
}

func TestOtherDataIsAnError(t *testing.T) {
	c := measure.Curves()[0]
	for _, line := range []string{"x,wharf,1,2,3,4,5", "1,wharf,1,2,3,4,x", "1,wharf,1"} {
		if _, err := drawn(t, c, line); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, c.Name+".csv"), []byte("size,contestant\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := drawAll(folder); err == nil || !strings.Contains(err.Error(), "measure it again") {
		t.Errorf("other columns: got %v", err)
	}
}

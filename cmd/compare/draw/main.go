// Command draw draws the curves of a comparison. For each curve whose data is in the
// folder, as NAME.csv, it writes NAME.svg beside it. It is a program of its own because
// its library reads fonts at each start, which would take memory in every measured
// client.
//
//	draw FOLDER
package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: draw FOLDER")
		os.Exit(2)
	}
	if err := drawAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func drawAll(folder string) error {
	for _, c := range measure.Curves() {
		d, err := read(c, filepath.Join(folder, c.Name+".csv"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, c.Name+".svg"), d.svg(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// data is the data of a curve to draw.
type data struct {
	curve measure.Curve
	rows  []row // as in the file
}

// row is one point of one contestant.
type row struct {
	at         float64
	contestant string
	figures    []float64 // as the curve's metrics
}

func read(c measure.Curve, path string) (data, error) {
	f, err := os.Open(path)
	if err != nil {
		return data{}, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return data{}, fmt.Errorf("%s: %w", path, err)
	}
	if len(lines) == 0 || !slices.Equal(lines[0], c.Columns()) {
		return data{}, fmt.Errorf("%s: the first line is not that of the curve: measure it again", path)
	}
	d := data{curve: c}
	for _, line := range lines[1:] {
		r := row{contestant: line[1], figures: make([]float64, len(line)-2)}
		if r.at, err = strconv.ParseFloat(line[0], 64); err != nil {
			return data{}, fmt.Errorf("%s: %w", path, err)
		}
		for i := range r.figures {
			if r.figures[i], err = strconv.ParseFloat(line[i+2], 64); err != nil {
				return data{}, fmt.Errorf("%s: %w", path, err)
			}
		}
		d.rows = append(d.rows, r)
	}
	return d, nil
}

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/arena"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
)

// draw writes the measured curves into a folder: the data as NAME.csv, the picture that
// ./draw makes from it, and in run.txt a description of the run.
func (r *report) draw(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, c := range measure.Curves() {
		if rows := r.curve(c); len(rows) > 0 {
			if err := write(filepath.Join(folder, c.Name+".csv"), append([][]string{c.Columns()}, rows...)); err != nil {
				return err
			}
		}
	}
	var how bytes.Buffer
	r.head(&how)
	r.leftOut(&how)
	if err := os.WriteFile(filepath.Join(folder, "run.txt"), how.Bytes(), 0o644); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "run", "github.com/wharf-mcp/wharf/cmd/compare/draw", folder)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("draw the curves: %w: %s", err, out)
	}
	return nil
}

// curve returns a line for each point and contestant: the medians of the rounds, with
// all processors if both were measured.
func (r *report) curve(c measure.Curve) (rows [][]string) {
	pinned := r.settings.pins[len(r.settings.pins)-1]
	for _, m := range measure.All() {
		if m.Curve != c.Name {
			continue
		}
		for _, who := range r.settings.contestants {
			row := []string{strconv.Itoa(m.At), who}
			for _, metric := range m.Metrics {
				if v, ok := r.Runs.Median(pinned, who, arena.Key{Measure: m.Name, Metric: metric.Name}); ok {
					row = append(row, strconv.FormatFloat(v, 'f', metric.Digits, 64))
				}
			}
			if len(row) == len(c.Columns()) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func write(path string, rows [][]string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
}

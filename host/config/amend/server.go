package amend

import (
	"errors"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// Free returns a [TakenError] if a file has a server of that name.
func Free(f *tomledit.File, name string) error {
	if find(f, name) != nil {
		return &TakenError{name, f.Path}
	}
	return nil
}

// Add adds an entry to a file. With replace it takes the place of the entry of that name, if there is one;
// without, such an entry is a [TakenError].
func Add(f *tomledit.File, s config.Server, replace bool) (*Change, error) {
	if err := config.CheckName(s.Name); err != nil {
		return nil, err
	}
	shown, err := Lines(s)
	if err != nil {
		return nil, err
	}
	return newChange(f, func(c *Change) (err error) {
		c.Name, c.Is, c.Was = s.Name, &s, find(f, s.Name)
		c.Grave = []string{"servers." + s.Name}
		c.Lines = append([]string{place(s.Name, "would be added to", f)}, shown...)
		if c.Was != nil {
			if !replace {
				return &TakenError{s.Name, f.Path}
			}
			old, err := tomledit.Text(tomledit.Server(*c.Was))
			if err != nil {
				return err
			}
			c.Lines = append(append([]string{place(s.Name, "would be replaced in", f)}, indented(old)...), "In its place comes:")
			c.Lines = append(c.Lines, shown...)
		}
		if c.Text, err = tomledit.AddTables(f.Text, tomledit.Server(s)); err == nil {
			_, err = config.Parse(f.Path, c.Text)
		}
		var wrong *config.Error
		if errors.As(err, &wrong) && wrong.Subject == "server "+s.Name { // which is in no file yet
			err = &config.Error{Subject: wrong.Subject, Field: wrong.Field, Problem: wrong.Problem}
		}
		return err
	})
}

// Remove takes an entry out of a file. That is grave: what a person wrote is lost.
func Remove(f *tomledit.File, name string) (*Change, error) {
	return newChange(f, func(c *Change) (err error) {
		if c.Name, c.Was = name, find(f, name); c.Was == nil {
			return &GoneError{name, f.Path}
		}
		c.Grave = []string{"servers." + name}
		if c.Text, err = tomledit.Remove(f.Text, "servers", name); err != nil {
			return err
		}
		gone, whole := RemovedLines(string(f.Text), string(c.Text))
		text := strings.Join(gone, "\n")
		if !whole { // of an inline table, which has others in the same line
			text, err = tomledit.Text(tomledit.Server(*c.Was))
		}
		c.Lines = append([]string{place(name, "would be removed from", f)}, indented(text)...)
		return err
	})
}

// RemovedLines returns the lines of before that after lacks. whole reports whether the two differ
// in nothing else.
func RemovedLines(before, after string) (lines []string, whole bool) {
	left := slices.Collect(strings.Lines(after))
	for line := range strings.Lines(before) {
		if len(left) > 0 && left[0] == line {
			left = left[1:]
			continue
		}
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines, len(left) == 0
}

// Enable turns a server of a file on or off. To turn one on is grave: what it names can run then.
func Enable(f *tomledit.File, name string, on bool) (*Change, error) {
	return newChange(f, func(c *Change) (err error) {
		if c.Name, c.Was = name, find(f, name); c.Was == nil {
			return &GoneError{name, f.Path}
		}
		is := *c.Was
		is.Disabled, c.Is = !on, &is
		if on {
			c.Text, err = tomledit.Remove(f.Text, "servers", name, "disabled")
		} else {
			c.Text, err = tomledit.SetKey(f.Text, []string{"servers", name, "disabled"}, true)
		}
		if err != nil {
			return err
		}
		read, err := config.Parse(f.Path, c.Text)
		if err != nil {
			return err
		}
		c.Lines = append([]string{place(name, "would be changed in", f)}, differing(f.Text, c.Text)...)
		if c.Grave = nil; on && c.Was.Disabled {
			c.Grave = []string{"servers." + name + ".disabled"}
		}
		return c.describe(read)
	})
}

// place begins the lines of a change.
func place(name, what string, f *tomledit.File) string {
	return cleantext.Visible(name) + " " + what + " " + cleantext.Visible(f.Path) + ":"
}

func indented(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, "  "+cleantext.Visible(strings.TrimRight(line, "\r\n")))
	}
	return lines
}

// differing returns the lines between the first and the last one in which two texts differ: those that go,
// with "- ", and those that come, with "+ ".
func differing(before, after []byte) (lines []string) {
	was, is := strings.SplitAfter(string(before), "\n"), strings.SplitAfter(string(after), "\n")
	for len(was) > 0 && len(is) > 0 && was[0] == is[0] {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	for _, side := range []struct {
		mark string
		text []string
	}{{"- ", was}, {"+ ", is}} {
		for _, line := range side.text {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				lines = append(lines, "  "+side.mark+cleantext.Visible(line))
			}
		}
	}
	return lines
}

package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rotated records n messages with a recorder whose files are small, and returns the
// path and what Close said.
func rotated(t *testing.T, n int, meanwhile func(i int, path string)) (path string, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "t.ndjson")
	r, err := create(path, 2<<10)
	if err != nil {
		t.Fatal(err)
	}
	w := r.Connect("s", "stdio")
	for i := range n {
		w.Message(true, "", fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m%[1]d","params":%q}`, i, strings.Repeat("x", 600)))
		r.Flush(t.Context())
		if meanwhile != nil {
			meanwhile(i, path)
		}
	}
	w.Message(false, "", fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, 0))
	return path, r.Close()
}

// written returns the lines of a file, every one of them sound.
func written(t *testing.T, path string) (list []Record) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := new(memoryFile)
	p.text.Write(text)
	if list = p.records(t); list[0].Kind != Start || list[len(list)-1].Kind != End {
		t.Errorf("%s goes from %s to %s", path, list[0].Kind, list[len(list)-1].Kind)
	}
	return list
}

func methods(list []Record) (all []string) {
	for _, r := range list {
		if r.IsMessage() {
			all = append(all, r.Method)
		}
	}
	return all
}

// A file that is full is put aside, and each of the two says where the other is.
// What goes on in the second knows what was asked in the first.
func TestFullFile(t *testing.T) {
	path, err := rotated(t, 4, nil)
	if err != nil {
		t.Error(err)
	}
	aside, here := written(t, path+".1"), written(t, path)
	if got := methods(append(aside, here...)); !slices.Equal(got, []string{"m0", "m1", "m2", "m3", "m0"}) {
		t.Errorf("recorded %q", got)
	}
	if why := aside[len(aside)-1].Why; why != "the file is full; t.ndjson goes on" {
		t.Errorf("the first ends with %q", why)
	}
	if here[0].Why != "what was before is in t.ndjson.1" || here[len(here)-1].Why != "" || here[0].At < aside[len(aside)-1].At {
		t.Errorf("the second goes from %+v to %+v", here[0], here[len(here)-1])
	}
}

// However long it goes on, there are two files, for the user alone, and the newest
// is in them.
func TestTwoFiles(t *testing.T) {
	path, err := rotated(t, 40, nil)
	if err == nil || !strings.Contains(err.Error(), "its beginning is gone") {
		t.Errorf("got %v", err)
	}
	if got := methods(append(written(t, path+".1"), written(t, path)...)); len(got) < 3 || !slices.Equal(got[len(got)-2:], []string{"m39", "m0"}) {
		t.Errorf("kept %q", got)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Size() > 4<<10 || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s: %v, %v", f.Name(), info, err)
		}
	}
}

// What is no trace is not overwritten, nor what another program has put in the place
// of the file: then the trace ends there, and says so.
func TestFullFileThatStays(t *testing.T) {
	const mine = "no trace\n"
	put := func(t *testing.T, path string) {
		if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		meanwhile   func(t *testing.T, path string)
		want        string
		stays, ends string // the files that are not touched, and the one that says why
	}{
		"no trace": {func(t *testing.T, path string) { put(t, path+".1") }, "t.ndjson.1 is not a trace", ".1", ""},
		"another file": {func(t *testing.T, path string) {
			if err := os.Rename(path, path+".moved"); err != nil {
				t.Skip("an open file cannot be moved here")
			}
			put(t, path)
		}, "t.ndjson is another file by now", "", ".moved"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := rotated(t, 8, func(i int, path string) {
				if i == 0 {
					c.meanwhile(t, path)
				}
			})
			if err == nil || !strings.Contains(err.Error(), "the file is full: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			list := written(t, path+c.ends)
			if end := list[len(list)-1]; !strings.Contains(end.Why, c.want) {
				t.Errorf("it ends with %+v", end)
			}
			if text, err := os.ReadFile(path + c.stays); err != nil || string(text) != mine {
				t.Errorf("what was there is %.30q, %v", text, err)
			}
		})
	}
}

// A writer of the caller's has no end.
func TestNoRotation(t *testing.T) {
	s := newWriter(new(memoryFile))
	for range 3 {
		s.room = 0
		s.write(&Record{Kind: Gap, Time: s.began})
	}
	if s.rotations > 0 || s.out.Err != nil {
		t.Errorf("turned %d times: %v", s.rotations, s.out.Err)
	}
}

package modules

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/confine"
)

// What a process of its own lacks without a seal is told once for each plugin, and
// not at all where there is a seal.
func TestAMissingSealIsTold(t *testing.T) {
	heard := make(chan string, 8)
	m := &Cache{config: Config{Warn: func(_, text string) { heard <- text }}}
	lack := confine.Lacks("darwin", "arm64")
	m.tellLack("sealed", confine.Lacks("linux", "arm64"))
	for range 3 {
		m.tellLack("pigeon", lack)
	}
	m.tellLack("gull", lack)
	for _, name := range []string{"pigeon", "gull"} {
		text := <-heard
		for _, want := range []string{"plugin " + name + " ", "open files and connections", "start programs", "compute without end", "memory is not limited"} {
			if !strings.Contains(text, want) {
				t.Errorf("heard %q, want %q", text, want)
			}
		}
	}
	if len(heard) > 0 {
		t.Errorf("heard %q as well", <-heard)
	}
}

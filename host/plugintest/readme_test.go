package plugintest

import (
	"strings"
	"testing"
)

// README.md is what other hosts and authors go by: it names everything that a
// scenario can say, and its profile is one.
func TestReadme(t *testing.T) {
	text := string(read(t, "README.md"))
	for verb := range verbs {
		if !strings.Contains(text, "`"+verb+"`") && !strings.Contains(text, "`"+verb+" ") {
			t.Errorf("it does not name the verb %s", verb)
		}
	}
	for order := range orders {
		if !strings.Contains(text, "`"+order+"`") && !strings.Contains(text, "`"+order+" ") {
			t.Errorf("it does not name the order %s", order)
		}
	}
	for _, id := range []string{"module", "describe", "fuel", "fuel-size", "host-calls", "memory-size", "memory-growth", "same-twice", "same-together", "same-interpreted", "same-unmetered", "handover"} {
		if !Known(id) || !strings.Contains(text, "`"+id+"`") {
			t.Errorf("it does not name the check %s", id)
		}
	}
	_, rest, _ := strings.Cut(text, "```json\n")
	profile, _, _ := strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(rest, "```json\n")
	provider, _, _ := strings.Cut(rest, "```")
	if p, err := parseProfile([]byte(provider)); err != nil || len(p.SignIn.Answers) != 1 {
		t.Errorf("the profile of a provider: %v", err)
	}
	p, err := parseProfile([]byte(profile))
	if err != nil {
		t.Fatal(err)
	}
	n, _, ok := p.answer([]byte("SUB _INBOX.x.* 1\r\nPING\r\n"), map[string]string{})
	if !ok || n != len("SUB _INBOX.x.* 1\r\n") {
		t.Errorf("the profile takes %d bytes, %v", n, ok)
	}
}

// Every point of the proposal has a check, and every scenario has a level that
// fits its points.
func TestPointsAreCovered(t *testing.T) {
	covered := map[string]bool{"R1": true} // by the module and its description
	for _, s := range Scenarios() {
		for _, p := range s.Points {
			covered[p] = true
			if s.Level == Required && p[0] == 'P' && len(s.Points) == 1 {
				t.Errorf("%s is required, and %s recommended", s.ID, p)
			}
		}
	}
	for _, p := range points {
		if !covered[p.id] {
			t.Errorf("no check is about %s", p.id)
		}
	}
}

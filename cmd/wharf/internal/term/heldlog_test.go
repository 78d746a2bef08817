package term

import (
	"strings"
	"testing"
)

func TestServerLog(t *testing.T) {
	var stderr strings.Builder
	log := (&Terminal{Err: &stderr}).NewHeldLog()
	write := func(text, want string) {
		t.Helper()
		if n, err := log.Write([]byte(text)); err != nil || n != len(text) {
			t.Fatal(n, err)
		}
		if stderr.String() != want {
			t.Errorf("stderr %q, want %q", stderr.String(), want)
		}
	}
	write("[s] starting\n", "")
	log.Release()
	write("[s] \x1b[31mserving\n", "[s] starting\n[s] \x1b[31mserving\n")
}

func TestServerLogHoldsNoFlood(t *testing.T) {
	var stderr strings.Builder
	log := (&Terminal{Err: &stderr}).NewHeldLog()
	flood := []byte(strings.Repeat("[s] all is well\n", 1+heldLines/16))
	if _, err := log.Write(flood); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write([]byte("[s] the end\n")); err != nil {
		t.Fatal(err)
	}
	log.Release()
	if got := stderr.String(); len(got) > heldLines || len(got) < heldLines-32 || !strings.HasPrefix(got, "[s] all") || !strings.HasSuffix(got, "\n[s] the end\n") {
		t.Errorf("%d bytes passed on: %.20q … %q", len(got), got, got[max(0, len(got)-20):])
	}
	log.Hush()
	if _, err := log.Write(flood); err != nil || strings.Count(stderr.String(), "the end") != 1 || stderr.Len() > heldLines {
		t.Errorf("passed on after Hush: %d bytes, %v", stderr.Len(), err)
	}
}

func TestServerLogCannotSteerATerminal(t *testing.T) {
	var screen strings.Builder
	log := (&Terminal{Err: &screen, ErrTTY: true}).NewHeldLog()
	log.Release()
	if _, err := log.Write([]byte("[s] \x1b]0;owned\a\n")); err != nil {
		t.Fatal(err)
	}
	if want := "[s] \\x1b]0;owned\\x07\n"; screen.String() != want {
		t.Errorf("screen %q, want %q", screen.String(), want)
	}
}

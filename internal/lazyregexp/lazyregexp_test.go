package lazyregexp

import (
	"sync"
	"testing"
)

func TestFirstUseCompiles(t *testing.T) {
	digits := New(`^([0-9]+)$`)
	if digits.re != nil {
		t.Error("it is compiled before its first use")
	}
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			if m := digits.FindStringSubmatch("42"); len(m) != 2 || m[1] != "42" {
				t.Errorf("FindStringSubmatch returns %q", m)
			}
		})
	}
	users.Wait()
	if digits.MatchString("x") {
		t.Error(`"x" matches`)
	}
}

package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// sinceFlag is the value of --since.
type sinceFlag struct{ at time.Time }

func (s *sinceFlag) Type() string   { return "" }
func (s *sinceFlag) String() string { return "" }

func (s *sinceFlag) Set(text string) error {
	if back, err := time.ParseDuration(text); err == nil && back >= 0 {
		s.at = time.Now().Add(-back)
		return nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if back, err := strconv.ParseUint(days, 10, 16); err == nil {
			s.at = time.Now().AddDate(0, 0, -int(back))
			return nil
		}
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			s.at = at
			return nil
		}
	}
	return errors.New("expected a duration such as 1h or 2d, a day such as 2026-07-28, or a time such as 2026-07-28T09:00:00Z")
}

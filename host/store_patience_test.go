package host

import "time"

// SetPatience changes how long a trial may take.
func (s *Store) SetPatience(limit time.Duration) { s.patience = limit }

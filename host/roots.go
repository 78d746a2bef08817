package host

import "context"

// RootsChanged tells the server that what [Config.Roots] returns for it is not
// what it was. Servers of the modern era ask for that whenever they need it, so
// for them there is nothing to do.
func (s *Session) RootsChanged(ctx context.Context) error {
	return explain(s.Name(), s.inner.RootsChanged(ctx))
}

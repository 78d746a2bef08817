package host

import "github.com/wharf-mcp/wharf/host/internal/watch"

// Files follows some files, such as a configuration and the plugins that it names:
// Next waits until some have changed. It follows paths and not what lies there, so
// it sees files that are replaced, that appear, and that are reached through links.
type Files = watch.Files

// FollowFiles begins to follow files. The caller closes what is returned.
func FollowFiles(paths ...string) (*Files, error) { return watch.Follow(paths...) }

package vault

import "github.com/zalando/go-keyring"

// ErrNotFound is what a [Keyring] says of a secret that it does not have.
var ErrNotFound = keyring.ErrNotFound

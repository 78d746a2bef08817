// Package vault keeps the records of auth providers: encrypted, on disk, shared
// by all processes of the user.
package vault

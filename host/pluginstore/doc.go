// Package pluginstore keeps the plugins that a user installed: their files, named by
// their hashes, and a lockfile that says what each plugin is, where it came from, who
// signed it and what it was granted.
//
// The lockfile holds only what the user was shown and has accepted. A plugin is read once: the
// bytes that were hashed, verified and shown are the bytes that are stored. A program that loads
// the file compares it with the hash again.
//
// Only the user may open the two folders. Readers take no lock; writers take one between
// processes. A file is written before the lockfile names it, and removed after the lockfile has
// dropped it. So a crash leaves at worst a file that is not named, which the next change
// removes.
//
// Errors have the kinds of package host: ErrConfig, ErrDenied, ErrPluginRefused,
// ErrTimeout and ErrUnreachable. Its Hint says what to do about them.
package pluginstore

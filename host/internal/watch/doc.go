// Package watch tells when files change: a configuration, or a plugin on disk. It
// asks the kernel to be told and polls nothing, so it costs nothing while nothing
// happens. It is the only door to fsnotify.
//
// A file is followed by its path, and not by what lies there at the moment. An
// editor that writes another file and renames it, a link to a dotfile that is
// pointed elsewhere, a folder that is replaced, or a file that appears for the
// first time, are changes as much as a write is. To see them, what is watched is
// each folder in which a step of the path can change: those that hold its links,
// the one that holds the file, or, where something is missing, the last that is
// there.
//
// What tells of changes tells of every write, so a change is reported when there
// has been quiet for a moment, and only if the file is another than before.
// Filesystems that tell nothing, as those on a network do, are not followed.
package watch

// Package watch reports changes of files: of a configuration, or of a plugin on disk. The
// kernel notifies it, and it polls nothing, so it costs nothing while nothing changes. It
// is the only package that imports fsnotify.
//
// A file is followed by its path, and not by what is there at the moment. So it is a change
// when an editor writes another file and renames it, when a link is pointed elsewhere, when
// a folder is replaced, and when a file appears. For that, every folder in which a step of
// the path can change is watched: the folders of its links, that of the file, or, if
// something is missing, the last folder that exists.
//
// The kernel notifies of every write. A change is reported once the files have been left
// alone for a moment, and only if the file differs from before. Filesystems without
// notifications, such as those on a network, cannot be followed.
package watch

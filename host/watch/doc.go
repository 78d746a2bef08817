// Package watch reports changes of files: of a configuration, or of a plugin on disk. The kernel
// notifies it, and it does not poll, so it costs nothing while nothing changes. It is the only
// package that imports fsnotify.
//
// A file is followed by its path. So it counts as a change when an editor renames another file
// to that path, when a link is pointed elsewhere, when a folder is replaced, and when a file
// appears. For that, the package watches every folder in which a step of the path can change:
// the folders of its links, that of the file, or, if something is missing, the last folder that
// exists.
//
// The kernel notifies of every write. A change is reported once the files have been left
// alone for a moment, and only if the file differs from before. Filesystems without
// notifications, such as those on a network, cannot be followed.
package watch

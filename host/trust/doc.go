// Package trust keeps what a user has decided about servers that came with a
// project: which exact entry may be used, and which may not.
//
// # What is decided about
//
// An [Entry] is a list of facts: the command with its path, its arguments, the
// folder, the url, the names of variables, the contents of the scripts. The same
// list is shown to the person, hashed, stored, and compared with later ones. So a
// fact cannot count without being shown, and cannot change without being reported.
//
// # What is kept
//
// A [Store] is one JSON file in a folder that only the user can read and write. It
// has one decision for each server of each file of each project. A decision is for
// one hash: an entry with another hash is not approved. The values of variables and
// headers are stored as digests, because they may be secret.
//
// # What this cannot do
//
// An approval says that an entry is what the person agreed to, not that agreeing was
// wise. Of a script, the named file is compared, not what it loads. A program that
// runs as the user can write the file of decisions, as it can do everything else.
package trust

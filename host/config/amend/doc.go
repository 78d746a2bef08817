// Package amend makes the changes of a configuration that a person asks a program for: a server is added,
// taken out, turned on or off, or some keys are set. The command and the control protocol both use it.
//
// A [Change] is made before it is written, so that it can be shown: [Change.Lines] are all that a person
// has to see. [Change.Write] writes exactly that, or nothing if the file has become another meanwhile.
// [Change.Merge] is for what no person was shown: it makes the change again on the file as it is then.
package amend

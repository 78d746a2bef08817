// Package template holds the plugins that `wharf plugin new` begins with, one for each
// kind and most languages, in the folder KIND/LANG. Each is a whole plugin, called pigeon, that
// builds and passes the conformance kit where it lies. A user gets a copy under another
// name. Beside it lies the contract in the plugin's language: the file that package c,
// rust or assemblyscript holds.
package template

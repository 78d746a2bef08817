// Package template holds the plugins that `wharf plugin new` begins with, one for
// each kind and language. Each is a whole plugin that does something, called pigeon:
// it builds and passes the kit where it lies, in the folder KIND/LANG. What is
// written for a user is the same with another name, beside a copy of the contract in
// its language, which is the file that package c, rust or assemblyscript holds.
package template

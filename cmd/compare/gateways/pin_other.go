//go:build !linux

package main

import "errors"

func pinSelf() error { return errors.New("processes can be pinned on Linux alone: try -pin=false") }

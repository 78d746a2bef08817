//go:build !linux

package wasm

import (
	"errors"
	"os"
)

// canShare is false where we know of no file that has no name, cannot be changed
// and may be mapped over memory: there, instances have all of theirs alone.
const canShare = false

func record([]byte, []bool) (*os.File, error) { return nil, errors.ErrUnsupported }

func look(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unlook([]byte) {}

func overlay([]byte, *os.File, []bool) error { return errors.ErrUnsupported }

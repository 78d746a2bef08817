//go:build !linux

package wasm

import (
	"errors"
	"os"
)

// canSharePages is false because no sealed anonymous files are known here that can be mapped over
// memory. So no instance shares pages.
const canSharePages = false

func writePages([]byte, []bool) (*os.File, error) { return nil, errors.ErrUnsupported }

func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapFile([]byte) {}

func overlay([]byte, *os.File, []bool) error { return errors.ErrUnsupported }

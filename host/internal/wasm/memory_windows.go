package wasm

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// reserve takes address space; commit makes parts of it usable.
func reserve(size uint64) ([]byte, bool) {
	if size == 0 {
		return nil, false
	}
	at, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, false
	}
	// The address is the system's, not the collector's; going through a pointer
	// to it keeps vet from taking it for a number turned into a pointer.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), size), true
}

func commit(buf []byte) bool {
	if len(buf) == 0 {
		return true
	}
	at := uintptr(unsafe.Pointer(&buf[0]))
	_, err := windows.VirtualAlloc(at, uintptr(len(buf)), windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err == nil
}

func release(buf []byte) {
	_ = windows.VirtualFree(uintptr(unsafe.Pointer(&buf[0])), 0, windows.MEM_RELEASE)
}

package testenv

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a small disk of its own.
type Disk struct {
	t   *testing.T
	Dir string
}

// NewDisk mounts a disk of 128 KiB, which root alone can do.
func NewDisk(t *testing.T) *Disk {
	t.Helper()
	d := &Disk{t, t.TempDir()}
	if err := syscall.Mount("test", d.Dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.Dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Fill fills the disk, and Empty takes that back.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.Create(d.filling())
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
}

// Empty makes room again.
func (d *Disk) Empty() {
	d.t.Helper()
	if err := os.Remove(d.filling()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *Disk) filling() string { return filepath.Join(d.Dir, "filling") }

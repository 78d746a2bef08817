package main

import (
	"bytes"
	"testing"
)

// TestDoctorKeepsTheBeginning writes more lines than a doctor keeps of a trace: the first
// ones stay, and each is whole.
func TestDoctorKeepsTheBeginning(t *testing.T) {
	var log traceLog
	line := append(bytes.Repeat([]byte("x"), 60_000), '\n')
	for range 200 {
		if n, err := log.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if n := log.Len(); n > 4<<20 || n < 3<<20 || n%len(line) != 0 {
		t.Errorf("%d bytes are kept", n)
	}
	log.Write([]byte("{}\n"))
	if bytes.HasSuffix(log.Bytes(), []byte("{}\n")) {
		t.Error("a line behind those that were dropped is kept")
	}
}

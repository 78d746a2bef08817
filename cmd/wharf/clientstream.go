package main

import "os"

// clientStream is the stream of the client that started this program.
type clientStream struct{ in, out *os.File }

func (s clientStream) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s clientStream) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s clientStream) CloseWrite() error           { return s.out.Close() }

// Close may follow a CloseWrite.
func (s clientStream) Close() error {
	s.out.Close()
	return s.in.Close()
}

package main

import "os"

// clientStream is the stream of the client that started this program: stdin and stdout, or other
// descriptors for them. It has them block again when it closes them, because a shell may go on to use
// the same files.
type clientStream struct{ in, out *os.File }

func (s clientStream) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s clientStream) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s clientStream) Files() (in, out *os.File)   { return s.in, s.out }

func (s clientStream) CloseWrite() error {
	letBlock(s.out)
	if s.out != os.Stdout {
		os.Stdout.Close()
	}
	return s.out.Close()
}

// Close closes both directions. It may be called after CloseWrite.
func (s clientStream) Close() error {
	s.CloseWrite()
	letBlock(s.in)
	return s.in.Close()
}

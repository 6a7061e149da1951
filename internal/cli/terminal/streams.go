// Package terminal is what stands at the two ends of a command: the streams that
// it reads and writes, text that may reach a screen, keys that go to a task, and
// small drawings in characters.
package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Streams are what a command reads and writes.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Which of them are terminals.
	InTerminal, OutTerminal, ErrTerminal bool
	// Width of the terminal in columns; 0: 80.
	Width int
	// Height of the terminal in lines; 0: nobody knows.
	Height int

	ColorAnyway bool // CLICOLOR_FORCE
}

// Terminal returns the streams of this process.
func Terminal() Streams {
	s := Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		s.Width, s.Height = w, h
	}
	return s
}

// Wary makes terminals take words only.
func (s Streams) Wary() Streams {
	if s.OutTerminal {
		s.Out = &Shown{W: Bare(s.Out)}
	}
	if s.ErrTerminal {
		s.Err = &Shown{W: Bare(s.Err)}
	}
	return s
}

package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/terminal"
	"golang.org/x/term"
)

// Ask shows what is about to be done and asks whether to go on.
func (s *Session) Ask(about string) (bool, error) {
	s.Say("%s", about)
	fmt.Fprint(s.IO.Err, "Go on? [y/N] ")
	line, err := bufio.NewReader(s.IO.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch string(bytes.ToLower(bytes.TrimSpace([]byte(line)))) {
	case "y", "yes":
		return true, nil
	default:
		s.Say("Nothing was done")
		return false, ExitCode(ExitInternal)
	}
}

// AskHidden asks a question whose answer the terminal does not show, from the
// moment on at which the question is there.
func (s *Session) AskHidden(ctx context.Context, question string) ([]byte, error) {
	raw, err := s.IO.Raw()
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, NeedsFlagError("the value", "--from-file FILE")
	}
	defer raw.Restore()
	ctx, stop := terminal.Deadly(ctx)
	defer stop()
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		t := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{terminal.Guarded{Reader: s.IO.In, Raw: raw}, s.IO.Err}, "")
		text, err := t.ReadPassword(question)
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		if errors.Is(a.err, io.EOF) { // Ctrl-C or Ctrl-D: no signal comes of them now
			s.SayRaw("")
			return nil, ExitCode(ExitInterrupted)
		}
		return []byte(a.text), a.err
	case <-ctx.Done():
		s.SayRaw("")
		return nil, ExitCode(ExitInterrupted)
	}
}

// SayRaw is say on a terminal in raw mode.
func (s *Session) SayRaw(format string, args ...any) {
	fmt.Fprintf(s.IO.Err, format+"\r\n", args...)
}

// Warn says what is allowed and perhaps not meant.
func (s *Session) Warn(warnings []string) {
	for _, w := range warnings {
		s.Say("%s %s", s.Paint(s.IO.ErrTerminal, ToneWait, "warning:"), w)
	}
}

// Drop deletes a record, unless a person thinks better of it.
func (s *Session) Drop(ctx context.Context, what, name string, yes bool, drop func(context.Context, *client.Client) error) error {
	if !yes {
		if !s.IO.InTerminal {
			return NeedsFlagError("muster "+what+" delete", "--yes")
		}
		if ok, err := s.Ask(fmt.Sprintf("About to delete %s %s", what, name)); !ok {
			return err
		}
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	if err := drop(ctx, c); err != nil {
		return err
	}
	s.Say("%s %s is deleted", what, name)
	return nil
}

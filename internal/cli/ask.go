package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/musterhq/muster/client"
	"golang.org/x/term"
)

// ask shows what is about to be done and asks whether to go on.
func (s *session) ask(about string) (bool, error) {
	s.say("%s", about)
	fmt.Fprint(s.io.Err, "Go on? [y/N] ")
	line, err := bufio.NewReader(s.io.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch string(bytes.ToLower(bytes.TrimSpace([]byte(line)))) {
	case "y", "yes":
		return true, nil
	default:
		s.say("Nothing was done")
		return false, silent(exitInternal)
	}
}

// askHidden asks a question whose answer the terminal does not show, from the
// moment on at which the question is there.
func (s *session) askHidden(ctx context.Context, question string) ([]byte, error) {
	raw, err := s.io.raw()
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, needsFlag("the value", "--from-file FILE")
	}
	defer raw.restore()
	ctx, stop := deadly(ctx)
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
		}{guarded{s.io.In, raw}, s.io.Err}, "")
		text, err := t.ReadPassword(question)
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		if errors.Is(a.err, io.EOF) { // Ctrl-C or Ctrl-D: no signal comes of them now
			s.sayRaw("")
			return nil, silent(exitInterrupted)
		}
		return []byte(a.text), a.err
	case <-ctx.Done():
		s.sayRaw("")
		return nil, silent(exitInterrupted)
	}
}

// sayRaw is say on a terminal in raw mode.
func (s *session) sayRaw(format string, args ...any) {
	fmt.Fprintf(s.io.Err, format+"\r\n", args...)
}

// warn says what is allowed and perhaps not meant.
func (s *session) warn(warnings []string) {
	for _, w := range warnings {
		s.say("%s %s", s.paint(s.io.ErrTerminal, toneWait, "warning:"), w)
	}
}

// drop deletes a record, unless a person thinks better of it.
func (s *session) drop(ctx context.Context, what, name string, yes bool, drop func(context.Context, *client.Client) error) error {
	if !yes {
		if !s.io.InTerminal {
			return needsFlag("muster "+what+" delete", "--yes")
		}
		if ok, err := s.ask(fmt.Sprintf("About to delete %s %s", what, name)); !ok {
			return err
		}
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if err := drop(ctx, c); err != nil {
		return err
	}
	s.say("%s %s is deleted", what, name)
	return nil
}

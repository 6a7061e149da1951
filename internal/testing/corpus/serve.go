package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// served is a server of its own, with GPUs that are made up.
type served struct {
	program, dir string
	cmd          *exec.Cmd
	ended        chan error
}

// begun is how long a server may take until it answers.
const begun = time.Minute

func serve(program string) (*served, error) {
	dir, err := os.MkdirTemp("", "corpus-")
	if err != nil {
		return nil, err
	}
	s := &served{program: program, dir: dir, ended: make(chan error, 1)}
	s.cmd = s.command(context.Background(), "server", "--fake-gpus", "64")
	var output bytes.Buffer
	s.cmd.Stdout, s.cmd.Stderr = &output, &output
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() { s.ended <- s.cmd.Wait() }()
	for end := time.Now().Add(begun); ; {
		ctx, cancel := context.WithTimeout(context.Background(), begun)
		err := s.command(ctx, "get").Run()
		cancel()
		if err == nil {
			return s, nil
		}
		select {
		case err := <-s.ended:
			return nil, fmt.Errorf("the server has ended: %w\n%s", err, output.Bytes())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("the server does not answer after %s\n%s", begun, output.Bytes()), s.end())
		}
	}
}

// command is one of muster, to that server alone.
func (s *served) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "MUSTER_DATA_DIR="+s.dir+"/data", "MUSTER_SERVER=", "MUSTER_NO_AUTOSTART=1", "NO_COLOR=1")
	return cmd
}

// nothingThere is what muster exits with where no workload has the name.
const nothingThere = 3

// end stops what still runs, and the server.
func (s *served) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), begun)
	defer cancel()
	var exit *exec.ExitError
	out, err := s.command(ctx, "stop", "*", "--yes", "--wait").CombinedOutput()
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != nothingThere) {
		return errors.Join(fmt.Errorf("what was run may run on: %w\n%s", err, out), s.cmd.Process.Signal(os.Interrupt))
	}
	err = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.ended:
	case <-time.After(begun):
		err = errors.Join(err, s.cmd.Process.Kill())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// one runs a file and returns how it ended, in words that others share.
func (s *served) one(f file, wait time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	cmd := s.command(ctx, "run", "-f", f.path, "--allow-lossy", "--wait")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "ended well"
	case ctx.Err() != nil:
		return fmt.Sprintf("not at its end after %s", wait)
	case !errors.As(err, &exit):
		return err.Error()
	}
	why := ""
	for line := range strings.Lines(string(out)) {
		if text, is := strings.CutPrefix(line, "error: "); is {
			why = ": " + reason("", strings.TrimPrefix(strings.TrimSpace(text), f.path+": "))
			break
		}
	}
	return fmt.Sprintf("exit code %d%s", exit.ExitCode(), why)
}

// runAll runs every file of which a document was made, and counts how they ended.
func runAll(c *counted, program string, wait time.Duration, names bool, out io.Writer) (err error) {
	s, err := serve(program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	of := map[string][]string{}
	for _, f := range c.files {
		if f.verdict != refused {
			how := s.one(f, wait)
			of[how] = append(of[how], f.name)
		}
	}
	fmt.Fprintf(out, "\nrun:\n")
	for _, how := range slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(of[b]), len(of[a])), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(out, "%5d  %s\n", len(of[how]), how)
		if names {
			for _, name := range of[how] {
				fmt.Fprintf(out, "         %s\n", name)
			}
		}
	}
	return nil
}

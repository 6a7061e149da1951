// Package simulate has the commands that run the scheduler in virtual time, on
// scenarios, on a day that was recorded and on sets of tasks, and print reports.
package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/simulate/scenario"
)

// pageFormat is a format that only reports have: a page for a browser.
const pageFormat = "html"

// NewSimulate makes the command simulate.
func NewSimulate(s *session.Session) *cobra.Command {
	o := &replayOptions{} // with a trace, simulate alone is simulate replay
	cmd := &cobra.Command{
		Use: "simulate", Aliases: []string{"sim"}, Short: "What if: replay a trace, fill a cluster, judge decisions",
		Long: `Runs the program's own scheduler, and others to compare it with, on recorded or
invented work in virtual time. Nothing of the running server is touched.

  muster simulate replay      what waits, when a trace is replayed by a policy (also without "replay")
  muster simulate packing     how full a cluster gets
  muster simulate scenarios   whether single decisions are as expected
  muster simulate cycle       what a server's scheduler failed at, once more`,
		Example: "  muster simulate --trace jobs.csv.gz --policy default,fifo",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.trace == "" && !o.fromServer {
				return cmd.Help()
			}
			return replayAs(cmd.Context(), s, o)
		},
	}
	o.out.register(cmd)
	o.register(cmd)
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if s.Output != pageFormat {
			return s.Begin(cmd)
		}
		s.Output = "" // no format of the other commands
		err := s.Begin(cmd)
		s.Output = pageFormat
		return err
	}
	cmd.AddCommand(newSimulateReplay(s), newSimulatePacking(s), newSimulateScenarios(s), newSimulateCycle(s))
	return cmd
}

// outFlag is where a report goes.
type outFlag struct{ file string }

func (o *outFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.file, "out", "", "write it to this file instead; its ending chooses the format unless -o does")
	_ = cmd.MarkFlagFilename("out", "html", "json", "yaml", "txt")
}

// resolve takes the format from the file's name where none was asked for, and
// refuses formats that the command does not have.
func (o *outFlag) resolve(s *session.Session, formats ...string) error {
	if end := strings.TrimPrefix(filepath.Ext(o.file), "."); s.Output == "" && slices.Contains(formats, end) {
		s.Output = end
	}
	f := s.Format()
	if f == "wide" {
		f = "table" // there is nothing more to show
	}
	if slices.Contains(formats, f) || s.Templated() {
		return nil
	}
	return session.UsageError(fmt.Sprintf("--output: this command does not write %s", s.Format()), "one of "+strings.Join(formats, ", ")+", template=TEXT")
}

// write writes a report: as a document of the session's format, or by text or
// page. A file appears whole or not at all.
func (o *outFlag) write(s *session.Session, body any, text, page func(io.Writer) error) error {
	var b bytes.Buffer
	out := s.IO.Out
	s.IO.Out = &b
	err := func() error {
		switch {
		case s.Machine():
			return s.Document(body)
		case s.Format() == pageFormat:
			return page(&b)
		default:
			return text(&b)
		}
	}()
	s.IO.Out = out
	if err != nil {
		return err
	}
	if o.file == "" {
		_, err := out.Write(b.Bytes())
		return err
	}
	if err := writeWhole(o.file, b.Bytes()); err != nil {
		return session.UsageError(fmt.Sprintf("--out: %v", err), "name a file in a folder that exists and that you may write to")
	}
	s.Say("Wrote %s", o.file)
	return nil
}

// writeWhole writes a file beside its place and puts it there once it is whole. What
// is no plain file, such as /dev/stdout, is written to.
func writeWhole(file string, content []byte) error {
	if i, err := os.Lstat(file); err == nil && !i.Mode().IsRegular() {
		return os.WriteFile(file, content, 0o644)
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // the reason is told
	}
	return err
}

// apart runs fn and returns what it does, or, once ctx is done, at once: a
// simulation looks at no context, and ends with the process.
func apart[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := fn()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func newSimulateScenarios(s *session.Session) *cobra.Command {
	var out outFlag
	cmd := &cobra.Command{
		Use: "scenarios DIR", Short: "Judge the scheduler's decisions by cases kept as files",
		Long: `Runs every case of a folder (*.json) through the scheduler and compares what it
decides with what the case expects. One line for each case that differs, then
the figures. Exits with 1 if any differs.

Not run are cases that need named device claims.`,
		Example: "  muster simulate scenarios ./scenarios",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return session.UsageError(fmt.Sprintf("muster simulate scenarios takes one folder, not %d", len(args)), "muster simulate scenarios DIR")
			}
			if err := out.resolve(s, "table", "json", "yaml", "jsonl"); err != nil {
				return err
			}
			return scenarios(cmd.Context(), s, &out, args[0])
		},
	}
	out.register(cmd)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return cmd
}

// judged is a report of scenarios as a document.
type judged struct {
	Passed      int      `json:"passed"`
	Failed      int      `json:"failed"`
	Skipped     int      `json:"skipped"`
	Differences []string `json:"differences"`
}

func scenarios(ctx context.Context, s *session.Session, out *outFlag, dir string) error {
	if at, err := os.Stat(dir); err != nil || !at.IsDir() {
		return session.UsageError(fmt.Sprintf("%s is not a folder that can be read", dir), "give a folder with scenario files (*.json)")
	}
	set, err := scenario.Load(os.DirFS(dir))
	if err != nil {
		return session.UsageError(fmt.Sprintf("%s: %v", dir, err), "correct the files; the format is described in internal/simulate/scenario/testdata/kai/README.md")
	}
	report, err := apart(ctx, func() (*scenario.Report, error) { return set.Run(scenario.Core{}, scenario.Defaults()), nil })
	if err != nil {
		return err
	}
	body := judged{report.Passed, report.Failed, report.Skipped, append([]string{}, report.Lines...)}
	text := func(w io.Writer) error {
		_, err := io.WriteString(w, report.String())
		return err
	}
	if err := out.write(s, body, text, nil); err != nil {
		return err
	}
	if report.Failed > 0 {
		return session.ExitCode(session.ExitInternal)
	}
	return nil
}

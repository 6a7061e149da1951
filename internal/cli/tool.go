package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/enter"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/submit"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Tool is what a command line other than muster's own works with: the server
// that muster would find (or start), its streams, tables and texts. Such a
// command line translates words and decides nothing.
type Tool struct {
	s     *session.Session
	hooks Hooks
}

// ToolMain runs the command line of another tool and returns its exit code.
// Errors end it with 1, as they end the tools that there are; what Exit says
// stays as it is. The commands that build returns have their words already.
func ToolMain(streams terminal.Streams, hooks Hooks, build func(*Tool) *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := session.NewSession(streams.Wary(), hooks.Program)
	if s.IO.Width <= 0 {
		s.IO.Width = 80
	}
	root := build(&Tool{s: s, hooks: hooks})
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetIn(s.IO.In)
	root.SetOut(s.IO.Out)
	root.SetErr(s.IO.Err)
	err := s.Begin(root)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	s.Close()
	if err == nil || errors.Is(err, syscall.EPIPE) { // whoever read us has read enough
		return session.ExitOK
	}
	code := s.Report(ctx, err)
	if session.ProblemOf(err) == nil && errors.As(err, new(*session.Failure)) || code == session.ExitInterrupted {
		return code
	}
	if f := (*session.Failure)(nil); errors.As(err, &f) && f.Exit != 0 {
		return f.Exit
	}
	return session.ExitInternal
}

// ExitWith has a tool that has several exit codes end with one of them for an error.
func ExitWith(err error, code int) error {
	p := session.ProblemOf(err)
	if p == nil {
		return err
	}
	f := &session.Failure{Code: CodeOf(err), Problem: p}
	if was := (*session.Failure)(nil); errors.As(err, &was) {
		copied := *was
		f = &copied
	}
	f.Exit = code
	return f
}

// Problem is what an error tells of; nil: nothing more than its exit code.
func Problem(err error) *api.Problem { return session.ProblemOf(err) }

// Out is where data goes, Err everything else.
func (t *Tool) Out() io.Writer { return t.s.IO.Out }

// Err is where what is for people goes.
func (t *Tool) Err() io.Writer { return t.s.IO.Err }

// Lend gives a program the streams of this one.
func (t *Tool) Lend(cmd *exec.Cmd) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.s.IO.In, terminal.Bare(t.s.IO.Out), terminal.Bare(t.s.IO.Err)
}

// In is standard input.
func (t *Tool) In() io.Reader { return t.s.IO.In }

// Interactive reports whether there is somebody to ask.
func (t *Tool) Interactive() bool { return t.s.IO.InTerminal }

// Width is that of the terminal, in columns; 0 where output is no terminal.
func (t *Tool) Width() int {
	if !t.s.IO.OutTerminal {
		return 0
	}
	return t.s.IO.Width
}

// Env is a variable of the environment.
func (t *Tool) Env(name string) string { return t.s.Env(name) }

// Setting is a variable of muster's, or what its configuration file says in its
// place.
func (t *Tool) Setting(variable string) string { return t.s.Setting(variable) }

// Now is the present.
func (t *Tool) Now() time.Time { return t.s.Clock() }

// Me is the user's name as the server knows it; "" for a server elsewhere.
func (t *Tool) Me() string { return t.s.Me() }

// Own is the name under which the server keeps what the user submits. Over the
// network it knows a token, which others may have too: then it is an error.
func (t *Tool) Own(ctx context.Context) (string, error) {
	c, err := t.s.Connect(ctx)
	if err != nil {
		return "", err
	}
	if me := t.s.Me(); me != "" {
		return me, nil
	}
	return "", session.UsageError(fmt.Sprintf("whose own is meant nobody can tell: the server at %s knows its callers by a token, not by name", c.Address()), "name workloads, or a user (token: whoever came with the token)")
}

// Version is that of this program.
func (t *Tool) Version() api.Version { return t.s.Program.Version }

// Say writes a line for people, in the tool's own words.
func (t *Tool) Say(format string, args ...any) { fmt.Fprintf(t.s.IO.Err, format+"\n", args...) }

// Speak has what the server and muster's own commands say put into the tool's
// words.
func (t *Tool) Speak(words func(string) string) { t.s.Words = words }

// Reword puts a text of theirs into those words, for what the tool shows itself.
func (t *Tool) Reword(text string) string { return t.s.Called(text) }

// Connect returns the connection to the server, which is started where there
// is none.
func (t *Tool) Connect(ctx context.Context) (*client.Client, error) { return t.s.Connect(ctx) }

// Find returns the workload that a name, an id or a unique prefix means; "" is
// the latest of the user's own. Without a project it is looked for in all.
func (t *Tool) Find(ctx context.Context, project, name string) (*api.Workload, error) {
	c, err := t.s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return t.s.Resolve(ctx, c, session.Scope{Project: project}, name)
}

// Muster carries out one of muster's own command lines in this session.
func (t *Tool) Muster(ctx context.Context, args ...string) error {
	s := t.s
	server, dir, start, color, output := s.Server, s.DataDir, s.NoAutostart, s.NoColor, s.Output
	root := newRoot(s, t.hooks, args)
	// Registering flags has put their defaults there.
	s.Server, s.DataDir, s.NoAutostart, s.NoColor = server, dir, start, color
	defer func() { s.Output = output }()
	root.SetArgs(args)
	root.SetIn(t.s.IO.In)
	root.SetOut(t.s.IO.Out)
	root.SetErr(t.s.IO.Err)
	return root.ExecuteContext(ctx)
}

// Read returns the content of a file; - is standard input.
func (t *Tool) Read(file string) ([]byte, error) { return document.Read(t.s, file) }

// Made lays a document over assets of its project, each NAME or NAME@VERSION.
func (t *Tool) Made(ctx context.Context, of spec.Assets, doc *spec.Document) (*spec.Document, error) {
	d := &document.DocumentFlags{Project: doc.Project}
	if err := document.TakeAssets(ctx, t.s, d, of); err != nil {
		return nil, err
	}
	if d.Base == nil {
		return doc, nil
	}
	return spec.Overlay(d.Base, doc)
}

// Recurring are the fields of a document that is submitted again and again, with what
// Submit would give it.
func (t *Tool) Recurring(doc *spec.Document) (map[string]json.RawMessage, error) {
	return submit.Recurring(t.s, doc)
}

// Submit submits a document: with the present directory as its own, where it
// names none and the server is of this machine.
func (t *Tool) Submit(ctx context.Context, doc *spec.Document, dryRun bool) (*api.Workload, error) {
	local := document.Local(t.s)
	if err := document.ResolveWorkdir(doc, local); err != nil {
		return nil, err
	}
	document.CarryEnvironment(t.s, doc, local)
	if errs := spec.Validate(spec.WithDefaults(doc)); len(errs) > 0 {
		return nil, session.BadDocument("", errs)
	}
	data, err := document.Encode(doc)
	if err != nil {
		return nil, err
	}
	c, err := t.s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w, err := c.Submit(ctx, data, client.SubmitOptions{DryRun: dryRun})
	if rest := submit.Unmailed(t.s, doc, err); rest != nil {
		if data, err = document.Encode(rest); err != nil {
			return nil, err
		}
		return c.Submit(ctx, data, client.SubmitOptions{DryRun: dryRun})
	}
	return w, err
}

// Together submits the documents of one script in their order, or none, each as Submit
// does.
func (t *Tool) Together(ctx context.Context, docs []*spec.Document, dryRun bool) ([]api.Workload, error) {
	c, err := t.s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	local := document.Local(t.s)
	encode := func(doc *spec.Document) ([]byte, error) {
		if err := document.ResolveWorkdir(doc, local); err != nil {
			return nil, err
		}
		document.CarryEnvironment(t.s, doc, local)
		if errs := spec.Validate(spec.WithDefaults(doc)); len(errs) > 0 {
			return nil, session.BadDocument("", errs)
		}
		return document.Encode(doc)
	}
	all := make([]json.RawMessage, len(docs))
	for i, doc := range docs {
		if all[i], err = encode(doc); err != nil {
			return nil, err
		}
	}
	ws, err := c.Together(ctx, all, client.SubmitOptions{DryRun: dryRun})
	rest := submit.Unmailed(t.s, docs[0], err)
	if rest == nil {
		return ws, err
	}
	for i, doc := range docs { // they say the same of mails: they are jobs of one script
		doc.Notifications = rest.Notifications
		if all[i], err = document.Encode(doc); err != nil {
			return nil, err
		}
	}
	return c.Together(ctx, all, client.SubmitOptions{DryRun: dryRun})
}

// Until waits until done says so of a workload, and returns it as it is then.
func (t *Tool) Until(ctx context.Context, w *api.Workload, done func(*api.Workload) bool) (*api.Workload, error) {
	c, err := t.s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return inspect.Until(ctx, t.s, c, w, done)
}

// Ended reports whether nothing more happens to a workload by itself.
func Ended(w *api.Workload) bool { return printers.Ended(w) }

// documentKey is a version of a workload's document.
type documentKey struct {
	id      string
	version int64
	size    int
}

// readDocuments are those that have been read: a table asks for the same one in
// many of its cells. There are never more than documentsMost, as a table that
// repeats itself meets ever new ones.
var readDocuments = struct {
	sync.Mutex
	of map[documentKey]*spec.Document
}{of: map[documentKey]*spec.Document{}}

const documentsMost = 20_000

// Document is the document of a workload, or an empty one in a summary. It is
// not to be changed.
func Document(w *api.Workload) *spec.Document {
	key := documentKey{w.ID, w.Version, len(w.Spec)}
	readDocuments.Lock()
	defer readDocuments.Unlock()
	if d, ok := readDocuments.of[key]; ok {
		return d
	}
	if len(readDocuments.of) >= documentsMost {
		clear(readDocuments.of)
	}
	d := printers.DocOf(w)
	readDocuments.of[key] = d
	return d
}

// Situation is one clause on where a workload stands, with the numbers.
func (t *Tool) Situation(w *api.Workload) string {
	return t.s.Called(printers.Situation(w, t.s.Moments(session.TableFlags{})))
}

// Pages lists workloads, newest first, until there are limit that keep wants
// (0: all of them).
func (t *Tool) Pages(ctx context.Context, o client.ListOptions, limit int, keep func(*api.Workload) bool) ([]api.Workload, error) {
	c, err := t.s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	var all []api.Workload
	for {
		// How many of a page are kept nobody knows before: only the first is small.
		if o.Limit = inspect.PageMost; limit > 0 && (keep == nil || o.Cursor == "") {
			o.Limit = min(inspect.PageMost, max(limit-len(all), 1))
		}
		page, err := c.Workloads(ctx, o)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if keep == nil || keep(&page.Items[i]) {
				all = append(all, page.Items[i])
			}
		}
		if o.Cursor = page.Next; o.Cursor == "" || limit > 0 && len(all) >= limit {
			return all, nil
		}
	}
}

// Table prints rows below their titles, in columns.
func (t *Tool) Table(titles []string, rows [][]string) error {
	g := session.Grid{Titles: titles, Whole: true}
	for _, row := range rows {
		cells := make([]session.Cell, len(row))
		for i, text := range row {
			cells[i].Text = text
		}
		g.Rows = append(g.Rows, cells)
	}
	before := t.s.Color
	defer func() { t.s.Color = before }()
	t.s.Color = t.s.Color && (t.s.IO.OutTerminal || t.s.IO.ColorAnyway)
	return t.s.Aligned(g)
}

// YAML is v as YAML, by its JSON.
func YAML(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return session.YamlOf(data)
}

// Body prints v as JSON or YAML.
func (t *Tool) Body(format string, v any) error {
	if !slices.Contains([]string{"json", "yaml", "jsonl"}, format) {
		return session.UsageError(fmt.Sprintf("--output: %q is not a format of this command", format), "json or yaml")
	}
	before := t.s.Output
	defer func() { t.s.Output = before }()
	t.s.Output = format
	return t.s.Document(v)
}

// Confirm lists what is about to be done and asks. Without a terminal it is an
// error that names the flag which says yes.
func (t *Tool) Confirm(what, flag string, ws []api.Workload) (bool, error) {
	if !t.s.IO.InTerminal {
		return false, session.NeedsFlagError(what, flag)
	}
	some := make([]*api.Workload, len(ws))
	for i := range ws {
		some[i] = &ws[i]
	}
	return submit.Confirm(t.s, what, some)
}

// Age is a length of time in one or two units: 42s, 7m, 3h12m, 5d.
func Age(d time.Duration) string { return session.Age(d) }

// When reads an age (2d, 5m) or an instant.
func (t *Tool) When(flag, text string) (time.Time, error) {
	return session.ParseWhen(flag, text, t.s.Clock())
}

// Wrong is a command line that makes no sense, with what to write instead.
func Wrong(detail, hint string) error { return inTheirs(session.UsageError(detail, hint)) }

// inTheirs is a failure that a tool tells of: its words are the tool's.
func inTheirs(f *session.Failure) *session.Failure { f.Worded = true; return f }

// Missing is something that does not exist.
func Missing(detail, hint string) error { return inTheirs(session.NotFoundError(detail, hint)) }

// Conflict is something that cannot be done as things are.
func Conflict(detail, hint string) error {
	return inTheirs(&session.Failure{Code: session.ExitConflict, Problem: &api.Problem{Title: "Conflict", Status: 409, Code: "conflict", Detail: detail, Hint: hint}})
}

// Exit ends the command with one of muster's exit codes and no further word.
func Exit(code int) error { return session.ExitCode(code) }

// ExitOf is muster's exit code for how a workload has ended.
func ExitOf(w *api.Workload) int { return printers.ExitOf(w, "workload") }

// CodeOf is the exit code that an error leads to.
func CodeOf(err error) int {
	var f *session.Failure
	var p *api.Problem
	switch {
	case err == nil:
		return session.ExitOK
	case errors.As(err, &f):
		return f.Code
	case errors.As(err, &p):
		return session.CodeOf(p)
	}
	return session.ExitInternal
}

// Live reports whether nodes and devices are assigned to a workload.
func Live(w *api.Workload) bool { return lifecycle.Phase(w.Phase).Held() }

// CompleteNames offers the names of workloads.
func (t *Tool) CompleteNames() func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return t.s.CompleteNames
}

// Keep makes value what the configuration file says for one of its settings,
// such as project, and returns the file's path.
func (t *Tool) Keep(name, value string) (string, error) {
	variable, known := session.Settings[name]
	if !known {
		return "", session.UsageError(fmt.Sprintf("there is no setting %q", name), "muster --help lists them")
	}
	path := t.s.ConfigPath()
	if path == "" {
		return "", session.UsageError("nobody can tell where the configuration file is", "set HOME, or "+variable+"="+value)
	}
	next := maps.Clone(t.s.Config)
	next[name] = value
	data, err := yaml.Marshal(next)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o644)
}

// Interact waits until the first task of a workload runs and connects this
// terminal to it; the exit code is the task's.
func (t *Tool) Interact(ctx context.Context, w *api.Workload) error {
	c, err := t.s.Connect(ctx)
	if err != nil {
		return err
	}
	return enter.Interact(ctx, t.s, c, w)
}

// Limited does something that may write n bytes of output and no more.
func (t *Tool) Limited(n int64, do func() error) error {
	before := t.s.IO.Out
	defer func() { t.s.IO.Out = before }()
	t.s.IO.Out = &limited{terminal.Bare(before), n} // of logs
	if err := do(); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// errEnough ends what has written all that it may.
var errEnough = errors.New("that is as much as was asked for")

type limited struct {
	w    io.Writer
	left int64
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) <= l.left {
		n, err := l.w.Write(p)
		l.left -= int64(n)
		return n, err
	}
	n, err := l.w.Write(p[:l.left])
	l.left -= int64(n)
	if err == nil {
		err = errEnough
	}
	return n, err
}

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
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Tool is what a command line other than muster's own works with: the server
// that muster would find (or start), its streams, tables and texts. Such a
// command line translates words and decides nothing.
type Tool struct {
	s     *session
	hooks Hooks
}

// ToolMain runs the command line of another tool and returns its exit code.
// Errors end it with 1, as they end the tools that there are; what Exit says
// stays as it is. The commands that build returns have their words already.
func ToolMain(streams Streams, hooks Hooks, build func(*Tool) *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := newSession(streams.wary(), hooks.Program)
	if s.io.Width <= 0 {
		s.io.Width = 80
	}
	root := build(&Tool{s: s, hooks: hooks})
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetIn(s.io.In)
	root.SetOut(s.io.Out)
	root.SetErr(s.io.Err)
	err := s.begin(root)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	s.close()
	if err == nil || errors.Is(err, syscall.EPIPE) { // whoever read us has read enough
		return exitOK
	}
	code := s.report(ctx, err)
	if problemOf(err) == nil && errors.As(err, new(*failure)) || code == exitInterrupted {
		return code
	}
	return exitInternal
}

// Out is where data goes, Err everything else.
func (t *Tool) Out() io.Writer { return t.s.io.Out }

// Err is where what is for people goes.
func (t *Tool) Err() io.Writer { return t.s.io.Err }

// Lend gives a program the streams of this one.
func (t *Tool) Lend(cmd *exec.Cmd) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.s.io.In, bare(t.s.io.Out), bare(t.s.io.Err)
}

// In is standard input.
func (t *Tool) In() io.Reader { return t.s.io.In }

// Interactive reports whether there is somebody to ask.
func (t *Tool) Interactive() bool { return t.s.io.InTerminal }

// Width is that of the terminal, in columns; 0 where output is no terminal.
func (t *Tool) Width() int {
	if !t.s.io.OutTerminal {
		return 0
	}
	return t.s.io.Width
}

// Env is a variable of the environment.
func (t *Tool) Env(name string) string { return t.s.env(name) }

// Setting is a variable of muster's, or what its configuration file says in its
// place.
func (t *Tool) Setting(variable string) string { return t.s.setting(variable) }

// Now is the present.
func (t *Tool) Now() time.Time { return t.s.clock() }

// Me is the user's name as the server knows it; "" for a server elsewhere.
func (t *Tool) Me() string { return t.s.me() }

// Own is the name under which the server keeps what the user submits. Over the
// network it knows a token, which others may have too: then it is an error.
func (t *Tool) Own(ctx context.Context) (string, error) {
	c, err := t.s.connect(ctx)
	if err != nil {
		return "", err
	}
	if me := t.s.me(); me != "" {
		return me, nil
	}
	return "", usage(fmt.Sprintf("whose own is meant nobody can tell: the server at %s knows its callers by a token, not by name", c.Address()), "name workloads, or a user (token: whoever came with the token)")
}

// Version is that of this program.
func (t *Tool) Version() api.Version { return t.s.program.Version }

// Say writes a line for people, in the tool's own words.
func (t *Tool) Say(format string, args ...any) { fmt.Fprintf(t.s.io.Err, format+"\n", args...) }

// Speak has what the server and muster's own commands say put into the tool's
// words.
func (t *Tool) Speak(words func(string) string) { t.s.words = words }

// Reword puts a text of theirs into those words, for what the tool shows itself.
func (t *Tool) Reword(text string) string { return t.s.called(text) }

// Connect returns the connection to the server, which is started where there
// is none.
func (t *Tool) Connect(ctx context.Context) (*client.Client, error) { return t.s.connect(ctx) }

// Find returns the workload that a name, an id or a unique prefix means; "" is
// the latest of the user's own. Without a project it is looked for in all.
func (t *Tool) Find(ctx context.Context, project, name string) (*api.Workload, error) {
	c, err := t.s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return t.s.resolve(ctx, c, scope{project: project}, name)
}

// Muster carries out one of muster's own command lines in this session.
func (t *Tool) Muster(ctx context.Context, args ...string) error {
	s := t.s
	server, dir, start, color, output := s.server, s.dataDir, s.noAutostart, s.noColor, s.output
	root := newRoot(s, t.hooks, args)
	// Registering flags has put their defaults there.
	s.server, s.dataDir, s.noAutostart, s.noColor = server, dir, start, color
	defer func() { s.output = output }()
	root.SetArgs(args)
	root.SetIn(t.s.io.In)
	root.SetOut(t.s.io.Out)
	root.SetErr(t.s.io.Err)
	return root.ExecuteContext(ctx)
}

// Read returns the content of a file; - is standard input.
func (t *Tool) Read(file string) ([]byte, error) { return t.s.read(file) }

// Made lays a document over assets of its project, each NAME or NAME@VERSION.
func (t *Tool) Made(ctx context.Context, of spec.Assets, doc *spec.Document) (*spec.Document, error) {
	d := &documentFlags{project: doc.Project}
	if err := t.s.takeAssets(ctx, d, of); err != nil {
		return nil, err
	}
	if d.base == nil {
		return doc, nil
	}
	return spec.Overlay(d.base, doc)
}

// Submit submits a document: with the present directory as its own, where it
// names none and the server is of this machine.
func (t *Tool) Submit(ctx context.Context, doc *spec.Document, dryRun bool) (*api.Workload, error) {
	local := t.s.local()
	if err := settleWorkdir(doc, local); err != nil {
		return nil, err
	}
	t.s.carryEnvironment(doc, local)
	if errs := spec.Validate(spec.WithDefaults(doc)); len(errs) > 0 {
		return nil, badDocument("", errs)
	}
	data, err := encode(doc)
	if err != nil {
		return nil, err
	}
	c, err := t.s.connect(ctx)
	if err != nil {
		return nil, err
	}
	w, err := c.Submit(ctx, data, client.SubmitOptions{DryRun: dryRun})
	if rest := t.s.unmailed(doc, err); rest != nil {
		if data, err = encode(rest); err != nil {
			return nil, err
		}
		return c.Submit(ctx, data, client.SubmitOptions{DryRun: dryRun})
	}
	return w, err
}

// Until waits until done says so of a workload, and returns it as it is then.
func (t *Tool) Until(ctx context.Context, w *api.Workload, done func(*api.Workload) bool) (*api.Workload, error) {
	c, err := t.s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return t.s.until(ctx, c, w, done)
}

// Ended reports whether nothing more happens to a workload by itself.
func Ended(w *api.Workload) bool { return ended(w) }

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
	d := docOf(w)
	readDocuments.of[key] = d
	return d
}

// Situation is one clause on where a workload stands, with the numbers.
func (t *Tool) Situation(w *api.Workload) string {
	return t.s.called(situation(w, t.s.moments(tableFlags{})))
}

// Pages lists workloads, newest first, until there are limit that keep wants
// (0: all of them).
func (t *Tool) Pages(ctx context.Context, o client.ListOptions, limit int, keep func(*api.Workload) bool) ([]api.Workload, error) {
	c, err := t.s.connect(ctx)
	if err != nil {
		return nil, err
	}
	var all []api.Workload
	for {
		// How many of a page are kept nobody knows before: only the first is small.
		if o.Limit = pageMost; limit > 0 && (keep == nil || o.Cursor == "") {
			o.Limit = min(pageMost, max(limit-len(all), 1))
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
	g := grid{titles: titles, whole: true}
	for _, row := range rows {
		cells := make([]cell, len(row))
		for i, text := range row {
			cells[i].text = text
		}
		g.rows = append(g.rows, cells)
	}
	before := t.s.color
	defer func() { t.s.color = before }()
	t.s.color = t.s.color && (t.s.io.OutTerminal || t.s.io.colorAnyway)
	return t.s.aligned(g)
}

// YAML is v as YAML, by its JSON.
func YAML(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return yamlOf(data)
}

// Body prints v as JSON or YAML.
func (t *Tool) Body(format string, v any) error {
	if !slices.Contains([]string{"json", "yaml", "jsonl"}, format) {
		return usage(fmt.Sprintf("--output: %q is not a format of this command", format), "json or yaml")
	}
	before := t.s.output
	defer func() { t.s.output = before }()
	t.s.output = format
	return t.s.document(v)
}

// Confirm lists what is about to be done and asks. Without a terminal it is an
// error that names the flag which says yes.
func (t *Tool) Confirm(what, flag string, ws []api.Workload) (bool, error) {
	if !t.s.io.InTerminal {
		return false, needsFlag(what, flag)
	}
	some := make([]*api.Workload, len(ws))
	for i := range ws {
		some[i] = &ws[i]
	}
	return t.s.confirm(what, some)
}

// Age is a length of time in one or two units: 42s, 7m, 3h12m, 5d.
func Age(d time.Duration) string { return age(d) }

// When reads an age (2d, 5m) or an instant.
func (t *Tool) When(flag, text string) (time.Time, error) { return parseWhen(flag, text, t.s.clock()) }

// Wrong is a command line that makes no sense, with what to write instead.
func Wrong(detail, hint string) error { return inTheirs(usage(detail, hint)) }

// inTheirs is a failure that a tool tells of: its words are the tool's.
func inTheirs(f *failure) *failure { f.worded = true; return f }

// Missing is something that does not exist.
func Missing(detail, hint string) error { return inTheirs(missing(detail, hint)) }

// Conflict is something that cannot be done as things are.
func Conflict(detail, hint string) error {
	return inTheirs(&failure{code: exitConflict, problem: &api.Problem{Title: "Conflict", Status: 409, Code: "conflict", Detail: detail, Hint: hint}})
}

// Exit ends the command with one of muster's exit codes and no further word.
func Exit(code int) error { return silent(code) }

// ExitOf is muster's exit code for how a workload has ended.
func ExitOf(w *api.Workload) int { return exitOf(w, "workload") }

// CodeOf is the exit code that an error leads to.
func CodeOf(err error) int {
	var f *failure
	var p *api.Problem
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &f):
		return f.code
	case errors.As(err, &p):
		return codeOf(p)
	}
	return exitInternal
}

// Live reports whether nodes and devices are assigned to a workload.
func Live(w *api.Workload) bool { return lifecycle.Phase(w.Phase).Held() }

// CompleteNames offers the names of workloads.
func (t *Tool) CompleteNames() func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return t.s.completeNames
}

// Keep makes value what the configuration file says for one of its settings,
// such as project, and returns the file's path.
func (t *Tool) Keep(name, value string) (string, error) {
	variable, known := settings[name]
	if !known {
		return "", usage(fmt.Sprintf("there is no setting %q", name), "muster --help lists them")
	}
	path := t.s.configPath()
	if path == "" {
		return "", usage("nobody can tell where the configuration file is", "set HOME, or "+variable+"="+value)
	}
	next := maps.Clone(t.s.config)
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
	c, err := t.s.connect(ctx)
	if err != nil {
		return err
	}
	return t.s.interact(ctx, c, w)
}

// Limited does something that may write n bytes of output and no more.
func (t *Tool) Limited(n int64, do func() error) error {
	before := t.s.io.Out
	defer func() { t.s.io.Out = before }()
	t.s.io.Out = &limited{bare(before), n} // of logs
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

package enter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

type cpOptions struct {
	scope session.Scope
	task  int
	quiet bool
}

// NewCp makes the command cp.
func NewCp(s *session.Session) *cobra.Command {
	o := &cpOptions{}
	cmd := &cobra.Command{
		Use:   "cp SOURCE TARGET",
		Short: "Copy files from a task or to it",
		Long: `Copies a file or a directory with all that is in it. One of the two is in a task:
WORKLOAD:PATH, or WORKLOAD:RANK:PATH; a path that is not absolute begins at the
task's working directory. Where TARGET is a directory the copy is made in it.

It runs tar in the task, which its image must have. Permissions, times and symbolic
links are kept, owners not. Nothing is written outside TARGET, whatever links say.`,
		Example: `  muster cp train-moons:out/model.pt .
  muster cp data/ gang:3:/tmp/data
  muster cp notebook:/workspace/run.ipynb run.ipynb`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return session.UsageError(fmt.Sprintf("muster cp takes a source and a target, not %d words", len(args)), cmd.UseLine())
			}
			return cp(cmd.Context(), s, o, args[0], args[1])
		},
	}
	o.scope.Register(s, cmd)
	cmd.Flags().IntVar(&o.task, "task", -1, "index of the task; default: the one in the path, or the first that runs")
	cmd.Flags().IntVar(&o.task, "rank", -1, "the same as --task")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no word of how far it is")
	return cmd
}

// remotePath is a path in a task.
type remotePath struct {
	workload string
	task     int // negative: the first that runs
	path     string
}

// readRemote reads WORKLOAD[:RANK]:PATH; ok is false for a path of this machine.
func readRemote(text string) (r remotePath, ok bool, err error) {
	name, rest, colon := strings.Cut(text, ":")
	if !colon || name == "" || strings.ContainsAny(name, "/") {
		return r, false, nil
	}
	r = remotePath{workload: name, task: -1, path: rest}
	if rank, below, more := strings.Cut(rest, ":"); more && rank != "" && strings.Trim(rank, "0123456789") == "" {
		n, err := strconv.Atoi(rank)
		if err != nil {
			return r, false, session.UsageError(fmt.Sprintf("%s: %q is not the index of a task", text, rank), "muster describe "+name+" lists its tasks")
		}
		r.task, r.path = n, below
	}
	if r.path == "" {
		r.path = "."
	}
	return r, true, nil
}

func cp(ctx context.Context, s *session.Session, o *cpOptions, from, to string) error {
	source, isFrom, err := readRemote(from)
	if err != nil {
		return err
	}
	target, isTo, err := readRemote(to)
	if err != nil {
		return err
	}
	if isFrom == isTo {
		return session.UsageError(fmt.Sprintf("one of %s and %s has to be in a task, and only one", from, to), "write WORKLOAD:PATH; a name of this machine with a colon is written ./NAME")
	}
	far := source
	if isTo {
		far = target
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, o.scope, far.workload)
	if err != nil {
		return err
	}
	if o.task >= 0 {
		far.task = o.task
	}
	if far.task, err = runningTask(w, far.task); err != nil {
		return err
	}
	t := &taskTar{c: c, w: w, task: far.task}
	m := newMeter(s, o.quiet)
	defer m.close()
	if isTo {
		err = t.upload(ctx, m, from, far.path)
	} else {
		err = t.download(ctx, m, far.path, to)
	}
	m.close()
	if err != nil {
		return err
	}
	return copied(s, o, m)
}

// copied says what was copied.
func copied(s *session.Session, o *cpOptions, m *meter) error {
	if s.Machine() {
		return s.Document(map[string]any{"files": m.files, "bytes": m.bytes, "skipped": m.skippedNames()})
	}
	for _, name := range m.skippedNames() {
		s.Say("left out %s: it is neither a file, a directory nor a symbolic link", name)
	}
	if !o.quiet {
		s.Say("copied %s, %s", session.Plural(m.files, "file"), printers.Size(m.bytes))
	}
	return nil
}

// taskTar runs tar in a task.
type taskTar struct {
	c    *client.Client
	w    *api.Workload
	task int
}

// The exit codes of the scripts below that are theirs.
const (
	codeNoPath = 66
	codeNoTar  = 67
)

const needTar = `command -v tar >/dev/null 2>&1 || exit 67; `

// packScript writes an archive of what lies at $1/$2.
const packScript = needTar + `[ -d "$1" ] || exit 66; cd -- "$1" || exit 1; [ -e "$2" ] || [ -L "$2" ] || exit 66; exec tar -cf - -- "$2"`

// unpackScript unpacks in the directory $1.
const unpackScript = needTar + `[ -d "$1" ] || exit 66; cd -- "$1" || exit 1; exec tar -xpof -`

// run runs a script in the task, with words as its $1, $2 …
func (t *taskTar) run(ctx context.Context, script string, in io.Reader, out io.Writer, words ...string) error {
	var complaint tailWriter
	argv := append([]string{"sh", "-c", script, "muster-cp"}, words...)
	code, err := t.c.Exec(ctx, t.w.Project, t.w.ID, client.EnterOptions{Task: t.task, Command: argv, Stdin: in, Stdout: out, Stderr: &complaint})
	switch {
	case err != nil:
		return err
	case code == 0:
		return nil
	case code == codeNoPath:
		return session.NotFoundError(fmt.Sprintf("%s does not exist in task %d of %s", path.Join(words...), t.task, t.w.Name), "muster exec "+t.w.Name+" -- ls shows what there is")
	case code == codeNoTar:
		return &session.Failure{Code: session.ExitConflict, Problem: &api.Problem{
			Title: "Unsupported", Code: "unsupported", Detail: fmt.Sprintf("task %d of %s has no tar, with which files are copied", t.task, t.w.Name),
			Hint: "use an image that has tar, or muster exec " + t.w.Name + " -i -- sh -c 'cat > FILE' < FILE",
		}}
	}
	return &session.Failure{Code: session.ExitInternal, Problem: &api.Problem{
		Title: "Copy failed", Code: "internal", Detail: fmt.Sprintf("tar in task %d of %s ended with exit code %d: %s", t.task, t.w.Name, code, complaint.text()),
		Hint: "check permissions and room there: muster exec " + t.w.Name,
	}}
}

// isDir reports whether a path of the task is a directory.
func (t *taskTar) isDir(ctx context.Context, name string) (bool, error) {
	code, err := t.c.Exec(ctx, t.w.Project, t.w.ID, client.EnterOptions{Task: t.task, Command: []string{"sh", "-c", `[ -d "$1" ]`, "muster-cp", name}})
	return code == 0, err
}

// parts are the directory of a path of a task and its name in it; of the root
// and of . and .. the name is "." and stands for all that is in them.
func parts(name string) (dir, base string) {
	clean := path.Clean(name)
	if strings.HasSuffix(name, "/.") {
		return clean, "."
	}
	switch base = path.Base(clean); base {
	case "/", ".", "..":
		return clean, "."
	}
	return path.Dir(clean), base
}

// tailWriter keeps the last of what is written.
type tailWriter struct{ kept bytes.Buffer }

const tailKept = 2 << 10

// Write implements io.Writer.
func (t *tailWriter) Write(p []byte) (int, error) {
	t.kept.Write(p)
	if extra := t.kept.Len() - tailKept; extra > 0 {
		t.kept.Next(extra)
	}
	return len(p), nil
}

func (t *tailWriter) text() string {
	return strings.TrimSpace(session.Flat(strings.ToValidUTF8(t.kept.String(), "\uFFFD")))
}

// download copies a path of the task to one of this machine.
func (t *taskTar) download(ctx context.Context, m *meter, from, to string) error {
	dir, base := parts(from)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := t.run(ctx, packScript, nil, w, dir, base)
		_ = w.CloseWithError(err) // nil is the end
		ended <- err
	}()
	err := unpack(r, m, base, to)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // what stands behind the end of an archive
	}
	if err != nil {
		cancel()
		_ = r.CloseWithError(err)
	}
	if terr := <-ended; terr != nil && (err == nil || !errors.Is(terr, context.Canceled)) {
		return terr // what tar says explains what it could not unpack
	}
	return err
}

// upload copies a path of this machine to one of the task.
func (t *taskTar) upload(ctx context.Context, m *meter, from, to string) error {
	p, err := pack(from)
	if err != nil {
		return err
	}
	dir, base := parts(to)
	into, err := t.isDir(ctx, to)
	switch {
	case err != nil:
		return err
	case into:
		dir, base = to, p.base
	case strings.HasSuffix(to, "/") || base == ".":
		return session.NotFoundError(fmt.Sprintf("directory %s does not exist in task %d of %s", to, t.task, t.w.Name), "make it: muster exec "+t.w.Name+" -- mkdir -p "+to)
	}
	m.of(p.total)
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := p.write(w, m, base)
		_ = w.CloseWithError(err)
		packed <- err
	}()
	err = t.run(ctx, unpackScript, r, io.Discard, dir)
	_ = r.CloseWithError(errStopped)
	if perr := <-packed; perr != nil && !errors.Is(perr, errStopped) {
		return perr
	}
	return err
}

// errStopped ends what feeds a tar that has ended.
var errStopped = errors.New("the other end has stopped")

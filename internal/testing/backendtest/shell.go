package backendtest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// runShell is the part of the contract that needs real commands.
func (s suite) runShell(t *testing.T) {
	for _, c := range []struct {
		name   string
		test   func(suite, *testing.T)
		images bool // it means something for containers too
	}{
		{"the environment is the assignment's", suite.environment, true},
		{"devices are visible, others are not", suite.devices, true},
		{"private files are there and private", suite.files, false},
		{"workdir is where it runs", suite.workdir, false},
		{"what cannot run is told with its reason", suite.cannotRun, false},
		{"the whole tree is stopped", suite.treeStopped, false},
		{"the tree does not outlive the main process", suite.treeEnds, false},
		{"output of a large burst is complete", suite.burst, true},
		{"the memory limit ends the task", suite.memory, true},
		{"a prelude changes environment and directory", suite.prelude, true},
		{"a failing prelude is the task's failure", suite.preludeFails, true},
	} {
		if s.opts.Image != "" && !c.images {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(s, t) })
	}
}

func (s suite) shell(id core.TaskID, script string) backend.Assignment {
	if s.opts.Lossy {
		script = "trap 'sleep 1' EXIT\n" + script
	}
	return backend.Assignment{ID: id, Image: s.opts.Image, Argv: []string{"/bin/sh", "-c", script}}
}

// run runs one assignment to its end and returns that and its output.
func run(t *testing.T, p backend.Backend, a backend.Assignment) (backend.Observation, string) {
	t.Helper()
	if err := p.Start(t.Context(), []backend.Assignment{a}); err != nil {
		t.Fatalf("Start: %v", err)
	}
	o := ended(t, p, a.ID)
	if o.Reason == "ContainerCannotRun" {
		return o, ""
	}
	return o, read(t, p, a.ID, backend.LogOptions{Tail: -1})
}

func (s suite) environment(t *testing.T) {
	t.Setenv("MUSTER_SECRET_OF_THE_SERVER", "do not tell")
	p := s.open(t)
	a := s.shell(id("env", 3), `echo "$A|$B|$HOME|$MUSTER_TASK_ID|$MUSTER_SECRET_OF_THE_SERVER|${PATH:+path}"`)
	a.Env = []string{"A=1", "B=two words", "A=2", "HOME=/elsewhere"}
	_, out := run(t, p, a)
	if want := "2|two words|/elsewhere|env/0/3||path\n"; out != want {
		t.Errorf("environment: %q, want %q", out, want)
	}
}

func (s suite) devices(t *testing.T) {
	p := s.open(t)
	script := `echo "${CUDA_VISIBLE_DEVICES-unset}"`
	if _, out := run(t, p, s.shell(id("devices", 0), script)); out != "\n" {
		t.Errorf("without devices CUDA_VISIBLE_DEVICES is %q, want it set and empty", out)
	}
	a := s.shell(id("devices", 1), script)
	a.Devices = s.opts.Devices
	if _, out := run(t, p, a); out != s.opts.Visible+"\n" {
		t.Errorf("with devices CUDA_VISIBLE_DEVICES is %q, want %q", out, s.opts.Visible)
	}
}

func (s suite) files(t *testing.T) {
	p := s.open(t)
	a := s.shell(id("files", 0), `cat "$PARAMETERS" && stat -c ' %a' "$PARAMETERS" && echo "$PARAMETERS"`)
	a.Files = []backend.File{{Name: "parameters.yaml", EnvVar: "PARAMETERS", Data: []byte("lr: 0.1")}}
	o, out := run(t, p, a)
	wantExit(t, o, 0, "")
	if !strings.HasPrefix(out, "lr: 0.1 600\n/") {
		t.Errorf("private file: %q, want its content, mode 600 and an absolute path", out)
	}
	a = s.shell(id("files", 1), "true")
	a.Files = []backend.File{{Name: "../escape", Data: []byte("x")}}
	if o, _ = run(t, p, a); o.Reason != "ContainerCannotRun" || !strings.Contains(o.Message, "../escape") {
		t.Errorf("a file outside the private directory: %+v, want ContainerCannotRun that names it", o)
	}
}

func (s suite) workdir(t *testing.T) {
	p := s.open(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\npwd\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	a := backend.Assignment{ID: id("workdir", 0), Argv: []string{"./here"}, Workdir: dir}
	if _, out := run(t, p, a); out != dir+"\n" {
		t.Errorf("it ran in %q, want %q", out, dir)
	}
	a = backend.Assignment{ID: id("workdir", 1), Argv: []string{"here"}, Workdir: dir, Env: []string{"PATH=" + dir}}
	if _, out := run(t, p, a); out != dir+"\n" {
		t.Errorf("found in its own PATH it ran in %q, want %q", out, dir)
	}
}

func (s suite) cannotRun(t *testing.T) {
	p := s.open(t)
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for i, c := range []struct {
		argv    []string
		workdir string
		says    []string
	}{
		{argv: []string{"no-such-program-at-all"}, says: []string{"no-such-program-at-all", "PATH"}},
		{argv: []string{filepath.Join(dir, "missing")}, says: []string{"missing", "no such file"}},
		{argv: []string{write("data", "x", 0o644)}, says: []string{"data", "permission denied", "chmod"}},
		{argv: []string{write("garbage", "\x00\x01\x02", 0o755)}, says: []string{"garbage", "format"}},
		{argv: []string{write("script", "#!/no/such/interpreter\n", 0o755)}, says: []string{"script", "interpreter"}},
		{argv: []string{dir}, says: []string{dir, "permission denied"}},
		{argv: []string{"true"}, workdir: filepath.Join(dir, "nowhere"), says: []string{"nowhere", "workdir"}},
		{argv: []string{"true"}, workdir: filepath.Join(dir, "data"), says: []string{"data", "not a directory"}},
		{argv: nil, says: []string{"command is empty"}},
	} {
		a := backend.Assignment{ID: id("cannot", i), Argv: c.argv, Workdir: c.workdir}
		o, _ := run(t, p, a)
		if o.State != core.TaskFailed || o.Reason != "ContainerCannotRun" {
			t.Errorf("%q in %q: %s, reason %q; want failed, ContainerCannotRun", c.argv, c.workdir, o.State, o.Reason)
		}
		for _, say := range c.says {
			if !strings.Contains(o.Message, say) {
				t.Errorf("%q in %q: message %q does not say %q", c.argv, c.workdir, o.Message, say)
			}
		}
	}
}

// family starts children that try to get away: in the background, in a session
// of its own, and in a session of its own with the parent gone. Each writes
// its pid into dir.
const family = `
cd %q
leaf='echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 1000'
sh -c "$leaf" background &
setsid sh -c "$leaf" session &
( setsid sh -c "$leaf" orphan & )
while [ ! -e background ] || [ ! -e session ] || [ ! -e orphan ]; do sleep 0.01; done
echo ready
`

func pids(t *testing.T, dir string) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, name := range []string{"background", "session", "orphan"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = strconv.Atoi(strings.TrimSpace(string(data))); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// wantGone expects that nothing is left at the moment of the observation; a
// zombie, which is somebody else's to bury, counts as gone.
func wantGone(t *testing.T, pids map[string]int) {
	t.Helper()
	for name, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(data), ") Z ") && !strings.Contains(string(data), ") X ") {
			t.Errorf("the %s child, pid %d, outlived its task: %s", name, pid, data)
			if child, err := os.FindProcess(pid); err == nil {
				_ = child.Kill()
			}
		}
	}
}

func (s suite) treeStopped(t *testing.T) {
	p := s.open(t)
	dir := t.TempDir()
	a := s.shell(id("tree", 0), "trap '' TERM\n"+fmt.Sprintf(family, dir)+"while :; do sleep 1000; done")
	if err := p.Start(t.Context(), []backend.Assignment{a}); err != nil {
		t.Fatalf("Start: %v", err)
	}
	s.sawLine(t, p, a.ID, "ready")
	s.stopNow(t, p, a.ID)
	wantGone(t, pids(t, dir))
}

func (s suite) treeEnds(t *testing.T) {
	p := s.open(t)
	dir := t.TempDir()
	o, _ := run(t, p, s.shell(id("orphans", 0), fmt.Sprintf(family, dir)+"exit 4"))
	wantExit(t, o, 4, "Error")
	wantGone(t, pids(t, dir))
}

// pause lets an engine take over what has been written so far.
func (s suite) pause() string {
	if s.opts.Lossy {
		return "sleep 3"
	}
	return "true"
}

func (s suite) burst(t *testing.T) {
	p := s.open(t)
	const lines = 200_000
	var want strings.Builder
	for range 2 {
		for i := range lines {
			want.WriteString(strconv.Itoa(i+1) + "\n")
		}
	}
	script := fmt.Sprintf("seq %d; seq %d >&2", lines, lines)
	var out string
	if s.opts.Lossy {
		out = s.whole(t, p, script, want.Len())
	} else {
		_, out = run(t, p, s.shell(id("burst", 0), script))
	}
	got, wanted := out, want.String()
	if s.opts.TwoWays {
		got, wanted = ordered(got), ordered(wanted)
	}
	if got != wanted {
		t.Errorf("%d bytes of output, want %d, or they differ", len(out), want.Len())
	}
}

// whole runs a script whose task ends only when all of its output, of so many
// bytes, can be read: what an engine has not taken over by the end may be lost.
func (s suite) whole(t *testing.T, p backend.Backend, script string, size int) string {
	a := s.shell(id("burst", 0), script+"; until [ -e /tmp/seen ]; do sleep 0.1; done")
	if err := p.Start(t.Context(), []backend.Assignment{a}); err != nil {
		t.Fatalf("Start: %v", err)
	}
	if n, err := io.CopyN(io.Discard, s.followed(t, p, a.ID), int64(size)); err != nil {
		t.Fatalf("%d bytes of output, want %d: %v", n, size, err)
	}
	if code, err := p.(backend.Enterer).Exec(t.Context(), a.ID, backend.ExecOptions{Argv: []string{"touch", "/tmp/seen"}}); err != nil || code != 0 {
		t.Fatalf("Exec: %d, %v", code, err)
	}
	ended(t, p, a.ID)
	return read(t, p, a.ID, backend.LogOptions{Tail: -1})
}

// ordered are the lines of a text, sorted.
func ordered(text string) string {
	lines := slices.Collect(strings.Lines(text))
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func (s suite) memory(t *testing.T) {
	if s.opts.Unlimited {
		return
	}
	if !s.opts.Memory {
		t.Skip("this backend has no memory limits here: no writable memory control group")
	}
	p := s.open(t)
	// tail keeps what it may have to print, which never comes to an end here.
	hog := s.shell(id("memory", 0), "cat /dev/zero | tail -c 500m > /dev/null")
	hog.Memory = 32 << 20
	o, _ := run(t, p, hog)
	wantExit(t, o, 137, "OutOfMemory")
	if s.opts.Init {
		return
	}
	small := s.shell(id("memory", 1), "kill -9 $$")
	small.Memory = 32 << 20
	o, _ = run(t, p, small)
	wantExit(t, o, 137, "Killed")
}

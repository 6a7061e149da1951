//go:build linux

package local

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/osuser"
)

// people are accounts that no machine has: bare numbers are enough to run as.
type people map[uint32]osuser.Account

func (p people) ByUID(uid uint32) (osuser.Account, error) {
	if a, ok := p[uid]; ok {
		return a, nil
	}
	return osuser.Account{}, osuser.ErrNone
}

func (p people) ByName(name string) (osuser.Account, error) {
	for _, a := range p {
		if a.Name == name {
			return a, nil
		}
	}
	return osuser.Account{}, osuser.ErrNone
}

const (
	annUID, bobUID = 61001, 61002
	annGID, teamID = 61011, 61020
)

// asPeople is a backend whose tasks run as ann, bob or, for root, nobody.
func asPeople(t testing.TB, o Options) (*Backend, people) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("this takes root: only root can run tasks as another user")
	}
	home := t.TempDir()
	for at := home; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := people{0: {Name: "root"}, 65534: {Name: "nobody", UID: 65534, GID: 65534, Home: "/nonexistent"}}
	for uid, name := range map[uint32]string{annUID: "ann", bobUID: "bob"} {
		dir := filepath.Join(home, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, int(uid), annGID); err != nil {
			t.Fatal(err)
		}
		all[uid] = osuser.Account{Name: name, UID: uid, GID: annGID, Groups: []uint32{teamID}, Home: dir, Shell: "/bin/sh"}
	}
	o.As = &AsSubmitter{Rule: osuser.Rule{Root: "nobody"}, Accounts: all}
	return open(t, o), all
}

// of makes a task one that somebody has submitted.
func of(uid uint32, a backend.Assignment) backend.Assignment {
	a.As = &core.OSUser{UID: uid}
	return a
}

func TestTasksRunAsWhoSubmittedThem(t *testing.T) {
	p, all := asPeople(t, Options{})
	t.Setenv("GOCACHE", "/of/the/server/cache")
	t.Setenv("HOME", "/of/the/server")
	a := of(annUID, shellTask("ann", 0, `id -u; id -g; id -G; pwd; umask; echo "$HOME $USER $LOGNAME $SHELL ${GOCACHE-none}"; cat "$SECRET"; echo again >/dev/stdout; grep -c '^NoNewPrivs:.1' /proc/self/status; touch mine; cat /proc/self/oom_score_adj`))
	a.Files = []backend.File{{Name: "s", EnvVar: "SECRET", Data: []byte("its own\n")}}
	start(t, p, a)
	o := end(t, p, a.ID)
	wantCode(t, o, 0)
	home := all[annUID].Home
	want := "61001\n61011\n61011 61020\n" + home + "\n0022\n" + home + " ann ann /bin/sh none\nits own\nagain\n1\n0\n"
	if got := outputOf(t, p, a.ID); got != want {
		t.Errorf("output\n%s\nwant\n%s", got, want)
	}
	for _, path := range []string{filepath.Join(home, "mine"), p.paths.Log(a.ID)} {
		if uid, mode := ownerOf(t, path); uid != annUID || strings.HasSuffix(path, ".log") && mode != 0o600 {
			t.Errorf("%s is %d's, mode %04o", path, uid, mode)
		}
	}
}

func ownerOf(t *testing.T, path string) (uid uint32, mode os.FileMode) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Sys().(*syscall.Stat_t).Uid, st.Mode().Perm()
}

// Who may run as nobody is refused by name, and nothing of them runs.
func TestTasksOfNobodyAreRefused(t *testing.T) {
	p, _ := asPeople(t, Options{})
	other := uint32(bobUID)
	cases := map[string]struct {
		as   *core.OSUser
		uid  *uint32
		want string
	}{
		"unknown":     {nil, nil, "muster user update NAME --os-user"},
		"gone":        {&core.OSUser{UID: 61999}, nil, "no account any more"},
		"renamed":     {&core.OSUser{UID: annUID, Name: "eve"}, nil, "given to somebody else"},
		"as-another":  {&core.OSUser{UID: annUID}, &other, "runAs.user: 61002"},
		"as-root":     {&core.OSUser{UID: annUID}, new(uint32), "runAs.user: 0"},
		"root-itself": {&core.OSUser{UID: 0}, new(uint32), "runAs.user: 0"},
	}
	for name, c := range cases {
		a := shellTask(name, 0, "id >&2; exit 0")
		a.As, a.UID = c.as, c.uid
		start(t, p, a)
		if o := end(t, p, a.ID); o.State != core.TaskFailed || o.Reason != string(lifecycle.ReasonContainerCannot) || !strings.Contains(o.Message, c.want) {
			t.Errorf("%s ended as %+v, want %q", name, o, c.want)
		}
		if _, err := os.Stat(p.paths.Log(a.ID)); err == nil {
			t.Errorf("%s has written something", name)
		}
	}
	if o := end(t, reopen(t, p), core.TaskID{Workload: "unknown"}); o.State != core.TaskFailed {
		t.Errorf("to the next server it is %+v", o)
	}
}

// A task that was submitted to run as its submitter never runs as the server instead.
func TestTasksOfPeopleNeedAServerForPeople(t *testing.T) {
	p := open(t, Options{})
	a := of(annUID, shellTask("ann", 0, "id"))
	start(t, p, a)
	if o := end(t, p, a.ID); o.State != core.TaskFailed || !strings.Contains(o.Message, "submit it again") {
		t.Errorf("it ended as %+v", o)
	}
}

func TestRootIsSquashed(t *testing.T) {
	p, _ := asPeople(t, Options{})
	a := of(0, shellTask("squashed", 0, "id -u; id -G; pwd"))
	start(t, p, a)
	wantCode(t, end(t, p, a.ID), 0)
	if got := outputOf(t, p, a.ID); got != "65534\n65534\n/\n" {
		t.Errorf("root's task says %q", got)
	}
	p.opts.As.Rule.Root = osuser.Itself
	b := of(0, shellTask("itself", 0, "id -u; grep -c '^NoNewPrivs:.0' /proc/self/status"))
	start(t, p, b)
	wantCode(t, end(t, p, b.ID), 0)
	if got := outputOf(t, p, b.ID); got != "0\n1\n" {
		t.Errorf("root's task says %q where root is itself", got)
	}
}

// TestFilesAreLookedAtAsTheUser: what is said of a path must not tell more of it than
// the user could see.
func TestFilesAreLookedAtAsTheUser(t *testing.T) {
	p, all := asPeople(t, Options{})
	hidden := filepath.Join(all[bobUID].Home, "here")
	if err := os.Mkdir(hidden, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*backend.Assignment){
		"workdir-there":   func(a *backend.Assignment) { a.Workdir = hidden },
		"workdir-missing": func(a *backend.Assignment) { a.Workdir = hidden + "not" },
		"program-there":   func(a *backend.Assignment) { a.Argv = []string{hidden} },
		"program-missing": func(a *backend.Assignment) { a.Argv = []string{hidden + "not"} },
		"mount":           func(a *backend.Assignment) { a.Mounts = []backend.Mount{{Source: hidden, Target: hidden}} },
	} {
		a := of(annUID, shellTask(name, 0, "true"))
		change(&a)
		start(t, p, a)
		if o := end(t, p, a.ID); o.State != core.TaskFailed || !strings.Contains(o.Message, "permission denied") {
			t.Errorf("%s ended as %+v", name, o)
		}
	}
}

// A set-uid program is one like any other, unless the server lets it gain rights.
func TestSetUIDProgramsGainNothing(t *testing.T) {
	p, all := asPeople(t, Options{})
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(cat)
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(filepath.Dir(all[annUID].Home), "cat")
	if err := os.WriteFile(tool, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(tool, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	says := func(name string) string {
		a := of(annUID, shellTask(name, 0, tool+` /proc/self/status | grep ^Uid:`))
		start(t, p, a)
		wantCode(t, end(t, p, a.ID), 0)
		return strings.Join(strings.Fields(outputOf(t, p, a.ID))[1:3], " ")
	}
	if got := says("kept"); got != "61001 61001" {
		t.Errorf("a set-uid program is %s", got)
	}
	p.opts.As.Rule.SetUID = true
	if got := says("let"); got != "61001 0" {
		t.Errorf("where it is let, a set-uid program is %s", got)
	}
}

// TestPeopleDoNotReadEachOther: logs, task directories, private files and environments.
func TestPeopleDoNotReadEachOther(t *testing.T) {
	p, _ := asPeople(t, Options{})
	a := of(bobUID, shellTask("bobs", 0, `echo began; while [ ! -e "$HOME/go" ]; do sleep 0.01; done`))
	a.Files = []backend.File{{Name: "s", EnvVar: "SECRET", Data: []byte("bobs\n")}}
	a.Env = append(a.Env, "TOKEN=hush")
	start(t, p, a)
	until(t, "bob's task runs", func() bool { return outputOf(t, p, a.ID) == "began\n" })
	var rec taskdir.Assigned
	if ok, err := taskdir.Read(p.paths.Task(a.ID), taskdir.AssignmentRecord, &rec); !ok || rec.As == nil || rec.As.UID != bobUID {
		t.Fatalf("the record says %+v (%v)", rec, err)
	}
	var st taskdir.Forked
	if _, err := taskdir.Read(p.paths.Task(a.ID), taskdir.StateRecord, &st); err != nil {
		t.Fatal(err)
	}
	environ := filepath.Join("/proc", itoa(st.PID), "environ")
	spy := of(annUID, shellTask("spy", 0, ""))
	spy.Argv = []string{"sh", "-c", `for f in "$@"; do cat "$f" && echo "READ $f"; done 2>/dev/null; ls "$1" && echo LISTED; exit 0`, "sh", p.paths.Log(a.ID), p.paths.Task(a.ID) + "/record", filepath.Join(rec.Private, taskdir.FilesDir, "s"), environ}
	start(t, p, spy)
	wantCode(t, end(t, p, spy.ID), 0)
	if got := outputOf(t, p, spy.ID); strings.Contains(got, "READ") || strings.Contains(got, "LISTED") || strings.Contains(got, "hush") {
		t.Errorf("ann has seen of bob's:\n%s", got)
	}
	// Bob reads what is his own to read.
	own := of(bobUID, shellTask("own", 0, ""))
	own.Argv = []string{"cat", filepath.Join(rec.Private, taskdir.FilesDir, "s"), environ}
	start(t, p, own)
	wantCode(t, end(t, p, own.ID), 0)
	if got := outputOf(t, p, own.ID); !strings.Contains(got, "bobs\n") || !strings.Contains(got, "TOKEN=hush") {
		t.Errorf("bob has seen of his own %q", got)
	}
	_ = p.Stop(t.Context(), []core.TaskID{a.ID}, 0)
	end(t, p, a.ID)
}

// Commands beside a task run as the task does, also after the supervisor was killed.
func TestCommandsBesideTasksOfPeople(t *testing.T) {
	p, all := asPeople(t, Options{})
	a := of(annUID, shellTask("beside", 0, `echo began; sleep 300`))
	start(t, p, a)
	until(t, "it runs", func() bool { return outputOf(t, p, a.ID) == "began\n" })
	says := func() string {
		var out bytes.Buffer
		code, err := p.Exec(t.Context(), a.ID, backend.ExecOptions{Argv: []string{"sh", "-c", "id -u; id -G; pwd; umask; grep -c '^NoNewPrivs:.1' /proc/self/status"}, Streams: backend.Streams{Stdout: &out}})
		if err != nil || code != 0 {
			t.Fatalf("exec: %d, %v", code, err)
		}
		return out.String()
	}
	want := "61001\n61011 61020\n" + all[annUID].Home + "\n0022\n1\n"
	if got := says(); got != want {
		t.Errorf("beside it: %q, want %q", got, want)
	}
	killSupervisor(t, p)
	until(t, "it is taken over", func() bool { return observe(t, p, a.ID).State == core.TaskRunning })
	if got := says(); got != want {
		t.Errorf("beside it, after the supervisor was killed: %q, want %q", got, want)
	}
	_ = p.Stop(t.Context(), []core.TaskID{a.ID}, 0)
	end(t, p, a.ID)
}

// TestLimitsOfPeople: what limits.conf says of an account holds from the first program on.
func TestLimitsOfPeople(t *testing.T) {
	p, all := asPeople(t, Options{})
	ann := all[annUID]
	soft, hard, none := uint64(111), uint64(222), osuser.Unlimited
	ann.Limits = []osuser.Limit{{Name: "core", Soft: new(uint64), Hard: &none}, {Name: "nofile", Soft: &soft, Hard: &hard}, {Name: "nproc", Soft: &none}}
	all[annUID] = ann
	a := of(annUID, shellTask("limits", 0, `ulimit -S -n; ulimit -H -n; ulimit -S -c; echo "$0"`))
	start(t, p, a)
	wantCode(t, end(t, p, a.ID), 0)
	if got := outputOf(t, p, a.ID); got != "111\n222\n0\n/bin/sh\n" {
		t.Errorf("limits of a task: %q", got)
	}
}

func TestLimitsOfPeopleInContainers(t *testing.T) {
	needBoxes(t)
	p, all := asPeople(t, Options{Images: newShelf(t)})
	ann := all[annUID]
	soft, hard := uint64(111), uint64(222)
	ann.Limits = []osuser.Limit{{Name: "nofile", Soft: &soft, Hard: &hard}, {Name: "core", Soft: new(uint64), Hard: new(uint64)}}
	all[annUID] = ann
	if o, out := ran(t, p, of(annUID, boxed("limits", 0, "ulimit -S -n; ulimit -H -n; ulimit -H -c"))); out != "111\n222\n0\n" {
		t.Errorf("limits of a container: %q, %+v", out, o)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// TestContainersOfPeople: a container's process is its submitter, whatever the image says.
func TestContainersOfPeople(t *testing.T) {
	needBoxes(t)
	p, all := asPeople(t, Options{Images: newShelf(t)})
	a := of(annUID, boxed("inside", 0, `id -u; id -G; id -un; echo "$HOME $USER"; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; touch /data/mine; touch /etc/no 2>/dev/null && echo WROTE; touch /tmp/yes && echo temporary; pwd`))
	a.Mounts = []backend.Mount{{Source: all[annUID].Home, Target: "/data"}}
	o, out := ran(t, p, a)
	wantCode(t, o, 0)
	want := "61001\n61011 61020\nann\n/tmp ann\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\ntemporary\n/\n"
	if out != want {
		t.Errorf("output\n%s\nwant\n%s", out, want)
	}
	if uid, _ := ownerOf(t, filepath.Join(all[annUID].Home, "mine")); uid != annUID {
		t.Errorf("what it wrote is %d's", uid)
	}
	// As another image's user it still is who it is, and cannot be another.
	b := of(annUID, boxed("worker", 0, "id -u; id -g"))
	b.Image = "hello"
	if o, out = ran(t, p, b); out != "61001\n61011\n" {
		t.Errorf("in an image with a user: %q, %+v", out, o)
	}
	c := of(annUID, boxed("root", 0, "id -u"))
	c.UID = new(uint32)
	start(t, p, c)
	if o := end(t, p, c.ID); o.State != core.TaskFailed || !strings.Contains(o.Message, "runAs.user: 0") {
		t.Errorf("as root it ended as %+v", o)
	}
	// And beside it.
	d := of(annUID, boxed("beside", 0, "echo began; sleep 300"))
	start(t, p, d)
	until(t, "it runs", func() bool { return observe(t, p, d.ID).State == core.TaskRunning })
	var said bytes.Buffer
	if code, err := p.Exec(t.Context(), d.ID, backend.ExecOptions{Argv: []string{"sh", "-c", "id -u; id -G; grep ^CapBnd /proc/self/status"}, Streams: backend.Streams{Stdout: &said}}); err != nil || code != 0 || said.String() != "61001\n61011 61020\nCapBnd:\t0000000000000000\n" {
		t.Errorf("beside it: %d, %v, %q", code, err, said.String())
	}
	_ = p.Stop(t.Context(), []core.TaskID{d.ID}, 0)
	end(t, p, d.ID)
}

// TestMountsOfPeople: nobody reads by a mount what they could not read, by whatever name.
func TestMountsOfPeople(t *testing.T) {
	needBoxes(t)
	p, all := asPeople(t, Options{Images: newShelf(t)})
	// Bob's directory is closed; what is in it would be open to all.
	open := filepath.Join(all[bobUID].Home, "open")
	for _, err := range []error{os.Mkdir(open, 0o755), os.WriteFile(filepath.Join(open, "f"), []byte("bob's\n"), 0o644), os.Symlink(open, filepath.Join(all[annUID].Home, "link"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, source := range map[string]string{
		"root": "/root", "closed": all[bobUID].Home, "below": open, "file": filepath.Join(open, "f"), "link": filepath.Join(all[annUID].Home, "link"),
		"server": p.paths.Tasks(), "shadow": "/etc/shadow",
	} {
		a := of(annUID, boxed(name, 0, "cat /m/* /m; exit 0"))
		a.Mounts = []backend.Mount{{Source: source, Target: "/m"}}
		start(t, p, a)
		if o := end(t, p, a.ID); o.State != core.TaskFailed || o.Reason != string(lifecycle.ReasonMountFailed) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	// What is made is made by the user, where they may.
	a := of(annUID, boxed("made", 0, "touch /m/f"))
	a.Mounts = []backend.Mount{{Source: filepath.Join(all[annUID].Home, "new", "dir"), Target: "/m", Create: true}}
	o, _ := ran(t, p, a)
	wantCode(t, o, 0)
	if uid, _ := ownerOf(t, filepath.Join(all[annUID].Home, "new", "dir", "f")); uid != annUID {
		t.Errorf("what was made is %d's", uid)
	}
	b := of(annUID, boxed("foreign", 0, "true"))
	b.Mounts = []backend.Mount{{Source: filepath.Join(all[bobUID].Home, "new"), Target: "/m", Create: true}}
	start(t, p, b)
	if o := end(t, p, b.ID); o.State != core.TaskFailed {
		t.Errorf("a directory was made in bob's: %+v", o)
	}
	// A file, read only, and below a directory of another mount.
	c := of(annUID, boxed("two", 0, "cat /m/sub/f; touch /m/x 2>/dev/null && echo WROTE; mount -o remount,rw /m 2>/dev/null && echo REMOUNTED; exit 0"))
	if err := os.WriteFile(filepath.Join(all[annUID].Home, "file"), []byte("ann's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(all[annUID].Home, "file"), annUID, annGID); err != nil {
		t.Fatal(err)
	}
	c.Mounts = []backend.Mount{{Source: all[annUID].Home, Target: "/m", ReadOnly: true}, {Source: filepath.Join(all[annUID].Home, "file"), Target: "/n/f", ReadOnly: true}}
	c.Argv = []string{"/bin/sh", "-c", "cat /n/f; touch /m/x 2>/dev/null && echo WROTE; touch /n/f 2>/dev/null && echo WROTE; exit 0"}
	if o, out := ran(t, p, c); out != "ann's\n" {
		t.Errorf("%q, %+v", out, o)
	}
}

// TestRootMakesNothingInMounts: an engine of root makes what is missing of working
// directories and of places for mounts. In a directory of the machine it would do so
// with root's rights, for whoever names it, be it by a link in an image of their own.
func TestRootMakesNothingInMounts(t *testing.T) {
	needBoxes(t)
	s := newShelf(t)
	links := t.TempDir()
	for name, to := range map[string]string{"x": "/m", "w": "/m/made"} {
		if err := os.Symlink(to, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{os.Chmod(links, 0o755), os.MkdirAll(filepath.Join(links, "m", "made"), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	linked := s.images["busybox"]
	linked.Ref, linked.Layers = "linked", append(slices.Clone(linked.Layers), links)
	s.images["linked"] = linked
	p, all := asPeople(t, Options{Images: s})
	shared := filepath.Join(filepath.Dir(all[annUID].Home), "shared")
	if err := os.Mkdir(shared, 0o755); err != nil { // root's, and readable
		t.Fatal(err)
	}
	m := backend.Mount{Source: shared, Target: "/m"}
	own := func(at string) backend.Mount { return backend.Mount{Source: all[annUID].Home, Target: at} }
	for name, change := range map[string]func(a *backend.Assignment){
		"workdir":          func(a *backend.Assignment) { a.Workdir, a.Mounts = "/m/made/deep", []backend.Mount{m} },
		"workdir-of-image": func(a *backend.Assignment) { a.Image, a.Workdir, a.Mounts = "linked", "/m/made", []backend.Mount{m} },
		"workdir-by-link":  func(a *backend.Assignment) { a.Image, a.Workdir, a.Mounts = "linked", "/x/made", []backend.Mount{m} },
		"workdir-is-link":  func(a *backend.Assignment) { a.Image, a.Workdir, a.Mounts = "linked", "/w", []backend.Mount{m} },
		"mount":            func(a *backend.Assignment) { a.Mounts = []backend.Mount{m, own("/m/made")} },
		"mount-before":     func(a *backend.Assignment) { a.Mounts = []backend.Mount{own("/m/made"), m} },
		"mount-by-link":    func(a *backend.Assignment) { a.Image, a.Mounts = "linked", []backend.Mount{m, own("/x/made")} },
		"memory":           func(a *backend.Assignment) { a.Mounts = []backend.Mount{m, {Temporary: true, Target: "/m/made"}} },
		"memory-by-link": func(a *backend.Assignment) {
			a.Image, a.Mounts = "linked", []backend.Mount{m, {Temporary: true, Target: "/x/made"}}
		},
		"disk": func(a *backend.Assignment) {
			a.Mounts = []backend.Mount{m, {Temporary: true, Disk: true, Target: "/m/made"}}
		},
		"private-file": func(a *backend.Assignment) {
			a.Mounts, a.Files = []backend.Mount{m}, []backend.File{{Name: "f", Path: "/m/made/f"}}
		},
		"private-file-linked": func(a *backend.Assignment) {
			a.Image, a.Mounts, a.Files = "linked", []backend.Mount{m}, []backend.File{{Name: "f", Path: "/x/f"}}
		},
	} {
		a := of(annUID, boxed(name, 0, "pwd"))
		change(&a)
		start(t, p, a)
		end(t, p, a.ID)
		left, err := os.ReadDir(shared)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			t.Errorf("%s has made %s in a directory of root's", name, e.Name())
			_ = os.RemoveAll(filepath.Join(shared, e.Name()))
		}
	}
	// What is there is a working directory as ever, and one that cannot be come to is not.
	if err := os.Mkdir(filepath.Join(all[annUID].Home, "here"), 0o755); err != nil {
		t.Fatal(err)
	}
	a := of(annUID, boxed("there", 0, `pwd; echo "$0" "$@"`))
	a.Workdir, a.Mounts, a.Argv = "/home/here", []backend.Mount{own("/home")}, append(a.Argv, "a", "b c")
	if o, out := ran(t, p, a); out != "/home/here\na b c\n" {
		t.Errorf("in a directory of a mount: %q, %+v", out, o)
	}
	b := of(annUID, boxed("missing", 0, "pwd"))
	b.Workdir, b.Mounts = "/home/none", []backend.Mount{own("/home")}
	if o, out := ran(t, p, b); o.State != core.TaskFailed || !strings.Contains(out, "/home/none") {
		t.Errorf("in a directory that is not there: %q, %+v", out, o)
	}
}

// TestCommandsInContainersFindNoOtherDirectory: a command beside a task begins where
// that is, and comes there with the user's rights, not with the engine's.
func TestCommandsInContainersFindNoOtherDirectory(t *testing.T) {
	needBoxes(t)
	p, all := asPeople(t, Options{Images: newShelf(t)})
	hidden := filepath.Join(all[bobUID].Home, "open")
	for _, err := range []error{os.Mkdir(hidden, 0o755), os.WriteFile(filepath.Join(hidden, "f"), []byte("bob's\n"), 0o644), os.Mkdir(filepath.Join(all[annUID].Home, "d"), 0o755), os.Chown(filepath.Join(all[annUID].Home, "d"), annUID, annGID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	a := of(annUID, boxed("cwd", 0, "cd /h/ann/d && echo here; sleep 300"))
	a.Mounts = []backend.Mount{{Source: filepath.Dir(all[annUID].Home), Target: "/h"}}
	start(t, p, a)
	until(t, "it is there", func() bool { return outputOf(t, p, a.ID) == "here\n" })
	says := func() string {
		var out bytes.Buffer
		_, err := p.Exec(t.Context(), a.ID, backend.ExecOptions{Argv: []string{"sh", "-c", "exec 2>&1; pwd; cat f"}, Streams: backend.Streams{Stdout: &out}})
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := says(); !strings.HasPrefix(got, "/h/ann/d\n") {
		t.Errorf("beside it: %q", got)
	}
	// The name that its directory had comes to mean another: here the task's own name
	// for it stays, as the kernel follows what is renamed, so it is bob's that moves.
	if err := os.Rename(filepath.Join(all[annUID].Home, "d"), filepath.Join(hidden, "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hidden, "d", "f"), []byte("bob's\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := says(); strings.Contains(got, "bob's") {
		t.Errorf("beside it, where ann may not come: %q", got)
	}
	_ = p.Stop(t.Context(), []core.TaskID{a.ID}, 0)
	end(t, p, a.ID)
}

// TestTerminalsOfPeople: a terminal is its user's, who can open it by its name.
func TestTerminalsOfPeople(t *testing.T) {
	p, _ := asPeople(t, Options{Images: newShelf(t)})
	for _, a := range []backend.Assignment{of(annUID, shellTask("tty", 0, `id -u; stat -c %u "$(tty)"; echo by name >/dev/tty`)), of(annUID, boxed("tty", 1, `id -u; stat -c %u "$(tty)"; echo by name >/dev/tty`))} {
		if a.Image != "" {
			needBoxes(t)
		}
		a.TTY = true
		o, out := ran(t, p, a)
		wantCode(t, o, 0)
		if out = strings.ReplaceAll(out, "\r", ""); out != "61001\n61001\nby name\n" {
			t.Errorf("%s says %q", a.ID, out)
		}
	}
}

// TestNobodyHoldsUpOthers: between the moment in which a task becomes its user's and the
// one in which it becomes its command that user can stop it, and its supervisor waits
// for it. Others must not.
func TestNobodyHoldsUpOthers(t *testing.T) {
	p, _ := asPeople(t, Options{})
	stopper := exec.Command("/bin/sh", "-c", "while :; do kill -STOP -1; done")
	stopper.Dir = "/"
	stopper.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: annUID, Gid: annGID}}
	if err := stopper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stopper.Process.Kill(); _ = stopper.Wait() }()
	var anns []core.TaskID
	var tasks []backend.Assignment
	for i := range 40 {
		a := of(annUID, shellTask("anns", i, "true"))
		anns, tasks = append(anns, a.ID), append(tasks, a)
	}
	for i := range 10 {
		tasks = append(tasks, of(bobUID, shellTask("bobs", i, "echo done")))
	}
	start(t, p, tasks...)
	for i := range 10 {
		wantCode(t, end(t, p, core.TaskID{Workload: "bobs", Index: i}), 0)
	}
	_ = p.Stop(t.Context(), anns, 0)
	for _, id := range anns {
		end(t, p, id)
	}
}

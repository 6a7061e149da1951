//go:build linux

package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/rootfs"
)

func TestBoxMountsAndFiles(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	data, made := t.TempDir(), filepath.Join(t.TempDir(), "deep", "made")
	if err := os.WriteFile(filepath.Join(data, "f"), []byte("of the machine"), 0o644); err != nil {
		t.Fatal(err)
	}
	uid, gid := uint32(4711), uint32(815)
	a := boxed("mounts", 0, `cat /data/f; echo
echo x 2>/dev/null > /data/g || echo readonly
echo new > /made/new && echo made
df -k /scratch | tail -1 | awk '{print $1, $2}'; echo y > /scratch/y && echo scratch
df -k /dev/shm | tail -1 | awk '{print $2}'
cat $TOKEN; echo; cat /run/secret; echo; echo $TOKEN
stat -c '%a %u' $TOKEN /run/secret
id -u; id -g
grep -c . /etc/hosts /etc/hostname > /dev/null && echo names`)
	a.UID, a.GID, a.SHM = &uid, &gid, 3<<20
	a.Mounts = []backend.Mount{
		{Source: data, Target: "/data", ReadOnly: true}, {Source: made, Target: "/made", Create: true},
		{Target: "/scratch", Temporary: true, Size: 2 << 20},
	}
	a.Files = []backend.File{{Name: "token", EnvVar: "TOKEN", Data: []byte("secret one")}, {Name: "two", Path: "/run/secret", Data: []byte("secret two")}}
	o, out := ran(t, p, a)
	wantCode(t, o, 0)
	want := "of the machine\nreadonly\nmade\ntmpfs 2048\nscratch\n3072\nsecret one\nsecret two\n/.muster/files/token\n600 4711\n600 4711\n4711\n815\nnames\n"
	if out != want {
		t.Errorf("output:\n%swant:\n%s", out, want)
	}
	if got, err := os.ReadFile(filepath.Join(made, "new")); err != nil || string(got) != "new\n" {
		t.Errorf("what it wrote into a mount: %q, %v", got, err)
	}
}

func TestBoxMountThatFails(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	missing := filepath.Join(t.TempDir(), "missing")
	for i, c := range []struct {
		m    backend.Mount
		says string
	}{
		{backend.Mount{Source: missing, Target: "/data"}, missing},
		{backend.Mount{Source: "relative", Target: "/data"}, "relative"},
		{backend.Mount{Source: os.TempDir(), Target: "/proc/sys"}, "/proc/sys"},
		{backend.Mount{Source: os.TempDir(), Target: "/a/../b"}, "/a/../b"},
	} {
		a := boxed("nomount", i, "true")
		a.Mounts = []backend.Mount{c.m}
		o, _ := ran(t, p, a)
		if o.State != core.TaskFailed || o.Reason != "MountFailed" || !strings.Contains(o.Message, c.says) {
			t.Errorf("%+v: %+v, want MountFailed that names %s", c.m, o, c.says)
		}
	}
	a := shellTask("nomount", 100, "true")
	a.Mounts = []backend.Mount{{Source: missing, Target: missing}}
	if o, _ := ran(t, p, a); o.Reason != "MountFailed" || !strings.Contains(o.Message, missing) {
		t.Errorf("a process: %+v, want MountFailed", o)
	}
	a = shellTask("nomount", 101, "true")
	a.Mounts = []backend.Mount{{Source: os.TempDir(), Target: os.TempDir()}}
	if o, _ := ran(t, p, a); o.State != core.TaskSucceeded {
		t.Errorf("a process whose mount is there: %+v", o)
	}
}

func TestBoxIsConfined(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, []byte("alive"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ script, want string }{
		{"mount -t tmpfs x /tmp 2>/dev/null && echo BAD; unshare -m true 2>/dev/null && echo BAD; true", ""},
		{"echo 1 2>/dev/null > /proc/sys/kernel/panic && echo BAD; echo b 2>/dev/null > /proc/sysrq-trigger && echo BAD; true", ""},
		{"mknod /tmp/disk b 8 0 && head -c1 /tmp/disk >/dev/null 2>&1 && echo BAD; true", ""},
		{"mknod /tmp/mem c 1 1 && head -c1 /tmp/mem >/dev/null 2>&1 && echo BAD; true", ""},
		{"ls " + canary + " 2>/dev/null && echo BAD; chroot /proc/1/root ls " + canary + " 2>/dev/null && echo BAD; true", ""},
		{"grep NoNewPrivs /proc/self/status", "NoNewPrivs:\t1\n"},
		{"grep Seccomp: /proc/self/status", "Seccomp:\t2\n"},
		{"hostname other 2>/dev/null && echo BAD; true", ""},
		{"ls /proc | grep -c '^[0-9]*$' | awk '{print ($1 < 8)}'", "1\n"},
	} {
		o, out := ran(t, p, boxed("confined", i, c.script))
		wantCode(t, o, 0)
		if out != c.want {
			t.Errorf("%q: output %q, want %q", c.script, out, c.want)
		}
	}
	if data, err := os.ReadFile(canary); string(data) != "alive" {
		t.Errorf("the canary: %q, %v", data, err)
	}
}

// TestBoxWithAProgramThatCannotRunThere mounts what is linked against libraries
// that the image lacks, as this program is where it was built with cgo, and what
// is not.
func TestBoxWithAProgramThatCannotRunThere(t *testing.T) {
	needBoxes(t)
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	static, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	loader := rootfs.Loader(sh)
	if loader == "" {
		t.Skip("/bin/sh is linked statically here, so there is no loader to find: run this on a distribution whose shell is dynamic")
	}
	p := open(t, Options{Images: newShelf(t)})
	for i, source := range []string{sh, static} {
		a := boxed("linked", i, "true")
		a.Mounts = []backend.Mount{{Program: true, Source: source, Target: "/.muster/muster", ReadOnly: true}}
		o, _ := ran(t, p, a)
		if source == static {
			wantCode(t, o, 0)
		} else if o.State != core.TaskFailed || o.Reason != "ContainerCannotRun" || !strings.Contains(o.Message, loader) || !strings.Contains(o.Message, "make build") {
			t.Errorf("with a program that needs %s: %+v", loader, o)
		}
	}
}

func TestBoxThatCannotRun(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	for i, c := range []struct {
		image string
		argv  []string
		says  []string
	}{
		{"busybox", []string{"no-such-program"}, []string{"no-such-program", "PATH", "busybox"}},
		{"busybox", []string{"/opt/missing"}, []string{"/opt/missing", "no such file"}},
		{"busybox", []string{"/opt/data"}, []string{"/opt/data", "permission denied"}},
		{"busybox", []string{"/opt/garbage"}, []string{"/opt/garbage", "exec format error"}},
		{"busybox", []string{"/opt/script"}, []string{"/opt/script", "/no/such/interpreter"}},
		{"busybox", nil, []string{"no command"}},
		{"nothing", []string{"/bin/true"}, []string{"/bin/true", "no such file"}},
		{"stranger", []string{"true"}, []string{"nobody-here", "/etc/passwd"}},
	} {
		a := backend.Assignment{ID: core.TaskID{Workload: "cannot", Index: i}, Image: c.image, Argv: c.argv}
		o, _ := ran(t, p, a)
		if o.State != core.TaskFailed || o.Reason != "ContainerCannotRun" {
			t.Errorf("%q in %s: %+v, want failed, ContainerCannotRun", c.argv, c.image, o)
		}
		for _, say := range c.says {
			if !strings.Contains(o.Message, say) {
				t.Errorf("%q in %s: message %q does not say %q", c.argv, c.image, o.Message, say)
			}
		}
	}
	// What the engine itself finds out.
	a := boxed("cannot", 100, "true")
	dir := t.TempDir()
	a.Argv, a.Mounts = []string{"/mounted/nothing"}, []backend.Mount{{Source: dir, Target: "/mounted"}}
	if o, out := ran(t, p, a); o.Reason != "ContainerCannotRun" || !strings.Contains(o.Message, "/mounted/nothing") || strings.Contains(o.Message, "runc") || out != "" {
		t.Errorf("%+v, output %q; want ContainerCannotRun in plain words and no output", o, out)
	}
}

func TestNoEngine(t *testing.T) {
	a := shellTask("engine", 0, "true")
	a.Image = "busybox"
	for name, o := range map[string]Options{
		"no images": {},
		"no runc":   {Images: &shelf{}, Engine: "no-such-engine"},
	} {
		p := open(t, o)
		if o, _ := ran(t, p, a); o.Reason != "ContainerCannotRun" || !strings.Contains(o.Message, "this server has no container engine") {
			t.Errorf("%s: %+v, want ContainerCannotRun", name, o)
		}
	}
}

func TestBoxGetsDescribedDevices(t *testing.T) {
	needBoxes(t)
	dir := t.TempDir()
	desc := `{"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": [{"name": "GPU-1", "containerEdits": {
		"deviceNodes": [{"path": "/dev/gpu-one", "type": "c", "major": 1, "minor": 3}], "env": ["FROM_CDI=yes"]}}]}`
	if err := os.WriteFile(filepath.Join(dir, "gpu.json"), []byte(desc), 0o644); err != nil {
		t.Fatal(err)
	}
	p := open(t, Options{Images: newShelf(t), CDIDirs: []string{dir}})
	a := boxed("cdi", 0, "echo $FROM_CDI $CUDA_VISIBLE_DEVICES; stat -c %t:%T /dev/gpu-one; echo x > /dev/gpu-one && echo writable")
	a.Devices = []core.Share{{Device: "GPU-1", Index: 5, Milli: 1000}}
	o, out := ran(t, p, a)
	wantCode(t, o, 0)
	if want := "yes GPU-1\n1:3\nwritable\n"; out != want {
		t.Errorf("output %q, want %q", out, want)
	}
	b := boxed("cdi", 1, "exec sleep 1000")
	b.Devices = []core.Share{{Device: "GPU-2", Index: 77, Milli: 1000}}
	start(t, p, b)
	until(t, "it runs", func() bool { return observe(t, p, b.ID).State == core.TaskRunning })
	if o := observe(t, p, b.ID); !strings.Contains(o.Message, "no CDI description") || !strings.Contains(o.Message, "GPU-2") {
		t.Errorf("without a description: message %q", o.Message)
	}
}

func TestSecretsOfBoxesAreNotKept(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	a := boxed("secret", 0, "echo up; exec sleep 1000")
	a.Env = []string{"KEY=hidden-env"}
	a.Credentials = []backend.Credential{{Server: "r", User: "u", Password: "hidden-password"}}
	a.Files = []backend.File{{Name: "f", Data: []byte("hidden-file")}}
	a.Prelude = []byte(": hidden-prelude\n")
	start(t, p, a)
	until(t, "it is up", func() bool { return outputOf(t, p, a.ID) == "up\n" })
	err := filepath.Walk(p.paths.Dir, func(path string, st os.FileInfo, err error) error {
		if err != nil || !st.Mode().IsRegular() {
			return nil
		}
		data, _ := os.ReadFile(path)
		if strings.Contains(string(data), "hidden-") && path != filepath.Join(p.paths.Task(a.ID), taskdir.FilesDir, "f") {
			return fmt.Errorf("%s has a secret in it", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, x := range proc.All() {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", x.PID))
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", x.PID))
		if strings.Contains(string(env)+string(args), "hidden-password") {
			t.Errorf("pid %d shows the password", x.PID)
		}
	}
}

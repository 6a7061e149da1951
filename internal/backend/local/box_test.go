//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/backendtest"
)

// needBoxes skips where containers cannot run.
func needBoxes(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("this takes root: runc makes containers for root only")
	}
	for _, tool := range []string{"runc", "busybox"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (apt-get install runc busybox-static)", tool)
		}
	}
}

// shelf is a place for images that the test fills by hand.
type shelf struct {
	mu     sync.Mutex
	images map[string]container.Image
	held   map[string]bool
	pull   func(ctx context.Context, try int, progress func(PullProgress)) error // nil: they are there
	tries  int
}

func (s *shelf) Pull(ctx context.Context, ref string, o PullOptions, progress func(PullProgress)) (container.Image, error) {
	s.mu.Lock()
	pull, try := s.pull, s.tries+1
	if o.Owner == "" {
		s.tries = try
	}
	s.mu.Unlock()
	if o.Owner == "" && pull != nil {
		if err := pull(ctx, try, progress); err != nil {
			return container.Image{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	img, ok := s.images[ref]
	if !ok {
		return img, fmt.Errorf("no image %q on the shelf", ref)
	}
	if o.Owner != "" {
		s.held[o.Owner] = true
	}
	return img, nil
}

func (s *shelf) Release(owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, owner)
	return nil
}

func (s *shelf) Held() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for owner := range s.held {
		all = append(all, owner)
	}
	slices.Sort(all)
	return all
}

// newShelf has busybox on it, in two layers, and more with other settings.
func newShelf(t testing.TB) *shelf {
	t.Helper()
	base, top := t.TempDir(), t.TempDir()
	tool, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(tool)
	if err != nil {
		t.Fatal(err)
	}
	put := func(root, path, content string, mode os.FileMode) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	put(base, "bin/busybox", string(data), 0o755)
	names, err := exec.Command(tool, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(names)) {
		if name != "busybox" {
			if err := os.Symlink("busybox", filepath.Join(base, "bin", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(base, "etc/passwd", "root:x:0:0:root:/root:/bin/sh\nworker:x:1234:2345:w:/home/worker:/bin/sh\n", 0o644)
	put(base, "etc/group", "root:x:0:\nworkers:x:2345:\nextra:x:77:worker,other\n", 0o644)
	put(base, "etc/lower", "from below", 0o644)
	put(base, "root/.keep", "", 0o644)
	put(top, "etc/lower", "from above", 0o644)
	put(top, "opt/data", "x", 0o644)
	put(top, "opt/garbage", "\x00\x01\x02", 0o755)
	put(top, "opt/script", "#!/no/such/interpreter\n", 0o755)
	put(top, "opt/hello", "#!/bin/sh\necho hello \"$@\"\n", 0o755)
	for _, d := range []string{base, top} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(top, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(top, "tmp"), 0o1777); err != nil {
		t.Fatal(err)
	}
	layers := []string{base, top}
	return &shelf{
		held: map[string]bool{},
		images: map[string]container.Image{
			"busybox": {Ref: "busybox", Layers: layers},
			"hello": {Ref: "hello", Layers: layers, Config: container.Config{
				Env: []string{"FROM=image", "PATH=/opt:/bin", "BOTH=image"}, Entrypoint: []string{"hello", "to"}, Cmd: []string{"you"},
				User: "worker", Workdir: "/made/by/image",
			}},
			"nothing":  {Ref: "nothing"},
			"stranger": {Ref: "stranger", Layers: layers, Config: container.Config{User: "nobody-here"}},
		},
	}
}

func boxed(workload string, index int, script string) backend.Assignment {
	a := shellTask(workload, index, script)
	a.Image = "busybox"
	return a
}

// ran runs a task to its end and returns that and its output.
func ran(t *testing.T, p *Backend, a backend.Assignment) (backend.Observation, string) {
	t.Helper()
	start(t, p, a)
	o := end(t, p, a.ID)
	return o, outputOf(t, p, a.ID)
}

func TestContractInContainers(t *testing.T) {
	needBoxes(t)
	o := Options{FakeGPUs: 2, Images: newShelf(t)}
	backendtest.Run(t, func(t *testing.T) backend.Backend { return open(t, o) }, backendtest.Options{
		Assign: func(_ *testing.T, id core.TaskID, s backendtest.Script) backend.Assignment {
			return backend.Assignment{ID: id, Image: "busybox", Argv: backendtest.Command(s)}
		},
		Image: "busybox", Init: true,
		Devices: []core.Share{{Device: "fake-1", Index: 1, Milli: 1000}}, Visible: "1",
		Memory: findGroupsForTest(o),
		Reopen: func(t *testing.T, p backend.Backend) backend.Backend { return reopen(t, p.(*Backend)) },
	})
}

func TestBoxRunsTheImage(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	o, out := ran(t, p, boxed("layers", 0, "cat /etc/lower; echo; pwd; id -u; echo $$; hostname"))
	wantCode(t, o, 0)
	host, _ := os.Hostname()
	if want := "from above\n/\n0\n1\n" + host + "\n"; out != want {
		t.Errorf("output %q, want %q", out, want)
	}
	a := backend.Assignment{ID: core.TaskID{Workload: "image", Index: 1}, Image: "hello"}
	if _, out = ran(t, p, a); out != "hello to you\n" {
		t.Errorf("the image's own command says %q", out)
	}
	a = backend.Assignment{ID: core.TaskID{Workload: "image", Index: 2}, Image: "hello", Env: []string{"BOTH=task"}, Argv: []string{"sh", "-c", `echo $FROM $BOTH $HOME; id -u; id -g; id -G; pwd; touch here && stat -c %u .; ulimit -n`}}
	o, out = ran(t, p, a)
	wantCode(t, o, 0)
	if want := "image task /home/worker\n1234\n2345\n2345 77\n/made/by/image\n1234\n"; !strings.HasPrefix(out, want) {
		t.Errorf("output %q, want %q", out, want)
	}
}

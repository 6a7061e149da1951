//go:build linux

package chaos

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/client"
)

// small is a world without programs whose server answers as it is told.
func small(t *testing.T, answer http.HandlerFunc) *World {
	t.Helper()
	if answer == nil {
		answer = http.NotFound
	}
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	conn, err := client.New(client.Options{Address: s.URL, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &World{name: t.Name() + t.TempDir(), ledger: NewLedger(io.Discard), host: &host{data: t.TempDir(), conn: conn}}
	w.observer = newObserver(w)
	return w
}

// task starts a process as a task of the world would have one.
func (w *World) task(t *testing.T, id, devices, milli string) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), worldEnv+"="+w.name, milliEnv+"="+milli, "MUSTER_WORKLOAD_ID="+id, "MUSTER_ATTEMPT=0", "MUSTER_TASK_INDEX=0", "CUDA_VISIBLE_DEVICES="+devices)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	// Until its own program runs it has our environment.
	if !waitFor(within, func() bool {
		return slices.ContainsFunc(scan(w.name), func(p proc) bool { return p.pid == cmd.Process.Pid })
	}) {
		t.Fatal("the task is not seen")
	}
}

func (w *World) wants(t *testing.T, want ...Kind) {
	t.Helper()
	var kinds []Kind
	for _, v := range w.violations {
		kinds = append(kinds, v.Kind)
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("found %v, want %q", w.violations, want)
	}
}

func TestTheLivingAreSeen(t *testing.T) {
	w := small(t, nil)
	w.task(t, "one", "0,1", "1000")
	w.task(t, "half", "2", "500")
	w.task(t, "other", "2", "500")
	w.observer.once()
	w.wants(t)

	w.task(t, "second", "1", "1000")
	w.observer.once()
	w.wants(t, HeldTwice)

	w.violations = nil
	w.observer.ended["half"] = 1
	w.observer.once()
	w.wants(t, HeldTwice, Alive)
}

func TestWhatIsLeftIsSeen(t *testing.T) {
	w := small(t, nil)
	if left := w.left(); len(left) != 0 {
		t.Errorf("left in an empty world: %q", left)
	}
	w.task(t, "one", "", "0")
	if err := os.MkdirAll(filepath.Join(w.host.data, "local", "tasks", "one.0.0"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.host.data, "muster.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	left := strings.Join(w.left(), "\n")
	for _, want := range []string{"of one/0/0", "directory local/tasks/one.0.0", "socket muster.sock"} {
		if !strings.Contains(left, want) {
			t.Errorf("left is %q, want %q too", left, want)
		}
	}
}

func TestRefusalsAreSeen(t *testing.T) {
	status := http.StatusBadRequest
	w := small(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status) })
	r := rand.New(rand.NewPCG(1, 1))
	h := &hand{w: w, r: r, name: "u", make: &maker{r: r, evidence: "/nowhere/marks"}}
	h.submit(t.Context())
	w.wants(t, Refused)
	h.mine = []*Entry{{Name: "x", ID: "x"}}
	h.stop(t.Context())
	h.remove(t.Context())
	w.wants(t, Refused, Refused, Refused)
	status = http.StatusInsufficientStorage // that passes
	h.submit(t.Context())
	w.wants(t, Refused, Refused, Refused)
	if len(h.unsure) != 1 {
		t.Errorf("%d submissions are to be repeated, want 1", len(h.unsure))
	}
}

func TestWhoNeverEndsIsSeen(t *testing.T) {
	w := small(t, func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, `{"items":[{"name":"x","phase":"Starting"}]}`)
	})
	if err := w.drain(context.Background(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	w.wants(t, Stuck)
}

// TestTheSeedChooses: the same seed makes the same documents.
func TestTheSeedChooses(t *testing.T) {
	all := func(seed uint64) (out []string) {
		m := &maker{world: "w", evidence: "/e/marks", image: "i", r: rand.New(rand.NewPCG(seed, 1))}
		for range 50 {
			out = append(out, string(m.next("n").Document))
		}
		return out
	}
	if !slices.Equal(all(1), all(1)) || slices.Equal(all(1), all(2)) {
		t.Error("documents do not follow from the seed")
	}
}

func TestASupervisorIsNotTakenForWhatItForked(t *testing.T) {
	h := &host{data: t.TempDir()}
	own := filepath.Join(h.data, "local")
	begin := func(argv ...string) int {
		cmd := exec.Command(argv[0], argv[1:]...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
		return cmd.Process.Pid
	}
	// What a supervisor has forked has its name until it runs a program of its own.
	forked := begin("sh", "-c", "read x", "__supervisor", "--dir", own)
	named := func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(forked) + "/cmdline")
		return err == nil && strings.Contains(string(text), "read x")
	}
	if !waitFor(within, named) {
		t.Fatal("the shell does not begin")
	}
	if pid := h.supervisor(); pid != 0 {
		t.Errorf("process %d is taken for the supervisor", pid)
	}
	supervisor := begin(os.Args[0], "__supervisor", "--dir", own)
	if !waitFor(within, func() bool { return h.supervisor() != 0 }) || h.supervisor() != supervisor {
		t.Errorf("the supervisor is process %d, found is %d", supervisor, h.supervisor())
	}
}

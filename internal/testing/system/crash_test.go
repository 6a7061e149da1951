package system

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/testing/testdisk"
)

// TestNothingAnsweredIsLost kills the server at random points under load, again
// and again: every answered submission is there, none twice, each ran exactly
// once, and each history is without a gap.
func TestNothingAnsweredIsLost(t *testing.T) {
	const rounds, clients = 10, 8
	dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	random := rand.New(rand.NewSource(1))
	answered := map[string]string{} // name to id
	for round := range rounds {
		s := startIn(t, dir)
		var mu sync.Mutex
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for c := range clients {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					name := fmt.Sprintf("w-%d-%d-%d", round, c, i)
					doc := fmt.Sprintf(`{"name":%q,"command":"echo $MUSTER_WORKLOAD/$MUSTER_ATTEMPT >> %s","resources":{"cpu":"100m"}}`, name, ran)
					w, err := s.conn.Submit(context.Background(), []byte(doc), client.SubmitOptions{})
					if err != nil {
						return // it was killed under us
					}
					mu.Lock()
					answered[name] = w.ID
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(20+random.Intn(400)) * time.Millisecond) // the point is that it is anywhere
		s.kill()
		close(stop)
		wg.Wait()
	}
	if len(answered) < rounds {
		t.Fatalf("only %d submissions were answered in %d rounds", len(answered), rounds)
	}
	s := startIn(t, dir)
	s.drained(t)
	all := s.all(t)
	for name, id := range answered {
		w, ok := all[name]
		switch {
		case !ok:
			t.Errorf("%s was answered and is not there", name)
		case w.ID != id:
			t.Errorf("%s was answered as %s and is %s", name, id, w.ID)
		}
	}
	text, err := os.ReadFile(ran)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		count[strings.TrimSpace(line)]++
	}
	for name, w := range all {
		if w.Phase != "Completed" || len(w.Attempts) != 1 {
			t.Errorf("%s is %s (%s %s) after %d attempts", name, w.Phase, w.Reason, w.Message, len(w.Attempts))
		}
		if n := count[name+"/0"]; n != 1 {
			t.Errorf("%s ran %d times", name, n)
		}
		unbroken(t, w)
	}
	t.Logf("%d answered, %d in all, over %d kills", len(answered), len(all), rounds)
}

// all lists every workload, by name; a name that is there twice fails the test.
func (s *server) all(t *testing.T) map[string]api.Workload {
	t.Helper()
	out := map[string]api.Workload{}
	for cursor := ""; ; {
		page, err := s.conn.Workloads(context.Background(), client.ListOptions{Limit: 500, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range page.Items {
			if _, twice := out[w.Name]; twice {
				t.Errorf("%s is there twice", w.Name)
			}
			out[w.Name] = w
		}
		if cursor = page.Next; cursor == "" {
			return out
		}
	}
}

// unbroken checks that each transition begins where the last one ended.
func unbroken(t *testing.T, w api.Workload) {
	t.Helper()
	at := ""
	for _, tr := range w.Transitions {
		if tr.From != at {
			t.Errorf("%s: a transition from %q follows one to %q", w.Name, tr.From, at)
		}
		at = tr.To
	}
	if at != w.Phase {
		t.Errorf("%s: its history ends in %q, it is %s", w.Name, at, w.Phase)
	}
}

// counting prints 1 to n, slowly, and exits with a code.
func counting(n, code int) string {
	return fmt.Sprintf("i=1; while [ $i -le %d ]; do echo line $i; i=$((i+1)); sleep 0.02; done; exit %d", n, code)
}

func (s *server) run(t *testing.T, name, command string) {
	t.Helper()
	doc := fmt.Sprintf(`{"name":%q,"command":%q,"resources":{"cpu":"100m"}}`, name, command)
	if _, err := s.conn.Submit(context.Background(), []byte(doc), client.SubmitOptions{}); err != nil {
		t.Fatal(err)
	}
}

// log is the whole output of a workload's task 0.
func (s *server) log(t *testing.T, name string) string {
	t.Helper()
	body, err := s.conn.Logs(context.Background(), "default", name, client.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	var b strings.Builder
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}

func (s *server) awaitLog(t *testing.T, name, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		w, err := s.conn.Workload(context.Background(), "default", name)
		if err == nil && w.Tasks.Running > 0 && strings.Contains(s.log(t, name), text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s never printed %q", name, text)
		}
	}
}

func counted(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestWorkOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir)
	s.run(t, "long", counting(100, 0))
	s.run(t, "short", counting(10, 7))
	s.awaitLog(t, "long", "line 3\n")
	s.awaitLog(t, "short", "line 1\n")
	s.kill()
	time.Sleep(600 * time.Millisecond) // short ends meanwhile; if it does not, nothing is lost but the point

	s = startIn(t, dir)
	long := s.await(t, "long", "Completed")
	short := s.await(t, "short", "Failed")
	if *short.Attempts[0].ExitCode != 7 {
		t.Errorf("short ended with %d, want 7", *short.Attempts[0].ExitCode)
	}
	if len(long.Attempts) != 1 || len(short.Attempts) != 1 {
		t.Errorf("attempts: %d and %d, want one each", len(long.Attempts), len(short.Attempts))
	}
	if got := s.log(t, "long"); got != counted(100) {
		t.Errorf("the log has a gap or a repetition:\n%s", got)
	}
}

func TestWorkOutlivesTheSupervisorToo(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir)
	s.run(t, "long", counting(150, 5))
	s.run(t, "short", counting(20, 0))
	s.awaitLog(t, "long", "line 3\n")
	s.awaitLog(t, "short", "line 3\n")
	s.kill()
	killSupervisor(t, dir)
	time.Sleep(800 * time.Millisecond) // short ends, and nobody sees it

	s = startIn(t, dir)
	long := s.awaitEnd(t, "long")
	if long.Phase == "Failed" && *long.Attempts[0].ExitCode != 5 {
		t.Errorf("long ended with %d, want 5", *long.Attempts[0].ExitCode)
	}
	if long.Phase != "Failed" && long.Phase != "Lost" { // Lost: kernels that tell a stranger no exit code
		t.Errorf("long is %s (%s)", long.Phase, long.Message)
	}
	if got := s.log(t, "long"); got != counted(150) {
		t.Errorf("the log has a gap or a repetition:\n%s", got)
	}
	short := s.awaitEnd(t, "short")
	if short.Phase != "Lost" && short.Phase != "Completed" {
		t.Errorf("short is %s (%s)", short.Phase, short.Message)
	}
	if short.Phase == "Lost" && (short.Reason != "OutcomeUnknown" || short.Statuses["modelarts"].Status != "JOBSTAT_FAILED") {
		t.Errorf("short is lost because of %s, in other words %+v", short.Reason, short.Statuses["modelarts"])
	}
}

func (s *server) awaitEnd(t *testing.T, name string) *api.Workload {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		w, err := s.conn.Workload(context.Background(), "default", name)
		if err == nil && w.EndedAt != nil {
			return w
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not end: %+v, %v", name, w, err)
		}
	}
}

// TestASupervisorThatDoesNotAnswerIsNoFaultOfTheServer: a server that is told to end
// does so, and says that all went well, also where its supervisor does not hear of it.
func TestASupervisorThatDoesNotAnswerIsNoFaultOfTheServer(t *testing.T) {
	s := start(t)
	s.run(t, "stays", "echo up; sleep 1000")
	s.awaitLog(t, "stays", "up")
	signalSupervisor(t, s.dir, syscall.SIGSTOP)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	err := s.cmd.Wait()
	signalSupervisor(t, s.dir, syscall.SIGCONT)
	if err != nil {
		text, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
		t.Errorf("the server ended with %v:\n%s", err, text)
	}
	s.cmd = nil
	s = startIn(t, s.dir)
	if _, err := s.conn.Stop(t.Context(), "default", "stays", api.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(t, "stays")
}

// killSupervisor ends the supervisor of a data directory by force.
func killSupervisor(t *testing.T, dir string) {
	t.Helper()
	signalSupervisor(t, dir, syscall.SIGKILL)
}

// signalSupervisor sends a signal to the supervisor of a data directory: the process whose
// command line names that directory.
func signalSupervisor(t *testing.T, dir string, sig syscall.Signal) {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		text, err := os.ReadFile(p)
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(string(text), "\x00")
		if !slices.Contains(args, "__supervisor") || !slices.Contains(args, filepath.Join(dir, "local")) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(p, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("there is no supervisor")
}

// TestAFullDiskHurtsNoTask fills the disk with a task's own output.
func TestAFullDiskHurtsNoTask(t *testing.T) {
	s := startIn(t, testdisk.Small(t, "tmpfs", 24))
	s.run(t, "chatty", "head -c 60000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo; echo done >&2")
	s.await(t, "chatty", "Completed")
	if got := s.log(t, "chatty"); !strings.Contains(got, "bytes of output are missing here") {
		t.Errorf("the log of %d bytes does not say that anything is missing; it ends in %q", len(got), got[max(0, len(got)-300):])
	}
	s.run(t, "next", "echo fine")
	s.await(t, "next", "Completed")
}

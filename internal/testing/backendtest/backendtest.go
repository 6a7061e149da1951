// Package backendtest is the contract of backend.Backend as tests. Every backend, the
// fake one too, runs them from its own tests:
//
//	backendtest.Run(t, func(t *testing.T) backend.Backend { … }, backendtest.Options{Assign: …})
//
// A backend says in Options how it is told what a task shall do, and what it
// cannot do; everything else is the same for all.
package backendtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// Within bounds every wait. It is generous: a slow machine is no failure.
const Within = 3 * time.Minute

// Forever is a Script.Run that does not end by itself.
const Forever = time.Duration(-1)

// Script is what a task shall do, in this order: write Output, run on for Run,
// end with Exit or by Signal.
type Script struct {
	Output []string      // lines, without line breaks
	Run    time.Duration // Forever: until it is stopped
	Exit   int
	Signal int  // it sends itself this signal instead of exiting
	Deaf   bool // it ignores the polite signal
}

// Options adapt the suite to one kind of backend.
type Options struct {
	// Assign makes the assignment of a task that does s.
	Assign func(t *testing.T, id core.TaskID, s Script) backend.Assignment
	// Shell says that Argv really runs on a machine with a POSIX shell that
	// shares its file system and processes with the test.
	Shell bool
	// Image is one with busybox or the like, for backends that run containers: the
	// tests with real commands run in it.
	Image string
	// Init says that a task is the first process of its own process namespace: a
	// signal that it sends itself without handling it does nothing.
	Init bool
	// Reopen closes p and opens the same place again, as a restarted server
	// does. Nil: the backend cannot.
	Reopen func(t *testing.T, p backend.Backend) backend.Backend
	// Blind says that it cannot tell a signal from an exit code above 128.
	Blind bool
	// TwoWays says that standard output and error come by ways of their own, so
	// that the order of what is written to both is not kept.
	TwoWays bool
	// Lossy says that its container engine may drop what a command writes in the
	// moment in which it ends, or in which somebody attaches, since input is let in
	// before output is let out: commands of the tests take their time with that, and
	// what is typed first is typed again.
	Lossy bool
	// Apart says that a task has a network of its own.
	Apart bool
	// Devices are some that the backend's node has, for assignments.
	Devices []core.Share
	// Visible is the CUDA_VISIBLE_DEVICES that they make.
	Visible string
	// Memory says that hard memory limits are in force. Unlimited leaves their
	// test out: the backend is tested without them on purpose.
	Memory, Unlimited bool
}

// Command is a shell command that does s, for backends that run commands.
func Command(s Script) []string {
	var b strings.Builder
	if s.Deaf {
		b.WriteString("trap '' TERM\n")
	}
	if len(s.Output) > 0 {
		b.WriteString("printf '%s\\n'")
		for _, line := range s.Output {
			b.WriteString(" '" + strings.ReplaceAll(line, "'", `'\''`) + "'")
		}
		b.WriteString("\n")
	}
	switch {
	case s.Run == Forever:
		// A shell that outlives its child by a moment would write "Killed".
		b.WriteString("exec sleep 100000\n")
	case s.Run > 0:
		fmt.Fprintf(&b, "sleep %.3f\n", s.Run.Seconds())
	}
	if s.Signal != 0 {
		fmt.Fprintf(&b, "kill -%d $$\nsleep 1000\n", s.Signal)
	} else {
		fmt.Fprintf(&b, "exit %d\n", s.Exit)
	}
	return []string{"/bin/sh", "-c", b.String()}
}

// suite is the contract applied to one kind of backend.
type suite struct {
	open func(t *testing.T) backend.Backend
	opts Options
}

// Run runs the contract against fresh backends that open makes. What open makes
// it also cleans up, with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) backend.Backend, opts Options) {
	s := suite{open, opts}
	for _, c := range []struct {
		name string
		test func(suite, *testing.T)
	}{
		{"inventory names nodes of the backend", suite.inventory},
		{"a task runs and its exit code is told", suite.exitCodes},
		{"a batch starts whole", suite.batch},
		{"start is idempotent", suite.startTwice},
		{"start after the end does not run again", suite.startAfterEnd},
		{"nothing is held at first", suite.empty},
		{"stop is polite", suite.stopPolite},
		{"stop ends by force after the grace", suite.stopForced},
		{"a shorter grace shortens", suite.stopShortened},
		{"stopping the unknown and the ended succeeds", suite.stopUnknown},
		{"forget drops the ended and keeps the living", suite.forget},
		{"a forgotten task can start again", suite.forgetAndStart},
		{"runs of a task are tasks of their own", suite.runs},
		{"watch tells beginning and end", suite.watch},
		{"logs are complete", suite.logs},
		{"logs from an offset and from the end", suite.logParts},
		{"following ends with the task", suite.follow},
		{"closing ends a waiting reader", suite.followClosed},
		{"no logs before the start", suite.noLogs},
		{"deleted logs are gone", suite.deleteLogs},
		{"a reopened backend knows its tasks", suite.reopen},
		{"a task that ended between is known", suite.reopenAfterEnd},
		{"many tasks of many callers", suite.crowd},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(s, t) })
	}
	if opts.Shell || opts.Image != "" {
		s.runShell(t)
		s.runEnter(t)
	}
}

// id makes task IDs of a workload named after its test.
func id(workload string, index int) core.TaskID {
	return core.TaskID{Workload: core.WorkloadID(workload), Index: index}
}

// start starts scripts as tasks 0, 1, … of workload.
func (s suite) start(t *testing.T, p backend.Backend, workload string, scripts ...Script) []core.TaskID {
	t.Helper()
	var ids []core.TaskID
	var tasks []backend.Assignment
	for i, sc := range scripts {
		ids = append(ids, id(workload, i))
		tasks = append(tasks, s.opts.Assign(t, id(workload, i), sc))
	}
	if err := p.Start(t.Context(), tasks); err != nil {
		t.Fatalf("Start: %v", err)
	}
	return ids
}

// find returns what the backend says of a task now.
func find(t *testing.T, p backend.Backend, id core.TaskID) (backend.Observation, bool) {
	t.Helper()
	all, err := p.Observe(t.Context())
	if err != nil {
		t.Fatalf("Observe: %v", err)
	}
	i := slices.IndexFunc(all, func(o backend.Observation) bool { return o.ID == id })
	if i < 0 {
		return backend.Observation{}, false
	}
	return all[i], true
}

// until waits for cond.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for begun := time.Now(); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > Within {
			t.Fatalf("after %s still not: %s", Within, what)
		}
	}
}

// ended waits for the end of a task.
func ended(t *testing.T, p backend.Backend, id core.TaskID) backend.Observation {
	t.Helper()
	var last backend.Observation
	until(t, id.String()+" has ended", func() bool {
		last, _ = find(t, p, id)
		return last.State.Ended()
	})
	return last
}

func running(t *testing.T, p backend.Backend, id core.TaskID) {
	t.Helper()
	until(t, id.String()+" runs", func() bool {
		o, _ := find(t, p, id)
		if o.State.Ended() {
			t.Fatalf("%s ended instead of running: %+v", id, o)
		}
		return o.State == core.TaskRunning
	})
}

// wantExit checks an end with an exit code.
func wantExit(t *testing.T, o backend.Observation, code int, reason string) {
	t.Helper()
	state := core.TaskFailed
	if code == 0 {
		state = core.TaskSucceeded
	}
	if o.State != state || o.ExitCode == nil || *o.ExitCode != code || o.Reason != reason {
		t.Errorf("%s: got %s, exit code %s, reason %q (%s); want %s, %d, %q", o.ID, o.State, number(o.ExitCode), o.Reason, o.Message, state, code, reason)
	}
	if o.At.IsZero() || time.Since(o.At) > time.Hour {
		t.Errorf("%s: At is %v, which is not when it ended", o.ID, o.At)
	}
}

func number(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

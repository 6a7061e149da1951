package scenario

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func load(t *testing.T) *Set {
	t.Helper()
	set, err := Load(os.DirFS("testdata/kai"))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestAllCasesAreRead(t *testing.T) {
	t.Parallel()
	set := load(t)
	if len(set.Cases) != 285 || len(set.Shares) != 16 {
		t.Fatalf("%d cases and %d sums of shares were read, want 285 and 16", len(set.Cases), len(set.Shares))
	}
	if c := set.Cases[0]; c.File != "allocate__allocate" || c.Mode != SinglePass || !slices.Equal(c.Actions, []Action{Allocate}) || len(c.Jobs) == 0 {
		t.Errorf("the first case is %+v", c)
	}
}

// The sums in the expectations are of the inputs: that we find the same ones
// shows that we read the inputs as they were meant.
func TestRequestsAddUpAsTheCasesSay(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, c := range load(t).Cases {
		for _, s := range c.Start().Tasks {
			x, ok := c.Expected.Tasks[s.Name]
			if ok && !x.Vacuous {
				checked += addsUp(t, c, s.Name, &x, []TaskState{s})
			}
		}
		for j := range c.Jobs {
			x, ok := c.Expected.Jobs[c.Jobs[j].Name]
			if !ok || x.Vacuous {
				continue
			}
			tasks := slices.DeleteFunc(c.Start().Tasks, func(s TaskState) bool { return s.Job != j })
			checked += addsUp(t, c, c.Jobs[j].Name, &x, tasks)
		}
	}
	if checked < 900 {
		t.Errorf("only %d sums were checked", checked)
	}
}

func addsUp(t *testing.T, c *Case, name string, x *Expect, tasks []TaskState) (checked int) {
	var gpus, cpu, mem float64
	for _, s := range tasks {
		j := &c.Jobs[s.Job]
		task := &j.Tasks[s.Index]
		switch {
		case len(task.MIG) > 0 || len(task.Claims) > 0 || j.GPUMemMiB > 0:
		case task.GPUs != nil:
			gpus += *task.GPUs
		default:
			gpus += j.GPUs + j.GPUFraction*float64(j.Shares())
		}
		cpu += float64(j.CPUMillis)
		mem += float64(j.MemBytes)
	}
	for _, part := range []struct {
		word string
		want *float64
		got  float64
	}{{"GPUs", x.RequestedGPUs, gpus}, {"CPU", x.RequestedCPUMillis, cpu}, {"memory", x.RequestedMemBytes, mem}} {
		if part.want != nil {
			checked++
			if math.Abs(*part.want-part.got) > 1e-9 {
				t.Errorf("%s: %s wants %v %s, the case says %v", c.ID(), name, part.got, part.word, *part.want)
			}
		}
	}
	return checked
}

func TestSharesOfTheDataAgree(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).Shares {
		if line := c.Run(); line != "" {
			t.Error(line)
		}
	}
}

func TestAWrongShareIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).Shares {
		for id, x := range c.Expected {
			if x.GPU == nil {
				continue
			}
			right := *x.GPU
			*x.GPU++
			if line := c.Run(); !strings.Contains(line, "queue "+id+": expected") {
				t.Errorf("%s: with one GPU more of %s the judge says %q", c.ID(), id, line)
			}
			*x.GPU = right
		}
		if c.Remaining != nil {
			*c.Remaining++
			if line := c.Run(); !strings.Contains(line, "to be left") {
				t.Errorf("%s: with one GPU more left the judge says %q", c.ID(), line)
			}
		}
	}
}

func TestWhoKnowsTheAnswersPasses(t *testing.T) {
	t.Parallel()
	set := load(t)
	report := set.Run(oracle{}, Options{})
	if report.Failed != 0 || report.Passed != len(set.Cases)+len(set.Shares) || report.Skipped != 0 || report.Hints > 12 {
		t.Errorf("%s%d hints", report, report.Hints)
	}
	report = set.Run(oracle{}, Options{SkipFeatures: Defaults().SkipFeatures, SkipIdleFits: true})
	if want := "289 passed, 0 failed, 12 skipped\n"; report.String() != want {
		t.Errorf("with what is skipped: %swant %s", report, want)
	}
}

// Whoever does nothing passes only where nothing is to be done.
func TestWhoDoesNothingFails(t *testing.T) {
	t.Parallel()
	report := load(t).Run(&double{}, Defaults())
	idle := 0
	for _, o := range report.Outcomes {
		if o.Skipped != "" {
			continue
		}
		still := true
		for _, s := range o.Case.Start().Tasks {
			for _, x := range o.Case.expectations(&s) {
				gone := o.Case.Mode == Rounds && s.Status == Releasing && !o.Case.Jobs[s.Job].StaysReleasing
				still = still && (x.Status == s.Status || gone && x.Status == Pending) && (x.Node == "" || x.Node == s.Node)
			}
		}
		if still {
			idle++
		}
		if o.Passed() != still {
			t.Errorf("%s %s: passed %v, and nothing is to be done: %v; %s", o.Case.ID(), o.Case.Name, o.Passed(), still, o.Line())
		}
	}
	if idle == 0 || idle > 150 {
		t.Errorf("%d cases have nothing to be done", idle)
	}
}

// Every case with a judged task notices a wrong status, a wrong place and
// decisions that do not end.
func TestEveryCaseNoticesWrongDecisions(t *testing.T) {
	t.Parallel()
	var flips, moves, loops int
	for _, c := range load(t).Cases {
		if len(c.Expected.Jobs)+len(c.Expected.Tasks) == 0 {
			t.Errorf("%s judges nothing", c.ID())
		}
		last := c.Expected.RoundsUntilMatch + c.Expected.RoundsAfterMatch
		spoil := func(what func(c *Case, before *State, d *Decisions) bool) (*Outcome, int) {
			n := 0
			o := Run(c, oracle{func(c *Case, before *State, d *Decisions) {
				if before.Round == last-1 && what(c, before, d) {
					n++
				}
			}}, Options{})
			return o, n
		}
		if o, n := spoil(flip); n > 0 {
			flips++
			if len(o.Differences) == 0 || o.Differences[0].Kind != WrongStatus {
				t.Errorf("%s %s: a wrong status is not noticed: %v", c.ID(), c.Name, o.Differences)
			}
		}
		if o, n := spoil(misplace); n > 0 {
			moves++
			if len(o.Differences) == 0 || o.Differences[0].Kind > WrongNode {
				t.Errorf("%s %s: a wrong node is not noticed: %v", c.ID(), c.Name, o.Differences)
			}
		}
		if c.Mode == Rounds {
			if o, n := spoil(evictSomeone); n > 0 {
				loops++
				if len(o.Differences) == 0 || o.Differences[0].Kind != WrongStatus || o.Differences[0].Round != last {
					t.Errorf("%s %s: an eviction at the end is not noticed: %v", c.ID(), c.Name, o.Differences)
				}
			}
		}
	}
	if flips < 250 || moves < 40 || loops < 70 {
		t.Errorf("only %d statuses, %d nodes and %d evictions were tried", flips, moves, loops)
	}
}

// flip undoes, or does, something to the first judged task that allows it.
func flip(c *Case, before *State, d *Decisions) bool {
	for i := range d.Tasks {
		t, was := &d.Tasks[i], before.Tasks[i]
		if _, judged := answer(c, t); !judged {
			continue
		}
		switch {
		case t.Status != was.Status:
			*t = was
		case t.Status == Pending:
			t.Status, t.Node = Pipelined, c.Nodes[0].Name
		case t.Status == Running:
			t.Status = Releasing
		default:
			continue
		}
		d.Count(before)
		return true
	}
	return false
}

// misplace puts a task where it should not be.
func misplace(c *Case, _ *State, d *Decisions) bool {
	for i := range d.Tasks {
		t := &d.Tasks[i]
		x, judged := answer(c, t)
		if !judged || x.Node == "" || t.Status != Binding && t.Status != Pipelined {
			continue
		}
		for _, n := range c.Nodes {
			if n.Name != t.Node {
				t.Node = n.Name
				return true
			}
		}
	}
	return false
}

func evictSomeone(c *Case, before *State, d *Decisions) bool {
	for i := range d.Tasks {
		t := &d.Tasks[i]
		if _, judged := answer(c, t); judged && t.Status == Running {
			t.Status = Releasing
			d.Count(before)
			return true
		}
	}
	return false
}

package decide

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// row is one line of testdata/decisions.txt: what is asked, and what follows.
type row struct {
	line   int
	table  string
	fields []string
	want   string
}

// grid reads testdata/decisions.txt. A table begins with = and its name; its rows are
// fields between bars, and after => what follows.
func grid(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	table := ""
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "= "); ok {
			table = name
			continue
		}
		asked, want, ok := strings.Cut(line, "=>")
		if !ok {
			t.Fatalf("line %d has no =>: %s", i+1, line)
		}
		r := row{line: i + 1, table: table, want: strings.TrimSpace(want)}
		for _, f := range strings.Split(asked, "|") {
			r.fields = append(r.fields, strings.TrimSpace(f))
		}
		rows = append(rows, r)
	}
	return rows
}

// asked are the questions of the tables.
var asked = map[string]func(t *testing.T, r row) string{
	"after a failure":                        failure,
	"after a preemption":                     preemption,
	"after an eviction":                      eviction,
	"after success":                          success,
	"an array without a task":                array,
	"after a replica":                        replica,
	"what the replicas come to":              replicas,
	"after ranks are lost":                   ranks,
	"when no member is left":                 members,
	"the wait before a retry":                retryWait,
	"the wait before a restart":              restartWait,
	"the wait before a check is asked again": askWait,
	"the wait after a system's fault":        systemWait,
	"the first limit":                        limit,
}

func TestDecisionsAreThoseOfTheGrid(t *testing.T) {
	seen := map[string]int{}
	for _, r := range grid(t) {
		ask := asked[r.table]
		if ask == nil {
			t.Fatalf("line %d: nobody answers the table %q", r.line, r.table)
		}
		seen[r.table]++
		if got := ask(t, r); got != r.want {
			t.Errorf("testdata/decisions.txt:%d: %s: %s => %s, want %s", r.line, r.table, strings.Join(r.fields, " | "), got, r.want)
		}
	}
	for name := range asked {
		if seen[name] == 0 {
			t.Errorf("the grid has no rows of the table %q", name)
		}
	}
}

// Every kind and every class of failure has a row for a workload that runs, with the
// document that says nothing about it.
func TestTheGridHasEveryKindAndClass(t *testing.T) {
	rows := grid(t)
	for _, k := range lifecycle.Kinds() {
		for _, class := range lifecycle.FailureClasses() {
			there := slices.ContainsFunc(rows, func(r row) bool {
				return r.table == "after a failure" && r.fields[0] == string(k) && r.fields[1] == "Running" && r.fields[2] == "" && r.fields[4] == string(class)
			})
			if !there {
				t.Errorf("no row says what follows for a running %s from %s", k, class)
			}
		}
		for _, table := range []string{"after a preemption", "after an eviction"} {
			if !slices.ContainsFunc(rows, func(r row) bool { return r.table == table && r.fields[0] == string(k) }) {
				t.Errorf("no row of %q is about %s", table, k)
			}
		}
	}
}

// doc is a document with its defaults.
func doc(t *testing.T, text string) *spec.Document {
	t.Helper()
	if text == "" {
		text = "{}"
	}
	d, err := spec.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	d.Defaults()
	return d
}

// number is the value of a word such as failures=3 among words, or that of none.
func number(words, name string, none int) int {
	for _, w := range strings.Fields(words) {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			n, err := strconv.Atoi(v)
			if err != nil {
				panic(err)
			}
			return n
		}
	}
	return none
}

func has(words, word string) bool { return slices.Contains(strings.Fields(words), word) }

func span(words, name string) time.Duration {
	for _, w := range strings.Fields(words) {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			d, err := time.ParseDuration(v)
			if err != nil {
				panic(err)
			}
			return d
		}
	}
	return 0
}

// failureOf reads CLASS [lost] [exit=N].
func failureOf(words string) Failure {
	f := Failure{Lost: has(words, "lost")}
	if c := strings.Fields(words)[0]; c != "exit" && !strings.Contains(c, "=") {
		f.Class = lifecycle.FailureClass(c)
	}
	if n := number(words, "exit", -1); n >= 0 {
		f.ExitCode = &n
	}
	return f
}

// leads is where an event takes a workload in phase, by the table.
func leads(t *testing.T, phase lifecycle.Phase, in lifecycle.Input) string {
	t.Helper()
	n, err := lifecycle.Next(lifecycle.State{Phase: phase, Started: true}, in)
	if err != nil {
		t.Errorf("%+v does not fit %s: %v", in, phase, err)
	}
	to := n.Phase
	if to == lifecycle.Terminating {
		to = n.Target
	}
	return fmt.Sprintf("%s, %s", in.On, to)
}

func failure(t *testing.T, r row) string {
	had := Counts{Failures: number(r.fields[3], "failures", 0), System: number(r.fields[3], "system", 0)}
	if n := number(r.fields[3], "uses", 0); n > 0 {
		had.Rules = []int{n}
	}
	phase := lifecycle.Phase(r.fields[1])
	out := AfterFailure(lifecycle.Kind(r.fields[0]), doc(t, r.fields[2]), phase, had, failureOf(r.fields[4]))
	got := leads(t, phase, out.Input)
	if out.Counts.Failures != had.Failures {
		got += fmt.Sprintf(", failures=%d", out.Counts.Failures)
	}
	if out.Counts.System != had.System {
		got += fmt.Sprintf(", system=%d", out.Counts.System)
	}
	if !slices.Equal(out.Counts.Rules, had.Rules) {
		got += fmt.Sprintf(", uses=%v", out.Counts.Rules)
	}
	if out.InPlace {
		got += ", in place"
	}
	if out.Pause {
		got += ", pause"
	}
	return got
}

func preemption(t *testing.T, r row) string {
	return string(AfterPreemption(lifecycle.Kind(r.fields[0]), doc(t, r.fields[1])))
}

func eviction(t *testing.T, r row) string {
	return leads(t, lifecycle.Running, AfterEviction(lifecycle.Kind(r.fields[0]), doc(t, r.fields[1]), r.fields[2] == "moves"))
}

func success(t *testing.T, r row) string {
	d := doc(t, r.fields[0])
	if !Succeeds(d, number(r.fields[1], "succeeded", 0), number(r.fields[1], "of", 0), has(r.fields[1], "first")) {
		return "goes on"
	}
	return string(AfterSuccess(d))
}

func array(t *testing.T, r row) string {
	if Survives(doc(t, r.fields[0]), number(r.fields[1], "system", 0), failureOf(r.fields[2])) {
		return "goes on"
	}
	return "fails"
}

func replica(_ *testing.T, r row) string {
	end := AfterReplica(lifecycle.Phase(r.fields[0]), failureOf(r.fields[1]), has(r.fields[2], "away"), has(r.fields[2], "up"))
	return [...]string{"restarts", "replaced", "all fail"}[end]
}

func replicas(_ *testing.T, r row) string {
	n := func(name string) int { return number(r.fields[1], name, 0) }
	on := AfterReplicas(lifecycle.Phase(r.fields[0]), Replicas{Wanted: n("wanted"), Ready: n("ready"), Up: n("up"), Due: n("due"), Failed: has(r.fields[1], "failed")})
	if on == "" {
		return "nothing"
	}
	return string(on)
}

func ranks(t *testing.T, r row) string {
	end := AfterRanksLost(doc(t, r.fields[0]), lifecycle.Phase(r.fields[1]), number(r.fields[2], "system", 0), number(r.fields[2], "others", 0), has(r.fields[2], "first"))
	return [...]string{"goes on", "queues", "fails"}[end]
}

func members(t *testing.T, r row) string {
	maker := map[string]Maker{"gone": MakerGone, "succeeded": MakerSucceeded, "failed": MakerFailed}[r.fields[1]]
	sum := Members{Well: number(r.fields[2], "well", 0), Failed: has(r.fields[2], "failed"), Lost: has(r.fields[2], "lost"), Killed: has(r.fields[2], "killed")}
	phase := lifecycle.Phase(r.fields[0])
	end := AfterMembers(phase, maker, sum)
	return [...]string{"they succeeded", "one failed", "their maker failed", "one was lost", "taken away"}[end] + ": " + leads(t, phase, end.Input())
}

func seconds(d time.Duration) string { return d.Round(time.Millisecond).String() }

func retryWait(t *testing.T, r row) string {
	return seconds(RetryWait("w1", doc(t, r.fields[0]).Retry, number(r.fields[1], "failures", 0), span(r.fields[1], "ran")))
}

func restartWait(_ *testing.T, r row) string {
	n := InRow(number(r.fields[0], "failures", 0), span(r.fields[0], "ran"))
	return seconds(RestartWait("w1", n))
}

func askWait(_ *testing.T, r row) string {
	return seconds(AskWait("w1", number(r.fields[0], "tries", 0)))
}

func systemWait(t *testing.T, r row) string {
	return seconds(SystemWait("w1", doc(t, r.fields[0]).Retry, number(r.fields[1], "times", 0), has(r.fields[1], "started")))
}

func limit(t *testing.T, r row) string {
	kind := lifecycle.Kind(r.fields[0])
	bounds := core.Bounds{TimeLimit: span(r.fields[2], "time"), IdleLimit: span(r.fields[2], "idle"), IdlePreemptible: span(r.fields[2], "idle-preemptible"), IdleNonPreemptible: span(r.fields[2], "idle-firm")}
	begin := time.Unix(1e9, 0)
	var running, idle time.Time
	if has(r.fields[3], "runs") {
		running = begin
	}
	if since := span(r.fields[3], "idle-from"); since > 0 {
		idle = begin.Add(since)
	}
	end, ok := FirstEnd(kind, doc(t, r.fields[1]), "p", bounds, running, idle)
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%s at %v, told %v before, %s", end.Limit, end.At.Sub(begin), end.Warning(), end.Reason())
}

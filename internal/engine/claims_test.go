package engine_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/naming"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// dock is an engine whose one backend, p, has nodes of 4 GPUs, and on which others
// make tasks. What the engine asks of the backend is done at once.
type dock struct {
	t     *testing.T
	st    store.Store
	e     *engine.Engine
	now   time.Time
	asked []draft.Action
	tasks map[string]core.TaskID // by member, of those that were started
	nodes []core.Node
}

func newDock(t *testing.T, nodes int) *dock {
	d := &dock{t: t, st: memstore.New(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), tasks: map[string]core.TaskID{}}
	for i := range nodes {
		n := core.Node{ID: core.NodeID(fmt.Sprintf("n%d", i)), Backend: "p", Ready: true, CPU: 16000, Memory: 64 << 30, Labels: map[string]string{core.LabelCluster: "p", "zone": string(rune('a' + i))}}
		for g := range 4 {
			n.Devices = append(n.Devices, core.Device{ID: fmt.Sprintf("gpu-%d", g), Index: g, Healthy: true})
		}
		d.nodes = append(d.nodes, n)
	}
	d.open()
	return d
}

// open is a start of the server.
func (d *dock) open() {
	d.t.Helper()
	random := rand.New(rand.NewSource(d.now.UnixNano()))
	var err error
	d.e, err = engine.Open(context.Background(), draft.Deps{
		Store: d.st, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Elapsed: func() time.Duration { return 0 },
		NewID: naming.NewID(random), NewName: naming.NewName(random), Port: func() int { return 1 }, Images: true,
	}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.do(engine.Inventory("p", d.nodes))
	d.e.Resume()
	d.take()
}

func (d *dock) do(work ...draft.Work) {
	d.t.Helper()
	for _, c := range work {
		if err := d.try(c); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *dock) try(c draft.Work) error {
	d.now = d.now.Add(time.Second)
	defer d.take()
	return d.e.Do(context.Background(), d.now, []draft.Work{c})[0]
}

func (d *dock) take() {
	for _, a := range d.e.TakeActions() {
		d.asked = append(d.asked, a)
		if a.Kind == draft.ActStart {
			d.tasks[a.Assignment.Claim] = a.Task
		}
	}
}

// kinds are the actions since the last look, such as "start a" and "stop a".
func (d *dock) kinds() []string {
	name := func(id core.TaskID) string {
		for m, t := range d.tasks {
			if t == id {
				return m
			}
		}
		return id.String()
	}
	words := map[draft.ActionKind]string{draft.ActStart: "start", draft.ActStop: "stop", draft.ActForget: "forget", draft.ActDisown: "disown", draft.ActDeleteLogs: "delete logs"}
	var out []string
	for _, a := range d.asked {
		if a.Kind == draft.ActStart || a.Kind == draft.ActStop || a.Kind == draft.ActDisown {
			out = append(out, words[a.Kind]+" "+name(a.Task))
		}
	}
	d.asked = nil
	slices.Sort(out)
	return out
}

func (d *dock) expect(want ...string) {
	d.t.Helper()
	if got := d.kinds(); !slices.Equal(got, want) {
		d.t.Errorf("the backend is asked for %q, want %q", got, want)
	}
}

// pods are members that need so many GPUs each. Those that have a task carry it.
func (d *dock) pods(gpus int, names ...string) []backend.Member {
	var out []backend.Member
	for _, n := range names {
		m := backend.Member{Key: n, Name: "ns/" + n, Role: "pod", Needs: backend.Needs{CPU: 1000, GPU: spec.GPU{Count: gpus}}}
		m.Task = d.tasks[n]
		out = append(out, m)
	}
	return out
}

func batch(key string, members []backend.Member) backend.Claim {
	return backend.Claim{Key: key, Project: "default", Name: key, Maker: "Job ns/" + key, User: "u", Preemptible: true, Remade: true, Grace: 30 * time.Second, Members: members}
}

func (d *dock) claim(all ...backend.Claim) {
	d.t.Helper()
	d.do(consequence.Claimed("p", backend.Claims{Changed: all}))
}

func (d *dock) see(state core.TaskState, members ...string) {
	d.t.Helper()
	var seen []backend.Observation
	for _, m := range members {
		o := backend.Observation{ID: d.tasks[m], State: state, Claim: m, At: d.now}
		code := 0
		switch state {
		case core.TaskSucceeded:
			o.ExitCode = &code
		case core.TaskFailed:
			code = 3
			o.ExitCode, o.Reason = &code, "Error"
		}
		seen = append(seen, o)
	}
	d.do(engine.Observe(engine.Observations{Backend: "p", Seen: seen}))
}

// killed reports that members were ended.
func (d *dock) killed(members ...string) {
	d.t.Helper()
	var seen []backend.Observation
	for _, m := range members {
		seen = append(seen, backend.Observation{ID: d.tasks[m], State: core.TaskFailed, Reason: "Killed", Claim: m, At: d.now})
	}
	d.do(engine.Observe(engine.Observations{Backend: "p", Seen: seen}))
}

func (d *dock) workload(name string) *core.Workload {
	d.t.Helper()
	w, err := d.st.ByName(context.Background(), "default", name)
	if err != nil {
		d.t.Fatal(err)
	}
	return w
}

func (d *dock) phase(name string, want lifecycle.Phase) *core.Workload {
	d.t.Helper()
	w := d.workload(name)
	if w.Phase != want {
		d.t.Fatalf("%s is %s (%s: %s), want %s", name, w.Phase, w.Reason, w.Message, want)
	}
	return w
}

func (d *dock) why(name string) string {
	d.t.Helper()
	id := d.workload(name).ID
	v := ask(d, explanation.Explain([]core.WorkloadID{id}))
	var all []string
	for _, r := range v[id].Reasons {
		all = append(all, string(r.Token)+": "+r.String())
	}
	return strings.Join(all, "\n")
}

func TestMembersArePlacedOneByOneAndEndAsTheirMakerSays(t *testing.T) {
	d := newDock(t, 1)
	d.claim(batch("train", d.pods(2, "a", "b", "c")))
	d.expect("start a", "start b")
	w := d.phase("train", lifecycle.Starting)
	if w.Kind != lifecycle.External || w.User != "u" || w.Spec.Size() != 3 {
		t.Errorf("it is %+v of size %d", w, w.Spec.Size())
	}
	d.see(core.TaskRunning, "a", "b")
	d.phase("train", lifecycle.Running)
	d.see(core.TaskSucceeded, "a")
	d.expect("start c")
	d.claim(batch("train", d.pods(2, "b", "c")))
	d.see(core.TaskRunning, "c")
	d.see(core.TaskSucceeded, "b", "c")
	d.phase("train", lifecycle.Running) // its maker may make more
	over := batch("train", nil)
	over.Over = backend.OutcomeSucceeded
	d.claim(over)
	if w = d.phase("train", lifecycle.Completed); *w.Attempts[0].ExitCode != 0 || w.GPUSeconds == 0 {
		t.Errorf("it ended with %+v after %v GPU seconds", w.Attempts[0], w.GPUSeconds)
	}
	d.expect()
}

func TestAGangOfMembersStartsWholeAndOnlyWhenAllAreThere(t *testing.T) {
	d := newDock(t, 1)
	gang := func(members []backend.Member) backend.Claim {
		c := batch("gang", members)
		c.Min = 3
		return c
	}
	d.claim(gang(d.pods(1, "a", "b")))
	d.expect()
	d.phase("gang", lifecycle.Queued)
	if why := d.why("gang"); !strings.Contains(why, "Incomplete") || !strings.Contains(why, "2 of at least 3") {
		t.Errorf("it waits because %q", why)
	}
	d.claim(gang(d.pods(2, "a", "b", "c"))) // six GPUs, and there are four
	d.expect()
	if why := d.why("gang"); !strings.Contains(why, "room for 2") {
		t.Errorf("it waits because %q", why)
	}
	d.claim(gang(append(d.pods(1, "a", "b"), d.pods(2, "c")...)))
	d.expect("start a", "start b", "start c")
	for _, a := range []string{"a", "b", "c"} {
		if d.tasks[a] == (core.TaskID{}) {
			t.Errorf("%s has no task", a)
		}
	}
	d.see(core.TaskRunning, "a", "b")
	d.phase("gang", lifecycle.Starting)
	d.see(core.TaskRunning, "c")
	d.phase("gang", lifecycle.Running)
}

func TestAPreemptedClaimWaitsUnderTheSameWorkload(t *testing.T) {
	d := newDock(t, 1)
	d.claim(batch("train", d.pods(4, "a")))
	d.see(core.TaskRunning, "a")
	d.expect("start a")
	id := d.phase("train", lifecycle.Running).ID
	doc, err := spec.Load([]byte(`{"name":"own","priority":"high","image":"x","command":["x"],"resources":{"gpu":4}}`))
	if err != nil {
		t.Fatal(err)
	}
	d.do(submission.Submit(submission.Submission{Doc: doc, User: "v", Actor: "user:v"}))
	d.expect("stop a")
	d.killed("a")
	d.claim(batch("train", d.pods(4, "a2")))
	w := d.phase("train", lifecycle.Queued)
	if w.ID != id || w.Attempt != 1 {
		t.Errorf("it is workload %s, attempt %d", w.ID, w.Attempt)
	}
	if d.phase("own", lifecycle.Starting); !strings.Contains(d.why("train"), "gpu") {
		t.Errorf("it waits because %q", d.why("train"))
	}
}

func TestAStoppedClaimWaitsUntilSomeoneRestartsIt(t *testing.T) {
	d := newDock(t, 1)
	d.claim(batch("train", d.pods(1, "a")))
	d.see(core.TaskRunning, "a")
	ref := draft.Ref{Project: "default", Name: "train"}
	d.do(submission.Stop(submission.StopRequest{Ref: ref, Actor: "user:u"}))
	d.expect("start a", "stop a")
	d.killed("a")
	d.phase("train", lifecycle.Stopped)
	d.claim(batch("train", d.pods(1, "b")))
	d.expect()
	d.phase("train", lifecycle.Stopped)
	words := ask(d, explanation.WordsOf("p", []string{"train"}))
	if len(words) != 1 || !strings.Contains(words[0].Text, "muster restart -p default train") {
		t.Errorf("its makers are told %+v", words)
	}
	d.open() // also after a restart of the server
	d.do(consequence.Claimed("p", backend.Claims{All: true, Changed: []backend.Claim{batch("train", d.pods(1, "b"))}}))
	d.expect()
	d.do(submission.Restart(ref, "user:u"))
	d.expect("start b")
	d.phase("train", lifecycle.Starting)
}

func TestARestartedServerFindsItsClaims(t *testing.T) {
	d := newDock(t, 1)
	d.claim(batch("train", d.pods(3, "a", "b")))
	d.expect("start a")
	d.see(core.TaskRunning, "a")
	d.open()
	d.expect()
	d.do(engine.Observe(engine.Observations{Backend: "p", Full: true, Began: d.now, Seen: []backend.Observation{{ID: d.tasks["a"], State: core.TaskRunning, Claim: "a", At: d.now}}}))
	d.do(consequence.Claimed("p", backend.Claims{All: true, Changed: []backend.Claim{batch("train", append(d.pods(3, "a"), d.pods(3, "b")...))}}))
	d.expect()
	d.phase("train", lifecycle.Running)
	d.see(core.TaskSucceeded, "a")
	d.expect("start b")
	if got := d.tasks["b"].Index; got != 1 {
		t.Errorf("the second member is task %d", got)
	}
	d.open() // the bind of b may be lost: it is asked for again
	d.expect("start b")
	d.killed("b")
	d.do(consequence.Claimed("p", backend.Claims{All: true})) // and its maker is gone
	d.phase("train", lifecycle.Stopped)
}

func TestWhatOthersMadeIsNeverEndedAsStray(t *testing.T) {
	d := newDock(t, 1)
	id := core.TaskID{Workload: "unknown", Index: 0}
	d.tasks["x"] = id
	d.do(engine.Observe(engine.Observations{Backend: "p", Full: true, Began: d.now, Seen: []backend.Observation{{ID: id, State: core.TaskRunning, Claim: "x", At: d.now}}}))
	d.expect("disown x")
	// Nor does another's pod pass for a task of ours.
	d.claim(batch("train", d.pods(1, "a")))
	d.expect("start a")
	d.tasks["y"] = d.tasks["a"]
	d.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{{ID: d.tasks["a"], State: core.TaskFailed, Claim: "y", At: d.now}}}))
	d.phase("train", lifecycle.Starting)
	d.see(core.TaskRunning, "a")
	d.phase("train", lifecycle.Running)
}

func TestAClaimOfAnUnknownProjectWaitsForIt(t *testing.T) {
	d := newDock(t, 1)
	c := batch("train", d.pods(1, "a"))
	c.Project = "new"
	d.claim(c)
	d.expect()
	w, err := d.st.ByName(context.Background(), "new", "train")
	if err != nil || w.Phase != lifecycle.Inadmissible || w.Reason != lifecycle.ReasonQueueNotFound {
		t.Fatalf("it is %+v, %v", w, err)
	}
	d.do(organisation.CreateProject("new"))
	d.expect("start a")
}

func TestAGangShrinksToItsMinimumBeforeItGoes(t *testing.T) {
	d := newDock(t, 1)
	c := batch("gang", d.pods(1, "a", "b", "c", "e"))
	c.Min = 2
	d.claim(c)
	d.expect("start a", "start b", "start c", "start e")
	d.see(core.TaskRunning, "a", "b", "c", "e")
	doc, err := spec.Load([]byte(`{"name":"own","priority":"high","image":"x","command":["x"],"resources":{"gpu":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	d.do(submission.Submit(submission.Submission{Doc: doc, User: "v", Actor: "user:v"}))
	if got := d.kinds(); len(got) != 2 || !strings.HasPrefix(got[0], "stop") || !strings.HasPrefix(got[1], "stop") {
		t.Errorf("the backend is asked for %q", got)
	}
	d.phase("gang", lifecycle.Running)
}

func TestMembersOfSeveralSortsDoNotHoldUpEachOther(t *testing.T) {
	d := newDock(t, 1)
	d.claim(batch("mixed", append(d.pods(8, "large"), d.pods(1, "small")...)))
	d.expect("start small")
	d.see(core.TaskRunning, "small")
	d.claim(batch("mixed", slices.Concat(d.pods(8, "large"), d.pods(1, "small"), d.pods(1, "another"))))
	d.expect("start another")
}

func TestWhatIsCountedAndWhereIsHeeded(t *testing.T) {
	d := newDock(t, 3)
	for i := range d.nodes {
		d.nodes[i].Extra = map[string]int{"rdma/hca": 1}
		d.nodes[i].Others.Extra = map[string]int{"rdma/hca": i % 2}
	}
	d.do(engine.Inventory("p", d.nodes))
	members := d.pods(0, "a", "b", "c")
	for i := range members {
		members[i].Needs.Counted = map[string]int{"rdma/hca": 1}
		members[i].Where.Any = [][]spec.NodeTerm{{{Key: "zone", Op: "In", Values: []string{"a"}}}, {{Key: "zone", Op: "In", Values: []string{"b"}}}}
	}
	d.claim(batch("rdma", members))
	d.expect("start a") // zone b has none free, and zone c is not allowed
	d.see(core.TaskRunning, "a")
	words := ask(d, explanation.WordsOf("p", []string{"rdma"}))
	if len(words) != 1 || !strings.Contains(words[0].Text, "waits for rdma/hca") {
		t.Errorf("its makers are told %+v", words)
	}
}

func TestABarePodIsNotMadeAgain(t *testing.T) {
	d := newDock(t, 1)
	c := batch("bare", d.pods(4, "a"))
	c.Remade = false
	d.claim(c)
	d.see(core.TaskRunning, "a")
	doc, err := spec.Load([]byte(`{"name":"own","priority":"high","image":"x","command":["x"],"resources":{"gpu":4}}`))
	if err != nil {
		t.Fatal(err)
	}
	d.do(submission.Submit(submission.Submission{Doc: doc, User: "v", Actor: "user:v"}))
	d.killed("a")
	d.phase("bare", lifecycle.Preempted)
}

func TestAWorkloadIsTakenUpAgainWithItsMaker(t *testing.T) {
	d := newDock(t, 1)
	d.claim(batch("svc", d.pods(1, "a")))
	d.see(core.TaskRunning, "a")
	d.see(core.TaskFailed, "a")
	over := batch("svc", nil)
	over.Over = backend.OutcomeFailed
	d.claim(over)
	w := d.phase("svc", lifecycle.Failed)
	if *w.Attempts[0].ExitCode != 3 || !strings.Contains(w.Message, "ns/a") {
		t.Errorf("it failed with %q, %v", w.Message, w.Attempts[0])
	}
	d.claim(batch("svc", d.pods(1, "b")))
	d.expect("start a", "start b")
	if again := d.phase("svc", lifecycle.Starting); again.ID != w.ID || again.Attempt != 1 {
		t.Errorf("it is %s, attempt %d", again.ID, again.Attempt)
	}
}

func TestNamesOfClaimsAreFree(t *testing.T) {
	d := newDock(t, 1)
	for _, key := range []string{"k1", "k2"} {
		c := batch(key, d.pods(1, key))
		c.Name = "same"
		d.claim(c)
	}
	d.expect("start k1", "start k2")
	page, err := d.st.List(context.Background(), store.Query{Project: "default"})
	if err != nil || len(page.Items) != 2 || page.Items[1].Name != "same" || !strings.HasPrefix(page.Items[0].Name, "same-") {
		t.Errorf("%v, %v", page.Items, err)
	}
}

func TestADrainedNodeLosesMembers(t *testing.T) {
	d := newDock(t, 2)
	d.claim(batch("train", d.pods(4, "a", "b")))
	d.see(core.TaskRunning, "a", "b")
	d.expect("start a", "start b")
	d.do(organisation.Drain(organisation.DrainRequest{Node: "n0", Actor: "user:u"}))
	if got := d.kinds(); len(got) != 1 || !strings.HasPrefix(got[0], "stop ") {
		t.Errorf("the backend is asked for %q", got)
	}
	d.phase("train", lifecycle.Running)
}

// A Deployment lives for years and has ever new pods: what is known of it does
// not grow, and its charge is right all the same, after a restart too.
func TestWhatItsMakerHasReplacedIsHistory(t *testing.T) {
	d := newDock(t, 1)
	d.claim(batch("web", d.pods(1, "p0")))
	for i := range 20 {
		pod, next := fmt.Sprintf("p%d", i), fmt.Sprintf("p%d", i+1)
		d.see(core.TaskRunning, pod)
		d.see(core.TaskFailed, pod)
		d.claim(batch("web", d.pods(1, next)))
		if i == 10 {
			d.open()
			d.do(consequence.Claimed("p", backend.Claims{All: true, Changed: []backend.Claim{batch("web", d.pods(1, next))}}))
		}
	}
	w := d.phase("web", lifecycle.Running)
	if w.Spec.Workers != 1 || w.Counts.Failed != 1 {
		t.Errorf("it is said to be of %d pods, with %+v", w.Spec.Workers, w.Counts)
	}
	if err := d.e.Check(context.Background()); err != nil {
		t.Error(err)
	}
	stored, err := d.st.Tasks(context.Background(), w.ID, w.Attempt)
	if err != nil || len(stored) != 21 {
		t.Fatalf("the store has %d tasks of it, %v", len(stored), err)
	}
	var want float64
	for _, task := range stored {
		until := task.ReleasedAt
		if until.IsZero() {
			until = d.now
		}
		want += until.Sub(task.PlacedAt).Seconds()
	}
	if have := workload.GPUSeconds(w, stored, d.now); have != want || want < 20 {
		t.Errorf("it is charged %v GPU seconds, and its pods had %v", have, want)
	}
}

func TestAFailedCommitForgetsNoClaim(t *testing.T) {
	d := newDock(t, 1)
	full := &memstore.Full{Store: d.st, Room: make(chan struct{})}
	d.st = full
	close(full.Room)
	d.open()
	full.Room = make(chan struct{})
	if err := d.try(consequence.Claimed("p", backend.Claims{Changed: []backend.Claim{batch("train", d.pods(1, "a"))}})); err == nil {
		t.Fatal("a full disk took it")
	}
	d.expect()
	close(full.Room)
	d.e.Do(context.Background(), d.e.NextWake(), nil)
	d.take()
	d.expect("start a")
}

// TestAStartOnItsWayIsNotGone: what was asked for again, since the backend did not
// have it, is not gone because it was not there before that.
func TestAStartOnItsWayIsNotGone(t *testing.T) {
	d := newDock(t, 1)
	doc, err := spec.Load([]byte(`{"name":"own","command":["x"],"image":"x","resources":{"cpu":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	d.do(submission.Submit(submission.Submission{Doc: doc, User: "u", Actor: "user:u"}))
	if got := d.kinds(); len(got) != 1 {
		t.Fatalf("the backend is asked for %q", got)
	}
	empty := func(began time.Time) {
		t.Helper()
		d.do(engine.Observe(engine.Observations{Backend: "p", Full: true, Began: began}))
	}
	between := d.now.Add(time.Second)
	empty(between)
	if got := d.kinds(); len(got) != 1 || !strings.HasPrefix(got[0], "start ") {
		t.Fatalf("the backend is asked for %q, want the start again", got)
	}
	d.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{Project: "default", Name: "own"}, Actor: "user:u"}))
	empty(between)
	if d.phase("own", lifecycle.Terminating); t.Failed() {
		t.Fatal("it was taken for gone while its start was on its way")
	}
	empty(d.now.Add(time.Second))
	d.phase("own", lifecycle.Stopped)
}

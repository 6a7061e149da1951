package draft

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
)

// externalJob is an external workload in the scheduler's words: a group for all
// members that are alike.
func (e *State) externalJob(w *core.Workload, tasks *workload.Tasks) (schedule.Job, bool) {
	wants := e.Wants(w, tasks)
	if !wants && !w.Phase.Held() {
		return schedule.Job{}, false
	}
	j := e.outline(w)
	b := GroupsByClass{E: e, W: w, At: map[string]int{}}
	c := e.Claims.Of[KeyOf(w)]
	if w.Phase.Held() {
		for _, t := range workload.SortedTasks(tasks) {
			if workload.Holds(w, t) {
				j.Held = append(j.Held, b.Held(t, c))
			}
		}
	}
	gang := w.Spec.MinWorkers > 1
	missing := workload.Minimum(w, tasks) - len(j.Held)
	if wants {
		for _, m := range e.Open(w, tasks) {
			g := b.Group(m.Class, &m.Where)
			run := &b.groups[g].Runs
			if len(*run) == 0 {
				*run = []schedule.Run{{Need: needOf(m.Needs), Rule: b.rules[g]}}
			}
			(*run)[0].Count++
			if gang && missing > 0 {
				b.groups[g].Min++
				missing--
			}
		}
	}
	sets := []schedule.Set{{Parent: -1}}
	if !gang { // each runs by itself, whatever the others are like
		for g := range b.groups {
			b.groups[g].Min = 1
		}
		sets[0].MinGroups = core.Bit(len(b.groups) > 1)
	}
	j.Shape = schedule.NewShape(sets, b.groups)
	return j, true
}

// GroupsByClass gathers members that are alike.
type GroupsByClass struct {
	E      *State
	W      *core.Workload
	At     map[string]int // by class
	groups []schedule.Group
	rules  []*schedule.Rule
}

// Group is the number of the group of members of a class.
func (b *GroupsByClass) Group(class string, where *backend.Where) int {
	g, ok := b.At[class]
	if !ok {
		g = len(b.groups)
		b.At[class] = g
		b.groups = append(b.groups, schedule.Group{Name: "pods " + strconv.Itoa(g)})
		b.rules = append(b.rules, b.E.ruleOf(b.W, where))
	}
	return g
}

// Held is a member that has its place. Of one that its backend has not told of
// since the start only that is known what it holds.
func (b *GroupsByClass) Held(t *core.Task, c *Claim) schedule.Held {
	h := schedule.Held{
		Task: t.ID.Index, Place: schedule.Place{Node: t.Node, Devices: t.Devices, CPU: t.CPU, Memory: t.Memory, Extended: t.Counted},
		Leaving: b.W.Phase == lifecycle.Terminating || t.State == core.TaskStopping,
	}
	var m *Member
	if c != nil {
		m = c.Members[t.Claim]
	}
	if m == nil {
		h.Need = schedule.Need{CPU: t.CPU, Memory: t.Memory, Devices: len(t.Devices), Extended: t.Counted}
		if len(t.Devices) > 0 {
			h.Need.Milli = t.Devices[0].Milli
		}
		h.Group = b.Group(fmt.Sprint(h.Need), &backend.Where{})
	} else {
		h.Need = needOf(m.Needs)
		h.Group = b.Group(m.Class, &m.Where)
	}
	h.Rule = b.rules[h.Group]
	if b.W.Spec.MinWorkers > 1 && !h.Leaving && b.min() < b.W.Spec.MinWorkers {
		b.groups[h.Group].Min++
	}
	return h
}

func (b *GroupsByClass) min() int {
	n := 0
	for i := range b.groups {
		n += b.groups[i].Min
	}
	return n
}

// needOf is what a member needs, in the scheduler's words.
func needOf(n backend.Needs) schedule.Need {
	out := schedule.Need{CPU: n.CPU, Memory: n.Memory, Type: n.GPU.Type, Extended: workload.CountedOf(n.GPU.MIG, n.Counted)}
	switch n.GPU.Kind() {
	case spec.MemoryGPU:
		out.Devices, out.GPUMemory = n.GPU.Devices(), n.GPU.Memory.Units()
	case spec.WholeGPU, spec.ShareGPU:
		out.Devices, out.Milli = n.GPU.Devices(), n.GPU.Milli()
	}
	return out
}

// ruleOf is where a member may go: only where its backend is, too.
func (e *State) ruleOf(w *core.Workload, where *backend.Where) *schedule.Rule {
	r := schedule.Rule{Near: where.Near, Away: where.Apart, Terms: termsOf(where.Terms)}
	r.Terms = append(r.Terms, schedule.Term{Key: core.LabelCluster, Op: "In", Values: []string{KeyOf(w).Backend}})
	for _, terms := range where.Any {
		r.Any = append(r.Any, termsOf(terms))
	}
	if types := e.Tree.BoundsOf(w).NodeTypes; types != nil {
		r.Terms = append(r.Terms, schedule.Term{Key: spec.NodeTypeLabel, Op: "In", Values: types})
	}
	for _, t := range where.Tolerations {
		r.Tolerates = append(r.Tolerates, schedule.Toleration{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	if r.Near != "" || r.Away != "" {
		r.Tags = string(w.ID) + " " + where.Tag
	}
	return &r
}

func termsOf(terms []spec.NodeTerm) []schedule.Term {
	var out []schedule.Term
	for _, t := range terms {
		out = append(out, schedule.Term{Key: t.Key, Op: t.Op, Values: t.Values})
	}
	return out
}

// Open are the members of w's claim that have no place, those first that come
// first.
func (e *State) Open(w *core.Workload, tasks *workload.Tasks) []*Member {
	c := e.Claims.Of[KeyOf(w)]
	if c == nil {
		return nil
	}
	placed := map[string]bool{}
	for _, t := range tasks.All() {
		// One whose pod could not be given its place, and so did not start, still waits.
		placed[t.Claim] = placed[t.Claim] || !t.State.Ended() || !t.StartedAt.IsZero() || !workload.TakenAway(t)
	}
	var out []*Member
	for _, m := range c.Members {
		if m.Barred == "" && m.Task == (core.TaskID{}) && !placed[m.Key] {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *Member) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// Lacks says what keeps the open members of w from being placed that is not the
// scheduler's matter; false: nothing does.
func (e *State) Lacks(w *core.Workload, tasks *workload.Tasks) (schedule.Reason, bool) {
	c := e.Claims.Of[KeyOf(w)]
	switch {
	case c == nil || len(c.Members) == 0:
		return schedule.Reason{Token: schedule.Incomplete, Note: "none of its pods is there; " + w.Spec.Annotations[NoteMaker] + " makes them"}, true
	case c.Barred != "":
		return schedule.Reason{Token: schedule.Barred, Note: c.Barred}, true
	}
	open := len(e.Open(w, tasks))
	have := open
	for _, t := range tasks.All() {
		have += core.Bit(t.State.Held() || t.State == core.TaskSucceeded)
	}
	barred := ""
	for _, m := range c.Members {
		if m.Barred != "" && (barred == "" || m.Name < barred) {
			barred = m.Name + ": " + m.Barred
		}
	}
	switch {
	case have < c.Min && barred != "", open == 0 && barred != "":
		return schedule.Reason{Token: schedule.Barred, Note: barred}, true
	case have < c.Min:
		return schedule.Reason{Token: schedule.Incomplete, Tasks: int64(c.Min), Fitting: int64(have), Note: fmt.Sprintf("%d of at least %d are there", have, c.Min)}, true
	}
	return schedule.Reason{}, false
}

// Wants reports whether the scheduler has something to place for w.
func (e *State) Wants(w *core.Workload, tasks *workload.Tasks) bool {
	if !w.Kind.Foreign() {
		return workload.Waiting(w, tasks)
	}
	switch p := w.Phase; {
	case p.InQueue():
		if !workload.Waiting(w, tasks) {
			return false
		}
	case p == lifecycle.Starting || p == lifecycle.Running:
	default:
		return false
	}
	_, lacks := e.Lacks(w, tasks)
	return !lacks && len(e.Open(w, tasks)) > 0
}

// Annotations of an external workload, by which its claim is found again.
const (
	NoteClaim   = "muster.dev/claim"
	NoteCluster = "muster.dev/cluster"
	NoteMaker   = "muster.dev/made-by"
)

// ClaimKey names a claim.
type ClaimKey struct{ Backend, Key string }

// Claim is one as its backend last told it.
type Claim struct {
	backend.Claim
	Members map[string]*Member // by Key
}

// Member is one of a claim, with what the scheduler asks of it.
type Member struct {
	*backend.Member
	Class string // equal for members that are alike
}

// KeyOf is the claim that an external workload stands for.
func KeyOf(w *core.Workload) ClaimKey {
	return ClaimKey{w.Spec.Annotations[NoteCluster], w.Spec.Annotations[NoteClaim]}
}

// claims is what the engine knows of them.
type claims struct {
	Of map[ClaimKey]*Claim
	// workloads stand for claims; of those that have ended only such as may still
	// be there.
	Workloads map[ClaimKey]core.WorkloadID
	Whole     map[string]bool       // backends that have told all of theirs since the start
	Pending   map[ClaimKey]struct{} // news of which no commit has taken account yet
}

func newClaims() claims {
	return claims{Of: map[ClaimKey]*Claim{}, Workloads: map[ClaimKey]core.WorkloadID{}, Whole: map[string]bool{}, Pending: map[ClaimKey]struct{}{}}
}

// keepPendingClaims forgets news of which a commit has taken account, and keeps the rest.
func (tx *Tx) keepPendingClaims() {
	cs := &tx.State.Claims
	clear(cs.Pending)
	for _, k := range tx.PendingClaims {
		cs.Pending[k] = struct{}{}
	}
	for _, id := range tx.order {
		if w := tx.Drafts[id].W; w.Kind.Foreign() {
			k := KeyOf(w)
			cs.Workloads[k] = id
			if w.Phase == lifecycle.Deleted || w.Phase.End() && cs.Of[k] == nil && cs.Whole[k.Backend] {
				delete(cs.Workloads, k)
			}
		}
	}
}

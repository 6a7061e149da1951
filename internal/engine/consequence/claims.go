package consequence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Claims are tasks that others make on a backend and leave to us to place. One
// workload of kind external stands for each. What waits is known from the backend
// alone, anew after every start; what has its place is a task and a record like
// any other. Nobody here makes another task in place of one that has ended:
// that, and when the whole is over, is its maker's to say.

// Claimed takes over what a backend tells of claims.
func Claimed(backendName string, news backend.Claims) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		cs := &tx.State.Claims
		if news.All {
			cs.Whole[backendName] = true
			for k := range cs.Of {
				if k.Backend == backendName {
					delete(cs.Of, k)
					cs.Pending[k] = struct{}{}
				}
			}
			for k := range cs.Workloads {
				if k.Backend == backendName {
					cs.Pending[k] = struct{}{}
				}
			}
		}
		for _, key := range news.Gone {
			k := draft.ClaimKey{Backend: backendName, Key: key}
			delete(cs.Of, k)
			cs.Pending[k] = struct{}{}
		}
		for _, c := range news.Changed {
			k := draft.ClaimKey{Backend: backendName, Key: c.Key}
			cs.Of[k] = newClaim(c)
			cs.Pending[k] = struct{}{}
		}
		return nil, nil
	}
}

func newClaim(c backend.Claim) *draft.Claim {
	out := &draft.Claim{Claim: c, Members: make(map[string]*draft.Member, len(c.Members))}
	for i := range c.Members {
		m := &c.Members[i]
		class, err := json.Marshal(struct {
			backend.Needs
			backend.Where
		}{m.Needs, m.Where})
		if err != nil {
			class = []byte(m.Key) // unlike all others
		}
		out.Members[m.Key] = &draft.Member{Member: m, Class: string(class)}
	}
	return out
}

// ApplyClaims draws what follows from news of claims. What cannot be stored
// stays news.
func ApplyClaims(tx *draft.Tx) {
	for _, k := range slices.SortedFunc(maps.Keys(tx.State.Claims.Pending), func(a, b draft.ClaimKey) int {
		return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Key, b.Key))
	}) {
		if err := applyClaim(tx, k); err != nil {
			tx.State.D.Log.Error("a claim could not be taken over; trying again", "backend", k.Backend, "claim", k.Key, "err", err)
			tx.PendingClaims = append(tx.PendingClaims, k)
		}
	}
}

func applyClaim(tx *draft.Tx, k draft.ClaimKey) error {
	c := tx.State.Claims.Of[k]
	d, err := StandsFor(tx, k, c)
	if err != nil {
		return err
	}
	switch {
	case d == nil && (c == nil || len(c.Members) == 0):
		return nil
	case d == nil:
		return takeOn(tx, k, c)
	case d.W.Phase.End() && c == nil:
		delete(tx.State.Claims.Workloads, k)
		return nil
	case d.W.Phase.End() && (len(c.Members) == 0 || Kept(d.W)):
		return nil
	case d.W.Phase.End():
		return revive(tx, d, c)
	case d.Changed == nil || d.W.Phase == lifecycle.Deleting:
		return nil
	}
	tx.State.Dirty = true
	if c == nil {
		return tx.Change(d, func() error { return Conclude(tx, d) })
	}
	if c.Over == "" && !d.Touched && revised(d, k, c) == nil { // nothing to be written
		tx.State.Unindex(d.W, d.Tasks)
		tx.State.Index(d.W, d.Tasks)
		return nil
	}
	return tx.Change(d, func() error {
		revise(tx, d, k, c)
		return Conclude(tx, d)
	})
}

// StandsFor is the workload of a claim; nil: it has none. One that has ended is
// not opened.
func StandsFor(tx *draft.Tx, k draft.ClaimKey, c *draft.Claim) (*draft.Draft, error) {
	id, ok := tx.TakenOn[k]
	if !ok {
		id, ok = tx.State.Claims.Workloads[k]
	}
	if ok {
		d, err := tx.Find(draft.Ref{ID: id})
		if draft.IsNotFound(err) {
			return nil, nil
		}
		return d, err
	}
	if c == nil {
		return nil, nil
	}
	for _, name := range claimNames(k, c) {
		d, err := tx.Find(draft.Ref{Project: c.Project, Name: name})
		switch {
		case draft.IsNotFound(err):
		case err != nil:
			return nil, err
		case d.W.Kind.Foreign() && draft.KeyOf(d.W) == k:
			tx.State.Claims.Workloads[k] = d.W.ID
			return d, nil
		}
	}
	return nil, nil
}

// claimNames are what the workload of a claim may be called: as its maker calls
// it, where another has that name with a few characters that are its own.
func claimNames(k draft.ClaimKey, c *draft.Claim) []string {
	h := fnv.New64a()
	h.Write([]byte(k.Backend + "\x00" + k.Key))
	own := strconv.FormatUint(h.Sum64(), 36)
	short := func(tail string) string {
		name := c.Name
		if n := spec.MaxName - len(tail) - 1; len(name) > n {
			name = strings.TrimRight(name[:n], "-")
		}
		return name + "-" + tail
	}
	return []string{c.Name, short(own[:min(5, len(own))]), short(own)}
}

// takeOn makes a workload that stands for a claim.
func takeOn(tx *draft.Tx, k draft.ClaimKey, c *draft.Claim) error {
	doc := documentOf(k, c, 0)
	for _, name := range claimNames(k, c) {
		taken, err := tx.Taken(inProject(c.Project, name))
		if err != nil {
			return err
		}
		if doc.Name = name; !taken {
			break
		}
	}
	d := tx.Enter(tx.Make(doc, c.User), actorBackendName(k.Backend))
	draft.Put(&tx.TakenOn, k, d.W.ID)
	return tx.Change(d, func() error {
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.Submit, Message: "made by " + c.Maker}, actorBackendName(k.Backend)); err != nil {
			return err
		}
		return Gate(tx, d)
	})
}

func inProject(p core.ProjectID, n string) draft.FullName { return draft.FullName{Project: p, Name: n} }

func actorBackendName(backend string) string { return "backend:" + backend }

// documentOf is what is said of a claim as a document. had is how many more
// tasks it has than members: those that end, and those that have ended well.
func documentOf(k draft.ClaimKey, c *draft.Claim, had int) *spec.Document {
	preemptible := c.Preemptible
	d := &spec.Document{
		Kind: lifecycle.External, Name: c.Name, Project: string(c.Project), Labels: maps.Clone(c.Labels), Pools: c.Pools,
		Annotations: map[string]string{draft.NoteClaim: k.Key, draft.NoteCluster: k.Backend, draft.NoteMaker: c.Maker},
		Priority:    spec.Train, Preemptible: &preemptible, GracePeriod: spec.Duration(max(c.Grace, 1)),
		Workers: len(c.Members) + had, TerminateAfterPreemption: !c.Remade,
	}
	if c.Min > 1 {
		d.MinWorkers = c.Min
	}
	if c.Priority != nil {
		d.Priority = *c.Priority
	}
	for _, m := range c.Members { // the most that one asks for is shown
		r := spec.Resources{CPU: spec.Quantity(m.Needs.CPU), Memory: spec.Quantity(m.Needs.Memory * 1000), GPU: m.Needs.GPU}
		d.Resources.CPU, d.Resources.Memory = max(d.Resources.CPU, r.CPU), max(d.Resources.Memory, r.Memory)
		if r.GPU.TotalMilli() > d.Resources.GPU.TotalMilli() || r.GPU.TotalMilli() == d.Resources.GPU.TotalMilli() && r.GPU.Words() > d.Resources.GPU.Words() {
			d.Resources.GPU = r.GPU
		}
	}
	return d
}

// revise takes over into the document what of a claim is not as it was. It must
// run inside change.
func revise(tx *draft.Tx, d *draft.Draft, k draft.ClaimKey, c *draft.Claim) {
	if doc := revised(d, k, c); doc != nil {
		d.W.Spec, d.Edited = doc, true
	}
}

// revised is the document that d should have; nil: that which it has.
func revised(d *draft.Draft, k draft.ClaimKey, c *draft.Claim) *spec.Document {
	had := 0
	for _, t := range d.Tasks.All() {
		had += core.Bit(c.Members[t.Claim] == nil && (t.State.Held() || t.State == core.TaskSucceeded))
	}
	doc := documentOf(k, c, had)
	if doc.Name = d.W.Name; len(c.Members) == 0 { // what it asked for stays true
		doc.Resources = d.W.Spec.Resources
	}
	if doc.Equal(d.W.Spec) {
		return nil
	}
	return doc
}

// Kept reports whether a workload was ended by our side, so that what its maker
// makes again waits until someone restarts it.
func Kept(w *core.Workload) bool {
	return w.Cause == lifecycle.CauseStop || w.Cause == lifecycle.CauseLimit || w.Cause == lifecycle.CauseCheck
}

// revive takes a workload up again whose maker makes members again.
func revive(tx *draft.Tx, d *draft.Draft, c *draft.Claim) error {
	d, err := tx.Reopen(d)
	if err != nil {
		return err
	}
	return tx.Change(d, func() error {
		revise(tx, d, draft.KeyOf(d.W), c)
		in := lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonMadeAgain, Message: c.Maker + " has made others"}
		return Again(tx, d, in, actorBackendName(draft.KeyOf(d.W).Backend))
	})
}

// MayRestart refuses to restart what has nothing to be started.
func MayRestart(tx *draft.Tx, w *core.Workload) error {
	if !w.Kind.Foreign() {
		return nil
	}
	if c := tx.State.Claims.Of[draft.KeyOf(w)]; c != nil && len(c.Members) > 0 {
		return nil
	}
	return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%s was made by %s, and no pod of that is there", w.Name, w.Spec.Annotations[draft.NoteMaker]), Hint: "make it again where it was made, such as with kubectl apply"}
}

package engine

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
)

// Claims are tasks that others make on a backend and leave to us to place. One
// workload of kind external stands for each. What waits is known from the backend
// alone, anew after every start; what has its place is a task and a record like
// any other. Nobody here makes another task in place of one that has ended:
// that, and when the whole is over, is its maker's to say.

// Annotations of an external workload, by which its claim is found again.
const (
	noteClaim   = "muster.dev/claim"
	noteCluster = "muster.dev/cluster"
	noteMaker   = "muster.dev/made-by"
)

// claimKey names a claim.
type claimKey struct{ backend, key string }

// claim is one as its backend last told it.
type claim struct {
	backend.Claim
	members map[string]*member // by Key
}

// member is one of a claim, with what the scheduler asks of it.
type member struct {
	*backend.Member
	class string // equal for members that are alike
}

// keyOf is the claim that an external workload stands for.
func keyOf(w *core.Workload) claimKey {
	return claimKey{w.Spec.Annotations[noteCluster], w.Spec.Annotations[noteClaim]}
}

// claims is what the engine knows of them.
type claims struct {
	Of map[claimKey]*claim
	// workloads stand for claims; of those that have ended only such as may still
	// be there.
	workloads map[claimKey]core.WorkloadID
	whole     map[string]bool       // backends that have told all of theirs since the start
	unsettled map[claimKey]struct{} // news of which no commit has taken account yet
}

func newClaims() claims {
	return claims{Of: map[claimKey]*claim{}, workloads: map[claimKey]core.WorkloadID{}, whole: map[string]bool{}, unsettled: map[claimKey]struct{}{}}
}

// Claimed takes over what a backend tells of claims.
func Claimed(backendName string, news backend.Claims) Command {
	return func(tx *tx) (any, error) {
		cs := &tx.e.Claims
		if news.All {
			cs.whole[backendName] = true
			for k := range cs.Of {
				if k.backend == backendName {
					delete(cs.Of, k)
					cs.unsettled[k] = struct{}{}
				}
			}
			for k := range cs.workloads {
				if k.backend == backendName {
					cs.unsettled[k] = struct{}{}
				}
			}
		}
		for _, key := range news.Gone {
			k := claimKey{backendName, key}
			delete(cs.Of, k)
			cs.unsettled[k] = struct{}{}
		}
		for _, c := range news.Changed {
			k := claimKey{backendName, c.Key}
			cs.Of[k] = newClaim(c)
			cs.unsettled[k] = struct{}{}
		}
		return nil, nil
	}
}

func newClaim(c backend.Claim) *claim {
	out := &claim{Claim: c, members: make(map[string]*member, len(c.Members))}
	for i := range c.Members {
		m := &c.Members[i]
		class, err := json.Marshal(struct {
			backend.Needs
			backend.Where
		}{m.Needs, m.Where})
		if err != nil {
			class = []byte(m.Key) // unlike all others
		}
		out.members[m.Key] = &member{m, string(class)}
	}
	return out
}

// settleClaims draws what follows from news of claims. What cannot be stored
// stays news.
func (tx *tx) settleClaims() {
	for _, k := range slices.SortedFunc(maps.Keys(tx.e.Claims.unsettled), func(a, b claimKey) int {
		return cmp.Or(cmp.Compare(a.backend, b.backend), cmp.Compare(a.key, b.key))
	}) {
		if err := tx.settleClaim(k); err != nil {
			tx.e.D.Log.Error("a claim could not be taken over; trying again", "backend", k.backend, "claim", k.key, "err", err)
			tx.unsettled = append(tx.unsettled, k)
		}
	}
}

// claimsSettled forgets news of which a commit has taken account.
func (tx *tx) claimsSettled() {
	cs := &tx.e.Claims
	clear(cs.unsettled)
	for _, k := range tx.unsettled {
		cs.unsettled[k] = struct{}{}
	}
	for _, id := range tx.order {
		if w := tx.drafts[id].w; w.Kind == lifecycle.External {
			k := keyOf(w)
			cs.workloads[k] = id
			if w.Phase == lifecycle.Deleted || w.Phase.End() && cs.Of[k] == nil && cs.whole[k.backend] {
				delete(cs.workloads, k)
			}
		}
	}
}

func (tx *tx) settleClaim(k claimKey) error {
	c := tx.e.Claims.Of[k]
	d, err := tx.standsFor(k, c)
	if err != nil {
		return err
	}
	switch {
	case d == nil && (c == nil || len(c.members) == 0):
		return nil
	case d == nil:
		return tx.takeOn(k, c)
	case d.w.Phase.End() && c == nil:
		delete(tx.e.Claims.workloads, k)
		return nil
	case d.w.Phase.End() && (len(c.members) == 0 || kept(d.w)):
		return nil
	case d.w.Phase.End():
		return tx.revive(d, c)
	case d.changed == nil || d.w.Phase == lifecycle.Deleting:
		return nil
	}
	tx.e.dirty = true
	if c == nil {
		return tx.change(d, func() error { return tx.conclude(d) })
	}
	if c.Over == "" && !d.touched && revised(d, k, c) == nil { // nothing to be written
		tx.e.unindex(d.w, d.tasks)
		tx.e.index(d.w, d.tasks)
		return nil
	}
	return tx.change(d, func() error {
		tx.revise(d, k, c)
		return tx.conclude(d)
	})
}

// standsFor is the workload of a claim; nil: it has none. One that has ended is
// not opened.
func (tx *tx) standsFor(k claimKey, c *claim) (*draft, error) {
	id, ok := tx.takenOn[k]
	if !ok {
		id, ok = tx.e.Claims.workloads[k]
	}
	if ok {
		d, err := tx.find(Ref{ID: id})
		if isNotFound(err) {
			return nil, nil
		}
		return d, err
	}
	if c == nil {
		return nil, nil
	}
	for _, name := range claimNames(k, c) {
		d, err := tx.find(Ref{Project: c.Project, Name: name})
		switch {
		case isNotFound(err):
		case err != nil:
			return nil, err
		case d.w.Kind == lifecycle.External && keyOf(d.w) == k:
			tx.e.Claims.workloads[k] = d.w.ID
			return d, nil
		}
	}
	return nil, nil
}

// claimNames are what the workload of a claim may be called: as its maker calls
// it, where another has that name with a few characters that are its own.
func claimNames(k claimKey, c *claim) []string {
	h := fnv.New64a()
	h.Write([]byte(k.backend + "\x00" + k.key))
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
func (tx *tx) takeOn(k claimKey, c *claim) error {
	doc := documentOf(k, c, 0)
	for _, name := range claimNames(k, c) {
		taken, err := tx.taken(inProject(c.Project, name))
		if err != nil {
			return err
		}
		if doc.Name = name; !taken {
			break
		}
	}
	d := tx.enter(tx.make(doc, c.User), actorBackendName(k.backend))
	put(&tx.takenOn, k, d.w.ID)
	return tx.change(d, func() error {
		if err := tx.step(d, lifecycle.Input{On: lifecycle.Submit, Message: "made by " + c.Maker}, actorBackendName(k.backend)); err != nil {
			return err
		}
		return tx.gate(d)
	})
}

func inProject(p core.ProjectID, n string) name { return name{p, n} }

func actorBackendName(backend string) string { return "backend:" + backend }

// documentOf is what is said of a claim as a document. had is how many more
// tasks it has than members: those that end, and those that have ended well.
func documentOf(k claimKey, c *claim, had int) *spec.Document {
	preemptible := c.Preemptible
	d := &spec.Document{
		Kind: lifecycle.External, Name: c.Name, Project: string(c.Project), Labels: maps.Clone(c.Labels), Pools: c.Pools,
		Annotations: map[string]string{noteClaim: k.key, noteCluster: k.backend, noteMaker: c.Maker},
		Priority:    spec.Train, Preemptible: &preemptible, GracePeriod: spec.Duration(max(c.Grace, 1)),
		Workers: len(c.members) + had, TerminateAfterPreemption: !c.Remade,
	}
	if c.Min > 1 {
		d.MinWorkers = c.Min
	}
	if c.Priority != nil {
		d.Priority = *c.Priority
	}
	for _, m := range c.members { // the most that one asks for is shown
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
func (tx *tx) revise(d *draft, k claimKey, c *claim) {
	if doc := revised(d, k, c); doc != nil {
		d.w.Spec, d.edited = doc, true
	}
}

// revised is the document that d should have; nil: that which it has.
func revised(d *draft, k claimKey, c *claim) *spec.Document {
	had := 0
	for _, t := range d.tasks {
		had += core.Bit(c.members[t.Claim] == nil && (t.State.Held() || t.State == core.TaskSucceeded))
	}
	doc := documentOf(k, c, had)
	if doc.Name = d.w.Name; len(c.members) == 0 { // what it asked for stays true
		doc.Resources = d.w.Spec.Resources
	}
	if doc.Equal(d.w.Spec) {
		return nil
	}
	return doc
}

// kept reports whether a workload was ended by our side, so that what its maker
// makes again waits until someone restarts it.
func kept(w *core.Workload) bool {
	return w.Cause == lifecycle.CauseStop || w.Cause == lifecycle.CauseLimit || w.Cause == lifecycle.CauseCheck
}

// revive takes a workload up again whose maker makes members again.
func (tx *tx) revive(d *draft, c *claim) error {
	d, err := tx.reopen(d)
	if err != nil {
		return err
	}
	return tx.change(d, func() error {
		tx.revise(d, keyOf(d.w), c)
		in := lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonMadeAgain, Message: c.Maker + " has made others"}
		return tx.again(d, in, actorBackendName(keyOf(d.w).backend))
	})
}

// mayRestart refuses to restart what has nothing to be started.
func (tx *tx) mayRestart(w *core.Workload) error {
	if w.Kind != lifecycle.External {
		return nil
	}
	if c := tx.e.Claims.Of[keyOf(w)]; c != nil && len(c.members) > 0 {
		return nil
	}
	return &Error{Code: CodeConflict, Message: fmt.Sprintf("%s was made by %s, and no pod of that is there", w.Name, w.Spec.Annotations[noteMaker]), Hint: "make it again where it was made, such as with kubectl apply"}
}

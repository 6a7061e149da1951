package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// Submission is a document that someone wants to run.
type Submission struct {
	Doc   *spec.Document // with defaults, validated
	User  string
	Actor string
	// Key makes repeating the submission harmless; Hash tells whether the
	// repetition is of the same document. Empty Key: none.
	Key, Hash string
	DryRun    bool
	// Before are documents that are submitted with it, and before it: it may
	// wait for them.
	Before []*spec.Document
}

// Submitted is what became of a submission.
type Submitted struct {
	Workload *core.Workload
	Repeated bool // its key had made it before
	draft    *draft
}

// Transitions are the steps that the submission itself has made.
func (s *Submitted) Transitions() []core.Transition {
	if s.draft == nil {
		return nil
	}
	return s.draft.trail
}

// Tasks are those that were placed at once.
func (s *Submitted) Tasks() []core.Task {
	if s.draft == nil {
		return nil
	}
	var out []core.Task
	for _, t := range sortedTasks(s.draft.tasks) {
		out = append(out, *t)
	}
	return out
}

// SubmitMany submits each by itself; the value is a []Result of *Submitted.
func SubmitMany(subs []Submission) Command {
	return func(tx *tx) (any, error) {
		out := make([]Result, len(subs))
		for i, s := range subs {
			out[i].Value, out[i].Err = Submit(s)(tx)
		}
		return out, nil
	}
}

// Submit makes a workload of a document and takes it through the gates; the
// value is a *Submitted.
func Submit(s Submission) Command {
	return func(tx *tx) (any, error) {
		made, err := tx.repeated(s)
		switch {
		case err != nil:
			return nil, err
		case made != nil:
			return made, nil
		}
		doc, err := tx.acceptable(s)
		if err != nil {
			return nil, err
		}
		return tx.submit(s, doc)
	}
}

// repeated is what the submission's key has made before; nil: nothing.
func (tx *tx) repeated(s Submission) (*Submitted, error) {
	if s.Key == "" {
		return nil, nil
	}
	w, err := tx.remembered(s)
	if err != nil || w == nil {
		return nil, err
	}
	return &Submitted{Workload: w, Repeated: true}, nil
}

// acceptable is the submission's document with its name, or why it is refused.
// It changes nothing.
func (tx *tx) acceptable(s Submission) (*spec.Document, error) {
	if err := tx.roomy(); err != nil {
		return nil, err
	}
	if err := tx.takes(core.ProjectID(s.Doc.Project)); err != nil {
		return nil, err
	}
	if err := tx.mayReserve(core.ProjectID(s.Doc.Project), s.User, s.Doc.Reservation); err != nil {
		return nil, err
	}
	if err := tx.follows(s.Doc, s.Before); err != nil {
		return nil, err
	}
	if err := tx.feasible(s.Doc, s.User); err != nil {
		return nil, err
	}
	if _, err := metadataOf(s.Doc); err != nil {
		return nil, err
	}
	doc := *s.Doc
	return &doc, tx.nameOf(&doc)
}

// submit begins a workload of a document that is acceptable.
func (tx *tx) submit(s Submission, doc *spec.Document) (*Submitted, error) {
	w := tx.make(doc, s.User)
	if s.DryRun {
		return &Submitted{Workload: w}, nil
	}
	d := tx.enter(w, s.Actor)
	if s.Key != "" {
		tx.keys = append(tx.keys, store.Key{User: s.User, Key: s.Key, Hash: s.Hash, Workload: w.ID, At: tx.now})
	}
	err := tx.change(d, func() error {
		if err := tx.step(d, lifecycle.Input{On: lifecycle.Submit}, s.Actor); err != nil {
			return err
		}
		return tx.gate(d)
	})
	return &Submitted{Workload: d.w, draft: d}, err
}

// make is a workload of a document that has its name.
func (tx *tx) make(doc *spec.Document, user string) *core.Workload {
	return &core.Workload{
		ID: tx.e.D.NewID(tx.now), Seq: tx.e.seq.Workload + doc.SlurmJobs(), Name: doc.Name, Project: core.ProjectID(doc.Project),
		Kind: doc.Kind, User: user, Spec: doc, CreatedAt: tx.now,
	}
}

// enter is the draft of a workload that make has made.
func (tx *tx) enter(w *core.Workload, actor string) *draft {
	tx.e.seq.Workload = w.Seq
	d := tx.draft(w, nil, nil)
	d.w.Attempts = []core.Attempt{{Index: 0, QueuedAt: tx.now}}
	d.w.Replicas = firstReplicas(w.Spec)
	d.w.Hold = tx.heldFrom(w, actor)
	d.w.Metadata, _ = metadataOf(w.Spec) // it was looked at, or has none
	if tx.names == nil {
		tx.names = map[name]struct{}{}
	}
	tx.names[name{w.Project, w.Name}] = struct{}{}
	return d
}

// remembered returns what an idempotency key has made before.
func (tx *tx) remembered(s Submission) (*core.Workload, error) {
	id, hash, err := tx.e.D.Store.Remembered(tx.ctx, s.User, s.Key)
	if i := slices.IndexFunc(tx.keys, func(k store.Key) bool { return k.User == s.User && k.Key == s.Key }); i >= 0 {
		id, hash, err = tx.keys[i].Workload, tx.keys[i].Hash, nil
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fromStore(err)
	}
	if hash != s.Hash {
		return nil, &Error{Code: CodeConflict, Field: "Idempotency-Key", Message: fmt.Sprintf("%q was used for another document", s.Key), Hint: "use a new key for a new workload"}
	}
	if w, _, ok := tx.view(id); ok {
		return w, nil
	}
	w, err := tx.e.D.Store.Workload(tx.ctx, id)
	if err != nil {
		return nil, fromStore(err)
	}
	return w, nil
}

// nameOf settles the name: as given where it is free, generated otherwise.
func (tx *tx) nameOf(doc *spec.Document) error {
	if doc.Name != "" {
		taken, err := tx.taken(name{core.ProjectID(doc.Project), doc.Name})
		if err != nil {
			return err
		}
		if taken {
			return &Error{
				Code: CodeConflict, Field: "name", Message: fmt.Sprintf("%q exists in project %q already", doc.Name, doc.Project),
				Hint: fmt.Sprintf("choose another name, use namePrefix to have one made, run it again with muster restart %s, or muster delete %s", doc.Name, doc.Name),
			}
		}
		return nil
	}
	for range 100 {
		n := tx.e.D.NewName(doc.NamePrefix)
		taken, err := tx.taken(name{core.ProjectID(doc.Project), n})
		if err != nil {
			return err
		}
		if !taken {
			doc.Name = n
			return nil
		}
	}
	return &Error{Code: CodeUnavailable, Message: "no free name was found", Hint: "give it a name"}
}

func (tx *tx) taken(n name) (bool, error) {
	if _, ok := tx.names[n]; ok {
		return true, nil
	}
	if _, ok := tx.e.names[n]; ok {
		return true, nil
	}
	_, err := tx.e.D.Store.ByName(tx.ctx, n.project, n.name)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, fromStore(err)
}

// feasible refuses what could never run here, with the numbers.
func (tx *tx) feasible(doc *spec.Document, user string) error {
	if doc.Kind == lifecycle.External {
		return nil // it waits with the reason
	}
	if err := resolved(doc); err != nil {
		return err
	}
	if doc.Image == "" && doc.Build == nil && tx.onlyImages() {
		return &Error{Code: CodeInvalid, Field: "image", Message: "image is not set, and every node of this server runs containers only", Hint: "give --image, or image in the document"}
	}
	if doc.Image != "" && !tx.e.D.Images {
		return &Error{Code: CodeUnsupported, Field: "image", Message: "this server runs processes of its machine, not container images", Hint: "leave image out and give the command, or install runc (apt-get install runc) and start the server as root"}
	}
	if doc.Build != nil && !tx.e.D.Builds {
		return &Error{Code: CodeUnsupported, Field: "build", Message: "this server cannot build images", Hint: "give an image, or install runc (apt-get install runc) and start the server as root"}
	}
	if err := tx.clustersExist(doc); err != nil {
		return err
	}
	if err := tx.claimable(doc); err != nil {
		return err
	}
	if err := tx.secretsExist(doc, user); err != nil {
		return err
	}
	if err := tx.licensesExist(doc); err != nil {
		return err
	}
	if err := tx.receivers(doc, user); err != nil {
		return err
	}
	if err := tx.fits(doc); err != nil && tx.surveyed() {
		return err
	}
	return nil // or nobody can tell yet: then it waits as Submitted
}

// onlyImages reports whether no node runs processes.
func (tx *tx) onlyImages() bool {
	for _, n := range tx.e.nodes {
		if n.Labels[core.LabelRuns] != core.RunsImages {
			return false
		}
	}
	return len(tx.e.nodes) > 0
}

// surveyed reports whether what every backend has is known: none is silent and
// no node of theirs is not ready, whose devices may come back.
func (tx *tx) surveyed() bool {
	for _, n := range tx.e.nodes {
		if !n.Ready {
			return false
		}
	}
	return len(tx.e.nodes) > 0 && len(tx.e.cut) == 0
}

// fits says with the numbers why a document could never run on the nodes that
// are known.
func (tx *tx) fits(doc *spec.Document) error {
	if doc.Kind == lifecycle.External {
		return nil // what it asks for may be made otherwise at any time
	}
	tx.sync()
	if r, ok := tx.everFits(tx.e.fresh(doc)); !ok {
		tx.barred(&core.Workload{Spec: doc}).into(&r)
		field := "resources"
		switch {
		case r.Label != "":
			field = conditionField(doc, &r)
		case r.Segment > 0:
			field = "topology.segment.size"
		case r.Resource == "tasks":
			field = "workers"
		case strings.Contains(r.Resource, "/"):
			field += ".extended." + r.Resource
		case r.Resource != "":
			field += "." + r.Resource
		}
		return &Error{Code: CodeUnschedulable, Field: field, Message: r.String(), Hint: r.Hint()}
	}
	return nil
}

// conditionField is the field of a document that has the condition on nodes which
// a reason is about.
func conditionField(doc *spec.Document, r *schedule.Reason) string {
	_, selected := doc.NodeSelector[r.Label]
	switch {
	case r.Resource == "apart" || r.Resource == "near":
		return r.Resource
	case selected:
		return "nodeSelector." + r.Label
	case r.Label == spec.NodeTypeLabel:
		return "nodeType"
	default:
		return "nodeAffinity"
	}
}

// Ref names a workload: by ID, or by project and name.
type Ref struct {
	ID      core.WorkloadID
	Project core.ProjectID
	Name    string
}

func (r Ref) String() string {
	if r.ID != "" {
		return "workload " + string(r.ID)
	}
	return fmt.Sprintf("workload %q in project %q", r.Name, r.Project)
}

// find returns the draft of the workload that r names, live or ended.
func (tx *tx) find(r Ref) (*draft, error) {
	id := r.ID
	if id == "" {
		id = tx.e.names[name{r.Project, r.Name}]
	}
	if id == "" {
		for _, d := range tx.drafts {
			if d.w.Project == r.Project && d.w.Name == r.Name && d.w.Phase != lifecycle.Deleted {
				return d, nil
			}
		}
	}
	if id != "" {
		if d, ok := tx.open(id); ok {
			return d, nil
		}
	}
	var w *core.Workload
	var err error
	if id != "" {
		w, err = tx.e.D.Store.Workload(tx.ctx, id)
	} else {
		w, err = tx.e.D.Store.ByName(tx.ctx, r.Project, r.Name)
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && w.Phase == lifecycle.Deleted {
		return nil, notFound(r.String(), "muster get")
	}
	if err != nil {
		return nil, fromStore(err)
	}
	return &draft{w: w}, nil // not opened: ended, and perhaps left as it is
}

// reopen makes a draft of an ended workload that find returned.
func (tx *tx) reopen(d *draft) (*draft, error) {
	if d.changed != nil {
		return d, nil
	}
	stored, err := tx.e.D.Store.Tasks(tx.ctx, d.w.ID, d.w.Attempt)
	if err != nil {
		return nil, fromStore(err)
	}
	return tx.draft(d.w, latest(stored, d.w.Attempt), nil), nil
}

package lifecycle

import (
	"fmt"
	"slices"
	"strings"
)

// Dialect names a platform whose words for the life of a workload we speak.
type Dialect string

// The dialects.
const (
	RunaiJob      Dialect = "runai-job"      // statuses of Run:ai's jobs
	RunaiWorkload Dialect = "runai-workload" // phases of Run:ai's workloads
	Jobq          Dialect = "jobq"
	Mcli          Dialect = "mcli"
	Modelarts     Dialect = "modelarts" // JOBSTAT codes
)

// Dialects returns every dialect.
func Dialects() []Dialect { return []Dialect{RunaiJob, RunaiWorkload, Jobq, Mcli, Modelarts} }

// View is all of a workload that a dialect looks at.
type View struct {
	Kind       Kind
	State      State
	Conditions []ConditionType
	Tasks      []TaskView // of the present attempt
	Culprit    *int       // index of the task that made it fail, where that is known
	// Prior is the last state that was not Leaving; zero when nobody knows it.
	// Some platforms keep showing the last word of what is being deleted.
	Prior              State
	BackendUnreachable bool // the whole backend does not report, not only a node
}

// TaskView is what a dialect looks at of one task.
type TaskView struct {
	Role  string // task, master, launcher, worker, replica
	Index int
	State string // pending, starting, running, stopping, succeeded, failed, lost
	// Waiting is the backend's word while the task starts (ContainerCreating,
	// Init:0/1, ErrImagePull …) or waits to be restarted (Error,
	// CrashLoopBackOff). Words that no dialect knows are passed over.
	Waiting  string
	ExitCode *int
	Reason   string
	Restarts int // how often it was started again in place
}

// Word is what a platform says of a workload.
type Word struct {
	Status string `json:"status"`
	// End says that nothing follows unless a user restarts or deletes.
	End    bool   `json:"end"`
	Color  string `json:"color,omitempty"`  // #rrggbb, where the platform has one
	Code   *int   `json:"code,omitempty"`   // where the platform has numbers
	Reason string `json:"reason,omitempty"` // in that platform's words
	// Resources is whether a job of which it is said holds them, in that platform's
	// words; empty where it does not say so.
	Resources string `json:"resources,omitempty"`
}

// row says in which states a platform uses a word. The first row that matches
// wins; what a row leaves empty matches everything.
type row struct {
	in      []Phase
	to      []Phase       // targets, for Terminating
	why     []Reason      // reasons of the state
	with    ConditionType // holds
	backend bool          // the whole backend is unreachable
	again   bool          // not the first attempt
	say     string        // a status of the vocabulary, or last
	tasks   []string      // words of a task that take the place of say
}

// last as row.say stands for the word that was true before the deletion.
const last = "(last)"

// tongue is one platform's language: a closed vocabulary and when it is used.
type tongue struct {
	words   []Word
	rows    []row
	aliases map[string]string // other spellings that PhasesOf takes, lower case
	reason  func(View) string // nil: this platform gives none
	own     []ownArrow        // what the platform's own documents draw or list
}

func (d Dialect) tongue() *tongue {
	switch d {
	case RunaiJob:
		return &runaiJob
	case RunaiWorkload:
		return &runaiWorkload
	case Jobq:
		return &jobq
	case Mcli:
		return &mcli
	case Modelarts:
		return &modelarts
	default:
		return nil
	}
}

// Say returns what d says of v. A dialect that does not exist says the name of
// the phase.
func Say(d Dialect, v View) Word {
	t := d.tongue()
	if t == nil {
		return Word{Status: string(v.State.Phase), End: v.State.Phase.End()}
	}
	return t.say(v, taskWord(v))
}

// say is Say for one platform, where a task says said.
func (t *tongue) say(v View, given string) Word {
	r := t.match(v)
	if r == nil {
		return Word{Status: string(v.State.Phase), End: v.State.Phase.End()}
	}
	if r.say == last {
		return t.sayLast(v)
	}
	w, status := t.word(r.say), r.say
	if slices.Contains(r.tasks, pattern(given)) {
		w, status = t.word(pattern(given)), given
	}
	w.Status = status
	if t.reason != nil {
		w.Reason = t.reason(v)
	}
	return w
}

func (t *tongue) match(v View) *row {
	for i := range t.rows {
		r := &t.rows[i]
		if slices.Contains(r.in, v.State.Phase) &&
			(r.to == nil || slices.Contains(r.to, v.State.Target)) &&
			(r.why == nil || slices.Contains(r.why, v.State.Reason)) &&
			(r.with == "" || slices.Contains(v.Conditions, r.with)) &&
			(!r.backend || v.BackendUnreachable) &&
			(!r.again || v.State.Attempt > 0) {
			return r
		}
	}
	return nil
}

// word finds a status in the vocabulary.
func (t *tongue) word(status string) Word {
	for _, w := range t.words {
		if w.Status == status {
			return w
		}
	}
	return Word{Status: status}
}

// sayLast says the word from before the deletion began. Once the workload holds
// nothing any more, or is gone, that must be an end: who was deleted alive was
// stopped by it.
func (t *tongue) sayLast(v View) Word {
	before := v
	before.State, before.Conditions, before.BackendUnreachable = v.Prior, nil, false
	if v.Prior.Phase == None || v.Prior.Leaving() || v.Prior.Phase.Held() || v.State.Phase == Deleted && !v.Prior.Phase.End() {
		before.State = v.outcome()
	}
	w := t.say(before, taskWord(before))
	if t.reason != nil && v.State.Phase == Deleted {
		if w.Reason != "" {
			w.Reason += ", "
		}
		w.Reason += string(Deleted)
	}
	return w
}

// outcome is how a workload that was deleted before it had ended did end.
func (v View) outcome() State {
	p := v.Prior
	switch {
	case p.Phase == Terminating && p.Target.End() && p.Target != Deleted:
		p.Phase = p.Target
	case p.Phase == Publishing, p.Phase == Terminating && p.Target == Publishing:
		p.Phase = Completed
	case p.Started || v.State.Started:
		p = State{Phase: Stopped, Attempt: p.Attempt, Started: true}
	default:
		p = State{Phase: Canceled, Attempt: p.Attempt}
	}
	p.Target = None
	return p
}

// Leaving reports whether a workload in s is on its way out for good: Deleting,
// Deleted, or Terminating in order to be deleted.
func (s State) Leaving() bool {
	return s.Phase == Deleting || s.Phase == Deleted || s.Phase == Terminating && s.Target == Deleting
}

// Words returns the closed vocabulary of d, in its platform's order. A status
// with A/B in it stands for all numbers in their place. End is the platform's
// opinion of the word alone.
func Words(d Dialect) []Word {
	t := d.tongue()
	if t == nil {
		return nil
	}
	words := slices.Clone(t.words)
	for i := range words {
		if c := words[i].Code; c != nil {
			words[i].Code = new(*c)
		}
	}
	return words
}

// PhasesOf returns the phases in which d may say word, in the order of a normal
// life; nil when the platform has no such word. Upper and lower case are the
// same. Who filters by a word narrows by these phases first and then compares
// what Say says.
func PhasesOf(d Dialect, word string) []Phase {
	t := d.tongue()
	if t == nil {
		return nil
	}
	status := t.canonical(word)
	if status == "" {
		return nil
	}
	var matches []Phase
	for _, p := range phases {
		if t.mayBe(p.Phase, status) {
			matches = append(matches, p.Phase)
		}
	}
	return matches
}

// Canonical is the status of d that someone means by word, as d writes it; empty
// when the platform has no such word.
func Canonical(d Dialect, word string) string {
	t := d.tongue()
	if t == nil {
		return ""
	}
	return t.canonical(word)
}

// canonical finds the status that someone means; empty when there is none.
func (t *tongue) canonical(word string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	if s, ok := t.aliases[word]; ok {
		return s
	}
	for _, w := range t.words {
		if strings.EqualFold(w.Status, word) || strings.EqualFold(w.Status, pattern(initCase(word))) {
			return w.Status
		}
		if w.Code != nil && (word == fmt.Sprint(*w.Code) || "jobstat_"+word == strings.ToLower(w.Status)) {
			return w.Status
		}
	}
	return ""
}

func (t *tongue) mayBe(p Phase, status string) bool {
	for i := range t.rows {
		r := &t.rows[i]
		if !slices.Contains(r.in, p) {
			continue
		}
		if r.say == status || slices.Contains(r.tasks, status) {
			return true
		}
		if r.say == last && t.mayBeLast(p, status) {
			return true
		}
	}
	return false
}

// mayBeLast reports whether status may be the last word of what is in p, which
// is Deleting or Deleted.
func (t *tongue) mayBeLast(p Phase, status string) bool {
	for _, before := range phases {
		if before.Phase == Deleting || before.Phase == Deleted || before.Held || p == Deleted && !before.End {
			continue
		}
		if t.mayBe(before.Phase, status) {
			return true
		}
	}
	return false
}

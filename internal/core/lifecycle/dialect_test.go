package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestEveryDialectSpeaks looks at everything that a workload can be, in every
// circumstance: what is said is in the vocabulary, and PhasesOf knows the phase.
func TestEveryDialectSpeaks(t *testing.T) {
	placements, _ := explore(ReasonOutOfMemory)
	around := details()
	type heard struct {
		d      Dialect
		status string
		phase  Phase
	}
	said := map[heard]bool{}
	for _, at := range placements {
		if at.now.Phase == None {
			continue
		}
		for _, v := range views(at, around) {
			for _, d := range Dialects() {
				said[heard{d, pattern(Say(d, v).Status), v.State.Phase}] = true
			}
		}
	}
	for h := range said {
		if !slices.ContainsFunc(Words(h.d), func(w Word) bool { return w.Status == h.status }) {
			t.Errorf("%s says %q in %s, which is not in its vocabulary", h.d, h.status, h.phase)
		}
		if !slices.Contains(PhasesOf(h.d, h.status), h.phase) {
			t.Errorf("%s says %q in %s, and Hear does not know", h.d, h.status, h.phase)
		}
	}
	for _, d := range Dialects() {
		for _, w := range Words(d) {
			for _, p := range PhasesOf(d, w.Status) {
				if !said[heard{d, w.Status, p}] {
					t.Errorf("%s never says %q in %s, as Hear has it", d, w.Status, p)
				}
			}
		}
	}
}

// TestAnEndStaysAnEnd: a word that a platform calls an end never turns into
// another unless a user restarts or deletes, whatever happens and whatever is
// learned of tasks, nodes and backends. ModelArts' COMPLETED is the exception
// that its own documents make.
func TestAnEndStaysAnEnd(t *testing.T) {
	placements, edges := explore(ReasonOutOfMemory)
	around := details()
	ends, all := map[placement]map[string]bool{}, map[placement]map[string]bool{}
	for _, at := range placements {
		ends[at], all[at] = map[string]bool{}, map[string]bool{}
		for _, v := range views(at, around) {
			for _, d := range Dialects() {
				w := Say(d, v)
				word := string(d) + " " + w.Status
				all[at][word] = true
				if w.End {
					ends[at][word] = true
				}
			}
		}
	}
	faults := 0
	check := func(from, to placement, how string) {
		for end := range ends[from] {
			d, _, _ := strings.Cut(end, " ")
			for word := range all[to] {
				if of, status, _ := strings.Cut(word, " "); of != d || word == end ||
					end == "modelarts JOBSTAT_COMPLETED" && (status == "JOBSTAT_SUBMIT_MODEL_FAILED" || status == "JOBSTAT_DEPLOY_SERVICE_FAILED") {
					continue
				}
				if faults++; faults <= 10 {
					t.Errorf("%s: %s turns into %s (%+v to %+v)", how, end, word, from.now, to.now)
				}
			}
		}
	}
	for at := range ends {
		check(at, at, "nothing happens")
	}
	checked := 0
	for _, e := range edges {
		if e.in.On == Restart || e.to.now.Leaving() {
			continue
		}
		check(e.from, e.to, string(e.in.On))
		checked += len(ends[e.from])
	}
	if checked == 0 {
		t.Error("no step began at an end; the exception of ModelArts should have")
	}
	for at, words := range all {
		if at.now.Phase != Deleted {
			continue
		}
		for word := range words {
			if !ends[at][word] {
				t.Errorf("%s of %+v, deleted, looks as if something could follow", word, at.prior)
			}
		}
	}
}

// TestEndsAgree: whether a word is an end is the same in the vocabulary and on
// whatever it is said of, so that who reads the vocabulary knows when to stop
// waiting.
func TestEndsAgree(t *testing.T) {
	placements, _ := explore(ReasonOutOfMemory)
	around := details()
	ends := map[string]bool{}
	for _, d := range Dialects() {
		for _, w := range Words(d) {
			ends[string(d)+" "+w.Status] = w.End
		}
	}
	faults := map[string]bool{}
	for _, at := range placements {
		if at.now.Phase == None {
			continue
		}
		for _, v := range views(at, around) {
			for _, d := range Dialects() {
				w := Say(d, v)
				word := string(d) + " " + pattern(w.Status)
				if fault := fmt.Sprintf("%s in %s", word, v.State.Phase); w.End != ends[word] && !faults[fault] {
					faults[fault] = true
					t.Errorf("%s: end %v, and %v in the vocabulary", fault, w.End, ends[word])
				}
				if w.End && v.State.Phase.Held() {
					t.Errorf("%s is an end, and is said of %+v, which holds devices", word, v.State)
				}
			}
		}
	}
}

// TestDeletedIsWhatWasDeleted: what was only stopped can be resumed, and no
// platform of Run:ai calls it deleted; what was deleted, they do.
func TestDeletedIsWhatWasDeleted(t *testing.T) {
	for _, d := range []Dialect{RunaiJob, RunaiWorkload} {
		if got := joinPhases(PhasesOf(d, "Deleted")); got != "Deleted" && got != "Deleting, Deleted" {
			t.Errorf("%s says Deleted of %s", d, got)
		}
	}
}

func TestRunaiJobColors(t *testing.T) {
	want := map[string]string{
		"#599b3e": "Running Terminating ContainerCreating Init:A/B PodInitializing",
		"#fd8608": "Pending",
		"#0000ff": "Succeeded",
		"#afafaf": "Deleted TimedOut Preempted",
		"#fb0007": "ContainerCannotRun Error Fail CrashLoopBackOff ErrImagePull ImagePullBackOff Init:Error Init:CrashLoopBackOff",
		"#d0d0d0": "Unknown",
	}
	got := map[string][]string{}
	for _, w := range Words(RunaiJob) {
		got[w.Color] = append(got[w.Color], w.Status)
	}
	for color, words := range got {
		if strings.Join(words, " ") != want[color] {
			t.Errorf("%s: %v", color, words)
		}
	}
	if len(got) != len(want) {
		t.Errorf("colours %v", slices.Sorted(maps.Keys(got)))
	}
	w := Say(RunaiJob, View{State: State{Phase: Starting}, Tasks: []TaskView{{State: "starting", Waiting: "Init:2/11"}}})
	if w.Status != "Init:2/11" || w.Color != "#599b3e" || w.End {
		t.Errorf("of Init:2/11 it says %+v", w)
	}
}

func TestModelartsCodes(t *testing.T) {
	ends := []int{3, 5, 6, 10, 11, 12, 13, 16, 17, 21, 22}
	words := Words(Modelarts)
	if len(words) != 23 {
		t.Fatalf("%d codes", len(words))
	}
	for code, w := range words {
		if *w.Code != code || w.End != slices.Contains(ends, code) || !strings.HasPrefix(w.Status, "JOBSTAT_") {
			t.Errorf("code %d is %+v", code, w)
		}
	}
	*words[8].Code = 99
	if *Words(Modelarts)[8].Code != 8 {
		t.Error("the vocabulary can be changed from outside")
	}
}

func TestHear(t *testing.T) {
	for _, c := range []struct {
		d    Dialect
		word string
		want string
	}{
		{RunaiJob, "Fail", "Failed"},
		{RunaiJob, "failed", "Failed"},
		{RunaiWorkload, "fail", "Failed, Lost"},
		{RunaiJob, " init:0/3 ", "Starting"},
		{RunaiJob, "INIT:A/B", "Starting"},
		{RunaiJob, "Init:0/", ""},
		{RunaiJob, "imagepullbackoff", "Starting, Terminating"},
		{RunaiJob, "deleted", "Deleting, Deleted"},
		{RunaiJob, "pending", "Submitted, Reviewing, Building, Inadmissible, Queued, Reserved, Stopped, Canceled"},
		{RunaiWorkload, "resuming", "Submitted, Reviewing, Building"},
		{Jobq, "executing", "Starting, Running, Restarting, Terminating, Publishing, Deleting"},
		{Jobq, "Succeeded", "Completed, Deleting, Deleted"},
		{Mcli, "Queued", "Queued, Reserved, Deleting"},
		{Mcli, "completed", "Completed, Deleting, Deleted"},
		{Modelarts, "15", "Running"},
		{Modelarts, "scaling", "Running"},
		{Modelarts, "JobStat_Mount_Failed", "Failed, Deleted"},
		{Modelarts, "13", "Canceled, Deleted"},
		{Modelarts, "23", ""},
		{Mcli, "", ""},
		{"esperanto", "Running", ""},
	} {
		if got := joinPhases(PhasesOf(c.d, c.word)); got != c.want {
			t.Errorf("%s hears %q as %q, want %q", c.d, c.word, got, c.want)
		}
	}
}

func TestUnknownDialectSaysThePhase(t *testing.T) {
	w := Say("esperanto", View{State: State{Phase: TimedOut}})
	if w != (Word{Status: "TimedOut", End: true}) || Words("esperanto") != nil {
		t.Errorf("got %+v", w)
	}
}

// TestSayOfNonsense: a record that no machine made must not bring anything down.
func TestSayOfNonsense(t *testing.T) {
	for _, p := range []Phase{None, "Nonsense", Deleted, Deleting, Terminating} {
		for _, prior := range []State{{}, {Phase: Deleted}, {Phase: Deleting}, {Phase: Terminating, Target: Deleted}, {Phase: Terminating, Target: "x"}} {
			for _, d := range Dialects() {
				if w := Say(d, View{State: State{Phase: p, Target: "y"}, Prior: prior}); p.Known() && w.Status == "" {
					t.Errorf("%s says nothing of %s after %+v", d, p, prior)
				}
			}
		}
	}
}

func TestMcliReasons(t *testing.T) {
	one, killed := 1, 137
	gang := []TaskView{
		{Role: "master", State: "failed", ExitCode: &killed, Reason: "Killed"},
		{Role: "worker", Index: 1, State: "failed", ExitCode: &one, Reason: "Error"},
		{Role: "worker", Index: 2, State: "failed", ExitCode: &killed, Reason: "Error"},
	}
	for _, c := range []struct {
		state State
		tasks []TaskView
		want  string
	}{
		{State{Phase: Failed, Reason: ReasonError}, gang, "FAILED (1)"},
		{State{Phase: Failed, Reason: ReasonError}, gang[:1], "FAILED (137)"},
		{State{Phase: Failed, Reason: ReasonError}, nil, "FAILED (Error)"},
		{State{Phase: Failed, Reason: ReasonOutOfMemory}, nil, "FAILED (137)"},
		{State{Phase: Failed, Reason: ReasonFailedImagePull}, gang, "FAILED (FailedImagePull)"},
		{State{Phase: Failed, Reason: ReasonNodeLost}, nil, "FAILED (Node Failure)"},
		{State{Phase: Failed, Reason: ReasonMountFailed}, nil, "FAILED (MountFailed)"},
		{State{Phase: Preempted, Reason: ReasonPreempted}, nil, "STOPPED (Preempted)"},
		{State{Phase: Lost, Reason: ReasonOutcomeUnknown}, gang, "STOPPED (Node Failure)"},
		{State{Phase: Stopped, Reason: ReasonStoppedByUser, Message: "loss is flat"}, nil, "STOPPED (loss is flat)"},
		{State{Phase: TimedOut, Reason: ReasonMaxDuration, Message: "it ran for 1h"}, nil, "STOPPED"},
		{State{Phase: Completed}, nil, "COMPLETED"},
		{State{Phase: Queued, Reason: ReasonPreempted, Attempt: 1}, nil, "QUEUED"},
		{State{Phase: Queued, Reason: ReasonError, Attempt: 1}, nil, "QUEUED"},
	} {
		w := Say(Mcli, View{Kind: Distributed, State: c.state, Tasks: c.tasks})
		got := w.Status
		if w.Reason != "" {
			got = fmt.Sprintf("%s (%s)", w.Status, w.Reason)
		}
		if got != c.want {
			t.Errorf("of %+v it says %s, want %s", c.state, got, c.want)
		}
	}
}

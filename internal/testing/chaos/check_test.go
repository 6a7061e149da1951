package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// life makes what a truthful world would tell.
type life struct {
	h    *History
	seq  int64
	zero time.Time
}

func (l *life) at(tick Tick) *api.Time {
	t := api.Time(l.zero.Add(time.Duration(tick) * 10 * time.Millisecond))
	return &t
}

func (l *life) instant(tick Tick) *Instant { return &Instant{tick, time.Time(*l.at(tick))} }

// pass lets a workload go through events, "event phase [target]" each, one after
// another from a tick on.
func (l *life) pass(w *api.Workload, from Tick, steps ...string) {
	for i, step := range steps {
		f := append(strings.Fields(step), "")
		l.seq++
		t := api.Transition{Seq: l.seq, At: *l.at(from + Tick(i)), From: w.Phase, Event: f[0], To: f[1], Target: f[2], Workload: w.ID}
		w.Phase = t.To
		l.h.Transitions = append(l.h.Transitions, t)
		l.h.Streamed[t.Seq] = t
		own := t
		own.Workload = ""
		w.Transitions = append(w.Transitions, own)
	}
}

func (l *life) mark(w *api.Workload, end bool, tick Tick, code, lines int) {
	l.h.Marks = append(l.h.Marks, Mark{Run: Run{Workload: w.ID}, End: end, PID: 7, At: tick, Code: code, Lines: lines})
}

// workload is one with a GPU from tick 100 of its life to 300.
func (l *life) workload(name, device string, begin Tick) (*api.Workload, *Entry) {
	e := &Entry{Name: name, ID: "id-" + name, Kind: "ok", Lines: 3, Asked: *l.instant(begin), Acked: l.instant(begin)}
	code := 0
	w := api.Workload{
		ID: e.ID, Name: name, EndedAt: l.at(begin + 300), GPUSeconds: 2,
		Attempts: []api.Attempt{{EndedAt: l.at(begin + 300), Tasks: []api.Task{{
			State: "succeeded", ExitCode: &code, Devices: []string{device}, Share: 1, PlacedAt: l.at(begin + 100), EndedAt: l.at(begin + 290),
		}}}},
	}
	l.h.Entries = append(l.h.Entries, e)
	l.h.Workloads = append(l.h.Workloads, w)
	l.h.Charged[w.ID] = 2
	l.h.Logs[Run{Workload: w.ID}] = "1\n2\n3\n"
	return &l.h.Workloads[len(l.h.Workloads)-1], e
}

// truthful is a history in which all is well: of one that completes, one that is
// stopped, one that is deleted, one whose supervisor dies and whose log says so.
func truthful() *History {
	l := &life{zero: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), h: &History{Streamed: map[int64]api.Transition{}, Logs: map[Run]string{}, Charged: map[string]float64{}}}
	l.h.Workloads = make([]api.Workload, 0, 9) // pointers into it stay true
	up := []string{"submit Submitted", "queue_open Queued", "reserve Reserved", "admit Starting", "all_ready Running"}
	done := []string{"succeeded Terminating Completed", "release Completed"}

	w, _ := l.workload("done", "a", 0)
	l.pass(w, 96, up...)
	l.pass(w, 299, done...)
	l.mark(w, false, 101, 0, 0)
	l.mark(w, true, 290, 0, 3)

	w, e := l.workload("stopped", "b", 0)
	l.pass(w, 96, up...)
	l.pass(w, 200, "stop Terminating Stopped", "release Stopped")
	e.Stop, e.Stopped, e.StopPhase, e.StopTarget = l.instant(101), l.instant(200), "Terminating", "Stopped"
	code := 143
	w.Attempts[0].Tasks[0].State, w.Attempts[0].Tasks[0].ExitCode = "failed", &code
	l.mark(w, false, 101, 0, 0)
	l.mark(w, true, 290, 143, 3)

	w, e = l.workload("deleted", "a", 400)
	l.pass(w, 496, up...)
	l.pass(w, 699, append(done, "delete Deleting", "removed Deleted")...)
	e.Delete, e.Deleted = l.instant(800), l.instant(810)
	l.mark(w, false, 501, 0, 0)
	l.mark(w, true, 690, 0, 3)

	w, _ = l.workload("cut", "b", 400)
	l.pass(w, 496, up...)
	l.pass(w, 699, done...)
	l.mark(w, false, 501, 0, 0)
	l.mark(w, true, 690, 0, 3)
	l.h.Logs[Run{Workload: w.ID}] = "1\n[muster] the end of its output may be missing\n"
	l.h.Deeds = append(l.h.Deeds, Deed{What: KillSupervisor, From: *l.instant(600), To: *l.instant(610)})
	l.h.Answers = []time.Duration{time.Second}

	w, e = l.workload("left", "a", 800)
	e.Kind = "array"
	l.pass(w, 896, up...)
	l.pass(w, 1099, done...)
	first, second := w.Attempts[0].Tasks[0], &w.Attempts[0].Tasks[0]
	first.State, first.ExitCode, first.Leaving, first.EndedAt = "lost", nil, true, l.at(950) // it never began
	second.Run, second.PlacedAt = 1, l.at(960)
	w.Attempts[0].Former = []api.Task{first}
	w.GPUSeconds = 1.8
	l.h.Charged[w.ID] = 1.8
	l.mark(w, false, 961, 0, 0)
	l.mark(w, true, 1090, 0, 3)
	for i := range 2 {
		m := &l.h.Marks[len(l.h.Marks)-1-i]
		m.Run.Run = 1
	}
	l.h.Logs[Run{Workload: w.ID, Run: 1}] = l.h.Logs[Run{Workload: w.ID}]
	delete(l.h.Logs, Run{Workload: w.ID})
	return l.h
}

// forgeries are lies, one or more of each kind that Check itself finds.
var forgeries = []struct {
	name  string
	kind  Kind
	forge func(*History)
}{
	{"an acknowledged one is not there", Missing, func(h *History) { h.Workloads = h.Workloads[1:] }},
	{"it has another identity", Missing, func(h *History) { h.Entries[0].ID = "id-other" }},
	{"there are two of it", Doubled, func(h *History) {
		w := h.Workloads[0]
		w.ID = "id-second"
		h.Workloads = append(h.Workloads, w)
	}},
	{"nobody has submitted it", Doubled, func(h *History) { h.Entries = h.Entries[1:] }},
	{"its command began again", RanTwice, func(h *History) { h.Marks = append(h.Marks, h.Marks[0]) }},
	{"a command ran of which nobody knows", RanTwice, func(h *History) {
		m := h.Marks[0]
		m.Attempt = 1
		h.Marks = append(h.Marks, m)
	}},
	{"an event is missing", Gap, func(h *History) { h.Transitions = slices.Delete(h.Transitions, 2, 3) }},
	{"an event is there twice", Gap, func(h *History) { h.Transitions = slices.Insert(h.Transitions, 2, h.Transitions[2]) }},
	{"its own history is shorter", Gap, func(h *History) { h.Workloads[0].Transitions = h.Workloads[0].Transitions[1:] }},
	{"it goes on from where it was not", Gap, func(h *History) { h.Transitions[4].From = "Queued" }},
	{"the table knows no such event", Illegal, func(h *History) { h.Transitions[4].Event = "succeeded" }},
	{"it is in another attempt", Illegal, func(h *History) { h.Transitions[6].Attempt = 1 }},
	{"it is elsewhere than its history leads", Illegal, func(h *History) { h.Workloads[0].Phase = "Failed" }},
	{"what was told is not kept", Forgotten, func(h *History) { h.Streamed[99] = api.Transition{Seq: 99, Workload: "id-done"} }},
	{"what was told was otherwise", Forgotten, func(h *History) {
		t := h.Streamed[3]
		t.Reason = "Other"
		h.Streamed[3] = t
	}},
	{"a device is held by two", HeldTwice, func(h *History) { h.Workloads[1].Attempts[0].Tasks[0].Devices = []string{"a"} }},
	{"a device is held by one and a half", HeldTwice, func(h *History) {
		t := &h.Workloads[1].Attempts[0].Tasks[0]
		t.Devices, t.Share = []string{"a"}, 0.5
	}},
	{"more is charged than was held", Books, func(h *History) { h.Workloads[0].GPUSeconds = 2.1 }},
	{"the usage forgets one", Books, func(h *History) { delete(h.Charged, "id-deleted") }},
	{"it failed and is shown as succeeded", WrongCode, func(h *History) { h.Marks[1].Code = 3 }},
	{"it succeeded without its end", WrongCode, func(h *History) { h.Marks = slices.Delete(h.Marks, 1, 2) }},
	{"it ended with another code", WrongCode, func(h *History) { failed(h, 0, 4) }},
	{"it was killed by nobody", WrongCode, func(h *History) {
		h.Marks = slices.Delete(h.Marks, 1, 2)
		failed(h, 0, 137)
	}},
	{"it never began and has an exit code", WrongCode, func(h *History) {
		h.Marks = slices.Delete(h.Marks, 2, 4)
		failed(h, 1, 2)
	}},
	{"it began and was ended by force at once", WrongCode, func(h *History) {
		h.Marks = slices.Delete(h.Marks, 3, 4)
		failed(h, 1, 137)
	}},
	{"it was not told to end", WrongCode, func(h *History) {
		h.Marks = slices.Delete(h.Marks, 3, 4)
		failed(h, 1, 137)
		late := api.Time(time.Time(*h.Workloads[1].Attempts[0].Tasks[0].EndedAt).Add(time.Minute))
		h.Workloads[1].Attempts[0].Tasks[0].EndedAt = &late
	}},
	{"it is lost though its supervisor was there", WrongCode, func(h *History) { h.Workloads[0].Attempts[0].Tasks[0].State = "lost" }},
	{"it is lost before it began, and was not told to leave", WrongCode, func(h *History) {
		h.Workloads[4].Attempts[0].Former[0].Leaving = false
	}},
	{"it is lost after it began, though it was told to leave", WrongCode, func(h *History) {
		h.Marks = append(h.Marks, Mark{Run: Run{Workload: "id-left"}, PID: 7, At: 901})
	}},
	{"its machine lost its power, and nobody drew the conclusion", WrongCode, func(h *History) {
		h.Workloads[3].Attempts[0].Tasks[0].State = "lost"
		h.Deeds[0].What = CutPower
	}},
	{"a task goes on in an attempt that is over", WrongCode, func(h *History) { h.Workloads[0].Attempts[0].Tasks[0].State = "running" }},
	{"it was stopped by nobody", WrongEnd, func(h *History) { h.Entries[1].Stop, h.Entries[1].Stopped = nil, nil }},
	{"it was deleted by nobody", WrongEnd, func(h *History) { h.Entries[2].Delete, h.Entries[2].Deleted = nil, nil }},
	{"it was tried again though it may not", WrongEnd, func(h *History) {
		t := h.Transitions[6]
		t.Event, t.To = "task_failed", "Terminating"
		h.Transitions = append(h.Transitions, t)
	}},
	{"it rests where it should go on", WrongEnd, func(h *History) { h.Workloads[0].Phase = "Preempted" }},
	{"a line is missing", LogLost, func(h *History) { h.Logs[Run{Workload: "id-done"}] = "1\n3\n" }},
	{"the end is missing", LogLost, func(h *History) { h.Logs[Run{Workload: "id-done"}] = "1\n2\n" }},
	{"all is missing", LogLost, func(h *History) { delete(h.Logs, Run{Workload: "id-done"}) }},
	{"the end of one that was stopped is missing", LogLost, func(h *History) { h.Logs[Run{Workload: "id-stopped"}] = "1\n" }},
	{"a notice without a cause", LogLost, func(h *History) {
		h.Logs[Run{Workload: "id-done"}] = "1\n[muster] 2 bytes of output are missing here\n3\n"
	}},
	{"a full disk took a line, and then there was room to say so", LogLost, func(h *History) {
		h.Logs[Run{Workload: "id-done"}] = "1\n3\n"
		h.Deeds = append(h.Deeds, Deed{What: FillDisk, From: Instant{Tick: 110, Wall: h.Deeds[0].From.Wall}, To: Instant{Tick: 120, Wall: h.Deeds[0].From.Wall}})
	}},
	{"a line is there twice", LogWrong, func(h *History) { h.Logs[Run{Workload: "id-done"}] = "1\n2\n2\n3\n" }},
	{"a line of another", LogWrong, func(h *History) { h.Logs[Run{Workload: "id-done"}] = "1\n2\nx\n3\n" }},
	{"more than it printed", LogWrong, func(h *History) {
		var b strings.Builder
		for i := range burst + 9 {
			fmt.Fprintln(&b, i+1)
		}
		h.Logs[Run{Workload: "id-done"}] = b.String()
	}},
	{"it began after its stop", Late, func(h *History) { h.Marks[2].At = h.Entries[1].Stopped.Tick + 550 }},
	{"it began after its delete", Late, func(h *History) { h.Marks[4].At = h.Entries[2].Deleted.Tick + 550 }},
	{"it began after its stop and ran to its end", Late, func(h *History) {
		h.Marks[2].At = h.Entries[1].Stopped.Tick + 1
		h.Marks[3].At, h.Marks[3].Code = h.Marks[2].At+250, 0
	}},
	{"its stop is not carried out", NotEnded, func(h *History) { h.Workloads[1].Phase = "Completed" }},
	{"its stop is carried out too late", NotEnded, func(h *History) {
		h.Entries[1].Stopped.Wall = time.Time(*h.Workloads[1].EndedAt).Add(-2 * time.Minute)
	}},
	{"its delete is not carried out", NotEnded, func(h *History) { h.Workloads[2].Phase = "Completed" }},
	{"no answer", Slow, func(h *History) { h.Answers = append(h.Answers, time.Hour) }},
	{"a panic", Fault, func(h *History) { h.Wrote = []string{"all is well\npanic: runtime error\n"} }},
	{"an event that does not fit", Fault, func(h *History) {
		h.Wrote = []string{`level=ERROR msg="observation does not fit the state" workload=x`}
	}},
}

// failed has a task end with a code.
func failed(h *History, workload, code int) {
	t := &h.Workloads[workload].Attempts[0].Tasks[0]
	t.State, t.ExitCode = "failed", &code
}

func TestTheTruthIsBelieved(t *testing.T) {
	for _, v := range Check(truthful()) {
		t.Error(v)
	}
}

func TestEachLieIsFound(t *testing.T) {
	for _, f := range forgeries {
		h := truthful()
		f.forge(h)
		found := Check(h)
		if !slices.ContainsFunc(found, func(v Violation) bool { return v.Kind == f.kind }) {
			t.Errorf("%s: found %q, want one of kind %q", f.name, found, f.kind)
		}
	}
}

// TestEachKindIsFound: no kind is only a row of zeros in the table.
func TestEachKindIsFound(t *testing.T) {
	onTheWay := []Kind{Alive, Stuck, Refused, Left} // see world_test.go
	for _, k := range Kinds() {
		forged := slices.ContainsFunc(forgeries, func(f struct {
			name  string
			kind  Kind
			forge func(*History)
		}) bool {
			return f.kind == k
		})
		if !forged && !slices.Contains(onTheWay, k) {
			t.Errorf("no forgery is of kind %q", k)
		}
	}
}

// TestExcuses: what was done excuses what follows from it, and nothing else.
func TestExcuses(t *testing.T) {
	done := Run{Workload: "id-done"}
	for name, forge := range map[string]func(*History){
		"a task that was killed fails": func(h *History) {
			h.Marks = slices.Delete(h.Marks, 1, 2)
			failed(h, 0, 137)
			h.Deeds = append(h.Deeds, Deed{What: KillTask, Workload: done.Workload})
			h.Workloads[0].Phase, h.Transitions[6].To = "Failed", "Failed"
			h.Transitions[5].Event, h.Transitions[5].Target = "task_failed", "Failed"
			h.Streamed = nil
			h.Workloads[0].Transitions = slices.Clone(h.Transitions[:7])
		},
		"a task whose supervisor died is lost": func(h *History) { h.Workloads[3].Attempts[0].Tasks[0].State = "lost" },
		"the last line of one that was stopped was not printed": func(h *History) {
			h.Logs[Run{Workload: "id-stopped"}] = "1\n2\n"
		},
		"one begins in the moment of its stop": func(h *History) { h.Marks[2].At = h.Entries[1].Stopped.Tick + 50 },
		"one begins while its supervisor is frozen": func(h *History) {
			at := h.Entries[1].Stopped
			h.Marks[2].At = at.Tick + 580
			h.Marks[3].At = h.Marks[2].At + 1
			h.Deeds = append(h.Deeds, Deed{What: FreezeSupervisor, From: *at, To: Instant{at.Tick + 100, at.Wall.Add(time.Second)}})
		},
		"lines are missing where a full disk is told of": func(h *History) {
			h.Logs[done] = "1\n[muster] 2 bytes of output are missing here: no space left on device\n3\n"
			h.Deeds = append(h.Deeds, Deed{What: FillDisk, From: h.Deeds[0].From, To: Instant{1 << 40, h.Deeds[0].To.Wall}})
			h.Deeds[1].From.Wall = time.Time{}
		},
		"a shell tells of a child that was ended in the middle of a line": func(h *History) { h.Logs[Run{Workload: "id-stopped"}] = "1\n2\n3Terminated\n" },
		"a notice ends a line that was cut off": func(h *History) {
			long := ""
			for i := range 11 {
				long += fmt.Sprintln(i + 1)
			}
			h.Logs[Run{Workload: "id-cut"}] = long + "1\n[muster] the end of its output may be missing\n"
			h.Marks[len(h.Marks)-3].Lines = 13
		},
		"the end of a log was not on the disk when the power was lost": func(h *History) {
			h.Logs[done] = "1\n"
			h.Deeds = append(h.Deeds, Deed{What: CutPower, From: h.Deeds[0].From, To: h.Deeds[0].To})
		},
		"a rank that begins again in another number is lost with the machine": func(h *History) {
			task := &h.Workloads[3].Attempts[0].Tasks[0]
			task.State, task.ExitCode, task.Reason = "lost", nil, "Killed"
			h.Deeds[0].What = CutPower
			i := slices.IndexFunc(h.Transitions, func(t api.Transition) bool { return t.Workload == "id-cut" && t.To == "Running" })
			again := h.Transitions[i]
			again.From, again.Event = again.To, "scale"
			h.Transitions = slices.Insert(h.Transitions, i+1, again)
			for k := range h.Transitions {
				t := &h.Transitions[k]
				t.Seq = h.Transitions[0].Seq + int64(k)
				h.Streamed[t.Seq] = *t
			}
			for k := range h.Workloads {
				w := &h.Workloads[k]
				w.Transitions = slices.DeleteFunc(slices.Clone(h.Transitions), func(t api.Transition) bool { return t.Workload != w.ID })
			}
		},
		"a full disk has no room to say what it took": func(h *History) {
			h.Logs[done] = "1\n"
			h.Deeds = append(h.Deeds, Deed{What: FillDisk, From: Instant{Tick: 200}, To: Instant{Tick: 290}})
		},
		"a supervisor dies with a process that comes to its command later": func(h *History) {
			h.Logs[done] = "1\n2\n[muster] the end of its output may be missing\n"
			h.Deeds = append(h.Deeds, h.Deeds[0])
			zero := h.Deeds[0].From.Wall.Add(-6 * time.Second)
			h.Deeds[1].From, h.Deeds[1].To = Instant{99, zero.Add(990 * time.Millisecond)}, Instant{100, zero.Add(time.Second)}
		},
		"a submission that was not answered is there": func(h *History) { h.Entries[0].Acked, h.Entries[0].ID = nil, "" },
	} {
		h := truthful()
		forge(h)
		for _, v := range Check(h) {
			t.Errorf("%s: %s", name, v)
		}
	}
}

func TestEvidenceIsRead(t *testing.T) {
	all, err := ParseEvidence("start w 0 1 0 77 12.34 0,1 0 0\nend w 0 1 2 77 12.50 - 3 9\n")
	want := []Mark{
		{Run: Run{"w", 0, 1, 0}, PID: 77, At: 1234, Devices: "0,1"},
		{Run: Run{"w", 0, 1, 2}, End: true, PID: 77, At: 1250, Code: 3, Lines: 9},
	}
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("read %+v, %v; want %+v", all, err, want)
	}
	for _, bad := range []string{"start w 0 1 0 77 12.34 0,1 0\n", "begin w 0 1 0 77 12.34 0,1 0 0\n", "start w 0 x 0 77 12.34 0,1 0 0\n", "start w 0 1 0 77 soon 0,1 0 0\n"} {
		if all, err := ParseEvidence(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, all)
		}
	}
}

package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// A story is a text in testdata: what users do and what goes wrong, and what
// must be so at some instant. Lines:
//
//	node NAME gpus=4 cpu=16 memory=64Gi type=fake-H100 backend=p
//	submit NAME KEY=VALUE…    keys of the document, or words for package fake
//	stop|restart|delete NAME  with "refused" where it must be
//	save NAME                 it tells of a checkpoint
//	project create|stop|start NAME
//	kill|revive|cordon|uncordon NODE
//	lose NAME                 its task 0 vanishes
//	evict NAME N              its backend takes its task N, or 0, away
//	refuse BACKEND N            the next N calls that start something are refused
//	hang|unhang BACKEND         actions wait, observations come
//	crash, boot               the server is gone, and comes back
//	approve|reject NAME KEY=VALUE…  check=, by=
//	scale NAME N, update NAME KEY=VALUE…, preempt NAME, move NAME
//	quota PROJECT gpu=4 limit=8 weight=1   of every pool
//	protect PROJECT preempt=10s reclaim=1m   for how long what has started is let alone
//	patience first=30s again=2m quantum=10s   how long anyone waits; before everything else
//	rules PROJECT time.KIND=30s idle.KIND=1m
//	secret make|drop NAME     of user u
//	hands ask|build|publish|follow=WORD in=5s  what comes of operations from now on
//	silence NODE, speak NODE  it does not report, and does again
//	cut BACKEND, join BACKEND     nothing gets through, and does again
//	idle|busy NAME            its devices
//	sick|well NAME            its replica 0 does not answer, and does again
//	at 12s                    lets time pass until then
//	expect NAME PHASE KEY=VALUE…
//	history NAME PHASE…       everything that it has been
type story struct {
	t     *testing.T
	w     *World
	nodes map[string][]core.Node
	line  string
	// answers are what comes of operations, by kind.
	answers map[string]string
	patient struct{ First, Again, Quantum time.Duration }
}

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// Stories of one file are separated by lines that begin with "==".
			for _, text := range strings.Split("\n"+string(data), "\n== ")[1:] {
				title, body, _ := strings.Cut(text, "\n")
				t.Run(title, func(t *testing.T) { tell(t, body) })
			}
		})
	}
}

func tell(t *testing.T, text string) {
	s := &story{t: t, nodes: map[string][]core.Node{}}
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		s.line = line
		if words[0] == "node" {
			s.node(words[1], pairs(words[2:]))
			continue
		}
		if words[0] == "patience" {
			s.patience(pairs(words[1:]))
			continue
		}
		if s.w == nil {
			s.begin()
		}
		s.tell(words)
		s.must(s.w.RunUntil(s.w.now)) // what follows at once
		if s.w.err != nil {
			t.Fatalf("%s: %v\n%s", line, s.w.err, s.w.Trace())
		}
	}
	if t.Failed() {
		t.Log("trace:\n" + s.w.Trace())
	}
}

func (s *story) failf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s\n    %s", s.line, fmt.Sprintf(format, args...))
}

func (s *story) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s\n    %v", s.line, err)
	}
}

// pairs reads KEY=VALUE words; a word without = has the value "".
func pairs(words []string) map[string]string {
	m := map[string]string{}
	for _, word := range words {
		k, v, _ := strings.Cut(word, "=")
		m[k] = v
	}
	return m
}

func (s *story) node(name string, p map[string]string) {
	cpu, err := spec.ParseQuantity(or(p["cpu"], "16"))
	s.must(err)
	memory, err := spec.ParseQuantity(or(p["memory"], "64Gi"))
	s.must(err)
	gpus, err := strconv.Atoi(or(p["gpus"], "0"))
	s.must(err)
	on := or(p["backend"], "p")
	n := fakebackend.Node(core.NodeID(name), cpu.Milli(), memory.Units(), gpus, or(p["type"], "fake-H100"))
	n.Pool, n.Address = on, "10.0.0.1"
	s.nodes[on] = append(s.nodes[on], n)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (s *story) begin() {
	var err error
	s.w, err = newWorld(1, s.nodes, schedule.NewPolicy(schedule.Patience(s.patient.First, s.patient.Again, s.patient.Quantum)))
	s.must(err)
	s.answers = map[string]string{"in": "1s"}
	s.w.hands.script = s.operation
}

func (s *story) tell(words []string) {
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	ref := draft.Ref{Project: core.DefaultProject, Name: name}
	rest := words[min(2, len(words)):]
	switch words[0] {
	case "at":
		d, err := time.ParseDuration(name)
		s.must(err)
		s.must(s.w.RunUntil(Epoch.Add(d)))
	case "submit":
		s.command(words, submission.Submit(submission.Submission{Doc: s.document(name, rest), User: "u", Actor: "user:u"}))
	case "stop":
		s.command(words, submission.Stop(submission.StopRequest{Ref: ref, Actor: "user:u"}))
	case "save": // it tells of a checkpoint
		s.command(words, submission.Note(submission.SelfReport{Ref: ref, Attempt: -1, Checkpoint: &core.Checkpoint{Path: "/c"}}))
	case "restart":
		s.command(words, submission.Restart(ref, "user:u"))
	case "delete":
		s.command(words, submission.Delete(ref, "user:u"))
	case "project":
		s.project(words)
	case "expect":
		s.expect(name, rest)
	case "history":
		s.history(name, rest)
	case "department", "below", "drain", "taint", "label", "open", "quota", "protect":
		s.organise(words, rest)
	default:
		if !s.verb(words, ref) {
			s.fault(words[0], name, rest)
		}
	}
}

func (s *story) fault(verb, name string, rest []string) {
	switch verb {
	case "kill":
		s.w.Kill(core.NodeID(name))
	case "revive":
		s.w.Revive(core.NodeID(name))
	case "cordon", "uncordon":
		s.w.node(core.NodeID(name), verb, func(l *link) error { return l.backend.Cordon(core.NodeID(name), verb == "cordon") })
	case "lose":
		w := s.workload(name)
		for _, l := range s.w.links {
			l.backend.Lose(core.TaskID{Workload: w.ID, Attempt: w.Attempt})
			s.w.soon(0, l.look)
		}
	case "evict":
		w := s.workload(name)
		id := core.TaskID{Workload: w.ID, Attempt: w.Attempt}
		if len(rest) > 0 {
			var err error
			id.Index, err = strconv.Atoi(rest[0])
			s.must(err)
		}
		for _, l := range s.w.links {
			l.backend.Evict(id)
			s.w.soon(0, l.look)
		}
	case "refuse":
		for _, l := range s.w.links {
			if l.backend.Name() == name {
				n, err := strconv.Atoi(rest[0])
				s.must(err)
				l.backend.RefuseStarts(n)
			}
		}
	case "hang", "unhang":
		for _, l := range s.w.links {
			if l.backend.Name() == name {
				l.paused = verb == "hang"
				s.w.soon(0, l.carry)
			}
		}
	case "crash":
		s.w.life++
		s.w.engine = nil
	case "boot":
		s.w.open()
	default:
		s.t.Fatalf("%s\n    %q is no word of a story", s.line, verb)
	}
}

func (s *story) command(words []string, c draft.Work) {
	err := s.w.do(c)[0]
	refused := words[len(words)-1] == "refused"
	if (err != nil) != refused {
		s.failf("it was answered: %v", err)
	}
}

// document makes a document of KEY=VALUE words; those that it does not know
// are for the fake backend.
func (s *story) document(name string, words []string) *spec.Document {
	var lines, argv []string
	for _, word := range words {
		k, v, _ := strings.Cut(word, "=")
		switch k {
		case "gpus":
			lines = append(lines, "resources: {cpu: 1, gpu: "+v+"}")
		case "needs": // needs={cpu:2,gpu:{count:1,type:h100}}
			lines = append(lines, "resources: "+flow(v))
		case "array":
			n, at, _ := strings.Cut(v, "/")
			lines = append(lines, "array: {completions: "+n+", parallelism: "+or(at, "0")+"}")
		case "retry":
			lines = append(lines, "retry: {limit: "+v+", backoff: 10s}")
		case "system":
			lines = append(lines, "retry: {system: "+v+"}")
		case "kind", "workers", "minWorkers", "resize", "patience", "priority", "project", "maxDuration", "ttlAfterEnd", "gracePeriod":
			lines = append(lines, k+": "+v)
		case "restart", "preemptible", "terminateAfterPreemption", "framework", "cleanPolicy", "replicas", "idleLimit":
			lines = append(lines, k+": "+v)
		case "checks", "build", "publish", "update", "ports", "autoscale", "master", "secrets": // {a:[b,c]} as in needs
			lines = append(lines, k+": "+flow(v))
		case "retrying": // as written: without a back-off the next attempt follows at once
			lines = append(lines, "retry: "+flow(v))
		case "refused":
		default:
			argv = append(argv, strconv.Quote(word))
		}
	}
	lines = append(lines, "name: "+name, "command: [fake, "+strings.Join(argv, ", ")+"]")
	d, err := spec.Load([]byte(strings.Join(lines, "\n")))
	s.must(err)
	return d
}

// flow makes YAML of a text without blanks.
func flow(s string) string {
	return strings.NewReplacer("://", "://", ":", ": ", ",", ", ").Replace(s)
}

func (s *story) workload(name string) *core.Workload {
	s.t.Helper()
	page, err := s.w.memory.List(context.Background(), store.Query{Deleted: true, Limit: 1000})
	s.must(err)
	for _, w := range page.Items {
		if w.Name == name {
			return w
		}
	}
	s.t.Fatalf("%s\n    there is no workload %q", s.line, name)
	return nil
}

func (s *story) expect(name string, words []string) {
	w := s.workload(name)
	if string(w.Phase) != words[0] {
		s.failf("at +%s it is %s %s (%s: %s)", s.w.now.Sub(Epoch), w.Phase, w.Target, w.Reason, w.Message)
	}
	for _, word := range words[1:] {
		key, want, _ := strings.Cut(word, "=")
		if got := s.fact(w, key); got != want {
			s.failf("%s is %s (%s: %s)", key, got, w.Reason, w.Message)
		}
	}
}

// fact is one thing that can be expected of a workload.
func (s *story) fact(w *core.Workload, key string) string {
	tasks, err := s.w.memory.Tasks(context.Background(), w.ID, w.Attempt)
	s.must(err)
	a := w.Attempts[len(w.Attempts)-1]
	switch key {
	case "attempt":
		return strconv.Itoa(w.Attempt)
	case "reason":
		return string(w.Reason)
	case "target":
		return string(w.Target)
	case "failures":
		return strconv.Itoa(w.Failures)
	case "gpu-seconds":
		return strconv.FormatFloat(workload.GPUSeconds(w, tasks, s.w.now), 'f', -1, 64)
	case "exit":
		if a.ExitCode == nil {
			return "none"
		}
		return strconv.Itoa(*a.ExitCode)
	case "culprit":
		if a.Culprit == nil {
			return "none"
		}
		return strconv.Itoa(*a.Culprit)
	case "running":
		return strconv.Itoa(w.Counts.Running)
	case "succeeded":
		return strconv.Itoa(w.Counts.Succeeded)
	case "failed":
		return strconv.Itoa(w.Counts.Failed)
	case "tasks":
		return strconv.Itoa(len(tasks))
	case "ranks", "devices", "world", "message":
		return s.live(w, tasks, key)
	case "degraded":
		return strconv.FormatBool(len(w.Conditions) > 0)
	case "conditions", "ready", "replicas", "generation", "check", "service":
		return service(w, tasks, key)
	case "runai-job", "runai-workload", "jobq", "mcli", "modelarts":
		return s.word(w, tasks, lifecycle.Dialect(key))
	case "node", "state", "waiting", "restarts":
		if len(tasks) == 0 {
			return "none"
		}
		return map[string]string{"node": string(tasks[0].Node), "state": string(tasks[0].State), "waiting": tasks[0].Waiting, "restarts": strconv.Itoa(tasks[0].Restarts)}[key]
	default:
		return s.pending(w, key)
	}
}

// pending is what can be expected of the explanation why it waits.
func (s *story) pending(w *core.Workload, key string) string {
	all, err := s.w.pending(s.w.now, []core.WorkloadID{w.ID})
	s.must(err)
	p, ok := all[w.ID]
	switch {
	case !ok:
		return "nothing"
	case key == "why":
		return string(p.Reasons[0].Token)
	case key == "position":
		return fmt.Sprintf("%d/%d", p.Position, p.Waiting)
	case key == "ahead":
		return strings.Join(p.AheadNames, ",")
	case key == "earliest":
		if p.EarliestStart == 0 {
			return "unknown"
		}
		return time.UnixMilli(p.EarliestStart).Sub(Epoch).String()
	default:
		s.t.Fatalf("%s\n    %q is nothing that can be expected", s.line, key)
		return ""
	}
}

func (s *story) history(name string, want []string) {
	steps, err := s.w.memory.Transitions(context.Background(), s.workload(name).ID, 0, 0)
	s.must(err)
	var got []string
	for _, t := range steps {
		word := string(t.To)
		if t.To == lifecycle.Terminating {
			word += ">" + string(t.Target)
		}
		got = append(got, word)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		s.failf("it was %s", strings.Join(got, " "))
	}
}

package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/vary"
)

// TestDocumentsOfOthersStay holds what becomes of files that other platforms run to what
// it was when testdata/others.txt was written: each is imported, submitted to a cluster
// with room and to one without, preempted, held, run once more, stopped and deleted; all
// that backends are told to start, with every variable, mount and file, and why it
// waits at each point is in what is compared.
func TestDocumentsOfOthersStay(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"../../convert/testdata/corpus/*/*", "../../../examples/*.yaml", "testdata/documents/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	texts := map[string]string{}
	for i, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		imported, err := convert.Import(data)
		if err != nil {
			if strings.HasPrefix(name, "documents/") {
				t.Errorf("%s: %v", name, err)
			}
			continue // the converters' own tests hold what is said of it
		}
		for _, at := range places() {
			texts[name+" "+at.name] = worldOf(t, name, at, uint64(i), imported.Documents)
		}
	}
	vary.Stay(t, "testdata/others.txt", *update, texts)
}

// secretsOfAll are one of each type, as a user of other platforms has them.
func secretsOfAll() []core.Secret {
	var all []core.Secret
	for _, s := range []core.Secret{
		{Type: "env", Fields: map[string]string{"key": "TOKEN"}}, {Type: "mounted", Fields: map[string]string{"path": "/secrets/own"}},
		{Type: "docker", Fields: map[string]string{"server": "registry.sim", "username": "sim"}}, {Type: "ssh"}, {Type: "git-ssh", Fields: map[string]string{"host": "git.sim"}}, {Type: "sftp-ssh"},
		{Type: "s3", Fields: map[string]string{"profile": "p"}}, {Type: "gcp"}, {Type: "oci"}, {Type: "databricks"}, {Type: "hf"},
	} {
		s.User, s.Name, s.Sealed = "sim", "my-"+s.Type, []byte("sound")
		s.Everywhere = s.Type == "hf" || s.Type == "s3"
		all = append(all, s)
	}
	return all
}

// place is where documents are submitted.
type place struct {
	name       string
	nodes, gpu int                       // how many there are, and GPUs of each
	edits      []organisation.Edit       // what is so for everybody
	project    func(*core.Project) error // what is so in each project
}

// places are one with room for all, and one with little of it and many rules.
func places() []place {
	one, day := 1.0, 24*time.Hour
	return []place{
		{name: "roomy", nodes: 8, gpu: 8, edits: []organisation.Edit{
			{What: organisation.RecordLicense, Name: "matlab", License: func(l *core.License) error { l.Total = 4; return nil }},
		}},
		{
			name: "narrow", nodes: 2, gpu: 2,
			edits: []organisation.Edit{
				{What: organisation.RecordLicense, Name: "matlab", License: func(l *core.License) error { l.Total = 1; return nil }},
				{What: organisation.RecordPrices, Prices: func() (core.Prices, string) {
					return core.Prices{Currency: "EUR", Items: []core.Price{{PerGPUHour: 2}, {GPUType: "H100", PerGPUHour: 4}}}, "sim"
				}},
				{What: organisation.RecordUserBound, Name: core.AnyUser, UserBound: func(b *core.UserBound) error { b.MaxRunning = 3; return nil }},
				{What: organisation.RecordReservation, Name: "upkeep", Reservation: func(r *core.Reservation) error {
					r.Start, r.Duration, r.Maintenance, r.Nodes = Epoch.Add(3*time.Minute), 2*time.Minute, true, []core.NodeID{"n1"}
					return nil
				}},
				{What: organisation.RecordPolicy, Name: "-/all", Policy: func() (organisation.PolicyEdit, error) {
					return organisation.PolicyEdit{User: "sim", Says: []byte(`{"defaults": {"env": {"TEAM": "sim"}, "retry": {"limit": 1}}, "rules": {"env": {"instances": {"locked": ["TEAM"]}}, "resources": {"gpu": {"count": {"max": 4}}}}}`)}, nil
				}},
			},
			project: func(p *core.Project) error {
				p.Pools = map[string]core.PoolQuota{core.AnyPool: {GPU: core.ResourceQuota{Quota: &one, Limit: &[]float64{3}[0]}}}
				p.MaxRunning = 4
				p.Budgets = []core.Budget{{GPUSeconds: 400, Period: core.BudgetDay, AtEnd: core.BudgetHold}, {Money: 10, Period: core.BudgetWeek, AtEnd: core.BudgetWarn, EachUser: true}}
				p.TimeLimit = map[lifecycle.Kind]time.Duration{lifecycle.Training: day}
				return nil
			},
		},
	}
}

// worldOf is all that is said in a world to which documents are submitted, one after another.
func worldOf(t *testing.T, name string, at place, seed uint64, docs []*spec.Document) string {
	t.Helper()
	var nodes []core.Node
	for i := range at.nodes {
		n := fakebackend.Node(core.NodeID(fmt.Sprint("n", i)), 64_000, 512<<30, at.gpu, []string{"fake-A100", "fake-H100"}[i%2])
		n.Pool, n.Address, n.Labels = "gpu", fmt.Sprint("10.0.0.", i+1), map[string]string{"zone": []string{"x", "y"}[i%2]}
		nodes = append(nodes, n)
	}
	w, err := newWorld(seed, map[string][]core.Node{"gpu": nodes}, schedule.NewPolicy())
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	w.record = func(what string, v any) {
		text, err := json.Marshal(v)
		fmt.Fprintf(&all, "%s %s %v\n", what, text, err)
	}
	for i := range at.edits {
		if failed := w.do(organisation.Organise(at.edits[i:i+1], false)); failed[0] != nil {
			t.Fatal(failed)
		}
	}
	for _, s := range append(secretsOfAll(), named(docs)...) {
		w.do(organisation.CreateSecret(s))
	}
	var made []draft.Ref
	for _, d := range docs {
		made = append(made, submitted(t, w, at, d)...)
	}
	studied := func() {
		for _, r := range made {
			if s := answerOf(w, explanation.StudyOf(r)); s != nil {
				w.recorded("answers", s.Answer())
			}
		}
	}
	for _, span := range []time.Duration{0, 20 * time.Second, time.Minute} {
		w.pass(span)
		studied()
	}
	four := 4 * time.Second
	for i, r := range made {
		w.do([]draft.Work{
			submission.Preempt(submission.PreemptRequest{Ref: r, Actor: "user:sim", Message: "make room", Move: i%2 == 0}),
			submission.Hold(submission.HoldRequest{Ref: r, Actor: "user:sim", Message: "wait"}),
			submission.Scale(submission.ScaleRequest{Ref: r, Replicas: 3, Actor: "user:sim"}),
		}...)
	}
	w.pass(time.Minute)
	studied()
	for _, r := range made {
		w.do(submission.Release(submission.HoldRequest{Ref: r, Actor: "user:sim"}))
	}
	w.pass(8 * time.Minute)
	for _, r := range made {
		w.do(submission.Restart(r, "user:sim"))
	}
	w.pass(30 * time.Second)
	studied()
	for _, r := range made {
		w.do(submission.Stop(submission.StopRequest{Ref: r, Actor: "user:sim", Message: "enough", Grace: &four}))
	}
	w.pass(2 * time.Minute)
	for _, r := range made {
		w.do(submission.Delete(r, "user:sim"))
	}
	w.pass(time.Minute)
	if w.err != nil {
		t.Errorf("%s: %v", name, w.err)
	}
	return all.String() + w.Trace()
}

// pass lets so much time go by.
func (w *World) pass(span time.Duration) {
	for until := w.now.Add(span); w.Step() && w.now.Before(until); {
	}
}

// named are the secrets that documents name, in turn as variables and as files.
func named(docs []*spec.Document) []core.Secret {
	var all []core.Secret
	there := map[string]bool{}
	for _, d := range docs {
		for _, s := range append(slices.Clone(d.Secrets), spec.SecretUse{Name: d.PullSecret}) {
			if s.Name != "" && !there[s.Name] && !strings.HasPrefix(s.Name, "my-") {
				there[s.Name] = true
				all = append(all, core.Secret{User: "sim", Name: s.Name, Type: []string{"env", "mounted"}[len(all)%2], Sealed: []byte("sound")})
			}
		}
	}
	return all
}

// submitted submits a document, with tasks that run for a minute and a half and fail
// at first, and says what has come of it.
func submitted(t *testing.T, w *World, at place, d *spec.Document) []draft.Ref {
	t.Helper()
	d = spec.WithDefaults(d)
	project := d.Project
	if project != "" {
		w.do(organisation.CreateProject(core.ProjectID(project)))
	} else {
		project = string(core.DefaultProject)
	}
	if at.project != nil {
		if failed := w.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: project, Project: at.project}}, false)); failed[0] != nil {
			t.Fatal(failed)
		}
	}
	d.Command = spec.Command{Argv: []string{"fake", "start=1s", "run=90s", "exit=1,0"}}
	var made []draft.Ref
	for _, dry := range []bool{true, false} {
		q := &draft.Question[*submission.Submitted]{Command: submission.Submit(submission.Submission{Doc: d, User: "sim", Actor: "user:sim", DryRun: dry})}
		if failed := w.do(q); failed[0] == nil {
			w.recorded("answers", q.Answer.Warnings)
			if !dry {
				made = append(made, draft.Ref{ID: q.Answer.Workload.ID})
			}
		}
	}
	return made
}

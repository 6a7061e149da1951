package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// several are submissions of documents, with a key where one is given.
func several(t *testing.T, key string, docs ...string) []submission.Submission {
	t.Helper()
	var out []submission.Submission
	for i, text := range docs {
		doc, err := spec.Load([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s := submission.Submission{Doc: doc, User: "ada", Actor: "user:ada"}
		if key != "" {
			s.Key, s.Hash = key+string(rune('0'+i)), "h"
		}
		out = append(out, s)
	}
	return out
}

func TestWhatIsSubmittedTogetherMayWaitForOthersOfIt(t *testing.T) {
	o := newOffice(t, memstore.New())
	docs := []string{`{"name":"a","command":["fake"]}`, `{"namePrefix":"b","command":["fake"],"after":["a"]}`, `{"namePrefix":"b","command":["fake"],"after":["a"]}`}
	all := ask(o, submission.SubmitTogether(several(t, "k", docs...)))
	if len(all) != 3 || all[1].Workload.Name == all[2].Workload.Name || all[0].Workload.Seq >= all[1].Workload.Seq {
		t.Fatalf("%+v", all)
	}
	o.is(all[0].Workload.ID, lifecycle.Starting)
	for _, s := range all[1:] {
		if w := o.is(s.Workload.ID, lifecycle.Reviewing); w.Checks[0].Workload != all[0].Workload.ID {
			t.Errorf("%s waits for %+v", w.Name, w.Checks)
		}
	}
	again := ask(o, submission.SubmitTogether(several(t, "k", docs...)))
	for i := range again {
		if !again[i].Repeated || again[i].Workload.ID != all[i].Workload.ID {
			t.Errorf("repeated: %+v", again[i])
		}
	}
}

// TestJobsOfAnArrayAndOfANameWaitForEachOther: a job of an array waits for the one
// that stands so many before it as may run at once, a singleton for all of its name
// and user.
func TestJobsOfAnArrayAndOfANameWaitForEachOther(t *testing.T) {
	o := newOffice(t, memstore.New())
	var docs []string
	for i := range 4 {
		docs = append(docs, fmt.Sprintf(`{"namePrefix":"wide","command":["fake"],"slurm":{"name":"Wide","indexes":"1-4","arrayTask":%d,"atOnce":2}}`, i))
	}
	all := ask(o, submission.SubmitTogether(several(t, "", docs...)))
	for i, s := range all {
		w := s.Workload
		switch {
		case i < 2:
			o.is(w.ID, lifecycle.Starting)
		case len(w.Checks) != 1 || w.Checks[0].Workload != all[i-2].Workload.ID || w.Checks[0].Event != spec.AfterEnded:
			t.Errorf("job %d waits for %+v", i, w.Checks)
		}
	}
	for name, want := range map[string]int{"Wide": 4, "wide": 0} {
		next := ask(o, submission.SubmitTogether(several(t, "", fmt.Sprintf(`{"namePrefix":"x","command":["fake"],"slurm":{"name":%q,"singleton":true}}`, name))))
		if n := len(next[0].Workload.Checks); n != want {
			t.Errorf("a singleton called %s waits for %d, want %d", name, n, want)
		}
	}
	others := several(t, "", `{"namePrefix":"x","command":["fake"],"slurm":{"name":"Wide","singleton":true}}`)
	others[0].User = "bob"
	if next := ask(o, submission.SubmitTogether(others)); len(next[0].Workload.Checks) != 0 {
		t.Errorf("a singleton waits for jobs of others: %+v", next[0].Workload.Checks)
	}
}

func TestOneThatIsRefusedRefusesAll(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.made(`{"name":"there","command":["fake"]}`)
	for _, c := range []struct {
		at   int
		why  string
		docs []string
	}{
		{1, `there is no workload "nobody"`, []string{`{"name":"a","command":["fake"]}`, `{"name":"b","command":["fake"],"after":["nobody"]}`}},
		{0, `there is no workload "b"`, []string{`{"name":"a","command":["fake"],"after":["b"]}`, `{"name":"b","command":["fake"]}`}},
		{2, `two of them are named "a"`, []string{`{"name":"a","command":["fake"]}`, `{"name":"b","command":["fake"]}`, `{"name":"a","command":["fake"]}`}},
		{1, `"there" exists`, []string{`{"name":"a","command":["fake"]}`, `{"name":"there","command":["fake"]}`}},
		{1, "gpu", []string{`{"name":"a","command":["fake"]}`, `{"name":"b","command":["fake"],"resources":{"gpu":400}}`}},
	} {
		res := o.e.Do(t.Context(), opens, []draft.Work{submission.SubmitTogether(several(t, "", c.docs...)), submission.SubmitTogether(several(t, "", `{"name":"a","command":["fake"]}`, `{"name":"b","command":["fake"],"after":["there","nobody"]}`))})
		if at, err := submission.Blame(res[0]); err == nil || at != c.at || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%v: document %d: %v, want %d: %s", c.docs, at, err, c.at, c.why)
		}
		if at, err := submission.Blame(res[1]); at != 1 || err == nil { // and the names are free in the same round
			t.Errorf("document %d: %v", at, err)
		}
		page, err := o.st.List(t.Context(), store.Query{Limit: 10})
		if err != nil || len(page.Items) != 1 {
			t.Errorf("%v: there are %d workloads, %v", c.docs, len(page.Items), err)
		}
	}
	if w := o.made(`{"name":"a","command":["fake"]}`); w.Project != core.DefaultProject {
		t.Errorf("%+v", w)
	}
}

package server_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

func TestDraftsAreReadWhateverIsWrongWithThem(t *testing.T) {
	w := newWorld(t)
	draft := func(doc string) (out api.Draft) {
		t.Helper()
		if resp := w.call("POST", "/v1/drafts", doc, &out); resp.StatusCode != 200 {
			t.Fatalf("%s: %s", doc, resp.Status)
		}
		return out
	}
	d := draft("name: one\ncommand: sleep 1\nresources: {gpu: 1}\n")
	if d.Problem != nil || d.Plan == nil || !d.Plan.Fits || !d.Plan.Now || len(d.Plan.Tasks) != 1 || d.GPUs != 1 || d.Tasks != 1 {
		t.Errorf("a good one: %+v", d)
	}
	d = draft("name: one\ncommand: sleep 1\nresources:\n  gpu: lots\nnmae: x\n")
	if string(d.Document) != `{"command":"sleep 1","name":"one","nmae":"x","resources":{"gpu":"lots"}}` || d.Plan != nil {
		t.Errorf("it says %s", d.Document)
	}
	if d.Problem == nil || len(d.Problem.Errors) != 2 || d.Problem.Errors[0].Path != "resources.gpu" || d.Problem.Errors[0].Line != 4 {
		t.Errorf("what is wrong: %+v", d.Problem)
	}
	if d = draft("name: [\n"); d.Document != nil || d.Problem == nil || len(d.Problem.Errors) == 0 {
		t.Errorf("no YAML at all: %+v", d)
	}
	if d = draft("command: x\nresources: {gpu: 64}\n"); d.Problem != nil && d.Problem.Code != "unschedulable" || d.Problem == nil && d.Plan.Fits {
		t.Errorf("more than there is: %+v %+v", d.Problem, d.Plan)
	}
	w.call("POST", "/v1/projects", `{"name":"small","budgets":[{"gpuHours":1,"period":"month"}]}`, nil)
	if d = draft("project: small\ncommand: x\nmaxDuration: 2h\nresources: {gpu: 1}\n"); len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "of the budget of small 1.00 GPU-hours are left") {
		t.Errorf("more than is left of a budget: %q", d.Warnings)
	}
	var list api.WorkloadList
	if w.call("GET", "/v1/projects/-/workloads", "", &list); len(list.Items) != 0 {
		t.Errorf("%d were submitted", len(list.Items))
	}
}

func TestTheSchemaExplainsEveryField(t *testing.T) {
	var root api.Field
	newWorld(t).call("GET", "/v1/schema", "", &root)
	var count func(f api.Field) int
	count = func(f api.Field) (n int) {
		for _, c := range f.Fields {
			if c.Path == "" || c.Type == "" || c.Doc == "" {
				t.Errorf("%+v is not explained", c)
			}
			n += 1 + count(c)
		}
		return n
	}
	if n := count(root); n < 100 {
		t.Errorf("only %d fields", n)
	}
}

func TestAHistoryBeginsWithItsEnd(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: run, command: [fake, "run=0s"]}`)
	w.await("run", "Completed")
	var all, end api.TransitionList
	w.call("GET", "/v1/transitions", "", &all)
	w.call("GET", "/v1/transitions?last=2", "", &end)
	if len(all.Items) < 3 || len(end.Items) != 2 || end.Items[1].Seq != all.Items[len(all.Items)-1].Seq {
		t.Errorf("of %d the last two are %+v", len(all.Items), end.Items)
	}
}

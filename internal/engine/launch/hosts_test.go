package launch

import (
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
)

func TestTasksInContainersKnowNames(t *testing.T) {
	d, err := spec.Load([]byte(`{name: g, kind: distributed, workers: 2, image: a, command: ["true"], annotations: {muster.dev/hosts: "g-{0..1}.net all=* two=1 late-{0..0}=1 db=@store no=@nobody"}}`))
	if err != nil {
		t.Fatal(err)
	}
	w := &core.Workload{ID: "01", Name: "g", Project: "p", Kind: d.Kind, Spec: d}
	tasks := workload.TasksOf(&core.Task{ID: core.TaskID{Workload: "01"}, Node: "a"}, &core.Task{ID: core.TaskID{Workload: "01", Index: 1}, Node: "b"})
	s := &Server{Nodes: map[core.NodeID]core.Node{"a": {Address: "10.0.0.1"}, "b": {Address: "10.0.0.2"}}, Others: func(project core.ProjectID, name string) *workload.Tasks {
		if project == "p" && name == "store" {
			return workload.TasksOf(&core.Task{ID: core.TaskID{Index: 4}, Node: "b"})
		}
		return nil
	}}
	got := s.hostsOf(w, tasks.At(0), tasks)
	if len(got) != 2 || got[0].Address != "10.0.0.1" || got[1].Address != "10.0.0.2" {
		t.Fatalf("%+v", got)
	}
	for i, names := range [][]string{{"g-0", "g-0.net", "g-0.net.p.svc.cluster.local", "all"}, {"g-1", "g-1.net.p.svc", "all.p", "two", "late-0", "db"}} {
		for _, name := range names {
			if !slices.Contains(got[i].Names, name) {
				t.Errorf("%s is not %s: %q", got[i].Address, name, got[i].Names)
			}
		}
		if slices.Contains(got[i].Names, "no") {
			t.Error("a workload that is nowhere has an address")
		}
	}
	plain := d.Clone()
	plain.Annotations = nil
	for size, named := range map[int]bool{mostAddresses: true, mostAddresses + 1: false} {
		plain.Workers = size
		if got := s.hostsOf(&core.Workload{ID: "01", Name: "g", Project: "p", Kind: d.Kind, Spec: plain}, tasks.At(0), tasks); len(got) > 0 != named {
			t.Errorf("of %d tasks: %+v", size, got)
		}
	}
	delete(s.Nodes, "b")
	tasks.At(1).Node = "a"
	if got = s.hostsOf(w, tasks.At(0), tasks); !slices.Contains(got[0].Names, "no") {
		t.Errorf("on the only machine: %+v", got)
	}
	s.Address = func(string, core.TaskID) string { return "task-0.w" }
	if got = s.hostsOf(w, tasks.At(0), tasks); got != nil {
		t.Errorf("in a cluster: %+v", got)
	}
}

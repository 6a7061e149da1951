package packing

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

const (
	nodeHead = "sn,cpu_milli,memory_mib,gpu,model\n"
	taskHead = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
)

func TestListsArePlainOrCompressed(t *testing.T) {
	t.Parallel()
	pack := func(s string) *bytes.Buffer {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	tr, err := Read(pack("\ufeff"+nodeHead+"a,8000,1000,2,X\n"), strings.NewReader("gpu_milli,num_gpu,name,memory_mib,cpu_milli,gpu_spec\n230,1,t,10,500,Y|X|Y\n0,0,u,10,500,\n"))
	if err != nil {
		t.Fatal(err)
	}
	if n := tr.Nodes[0]; n.Name != "a" || n.CPU != 8000 || n.Memory != 1000 || n.GPUs != 2 || n.Model != "X" {
		t.Errorf("node %+v", n)
	}
	if got := tr.Tasks[0]; got.CPU != 500 || got.GPUs != 1 || got.Milli != 230 || strings.Join(got.Models, ",") != "X,Y" {
		t.Errorf("task %+v", got)
	}
	if tr.Classes != 2 || tr.Tasks[0].Class == tr.Tasks[1].Class {
		t.Errorf("%d classes", tr.Classes)
	}
}

func TestMistakesInListsAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ nodes, tasks, want string }{
		{"", taskHead, "node list: no header"},
		{"sn,gpu\n", taskHead, `no column "cpu_milli"`},
		{nodeHead + "a,x,1,1,X\n", taskHead, `node list, line 2: cpu_milli "x"`},
		{nodeHead + "a,1,1,65,X\n", taskHead, `gpu "65": want a whole number from 0 to 64`},
		{nodeHead + "a,1,1\n", taskHead, "node list"},
		{nodeHead + "a,1,1,1,X\n", taskHead + "t,1,1,1,0\n", "task list, line 2: gpu_milli"},
		{nodeHead + "a,1,1,1,X\n", taskHead + "t,-1,1,1,10\n", `cpu_milli "-1"`},
		{nodeHead + "a,1,1,1,X\n", taskHead, "1 nodes with 1 GPUs and 0 tasks"},
		{"\x1f\x8bnonsense", taskHead, "node list: gzip"},
	} {
		_, err := Read(strings.NewReader(c.nodes), strings.NewReader(c.tasks))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q: %v; want %q", c.nodes, c.tasks, err, c.want)
		}
	}
	if _, err := Open("testdata/none.csv", "testdata/none.csv"); err == nil {
		t.Error("a file that is not there was opened")
	}
}

// FuzzRead: whatever the lists say, reading them ends with an error or with a
// trace that every policy can place a few tasks of.
func FuzzRead(f *testing.F) {
	f.Add([]byte(nodeHead+"a,8000,1000,2,X\n"), []byte(taskHead+"t,1000,10,1,500\n"))
	f.Add([]byte(nodeHead+"a,8000,1000,2,\"X\nY\"\n"), []byte("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,scheduled_time,deletion_time\nt,1000,10,2,1000,|X,5,1\n"))
	f.Add([]byte("\x1f\x8b\x08\x00"), []byte(""))
	f.Fuzz(func(t *testing.T, nodes, tasks []byte) {
		tr, err := Read(bytes.NewReader(nodes), bytes.NewReader(tasks))
		if err != nil {
			return
		}
		for _, p := range Policies() {
			placer, books := p.New(tr, 1), NewCluster(tr.Nodes)
			for i := range tr.Tasks[:min(len(tr.Tasks), 20)] {
				task := &tr.Tasks[i]
				if l, ok := placer.(Learner); ok {
					l.Arrive(task)
				}
				node, devices, ok := placer.Place(task)
				if ok != books.FitsSomewhere(task) {
					t.Fatalf("%s: %+v placed: %v", p.Name, task, ok)
				}
				if !ok {
					continue
				}
				if err := books.Take(task, node, devices); err != nil {
					t.Fatalf("%s: %v", p.Name, err)
				}
			}
		}
	})
}

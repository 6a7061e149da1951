package spec

import (
	"reflect"
	"testing"
)

const whereText = `kind: distributed
command: ls
pools:
  - h100
  - default
nodeSelector:
  kubernetes.io/arch: amd64
  zone: "1"
nodeAffinity:
  - key: driver
    op: Gt
    values:
      - "570"
  - key: broken
    op: DoesNotExist
nodeType: dgx
tolerations:
  - dedicated
  - key: team
    value: a
    effect: NoSchedule
  - effect: NoExecute
topology:
  required: topology/block
  preferred: topology/rack
near: zone
apart: kubernetes.io/hostname
patience: 10m
workers: 4
minWorkers: 2
resize: live
`

func TestWhereReadsAndWritesAlike(t *testing.T) {
	t.Parallel()
	d := mustParse(t, whereText)
	if got := string(YAML(d)); got != whereText {
		t.Errorf("%s", got)
	}
	if errs := Validate(d); errs != nil {
		t.Error(errs)
	}
	wantTolerations := []Toleration{{Key: "dedicated"}, {Key: "team", Value: "a", Effect: "NoSchedule"}, {Effect: "NoExecute"}}
	if !reflect.DeepEqual(d.Tolerations, wantTolerations) || d.Topology != (Topology{Required: "topology/block", Preferred: "topology/rack"}) {
		t.Errorf("%+v %+v", d.Tolerations, d.Topology)
	}
	wantTerms := []NodeTerm{
		{Key: "kubernetes.io/arch", Op: "In", Values: []string{"amd64"}}, {Key: "zone", Op: "In", Values: []string{"1"}}, {Key: NodeTypeLabel, Op: "In", Values: []string{"dgx"}},
		{Key: "driver", Op: "Gt", Values: []string{"570"}}, {Key: "broken", Op: "DoesNotExist"},
	}
	if got := d.NodeTerms(); !reflect.DeepEqual(got, wantTerms) {
		t.Errorf("%+v", got)
	}
	d.NodeSelector, d.NodeType = nil, ""
	if got := append(d.NodeTerms(), NodeTerm{}); len(got) != 3 || !reflect.DeepEqual(d.NodeTerms(), wantTerms[3:]) {
		t.Errorf("%+v", d.NodeTerms())
	}
	if d.NodeAffinity = nil; len(d.NodeTerms()) != 0 {
		t.Errorf("%+v", d.NodeTerms())
	}
}

func TestTermsAllow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op, values, value string
		there, want       bool
	}{
		{"In", "a", "a", true, true}, {"In", "a", "b", true, false}, {"In", "a", "", false, false}, {"In", "", "", true, true}, {"In", "", "", false, false},
		{"NotIn", "a", "a", true, false}, {"NotIn", "a", "b", true, true}, {"NotIn", "a", "", false, true},
		{"Exists", "", "", true, true}, {"Exists", "", "", false, false}, {"DoesNotExist", "", "", true, false}, {"DoesNotExist", "", "", false, true},
		{"Gt", "9", "10", true, true}, {"Gt", "10", "10", true, false}, {"Gt", "10", "", false, false}, {"Gt", "10", "x", true, false}, {"Gt", "x", "10", true, false},
		{"Lt", "010", "9", true, true}, {"Lt", "9", "10", true, false}, {"Lt", "99999999999999999999", "99999999999999999998", true, true}, {"near", "a", "a", true, false},
		{"Gt", "-1", "0", true, true}, {"Gt", "-10", "-9", true, true}, {"Lt", "-9", "-10", true, true}, {"Lt", "0", "-0", true, false}, {"Lt", "+1", "0", true, true}, {"Gt", "-", "1", true, false},
	} {
		if got := (NodeTerm{Key: "k", Op: c.op, Values: []string{c.values}}).Allows(c.value, c.there); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if (NodeTerm{Op: "Lt"}).Allows("1", true) {
		t.Error("a comparison with nothing holds")
	}
}

func TestSizesOfElasticGangs(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		size, least   int
		elastic, live bool
	}{
		"kind: distributed\nworkers: 4":                                 {4, 4, false, false},
		"kind: distributed\nworkers: 4\nminWorkers: 2":                  {4, 2, true, false},
		"kind: distributed\nworkers: 4\nminWorkers: 2\nresize: restart": {4, 2, true, false},
		"kind: distributed\nworkers: 4\nminWorkers: 1\nresize: live":    {4, 1, true, true},
		"kind: distributed\nworkers: 4\nminWorkers: 4":                  {4, 4, false, false},
		"kind: distributed\nworkers: 4\nminWorkers: 2\nframework: mpi":  {5, 3, true, false},
		"kind: training": {1, 1, false, false},
		"kind: training\narray: {completions: 9}": {9, 1, false, false},
		"kind: inference\nreplicas: 0":            {0, 0, false, false},
		"kind: inference\nreplicas: 3":            {3, 1, false, false},
	} {
		d := mustParse(t, text)
		if d.Size() != c.size || d.MinSize() != c.least || d.Elastic() != c.elastic || d.Live() != c.live {
			t.Errorf("%q: %d %d %v %v", text, d.Size(), d.MinSize(), d.Elastic(), d.Live())
		}
	}
}

func TestTolerationsOfTaints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		t    Toleration
		want bool
	}{
		{Toleration{Key: "dedicated"}, true}, {Toleration{Key: "dedicated", Value: "a"}, true}, {Toleration{Effect: "NoSchedule"}, true},
		{Toleration{Key: "other"}, false}, {Toleration{Key: "dedicated", Value: "b"}, false}, {Toleration{Key: "dedicated", Effect: "NoExecute"}, false},
	} {
		if got := c.t.Tolerates("dedicated", "a", "NoSchedule"); got != c.want {
			t.Errorf("%+v: %v", c.t, got)
		}
	}
}

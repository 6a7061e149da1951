package deploy

import (
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/backend/kube/rights"
)

// TestTheChartGrantsWhatTheDoctorAsksFor compares the chart's role with the list by
// which muster doctor asks a cluster: neither has a right that the other lacks. Who
// makes others' pods differs from cluster to cluster (rbac.makers) and is not asked.
func TestTheChartGrantsWhatTheDoctorAsksFor(t *testing.T) {
	objects, err := render(t, "muster", map[string]any{"rbac.makers": []any{}, "metrics.kubelets": true})
	if err != nil {
		t.Fatal(err)
	}
	var granted, asked []string
	each := func(group string, resources, names, verbs []string) (all []string) {
		for _, r := range resources {
			for _, v := range verbs {
				all = append(all, v+" "+group+"/"+r+" "+strings.Join(names, ","))
			}
		}
		return all
	}
	words := func(v any) (all []string) {
		list, _ := v.([]any)
		for _, w := range list {
			all = append(all, w.(string))
		}
		return all
	}
	for _, o := range objects {
		if o["kind"] != "ClusterRole" || o["metadata"].(map[string]any)["name"] != "muster" {
			continue
		}
		for _, r := range o["rules"].([]any) {
			rule := r.(map[string]any)
			for _, g := range words(rule["apiGroups"]) {
				granted = append(granted, each(g, words(rule["resources"]), words(rule["resourceNames"]), words(rule["verbs"]))...)
			}
		}
	}
	for _, r := range rights.All {
		asked = append(asked, each(r.Group, r.Resources, r.Names, r.Verbs)...)
	}
	if len(granted) < 30 {
		t.Fatalf("the chart grants %d rights only", len(granted))
	}
	for _, g := range granted {
		if !slices.Contains(asked, g) {
			t.Errorf("the chart grants %q, and muster doctor does not ask for it", g)
		}
	}
	for _, a := range asked {
		if !slices.Contains(granted, a) {
			t.Errorf("muster doctor asks for %q, and the chart does not grant it", a)
		}
	}
}

package system

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/api"
)

// placed: what pods of others ask of each other holds: to be near some, apart
// from some, or evenly spread. The two nodes of the field are a zone each.
func placed(t *testing.T, f *field) {
	for node, zone := range map[string]string{"node-0": "a", "node-1": "b"} {
		f.k.Kubectl(t, "label", "node", node, "zone="+zone, "--overwrite")
	}
	run := func(name string, replicas int, rule string) {
		f.apply(fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: ml}\nspec: {replicas: %d, selector: {matchLabels: {app: %s}}, template: %s}\n", name, replicas, name, template("app: "+name, "", 0, rule)))
	}
	in := func(name string, a, b int) {
		t.Helper()
		f.is("default", name, "placed", func(w *api.Workload) bool { return w.Tasks.Running == a+b })
		on := map[string]int{}
		for _, pod := range f.pods("app=" + name) {
			on[pod.Spec.NodeName]++
		}
		if on["node-0"] != a || on["node-1"] != b {
			t.Errorf("%s is on %v, want %d and %d", name, on, a, b)
		}
	}
	term := func(kind, app string) string {
		return fmt.Sprintf("affinity: {%s: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: %s}}}]}},", kind, app)
	}
	run("near", 2, term("podAffinity", "store"))
	f.is("default", "near", "waiting", func(w *api.Workload) bool { return w.Phase == "Queued" })
	f.says(f.pods("app=near")[0].Name, "no pod that it has to be near (podAffinity over zone, app=store) has its place")
	run("store", 1, "nodeSelector: {zone: a},")
	in("store", 1, 0)
	in("near", 2, 0)
	run("apart", 2, term("podAntiAffinity", "store"))
	in("apart", 0, 2)
	run("shy", 1, "nodeSelector: {zone: b}, "+term("podAntiAffinity", "anybody"))
	in("shy", 0, 1)
	run("anybody", 2, "")
	in("anybody", 2, 0)
	run("even", 4, "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: even}}}],")
	in("even", 2, 2)
}

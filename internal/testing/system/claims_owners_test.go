package system

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

// operator is one of others, of which only the objects are there: the test does
// what it would do.
type operator struct {
	kind, version, plural string
	spec                  string   // of its object
	first, rest           []string // what it makes; NAME is the object's, OWNER the reference to it
	roles                 []string // of the tasks, sorted
	done                  string   // the status of an object that is complete
}

// piece is a pod that an operator makes itself.
func piece(suffix, labels string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"NAME-` + suffix + `","namespace":"ml","labels":{"of":"NAME",` + labels + `},"ownerReferences":[OWNER]},"spec":{"schedulerName":"muster","terminationGracePeriodSeconds":1,"restartPolicy":"Never","containers":[{"name":"c","image":"sim:1","resources":{"requests":{"cpu":"1"}}}]}}`
}

// jobs is a Job that an operator makes, whose pods the cluster does.
func jobs(suffix string, pods int, labels string) string {
	return fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"NAME-%[1]s","namespace":"ml","labels":{"of":"NAME"},"ownerReferences":[OWNER]},"spec":{"parallelism":%[2]d,"completions":%[2]d,"completionMode":"Indexed","template":{"metadata":{"labels":{"of":"NAME",%[3]s}},"spec":{"schedulerName":"muster","terminationGracePeriodSeconds":1,"restartPolicy":"Never","containers":[{"name":"c","image":"sim:1","resources":{"requests":{"cpu":"1"}}}]}}}}`, suffix, pods, labels)
}

func operators() []operator {
	succeeded := `{"conditions":[{"type":"Succeeded","status":"True"}]}`
	torch := func(suffix, role string, index int) string {
		return piece(suffix, fmt.Sprintf(`"training.kubeflow.org/replica-type":%q,"training.kubeflow.org/replica-index":"%d"`, role, index))
	}
	ray := func(suffix, kind string) string {
		return strings.Replace(piece(suffix, `"ray.io/node-type":"`+kind+`"`), "OWNER", "CLUSTER", 1)
	}
	return []operator{{
		"PyTorchJob", "kubeflow.org/v1", "pytorchjobs", `{"pytorchReplicaSpecs":{"Master":{"replicas":1},"Worker":{"replicas":2}}}`,
		[]string{torch("master-0", "master", 0), torch("worker-0", "worker", 0)}, []string{torch("worker-1", "worker", 1)}, []string{"master", "worker", "worker"}, succeeded,
	}, {
		"MPIJob", "kubeflow.org/v2beta1", "mpijobs", `{"mpiReplicaSpecs":{"Launcher":{"replicas":1},"Worker":{"replicas":2}}}`,
		[]string{torch("worker-0", "worker", 0), torch("worker-1", "worker", 1)}, []string{jobs("launcher", 1, `"training.kubeflow.org/job-role":"launcher"`)}, []string{"launcher", "worker", "worker"}, succeeded,
	}, {
		"JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets", `{"replicatedJobs":[{"name":"leader","template":{"spec":{}}},{"name":"workers","template":{"spec":{"parallelism":2,"completions":2}}}]}`,
		[]string{jobs("leader-0", 1, `"jobset.sigs.k8s.io/replicatedjob-name":"leader"`)}, []string{jobs("workers-0", 2, `"jobset.sigs.k8s.io/replicatedjob-name":"workers"`)},
		[]string{"leader", "workers", "workers"}, `{"conditions":[{"type":"Completed","status":"True"}]}`,
	}, {
		"RayJob", "ray.io/v1", "rayjobs", `{"rayClusterSpec":{"headGroupSpec":{},"workerGroupSpecs":[{"replicas":2}]}}`,
		[]string{ray("head", "head")}, []string{ray("worker-0", "worker"), ray("worker-1", "worker")}, []string{"head", "worker", "worker"}, `{"jobStatus":"SUCCEEDED","jobDeploymentStatus":"Complete"}`,
	}, {
		"Job", "batch.volcano.sh/v1alpha1", "jobs", `{"minAvailable":2,"tasks":[{"name":"w","replicas":2}]}`,
		[]string{piece("w-0", `"volcano.sh/task-spec":"w"`)}, []string{piece("w-1", `"volcano.sh/task-spec":"w"`)}, []string{"w", "w"}, `{"state":{"phase":"Completed"}}`,
	}}
}

// made: what operators make of their objects is a gang each, and ends as these
// say.
func made(t *testing.T, f *field) {
	all := operators()
	var kinds strings.Builder
	for _, o := range append(all, operator{kind: "RayCluster", version: "ray.io/v1", plural: "rayclusters"}) {
		group, version, _ := strings.Cut(o.version, "/")
		fmt.Fprintf(&kinds, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]s, singular: %[4]s, kind: %[3]s}
  versions: [{name: %[5]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, o.plural, group, o.kind, strings.ToLower(o.kind), version)
	}
	f.apply(kinds.String())
	f.k.Kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	for _, o := range all {
		t.Run(o.kind+" of "+o.version, func(t *testing.T) {
			f.tb = t
			o.run(t, f)
		})
	}
}

func (o *operator) run(t *testing.T, f *field) {
	group, _, _ := strings.Cut(o.version, "/")
	resource, name := o.plural+"."+group, "by-"+strings.ReplaceAll(group, ".", "-")+"-"+strings.ToLower(o.kind)
	own := func(version, kind, resource, more string) string {
		f.apply(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"ml"%s}`, version, kind, name, more))
		uid := f.k.Kubectl(t, "-n", "ml", "get", resource, name, "-o", "jsonpath={.metadata.uid}")
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q,"controller":true}`, version, kind, name, uid)
	}
	owner := own(o.version, o.kind, resource, `},"spec":`+o.spec)
	cluster := ""
	if o.kind == "RayJob" {
		cluster = own(o.version, "RayCluster", "rayclusters."+group, `,"ownerReferences":[`+owner+`]},"spec":{"headGroupSpec":{},"workerGroupSpecs":[{"replicas":2}]}`)
	}
	words := strings.NewReplacer("NAME", name, "OWNER", owner, "CLUSTER", cluster)
	f.apply(words.Replace(strings.Join(o.first, "\n---\n")))
	f.is("default", name, "incomplete", func(w *api.Workload) bool {
		return w.Phase == "Queued" && w.Pending != nil && len(w.Pending.Reasons) > 0 && w.Pending.Reasons[0].Token == "Incomplete"
	})
	f.apply(words.Replace(strings.Join(o.rest, "\n---\n")))
	w := f.is("default", name, "whole", func(w *api.Workload) bool { return w.Phase == "Running" && w.Tasks.Running == len(o.roles) })
	var roles []string
	for _, task := range w.Attempts[0].Tasks {
		roles = append(roles, task.Role)
	}
	if slices.Sort(roles); !slices.Equal(roles, o.roles) {
		t.Errorf("its tasks are %q, want %q", roles, o.roles)
	}
	f.k.Kubectl(t, "-n", "ml", "patch", resource, name, "--type=merge", "-p", `{"status":`+o.done+`}`)
	f.k.Kubectl(t, "-n", "ml", "delete", "jobs.batch,pods", "-l", "of="+name, "--wait=false")
	f.phase(name, "Completed")
}

package export

import (
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// ends puts limits of a whole job into its spec.
func endsOf(doc *spec.Document, t *codec.Tree) {
	if s := int(doc.MaxDuration.Std().Seconds()); s > 0 && doc.Retry.Limit == 0 {
		t.Put("activeDeadlineSeconds", numberTree(s)) // of all attempts together; else each pod has its own
	}
	if s := int(doc.TTLAfterEnd.Std().Seconds()); s > 0 {
		t.Put("ttlSecondsAfterFinished", numberTree(s))
	}
}

func templateOf(pod codec.Tree) codec.Tree { return of("spec", pod) }

func jobOf(doc *spec.Document) codec.Tree {
	s := codec.Map()
	if a := doc.Array; a != nil {
		n := max(a.Completions, 1)
		p := a.Parallelism
		if p == 0 {
			p = n
		}
		s = of("completionMode", "Indexed", "completions", n, "parallelism", p)
	}
	s.Put("backoffLimit", numberTree(doc.Retry.Limit))
	endsOf(doc, &s)
	rules := list()
	actions := map[string]string{"fail": "FailJob", "retry": "Count", "retryFree": "Ignore"}
	for _, r := range doc.Retry.Rules {
		if len(r.ExitCodes) == 0 || len(r.Reasons) > 0 || r.Limit > 0 {
			rules = list() // a rule that is left out would let a later one decide
			break
		}
		codes := list()
		for _, c := range r.ExitCodes {
			codes.Items = append(codes.Items, numberTree(c))
		}
		rules.Items = append(rules.Items, of("action", actions[r.Action], "onExitCodes", of("operator", "In", "values", codes)))
	}
	if len(rules.Items) > 0 {
		s.Put("podFailurePolicy", of("rules", rules))
	}
	s.Put("template", templateOf(podSpecOf(doc, "main", "Never")))
	return objectOf("batch/v1", "Job", s)
}

func podOf(doc *spec.Document) codec.Tree {
	restart := map[string]string{"": "Always", "always": "Always", "onFailure": "OnFailure", "never": "Never"}[doc.Restart]
	pod := podSpecOf(doc, "main", restart)
	if s := int(doc.MaxDuration.Std().Seconds()); s > 0 && doc.Retry.Limit == 0 {
		pod.Put("activeDeadlineSeconds", numberTree(s))
	}
	return objectOf("v1", "Pod", pod)
}

func deploymentOf(doc *spec.Document) codec.Tree {
	n := 1
	if doc.Replicas != nil {
		n = *doc.Replicas
	}
	app := doc.Name
	if app == "" {
		app = "muster"
	}
	s := of("replicas", n, "selector", of("matchLabels", of("app", app)))
	rolling := codec.Map()
	if u := doc.Update.MaxSurge; u != nil {
		rolling.Put("maxSurge", numberTree(*u))
	}
	if u := doc.Update.MaxUnavailable; u != nil {
		rolling.Put("maxUnavailable", numberTree(*u))
	}
	if len(rolling.Items) > 0 {
		s.Put("strategy", of("type", "RollingUpdate", "rollingUpdate", rolling))
	}
	t := templateOf(podSpecOf(doc, "main", "Always"))
	s.Put("template", of("metadata", of("labels", of("app", app)), "spec", t.Items[0]))
	return objectOf("apps/v1", "Deployment", s)
}

// operatedOf is a job of Kubeflow's training operator.
func operatedOf(doc *spec.Document, kind, specs, container, first string) codec.Tree {
	groups := of(first, of("replicas", 1, "restartPolicy", "Never", "template", templateOf(podSpecOf(forPods(doc, true), container, "Never"))))
	if doc.Workers > 1 {
		groups.Put("Worker", of("replicas", doc.Workers-1, "restartPolicy", "Never", "template", templateOf(podSpecOf(doc, container, "Never"))))
	}
	s := codec.Map()
	if doc.MinWorkers > 1 && doc.Workers > 1 && kind == "PyTorchJob" {
		s.Put("elasticPolicy", of("minReplicas", doc.MinWorkers-1, "maxReplicas", doc.Workers-1))
	}
	s.Put("runPolicy", runPolicyOf(doc))
	s.Put(specs, groups)
	return objectOf("kubeflow.org/v1", kind, s)
}

func runPolicyOf(doc *spec.Document) codec.Tree {
	p := codec.Map()
	p.Put("cleanPodPolicy", codec.Text(map[string]string{"none": "None", "running": "Running"}[doc.CleanPolicy]))
	p.Put("backoffLimit", numberTree(doc.Retry.Limit))
	endsOf(doc, &p)
	return p
}

func mpiOf(doc *spec.Document) codec.Tree {
	launcher := forPods(doc, true)
	if doc.Master == nil || doc.Master.Resources == nil {
		launcher = launcher.Clone()
		launcher.Resources = spec.Resources{}
	}
	worker := doc.Clone()
	worker.Command, worker.Args, worker.Init = spec.Command{}, nil, nil
	groups := of(
		"Launcher", of("replicas", 1, "template", templateOf(podSpecOf(launcher, "launcher", "Never"))),
		"Worker", of("replicas", doc.Workers, "template", templateOf(podSpecOf(worker, "worker", "Never"))))
	s := of("slotsPerWorker", doc.SlotsOf(), "runPolicy", runPolicyOf(doc), "mpiReplicaSpecs", groups)
	return objectOf("kubeflow.org/v2beta1", "MPIJob", s)
}

func jobSetOf(doc *spec.Document) codec.Tree {
	group := func(name string, n int, pod codec.Tree) codec.Tree {
		job := of("parallelism", n, "completions", n, "completionMode", "Indexed", "backoffLimit", 0)
		if s := int(doc.MaxDuration.Std().Seconds()); s > 0 && doc.Retry.Limit == 0 {
			job.Put("activeDeadlineSeconds", numberTree(s))
		}
		job.Put("template", templateOf(pod))
		return of("name", name, "replicas", 1, "template", of("spec", job))
	}
	groups := list()
	rest := doc.Workers
	if doc.Master != nil {
		rest--
		groups.Items = append(groups.Items, group("master", 1, podSpecOf(forPods(doc, true), "main", "Never")))
	}
	if rest > 0 {
		groups.Items = append(groups.Items, group("workers", rest, podSpecOf(doc, "main", "Never")))
	}
	s := of("failurePolicy", of("maxRestarts", doc.Retry.Limit))
	if t := int(doc.TTLAfterEnd.Std().Seconds()); t > 0 {
		s.Put("ttlSecondsAfterFinished", numberTree(t))
	}
	s.Put("replicatedJobs", groups)
	return objectOf("jobset.x-k8s.io/v1alpha2", "JobSet", s)
}

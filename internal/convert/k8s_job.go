package convert

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// template reads spec.template of a controller into doc.
func (k *k8sReader) template(o *object, doc *spec.Document, mainName string) (restart *value) {
	if o == nil {
		return nil
	}
	k.meta(o.object("metadata"), doc, false)
	restart = k.podSpec(o.object("spec"), doc, mainName)
	o.done(nil, nil, false)
	return restart
}

// missingTemplate refuses an object that has no pods.
func (k *k8sReader) missingTemplate(o *object, what string) {
	k.refuse(o.t.Line, below(o.path, what), "", "is missing", "write it; it says what the tasks are")
}

// pod is a workspace where it is always started again, else a task.
func (k *k8sReader) pod(o *object, doc *spec.Document) *spec.Document {
	s := o.object("spec")
	if s == nil {
		k.missingTemplate(o, "spec")
		return nil
	}
	restart := k.podSpec(s, doc, "")
	policy := "Always"
	if restart != nil {
		policy = restart.text()
	}
	switch policy {
	case "Never":
		restart.translated("kind", "what ends for good is training")
	case "Always", "OnFailure":
		doc.Kind, doc.Restart = lifecycle.Workspace, map[string]string{"Always": "always", "OnFailure": "onFailure"}[policy]
		if restart != nil {
			restart.translated("restart", "what is started again is a workspace")
		} else {
			k.note(Note{Line: s.t.Line, Field: "spec.restartPolicy", Fate: Translated, To: "restart", Reason: "Kubernetes starts a pod again that does not say otherwise, as a workspace is"})
		}
		doc.Near, doc.Apart = "", ""
	default:
		restart.refuse(fmt.Sprintf("%q is not a policy", shorten(policy)), "allowed are Always, OnFailure and Never")
	}
	k.noTopology(doc, o.t.Line, "a single task has no topology")
	return doc
}

// noTopology takes away what the object that begins at a line says of topology,
// and what was noted of it.
func (k *k8sReader) noTopology(doc *spec.Document, line int, why string) {
	if doc.Topology == (spec.Topology{}) {
		return
	}
	doc.Topology = spec.Topology{}
	for i := range k.notes {
		if n := &k.notes[i]; n.Line >= line && strings.HasPrefix(n.To, "topology.") {
			n.To, n.Fate, n.Lossy, n.Reason = "", Ignored, true, why
		}
	}
}

// deployment is a service.
func (k *k8sReader) deployment(o *object, doc *spec.Document) *spec.Document {
	s := k.replicated(o, doc)
	if s == nil {
		return nil
	}
	k.strategy(s.take("strategy"), doc)
	k.ofReplicas(o, s, doc)
	s.done(nothing{
		"selector": "replicas belong to their workload", "revisionHistoryLimit": "attempts are kept", "progressDeadlineSeconds": "why a replica is not ready is in its state",
	}, nothing{"minReadySeconds": "a replica counts once its probe answers", "paused": "it is started"}, false)
	return doc
}

func (k *k8sReader) strategy(v *value, doc *spec.Document) {
	if v == nil {
		return
	}
	o := v.object()
	kind := o.take("type")
	r := o.object("rollingUpdate")
	count := func(name string) *int {
		n := r.take(name)
		if n == nil {
			return nil
		}
		if n.t.Kind != spec.TreeNumber {
			n.lost("it is a number of replicas, not a part of them")
			return nil
		}
		c := n.whole(0)
		n.kept("update." + name)
		return &c
	}
	doc.Update.MaxSurge, doc.Update.MaxUnavailable = count("maxSurge"), count("maxUnavailable")
	r.done(nil, nil, false)
	if kind.text() == "Recreate" {
		none, all := 0, max(1, *doc.Replicas)
		doc.Update = spec.Update{MaxSurge: &none, MaxUnavailable: &all}
		kind.translated("update", "all may be missing meanwhile, and none is there twice")
	} else if kind != nil {
		kind.kept("update")
	}
	o.done(nil, nil, false)
}

// job is one task, an array, or a gang where its pods find each other.
func (k *k8sReader) job(o *object, doc *spec.Document) *spec.Document {
	s := o.object("spec")
	if s == nil || !s.has("template") {
		k.missingTemplate(o, "spec.template")
		return nil
	}
	p, c := s.take("parallelism"), s.take("completions")
	parallel, complete := 1, 1
	if p != nil {
		parallel = p.whole(0)
	}
	switch {
	case c != nil:
		complete = c.whole(1)
	case p != nil:
		complete = max(1, parallel)
	}
	mode := s.take("completionMode")
	indexed := mode != nil && mode.text() == "Indexed"
	gang := indexed && complete > 1 && parallel >= complete && headless(s)
	k.template(s.object("template"), doc, "").onRestart()
	switch {
	case gang:
		k.gangEnv(doc)
		doc.Kind, doc.Workers = lifecycle.Distributed, complete
		c.translated("workers", "its pods have names for each other: a gang")
		p.translated("workers", "")
		mode.translated("kind", "")
	default:
		k.array(doc, o.t.Line, p, c, mode, parallel, complete)
	}
	k.jobPolicies(s, doc)
	return doc
}

// array is the independent tasks of a Job.
func (k *k8sReader) array(doc *spec.Document, line int, p, c, mode *value, parallel, complete int) {
	if mode != nil {
		mode.translated("array", "each task knows its index: JOB_COMPLETION_INDEX")
	}
	if parallel == 0 && p != nil {
		p.refuse("is 0: nothing would ever run", "write 1 or more")
		return
	}
	if complete > 1 || mode != nil && mode.text() == "Indexed" {
		doc.Array = &spec.Array{Completions: complete}
		if parallel < complete {
			doc.Array.Parallelism = parallel
		}
	}
	if c != nil {
		c.kept("array.completions")
	}
	switch {
	case p == nil:
	case c == nil && parallel > 1:
		p.approximated("array.completions", "so many tasks run; that the first to succeed ends the work is not known")
	default:
		p.kept("array.parallelism")
	}
	if c != nil {
		k.noTopology(doc, line, "independent tasks have no topology")
	}
}

// onRestart accounts for the restartPolicy of a Job's pods.
func (v *value) onRestart() {
	if v == nil {
		return
	}
	switch v.text() {
	case "Never", "OnFailure":
		v.translated("retry.limit", "a failed task is tried again as often as retry says")
	default:
		v.refuse(fmt.Sprintf("%q is not for what ends", shorten(v.t.Text)), "allowed are Never and OnFailure")
	}
}

// headless reports whether the pods of a Job have names for each other.
func headless(s *object) bool {
	t := entry(s.t, "template")
	if t == nil {
		return false
	}
	spec := entry(t, "spec")
	return spec != nil && entryText(spec, "subdomain") != ""
}

// gangEnv drops variables that the platform sets for a gang.
func (k *k8sReader) gangEnv(doc *spec.Document) {
	for _, name := range rendezvous {
		if _, said := doc.Env[name]; !said {
			continue
		}
		delete(doc.Env, name)
		for i, n := range k.notes {
			if n.To == "env."+name {
				k.notes[i].Fate, k.notes[i].Reason, k.notes[i].To = Translated, "the platform sets it", ""
			}
		}
	}
	if len(doc.Env) == 0 {
		doc.Env = nil
	}
}

// podBackoff is how long Kubernetes waits before it makes the pod of a Job again;
// it doubles that up to 6 minutes, as retry does.
const podBackoff = spec.Duration(10 * time.Second)

// retries reads how often a failed attempt is tried again.
func (k *k8sReader) retries(v *value, doc *spec.Document, missing int, line int, field string) {
	if v == nil {
		if missing > 0 {
			doc.Retry.Limit, doc.Retry.Backoff = missing, podBackoff
			k.note(Note{Line: line, Field: field, Fate: Translated, To: "retry.limit", Reason: fmt.Sprintf("Kubernetes tries again %d times where it is not told", missing)})
		}
		return
	}
	if doc.Retry.Limit = v.whole(0); doc.Retry.Limit > 0 {
		doc.Retry.Backoff = podBackoff
	}
	if doc.Retry.Limit > maxRetries {
		doc.Retry.Limit = maxRetries
		v.approximated("retry.limit", "it is at most 1000")
		return
	}
	v.translated("retry.limit", "")
}

// jobPolicies reads how a Job ends.
func (k *k8sReader) jobPolicies(s *object, doc *spec.Document) {
	k.retries(s.take("backoffLimit"), doc, 6, s.t.Line, below(s.path, "backoffLimit"))
	if v := s.take("activeDeadlineSeconds"); v != nil {
		doc.MaxDuration = shorter(doc.MaxDuration, seconds(v.whole(1)))
		if doc.Retry.Limit > 0 {
			v.approximated("maxDuration", "it is of each attempt, not of all together")
		} else {
			v.translated("maxDuration", "")
		}
	}
	k.ttl(s.take("ttlSecondsAfterFinished"), doc)
	k.suspended(s.take("suspend"), doc)
	k.failurePolicy(s.take("podFailurePolicy"), doc)
	s.done(nothing{"selector": "tasks belong to their workload", "manualSelector": "tasks belong to their workload", "podReplacementPolicy": "a task is replaced once it has ended", "managedBy": "it is Muster's"},
		nothing{"successPolicy": "a workload succeeds once all its tasks have", "backoffLimitPerIndex": "failures of all tasks count together", "maxFailedIndexes": "failures of all tasks count together"}, false)
}

func (k *k8sReader) ttl(v *value, doc *spec.Document) {
	if v == nil {
		return
	}
	doc.TTLAfterEnd = seconds(v.whole(0))
	if doc.TTLAfterEnd == 0 {
		doc.TTLAfterEnd = seconds(1)
		v.approximated("ttlAfterEnd", "it is kept for a second")
		return
	}
	v.translated("ttlAfterEnd", "")
}

// suspended accounts for suspend, which queues of Kueue demand.
func (k *k8sReader) suspended(v *value, doc *spec.Document) {
	switch {
	case v == nil:
	case !v.truth():
		v.harmless("it is started")
	case doc.Project != "":
		v.harmless("its queue starts it")
	default:
		doc.Hold = true
		v.translated("hold", "muster release lets it go")
	}
}

// failurePolicy reads what follows from exit codes.
func (k *k8sReader) failurePolicy(v *value, doc *spec.Document) {
	if v == nil {
		return
	}
	o := v.object()
	actions := map[string]string{"FailJob": "fail", "Ignore": "retryFree", "Count": "retry"}
	for _, item := range o.take("rules").list() {
		rule := item.object()
		if rule == nil {
			continue
		}
		action, known := actions[rule.take("action").text()]
		codes, conditions := rule.object("onExitCodes"), rule.take("onPodConditions")
		switch {
		case conditions != nil:
			if action == "retryFree" {
				item.translated("", "what is displaced or lost never counts as a failure")
			} else {
				item.lost("rules are about exit codes and reasons")
			}
		case !known || codes == nil || codes.take("operator").text() != "In":
			item.lost("rules are about certain exit codes, and fail, retry or do not count")
		default:
			r := spec.RetryRule{Action: action}
			for _, c := range codes.take("values").list() {
				r.ExitCodes = append(r.ExitCodes, c.whole(0))
			}
			doc.Retry.Rules = append(doc.Retry.Rules, r)
			item.translated(fmt.Sprintf("retry.rules[%d]", len(doc.Retry.Rules)-1), "")
		}
	}
	o.done(nil, nil, false)
}

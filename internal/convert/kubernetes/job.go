package kubernetes

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// template reads spec.template of a controller into doc.
func (k *reader) template(o *source.Map, doc *spec.Document, mainName string) (restart *source.Value) {
	if o == nil {
		return nil
	}
	k.meta(o.Map("metadata"), doc, false)
	restart = k.podSpec(o.Map("spec"), doc, mainName)
	o.Finish(nil, nil, false)
	return restart
}

// missingTemplate refuses an object that has no pods.
func (k *reader) missingTemplate(o *source.Map, what string) {
	k.Refuse(o.Tree.Line, source.FieldPath(o.Path, what), "", "is missing", "write it; it says what the tasks are")
}

// pod is a workspace where it is always started again, else a task.
func (k *reader) pod(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	if s == nil {
		k.missingTemplate(o, "spec")
		return nil
	}
	k.onlyPod = doc.Name
	k.namedAlone(doc, entryText(s.Tree, "hostname"), entryText(s.Tree, "subdomain"))
	restart := k.podSpec(s, doc, "")
	k.onlyPod = ""
	policy := "Always"
	if restart != nil {
		policy = restart.Text()
	}
	switch policy {
	case "Never":
		restart.Translated("kind", "what ends for good is training")
	case "Always", "OnFailure":
		doc.Kind, doc.Restart = lifecycle.Workspace, map[string]string{"Always": "always", "OnFailure": "onFailure"}[policy]
		if restart != nil {
			restart.Translated("restart", "what is started again is a workspace")
		} else {
			k.Note(source.Note{Line: s.Tree.Line, Field: "spec.restartPolicy", Fate: source.Translated, To: "restart", Reason: "Kubernetes starts a pod again that does not say otherwise, as a workspace is"})
		}
		doc.Near, doc.Apart = "", ""
	default:
		restart.Refuse(fmt.Sprintf("%q is not a policy", source.Shorten(policy)), "allowed are Always, OnFailure and Never")
	}
	k.noTopology(doc, o.Tree.Line, "a single task has no topology")
	return doc
}

// noTopology takes away what the object that begins at a line says of topology,
// and what was noted of it.
func (k *reader) noTopology(doc *spec.Document, line int, why string) {
	if doc.Topology == (spec.Topology{}) {
		return
	}
	doc.Topology = spec.Topology{}
	for i := range k.Notes {
		if n := &k.Notes[i]; n.Line >= line && strings.HasPrefix(n.To, "topology.") {
			n.To, n.Fate, n.Lossy, n.Reason = "", source.Ignored, true, why
		}
	}
}

// deployment is a service.
func (k *reader) deployment(o *source.Map, doc *spec.Document) *spec.Document {
	s := k.replicated(o, doc)
	if s == nil {
		return nil
	}
	readStrategy(s.Consume("strategy"), doc)
	k.ofReplicas(o, s, doc)
	s.Finish(source.Reasons{
		"selector": "replicas belong to their workload", "revisionHistoryLimit": "attempts are kept", "progressDeadlineSeconds": "why a replica is not ready is in its state",
	}, source.Reasons{"minReadySeconds": "a replica counts once its probe answers", "paused": "it is started"}, false)
	return doc
}

func readStrategy(v *source.Value, doc *spec.Document) {
	if v == nil {
		return
	}
	o := v.Map()
	kind := o.Consume("type")
	r := o.Map("rollingUpdate")
	count := func(name string) *int {
		n := r.Consume(name)
		if n == nil {
			return nil
		}
		if n.Tree.Kind != codec.TreeNumber {
			n.Dropped("it is a number of replicas, not a part of them")
			return nil
		}
		c := n.Integer(0)
		n.Kept("update." + name)
		return &c
	}
	doc.Update.MaxSurge, doc.Update.MaxUnavailable = count("maxSurge"), count("maxUnavailable")
	r.Finish(nil, nil, false)
	if kind.Text() == "Recreate" {
		none, all := 0, max(1, *doc.Replicas)
		doc.Update = spec.Update{MaxSurge: &none, MaxUnavailable: &all}
		kind.Translated("update", "all may be missing meanwhile, and none is there twice")
	} else if kind != nil {
		kind.Kept("update")
	}
	o.Finish(nil, nil, false)
}

// job is one task, an array, or a gang where its pods find each other.
func (k *reader) job(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	if s == nil || !s.Has("template") {
		k.missingTemplate(o, "spec.template")
		return nil
	}
	p, c := s.Consume("parallelism"), s.Consume("completions")
	parallel, complete := 1, 1
	if p != nil {
		parallel = p.Integer(0)
	}
	switch {
	case c != nil:
		complete = c.Integer(1)
	case p != nil:
		complete = max(1, parallel)
	}
	mode := s.Consume("completionMode")
	indexed := mode != nil && mode.Text() == "Indexed"
	gang := indexed && complete > 1 && parallel >= complete && headless(s)
	onRestart(k.template(s.Map("template"), doc, ""))
	switch {
	case gang:
		k.gangEnv(doc)
		at := &source.Value{Reader: k.Reader, Tree: s.Tree, Path: s.Path, Line: s.Tree.Line}
		if doc.Name != "" {
			names := namesOf(doc.Name, entryText(source.Entry(source.Entry(s.Tree, "template"), "spec"), "subdomain"), 0, complete)
			k.scripted(doc, resolved(doc, []podNames{names}, at), at)
		}
		doc.Kind, doc.Workers = lifecycle.Distributed, complete
		c.Translated("workers", "its pods have names for each other: a gang")
		p.Translated("workers", "")
		mode.Translated("kind", "")
	default:
		k.array(doc, o.Tree.Line, p, c, mode, parallel, complete)
	}
	k.jobPolicies(s, doc)
	return doc
}

// array is the independent tasks of a Job.
func (k *reader) array(doc *spec.Document, line int, p, c, mode *source.Value, parallel, complete int) {
	if mode != nil {
		mode.Translated("array", "each task knows its index: JOB_COMPLETION_INDEX")
	}
	if parallel == 0 && p != nil {
		p.Refuse("is 0: nothing would ever run", "write 1 or more")
		return
	}
	if complete > 1 || mode != nil && mode.Text() == "Indexed" {
		doc.Array = &spec.Array{Completions: complete}
		if parallel < complete {
			doc.Array.Parallelism = parallel
		}
	}
	if c != nil {
		c.Kept("array.completions")
	}
	switch {
	case p == nil:
	case c == nil && parallel > 1:
		p.Approximated("array.completions", "so many tasks run; that the first to succeed ends the work is not known")
	default:
		p.Kept("array.parallelism")
	}
	if c != nil {
		k.noTopology(doc, line, "independent tasks have no topology")
	}
}

// onRestart accounts for the restartPolicy of a Job's pods.
func onRestart(v *source.Value) {
	if v == nil {
		return
	}
	switch v.Text() {
	case "Never", "OnFailure":
		v.Translated("retry.limit", "a failed task is tried again as often as retry says")
	default:
		v.Refuse(fmt.Sprintf("%q is not for what ends", source.Shorten(v.Tree.Text)), "allowed are Never and OnFailure")
	}
}

// headless reports whether the pods of a Job have names for each other.
func headless(s *source.Map) bool {
	t := source.Entry(s.Tree, "template")
	if t == nil {
		return false
	}
	spec := source.Entry(t, "spec")
	return spec != nil && entryText(spec, "subdomain") != ""
}

// gangEnv drops variables that the platform sets for a gang.
func (k *reader) gangEnv(doc *spec.Document) {
	for _, name := range rendezvous {
		if _, given := doc.Env[name]; !given {
			continue
		}
		delete(doc.Env, name)
		for i, n := range k.Notes {
			if n.To == "env."+name {
				k.Notes[i].Fate, k.Notes[i].Reason, k.Notes[i].To = source.Translated, "the platform sets it", ""
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

// podRetries is how often it makes them again where a Job does not say it.
const podRetries = 6

// retries reads how often a failed attempt is tried again.
func (k *reader) retries(v *source.Value, doc *spec.Document, missing int, line int, field string) {
	if v == nil {
		if missing > 0 {
			doc.Retry.Limit, doc.Retry.Backoff = missing, podBackoff
			k.Note(source.Note{Line: line, Field: field, Fate: source.Translated, To: "retry.limit", Reason: fmt.Sprintf("Kubernetes tries again %d times where it is not told", missing)})
		}
		return
	}
	if doc.Retry.Limit = v.Integer(0); doc.Retry.Limit > 0 {
		doc.Retry.Backoff = podBackoff
	}
	if doc.Retry.Limit > source.MaxRetries {
		doc.Retry.Limit = source.MaxRetries
		v.Approximated("retry.limit", "it is at most 1000")
		return
	}
	v.Translated("retry.limit", "")
}

// jobPolicies reads how a Job ends.
func (k *reader) jobPolicies(s *source.Map, doc *spec.Document) {
	k.retries(s.Consume("backoffLimit"), doc, podRetries, s.Tree.Line, source.FieldPath(s.Path, "backoffLimit"))
	if v := s.Consume("activeDeadlineSeconds"); v != nil {
		doc.MaxDuration = shorter(doc.MaxDuration, source.Seconds(v.Integer(1)))
		if doc.Retry.Limit > 0 {
			v.Approximated("maxDuration", "it is of each attempt, not of all together")
		} else {
			v.Translated("maxDuration", "")
		}
	}
	readTTL(s.Consume("ttlSecondsAfterFinished"), doc)
	readSuspended(s.Consume("suspend"), doc)
	readFailurePolicy(s.Consume("podFailurePolicy"), doc)
	s.Finish(source.Reasons{"selector": "tasks belong to their workload", "manualSelector": "tasks belong to their workload", "podReplacementPolicy": "a task is replaced once it has ended", "managedBy": "it is Muster's"},
		source.Reasons{"successPolicy": "a workload succeeds once all its tasks have", "backoffLimitPerIndex": "failures of all tasks count together", "maxFailedIndexes": "failures of all tasks count together"}, false)
}

func readTTL(v *source.Value, doc *spec.Document) {
	if v == nil {
		return
	}
	doc.TTLAfterEnd = source.Seconds(v.Integer(0))
	if doc.TTLAfterEnd == 0 {
		doc.TTLAfterEnd = source.Seconds(1)
		v.Approximated("ttlAfterEnd", "it is kept for a second")
		return
	}
	v.Translated("ttlAfterEnd", "")
}

// readSuspended accounts for suspend, which queues of Kueue demand.
func readSuspended(v *source.Value, doc *spec.Document) {
	switch {
	case v == nil:
	case !v.Bool():
		v.Ignored("it is started")
	case doc.Project != "":
		v.Ignored("its queue starts it")
	default:
		doc.Hold = true
		v.Translated("hold", "muster release lets it go")
	}
}

// readFailurePolicy reads what follows from exit codes.
func readFailurePolicy(v *source.Value, doc *spec.Document) {
	if v == nil {
		return
	}
	o := v.Map()
	actions := map[string]string{"FailJob": "fail", "Ignore": "retryFree", "Count": "retry"}
	for _, item := range o.Consume("rules").List() {
		rule := item.Map()
		if rule == nil {
			continue
		}
		action, known := actions[rule.Consume("action").Text()]
		codes, conditions := rule.Map("onExitCodes"), rule.Consume("onPodConditions")
		switch {
		case conditions != nil:
			if action == "retryFree" {
				item.Translated("", "what is displaced or lost never counts as a failure")
			} else {
				item.Dropped("rules are about exit codes and reasons")
			}
		case !known || codes == nil || codes.Consume("operator").Text() != "In":
			item.Dropped("rules are about certain exit codes, and fail, retry or do not count")
		default:
			r := spec.RetryRule{Action: action}
			for _, c := range codes.Consume("values").List() {
				r.ExitCodes = append(r.ExitCodes, c.Integer(0))
			}
			doc.Retry.Rules = append(doc.Retry.Rules, r)
			item.Translated(fmt.Sprintf("retry.rules[%d]", len(doc.Retry.Rules)-1), "")
		}
	}
	o.Finish(nil, nil, false)
}

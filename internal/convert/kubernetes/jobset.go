package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// jobSet is a gang of the pods of its jobs. Groups that wait for others to come
// to their end are workloads of their own, which do.
func (k *reader) jobSet(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	jobs := s.Consume("replicatedJobs")
	if jobs == nil {
		k.missingTemplate(o, "spec.replicatedJobs")
		return nil
	}
	exclusiveTopology(k, doc)
	doc.Kind = lifecycle.Distributed
	decides := source.Entry(s.Tree, "successPolicy")
	first := ""
	if decides != nil {
		if t := source.Entry(decides, "targetReplicatedJobs"); t != nil && len(t.Items) == 1 {
			first = t.Items[0].Text
		}
	}
	domain := doc.Name
	if n := s.Map("network"); n != nil {
		if v := n.Consume("subdomain"); v != nil {
			domain = v.Text()
			v.Translated("command", "tasks find each other by their addresses")
		}
		n.Finish(source.Reasons{"enableDNSHostnames": "tasks find each other by their addresses", "publishNotReadyAddresses": "tasks find each other by their addresses"}, nil, false)
	}
	var groups []*replica
	for _, item := range jobs.List() {
		if g := replicatedJob(k, item, doc); g != nil && g.count > 0 {
			groups = append(groups, g)
		}
	}
	if len(k.Errors) > 0 {
		return nil
	}
	if len(groups) == 0 {
		jobs.Refuse("has no pods", "write at least one group")
		return nil
	}
	startupOrder(k, s.Consume("startupPolicy"), len(groups))
	gangs := gangsOf(k, jobs, doc.Name, domain, groups, first)
	if len(k.Errors) > 0 {
		return nil
	}
	jobSetEnds(k, s, gangs, first, groups)
	s.Finish(source.Reasons{"coordinator": "the first task is the master", "managedBy": "it is Muster's"}, source.Reasons{"volumeClaimPolicies": "a claim must be there"}, false)
	for _, gang := range gangs {
		if gang.Workers == 1 {
			gang.Kind, gang.Workers, gang.CleanPolicy, gang.Framework = lifecycle.Training, 0, "", ""
			k.noTopology(gang, o.Tree.Line, "a single task has no topology")
		}
	}
	for _, gang := range gangs[:len(gangs)-1] {
		k.ApplyAnnotation(gang)
		k.Add(gang)
	}
	return gangs[len(gangs)-1]
}

// exclusiveTopology reads the annotation by which each job has a domain of nodes.
func exclusiveTopology(k *reader, doc *spec.Document) {
	const exclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	key, ok := doc.Annotations[exclusive]
	if !ok {
		return
	}
	delete(doc.Annotations, exclusive)
	doc.Topology.Required = key
	for i, n := range k.Notes {
		if n.To == "annotations."+exclusive {
			k.Notes[i].To, k.Notes[i].Fate, k.Notes[i].Lossy, k.Notes[i].Reason = "topology.required", source.Approximated, true, "all tasks are in one such domain, which others may use too"
		}
	}
}

func startupOrder(k *reader, v *source.Value, groups int) {
	if v == nil {
		return
	}
	order := v.Map().Consume("startupPolicyOrder")
	if order.Text() == "InOrder" && groups > 1 {
		order.Approximated("workers", "all tasks start together, not one group after another")
		return
	}
	order.Ignored("all start together")
}

// jobSetEnds reads how a JobSet ends.
func jobSetEnds(k *reader, s *source.Map, gangs []*spec.Document, first string, groups []*replica) {
	last := gangs[len(gangs)-1]
	for _, g := range groups {
		for _, gang := range gangs {
			if g.again > gang.Retry.Limit {
				gang.Retry.Limit, gang.Retry.Backoff = min(g.again, source.MaxRetries), podBackoff
			}
		}
	}
	if p := s.Map("failurePolicy"); p != nil {
		if v := p.Consume("maxRestarts"); v != nil {
			for _, gang := range gangs {
				gang.Retry.Backoff = 0
				k.retries(v, gang, 0, 0, "")
			}
		}
		p.Finish(source.Reasons{"restartStrategy": "the whole gang is tried again"}, source.Reasons{"rules": "write retry.rules"}, false)
	}
	if p := s.Map("successPolicy"); p != nil {
		operator, targets := p.Consume("operator"), p.Consume("targetReplicatedJobs")
		one := len(groups) == 1 && groups[0].count == 1
		for _, g := range groups {
			if g.role == first && g.count == 1 && g.first == 0 {
				one = true
			}
		}
		switch {
		case one:
			last.CleanPolicy = "running"
			operator.Translated("cleanPolicy", "it has succeeded once that task has")
			targets.Translated("cleanPolicy", "its task is the first, which decides")
		case operator.Text() == "Any":
			last.CleanPolicy = "running"
			operator.Approximated("cleanPolicy", "it has succeeded once its first task has")
			targets.Dropped("its first task decides, or all")
		case first != "" && len(groups) > 1:
			operator.Translated("cleanPolicy", "")
			targets.Dropped("its first task decides, or all")
		default:
			operator.Translated("cleanPolicy", "")
			targets.Translated("cleanPolicy", "all tasks decide")
		}
		p.Finish(nil, nil, false)
	}
	ttl, suspend := s.Consume("ttlSecondsAfterFinished"), s.Consume("suspend")
	for _, gang := range gangs {
		readTTL(ttl, gang)
	}
	readSuspended(suspend, gangs[0])
}

// gangsOf makes the gangs of a JobSet: of the groups that run together one each.
// What cannot be one gang is a workload for each group, which is not the same.
func gangsOf(k *reader, at *source.Value, name, domain string, groups []*replica, first string) (gangs []*spec.Document) {
	all := stagesOf(groups)
	split := len(all) > 1
	for _, stage := range all {
		stage = leading(stage, first)
		ranked(stage)
		index(k, stage, name, domain)
		gang, why := k.gang(stage)
		if len(k.Errors) > 0 {
			return nil
		}
		if gang != nil {
			gangs = append(gangs, gang)
			named(k, gang, stage[0].role, split)
			for _, g := range stage {
				g.doc = gang
			}
			continue
		}
		at.Approximated("", "it becomes a workload for each group, which do not start together or end each other: "+why)
		split = true
		for _, g := range stage {
			g.doc.Workers = g.count
			named(k, g.doc, g.role, true)
			gangs = append(gangs, g.doc)
		}
	}
	for _, g := range groups {
		for _, w := range g.waits {
			waitFor(k, g, w, groups)
		}
	}
	return gangs
}

// named gives a part of a set its own name.
func named(k *reader, gang *spec.Document, role string, part bool) {
	switch {
	case !part:
	case gang.Name != "":
		gang.Name = source.NameFrom(gang.Name+"-"+role, spec.MaxName)
	case gang.NamePrefix != "":
		gang.NamePrefix = source.NameFrom(gang.NamePrefix+"-"+role, 45)
	}
}

// waitFor has the workload of a group wait for that of another.
func waitFor(k *reader, g *replica, w waits, groups []*replica) {
	i := slices.IndexFunc(groups, func(o *replica) bool { return o.role == w.group })
	if i < 0 {
		w.at.Refuse(fmt.Sprintf("there is no group %q", source.Shorten(w.group)), "name one of replicatedJobs")
		return
	}
	other := groups[i].doc
	switch {
	case other == g.doc:
		w.at.Approximated("workers", "all tasks start together, not one group after another")
	case other.Name == "":
		w.at.Dropped("workloads wait for each other by their names; write metadata.name")
	default:
		d := spec.Dependency{Workload: other.Name}
		if !w.done {
			d.When = spec.AfterStarted
		}
		if !slices.Contains(g.doc.After, d) {
			g.doc.After = append(g.doc.After, d)
		}
		w.at.Translated("after", "it is a workload of its own that waits for the other")
	}
}

// stagesOf divides groups into those that run together: a group that waits for
// the end of another runs after it.
func stagesOf(groups []*replica) (stages [][]*replica) {
	stage := map[string]int{}
	for range groups { // as far as the longest chain
		for _, g := range groups {
			for _, w := range g.waits {
				least := stage[w.group]
				if w.done {
					least++
				}
				stage[g.role] = min(max(stage[g.role], least), len(groups)-1)
			}
		}
	}
	for n := range groups {
		var these []*replica
		for _, g := range groups {
			if stage[g.role] == n {
				these = append(these, g)
			}
		}
		if len(these) > 0 {
			stages = append(stages, these)
		}
	}
	return stages
}

// index gives the groups of a JobSet the addresses of each other, and the
// numbers of their jobs and pods.
func index(k *reader, groups []*replica, name, domain string) {
	var names []podNames
	for _, g := range groups {
		if name == "" || g.jobs == 0 {
			break
		}
		each := g.count / max(1, g.jobs)
		h := namesOf(name+"-"+g.role, domain, g.first, g.jobs, each)
		h.rest = "-" + g.role + "-0-0"
		names = append(names, h)
	}
	for _, g := range groups {
		g.before = resolved(g.doc, names, g.at)
		each := g.count / max(1, g.jobs)
		const variable = "JOB_COMPLETION_INDEX" // which is the task's own number in the whole gang
		if g.first+g.jobs > 1 && (g.doc.Mentions(variable) || computes(k, g.doc, variable)) && !strings.Contains(strings.Join(g.doc.Command.Argv, " "), "export "+variable) {
			g.before = append([]string{fmt.Sprintf("export %s=$(((NODE_RANK - %d) %% %d))", variable, g.first, each)}, g.before...)
		}
	}
}

// replicatedJob reads one group of a JobSet.
func replicatedJob(k *reader, item *source.Value, doc *spec.Document) *replica {
	o := item.Map()
	if o == nil {
		return nil
	}
	name := o.Consume("name")
	name.Ignored("tasks are numbered")
	g := &replica{role: name.Text(), count: 1, doc: doc.Clone(), at: item}
	if v := o.Consume("replicas"); v != nil {
		g.count = v.Integer(0)
		v.Translated("workers", "")
	}
	g.jobs = g.count
	for _, item := range o.Consume("dependsOn").List() {
		d := item.Map()
		w := waits{group: d.Consume("name").Text(), at: item}
		switch v := d.Consume("status"); v.Text() {
		case "Complete":
			w.done = true
		case "Ready":
		default:
			v.Refuse(fmt.Sprintf("%q is not a status", v.Text()), "allowed are Ready and Complete")
		}
		d.Finish(nil, nil, false)
		g.waits = append(g.waits, w)
	}
	job := o.Map("template")
	s := job.Map("spec")
	if s == nil {
		k.missingTemplate(o, "template.spec")
		return g
	}
	k.meta(job.Map("metadata"), g.doc, false)
	pods := 1
	p, c := s.Consume("parallelism"), s.Consume("completions")
	switch {
	case p != nil && c != nil && p.Integer(1) < c.Integer(1):
		p.Refuse(fmt.Sprintf("%d is less than completions, %s: its pods would not run together", p.Integer(1), c.Tree.Text), "write the same number for both")
	case c != nil:
		pods = c.Integer(1)
	case p != nil:
		pods = p.Integer(1)
	}
	p.Translated("workers", "")
	c.Translated("workers", "")
	if g.count *= pods; g.count > 100_000 || g.count < 0 {
		item.Refuse(fmt.Sprintf("has %d pods, more than 100000", g.count), "")
	}
	g.again = podRetries
	if v := s.Consume("backoffLimit"); v != nil {
		if g.again = v.Integer(0); g.again == 0 {
			v.Translated("retry.limit", "")
		} else {
			v.Translated("retry.limit", "a pod is not tried again alone, but the whole gang, and as often as failurePolicy says where it does")
		}
	} else {
		k.Note(source.Note{Line: s.Tree.Line, Field: source.FieldPath(s.Path, "backoffLimit"), Fate: source.Translated, To: "retry.limit", Reason: fmt.Sprintf("Kubernetes tries pods again %d times where it is not told; here it is the whole gang, and as often as failurePolicy says where it does", podRetries)})
	}
	if v := s.Consume("activeDeadlineSeconds"); v != nil {
		g.doc.MaxDuration = shorter(g.doc.MaxDuration, source.Seconds(v.Integer(1)))
		v.Translated("maxDuration", "")
	}
	if t := s.Map("template"); t != nil {
		onRestart(k.template(t, g.doc, ""))
	} else {
		k.missingTemplate(s, "template")
	}
	k.gangEnv(g.doc)
	s.Finish(source.Reasons{"completionMode": "each task knows its index: MUSTER_TASK_INDEX", "suspend": "the JobSet's own counts", "podReplacementPolicy": "a task is replaced once it has ended"}, source.Reasons{"podFailurePolicy": "write retry.rules", "successPolicy": "its first task decides, or all", "backoffLimitPerIndex": "failures of all tasks count together", "ttlSecondsAfterFinished": "the JobSet's own counts"}, false)
	job.Finish(nil, nil, false)
	o.Finish(source.Reasons{"groupName": "there are no groups"}, nil, false)
	return g
}

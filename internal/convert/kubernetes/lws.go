package kubernetes

import (
	"fmt"
	"strconv"

	"github.com/musterhq/muster/internal/convert/kubernetes/podnames"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/hosts"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// mostGroups is how many groups of a LeaderWorkerSet become workloads at once.
const mostGroups = 100

// leaderWorkerSet is a gang for each of its groups, which is tried again when
// one of its pods fails.
func (k *reader) leaderWorkerSet(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	t := s.Map("leaderWorkerTemplate")
	if t == nil {
		k.missingTemplate(o, "spec.leaderWorkerTemplate")
		return nil
	}
	replicas, size := 1, 1
	v := s.Consume("replicas")
	if v != nil {
		replicas = v.Integer(0)
	}
	if n := t.Consume("size"); n != nil {
		size = n.Integer(1)
		n.Translated("workers", "")
	}
	if replicas == 0 || replicas > mostGroups {
		v.Refuse(fmt.Sprintf("has %d groups", replicas), fmt.Sprintf("write 1 to %d", mostGroups))
		return nil
	}
	doc.Kind = lifecycle.Distributed
	k.claimTemplates(t.Consume("volumeClaimTemplates"))
	defer k.claimTemplates(nil)
	gang := leaderAndWorkers(k, t, doc, size)
	if gang == nil || len(k.Errors) > 0 {
		return nil
	}
	switch p := t.Consume("restartPolicy"); p.Text() {
	case "", "Default", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart":
		p.Translated("retry.limit", "")
	default:
		p.Approximated("retry.limit", "the whole group is tried again")
	}
	gang.Retry.Limit, gang.Retry.Backoff = source.MaxRetries, podBackoff
	at := &source.Value{Reader: k.Reader, Tree: s.Tree, Path: s.Path, Line: s.Tree.Line}
	if replicas == 1 {
		v.Translated("workers", "the group is one gang")
	} else {
		v.Approximated("workers", fmt.Sprintf("each group is a workload of its own, of %d tasks: they are not scaled or replaced together", gang.Workers))
	}
	at.Translated("kind", "it runs until it is stopped; ports are reached by muster port-forward")
	t.Finish(source.Reasons{"subGroupPolicy": "write topology"}, nil, false)
	s.Finish(source.Reasons{"rolloutStrategy": "a gang is replaced whole", "startupPolicy": "all start together", "networkConfig": "tasks find each other by MASTER_ADDR"}, nil, false)
	named := func(d *spec.Document, i int) *spec.Document {
		if host := gang.Name + "-" + strconv.Itoa(i); gang.Name != "" {
			podnames.Give(d, hosts.Entry{Host: host, Domain: gang.Name})
			if size > 1 {
				podnames.Give(d, hosts.Entry{Host: host + "-{1.." + strconv.Itoa(size-1) + "}", Domain: gang.Name, First: 1})
			}
		}
		return d
	}
	for i := range replicas - 1 {
		k.Add(named(groupOf(gang, i), i))
	}
	if replicas > 1 {
		return named(groupOf(gang, replicas-1), replicas-1)
	}
	return named(gang, 0)
}

// groupOf is the workload of one of several groups.
func groupOf(gang *spec.Document, i int) *spec.Document {
	d := gang.Clone()
	d.Retry = gang.Retry
	if d.Name != "" {
		d.Name = source.NameFrom(gang.Name, spec.MaxName-4) + "-" + strconv.Itoa(i)
	}
	return d
}

// leaderAndWorkers makes the gang of one group.
func leaderAndWorkers(k *reader, t *source.Map, doc *spec.Document, size int) *spec.Document {
	read := func(v *source.Value, role string, count int) *replica {
		g := &replica{role: role, count: count, doc: doc.Clone(), at: v}
		for name, word := range map[string]string{"LWS_LEADER_ADDRESS": "MASTER_ADDR", "LWS_WORKER_INDEX": "NODE_RANK"} {
			g.doc.Env = source.Set(g.doc.Env, name, variable(word))
		}
		g.doc.Env = source.Set(g.doc.Env, "LWS_GROUP_SIZE", strconv.Itoa(size))
		headRestart(k.template(v.Map(), g.doc, ""))
		k.gangEnv(g.doc)
		return g
	}
	leader, worker := t.Consume("leaderTemplate"), t.Consume("workerTemplate")
	if worker == nil {
		k.missingTemplate(t, "workerTemplate")
		return nil
	}
	var groups []*replica
	switch {
	case leader == nil:
		groups = append(groups, read(worker, "workers", size))
	case size == 1:
		groups = append(groups, read(leader, "leader", 1))
		worker.Ignored("there are no workers")
	default:
		groups = append(groups, read(leader, "leader", 1), read(worker, "workers", size-1))
	}
	if len(k.Errors) > 0 {
		return nil
	}
	ranked(groups)
	gang, why := k.gang(groups)
	if gang == nil && len(k.Errors) == 0 {
		leader.Refuse("makes no gang with the workers: "+why, "give leader and workers the same image")
	}
	return gang
}

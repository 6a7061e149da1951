package kubernetes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// volcanoGroup has a kind of the same name as one of Kubernetes itself.
const volcanoGroup = "batch.volcano.sh"

// volcanoJob is a gang of the pods of its tasks.
func (k *reader) volcanoJob(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	tasks := s.Consume("tasks")
	if tasks == nil {
		k.missingTemplate(o, "spec.tasks")
		return nil
	}
	doc.Kind = lifecycle.Distributed
	if v := s.Consume("queue"); v != nil {
		if v.Text() == "default" {
			v.Kept("project")
		} else {
			doc.Project = v.Text()
			v.Translated("project", "queues are projects here")
		}
	}
	if v := s.Consume("priorityClassName"); v != nil {
		readPriority(doc, v)
	}
	plugins := s.Consume("plugins")
	hosts := readPlugins(k, plugins, doc)
	var groups []*replica
	ends := ""
	for _, item := range tasks.List() {
		g, decides := volcanoTask(k, item, doc)
		if g != nil && g.count > 0 {
			groups = append(groups, g)
		}
		if decides {
			ends = g.role
		}
	}
	if len(k.Errors) > 0 {
		return nil
	}
	if len(groups) == 0 {
		tasks.Refuse("has no pods", "write at least one task")
		return nil
	}
	groups = leading(groups, ends)
	ranked(groups)
	volcanoIndex(groups, hosts)
	gang, why := k.gang(groups)
	if len(k.Errors) > 0 {
		return nil
	}
	if gang == nil {
		tasks.Refuse("makes no gang: "+why, "all tasks of a gang but the first have one image and need the same; give them the same, or write the others as workloads of their own")
		return nil
	}
	if ends != "" {
		gang.CleanPolicy = "running"
	}
	volcanoEnds(k, s, gang, len(groups) == 1)
	if gang.Workers == 1 {
		gang.Kind, gang.Workers, gang.CleanPolicy, gang.Framework = lifecycle.Training, 0, "", ""
	}
	return gang
}

// volcanoEnds reads how a Job of Volcano begins and ends.
func volcanoEnds(k *reader, s *source.Map, gang *spec.Document, alike bool) {
	if v := s.Consume("minAvailable"); v != nil {
		switch n := v.Integer(0); {
		case n > 0 && n < gang.Workers && alike:
			gang.MinWorkers, gang.Resize = n, "live"
			v.Translated("minWorkers", "so many start together, and the others as there is room")
		case n < gang.Workers:
			v.Approximated("workers", "all start together, not so many first")
		default:
			v.Translated("workers", "all start together")
		}
	}
	if v := s.Consume("maxRetry"); v != nil {
		k.retries(v, gang, 0, 0, "")
	} else {
		gang.Retry.Limit, gang.Retry.Backoff = 3, podBackoff
		k.Note(source.Note{Line: s.Tree.Line, Field: source.FieldPath(s.Path, "maxRetry"), Fate: source.Translated, To: "retry.limit", Reason: "Volcano tries again 3 times where it is not told"})
	}
	readTTL(s.Consume("ttlSecondsAfterFinished"), gang)
	for _, item := range s.Consume("policies").List() {
		volcanoPolicy(k, item)
	}
	s.Finish(source.Reasons{"schedulerName": "the scheduler is Muster's", "minSuccess": "its first task decides, or all", "networkTopology": "write topology"}, source.Reasons{"volumes": "write volumes of the tasks", "runningEstimate": "write expectedDuration"}, false)
}

// volcanoPolicy reads what follows from an event, and reports whether the end
// of a task is that of the whole.
func volcanoPolicy(k *reader, item *source.Value) (ends bool) {
	o := item.Map()
	if o == nil {
		return false
	}
	action := o.Consume("action").Text()
	events := append(o.Consume("event").Texts(), o.Consume("events").Texts()...)
	o.Finish(source.Reasons{"timeout": "it follows at once"}, source.Reasons{"exitCode": "write retry.rules"}, false)
	switch {
	case action == "CompleteJob" && slices.Contains(events, "TaskCompleted"):
		item.Translated("cleanPolicy", "the others end with it")
		return true
	case action == "RestartJob" || action == "RestartTask" || action == "RestartPod":
		item.Translated("retry.limit", "the whole gang is tried again; what is displaced never counts as a failure")
	case action == "AbortJob" || action == "TerminateJob" || action == "CompleteJob":
		item.Dropped("a failure is tried again as often as retry.limit says")
	default:
		item.Dropped("it is not known")
	}
	return false
}

// volcanoTask reads one group of pods.
func volcanoTask(k *reader, item *source.Value, doc *spec.Document) (g *replica, decides bool) {
	o := item.Map()
	if o == nil {
		return nil, false
	}
	name := o.Consume("name")
	name.Ignored("tasks are numbered")
	g = &replica{role: name.Text(), count: 1, doc: doc.Clone(), at: item}
	if v := o.Consume("replicas"); v != nil {
		g.count = v.Integer(0)
		v.Translated("workers", "")
	}
	t := o.Map("template")
	if t == nil {
		k.missingTemplate(o, "template")
		return g, false
	}
	if restart := k.template(t, g.doc, ""); restart != nil {
		restart.Translated("retry.limit", "the whole gang is tried again, as often as maxRetry says")
	}
	k.gangEnv(g.doc)
	for _, p := range o.Consume("policies").List() {
		decides = volcanoPolicy(k, p) || decides
	}
	if v := o.Consume("dependsOn"); v != nil {
		v.Approximated("workers", "all tasks start together, not one group after another")
	}
	o.Finish(source.Reasons{"maxRetry": "the whole gang is tried again", "topologyPolicy": "the scheduler places them", "minAvailable": "all start together", "partitionPolicy": "write topology"}, nil, false)
	if decides && g.count > 1 {
		item.Approximated("cleanPolicy", "the gang has succeeded once the first of these tasks has")
	}
	return g, decides
}

// readPlugins reads the plugins of a Job, and reports whether tasks are told the
// hosts of all.
func readPlugins(k *reader, v *source.Value, doc *spec.Document) (hosts bool) {
	names, values := v.Pairs()
	for i, name := range names {
		switch name {
		case "env":
			values[i].Translated("command", "tasks have VC_TASK_INDEX")
		case "svc":
			hosts = true
			values[i].Translated("command", "tasks have the addresses of all, in files too")
		case "pytorch":
			doc.Framework = "pytorch"
			values[i].Translated("framework", "")
		case "tensorflow", "mpi", "ray":
			values[i].Dropped("what it sets is missing; write a TFJob, MPIJob or RayJob")
		case "ssh":
			values[i].Dropped("tasks have no keys for each other; write an MPIJob, whose launcher reaches its workers")
		default:
			values[i].Dropped("it is not known")
		}
	}
	return hosts
}

// volcanoIndex gives tasks their number in their group and, where a plugin
// does, the addresses of all: as variables and as files, for which the paths in
// their commands are others.
func volcanoIndex(groups []*replica, addresses bool) {
	const there = "/etc/volcano"
	for _, g := range groups {
		argv := strings.Join(append(slices.Clone(g.doc.Command.Argv), g.doc.Args...), " ")
		uses := func(name string) bool { return strings.Contains(argv, name) || g.doc.Mentions(name) }
		if len(g.doc.Command.Argv) == 0 || strings.Contains(argv, "export VC_TASK_INDEX") {
			continue
		}
		if uses("VC_TASK_INDEX") || uses("VK_TASK_INDEX") {
			g.before = append(g.before, fmt.Sprintf("export VC_TASK_INDEX=$((NODE_RANK - %d)) VK_TASK_INDEX=$((NODE_RANK - %d))", g.first, g.first))
		}
		files := uses(there + "/")
		if !addresses || !files && !uses("VC_") {
			continue
		}
		g.before = append(g.before, "set -- $MUSTER_TASK_ADDRESSES")
		if files {
			// What goes with the task, where there is such a folder and it may be written.
			g.before = append(g.before, `volcano=${MUSTER_TASK_DIR:-/dev/null}/volcano; mkdir -p "$volcano" 2>/dev/null || volcano=$(mktemp -d)`)
		}
		for _, o := range groups {
			name := strings.ToUpper(strings.ReplaceAll(o.role, "-", "_"))
			g.before = append(g.before, "VC_"+name+"_HOSTS=; for i in $(seq "+strconv.Itoa(o.count)+"); do VC_"+name+"_HOSTS=\"$VC_"+name+"_HOSTS${VC_"+name+"_HOSTS:+,}$1\"; shift; done",
				fmt.Sprintf("export VC_%s_HOSTS VC_%s_NUM=%d", name, name, o.count))
			if files {
				g.before = append(g.before, fmt.Sprintf(`echo "$VC_%s_HOSTS" | tr , '\n' >"$volcano/%s.host"`, name, o.role))
			}
		}
		for i, a := range g.doc.Command.Argv {
			g.doc.Command.Argv[i] = strings.ReplaceAll(a, there+"/", variable("volcano")+"/")
		}
		for i, a := range g.doc.Args {
			g.doc.Args[i] = strings.ReplaceAll(a, there+"/", variable("volcano")+"/")
		}
	}
}

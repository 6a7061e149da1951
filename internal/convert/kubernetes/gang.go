package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// operatorJob is what differs between the jobs of Kubeflow's training
// operator.
type operatorJob struct {
	framework, specs, container string
	first                       []string // groups whose one pod is the master
	others                      []string // groups beside the workers
}

func (k *reader) pytorchJob(o *source.Map, doc *spec.Document) *spec.Document {
	return k.operated(o, doc, operatorJob{"pytorch", "pytorchReplicaSpecs", "pytorch", []string{"Master"}, nil})
}

func (k *reader) tfJob(o *source.Map, doc *spec.Document) *spec.Document {
	return k.operated(o, doc, operatorJob{"tensorflow", "tfReplicaSpecs", "tensorflow", []string{"Chief", "Master"}, []string{"PS", "Evaluator"}})
}

func (k *reader) xgboostJob(o *source.Map, doc *spec.Document) *spec.Document {
	return k.operated(o, doc, operatorJob{"xgboost", "xgbReplicaSpecs", "xgboost", []string{"Master"}, nil})
}

// jaxJob has workers only, of which the first is the coordinator.
func (k *reader) jaxJob(o *source.Map, doc *spec.Document) *spec.Document {
	return k.operated(o, doc, operatorJob{"jax", "jaxReplicaSpecs", "jax", []string{"Master"}, nil})
}

// operated converts a job of a training operator, which has masters and workers.
func (k *reader) operated(o *source.Map, doc *spec.Document, is operatorJob) *spec.Document {
	s := o.Map("spec")
	specs := s.Consume(is.specs)
	if specs == nil {
		k.missingTemplate(o, "spec."+is.specs)
		return nil
	}
	doc.Kind, doc.Framework = lifecycle.Distributed, is.framework
	master, worker, others := k.replicas(specs, doc, is)
	if len(k.Errors) > 0 || master == nil && worker == nil {
		return nil
	}
	var groups []*replica
	for _, g := range append([]*replica{master, worker}, others...) {
		if g != nil {
			groups = append(groups, g)
		}
	}
	ranked(groups)
	operatedNames(groups, doc.Name)
	if len(others) > 0 {
		clusterSpec(groups)
	}
	gang, why := k.gang(groups)
	if len(k.Errors) > 0 {
		return nil
	}
	if gang == nil {
		specs.Refuse("makes no gang: "+why, "all its tasks but the first have one image and need the same; give them the same, or write the others as workloads of their own")
		return nil
	}
	if len(others) > 0 {
		gang.Framework, gang.CleanPolicy = is.framework, "running"
		specs.Translated("cleanPolicy", "it has succeeded once its first task has, and its servers end then")
	}
	readPerNode(s.Consume("nprocPerNode"), gang)
	k.elastic(s.Map("elasticPolicy"), gang, worker)
	k.runPolicy(s, gang, master, worker)
	s.Finish(nil, nil, false)
	return gang
}

// replicas reads the groups of a job's pods.
func (k *reader) replicas(specs *source.Value, doc *spec.Document, is operatorJob) (master, worker *replica, others []*replica) {
	roles, values := specs.Pairs()
	for i, role := range roles {
		v := values[i]
		o := v.Map()
		if o == nil {
			continue
		}
		first, other := slices.Contains(is.first, role), slices.Contains(is.others, role)
		if !first && !other && role != "Worker" {
			v.Refuse(fmt.Sprintf("%s is not a group that gangs have", source.Shorten(role)), "allowed are "+strings.Join(slices.Concat(is.first, []string{"Worker"}, is.others), ", "))
			continue
		}
		rep := k.group(o, v, role, doc, is.container)
		switch {
		case first && rep.count > 1:
			v.Refuse(fmt.Sprintf("has %d replicas; there is one master", rep.count), "write replicas: 1")
		case rep.count == 0:
			v.Ignored("it has no replicas")
		case first:
			master = rep
		case other:
			others = append(others, rep)
		default:
			worker = rep
		}
	}
	if master == nil && worker == nil && len(k.Errors) == 0 {
		specs.Refuse("has no replicas", "write at least one")
	}
	slices.SortStableFunc(others, func(a, b *replica) int {
		return slices.Index(is.others, a.role) - slices.Index(is.others, b.role)
	})
	return master, worker, others
}

// operatedNames puts addresses where the operator gives names to pods.
func operatedNames(groups []*replica, name string) {
	var names []podNames
	for _, g := range groups {
		if name != "" {
			names = append(names, namesOf(name+"-"+strings.ToLower(g.role), "", g.first, g.count))
		}
	}
	for _, g := range groups {
		g.before = resolved(g.doc, names, g.at)
	}
}

// clusterSpec gives each group a TF_CONFIG that has parameter servers and
// evaluators too. The platform's own has the addresses of all, in the order of
// their ranks, as a chief and workers.
func clusterSpec(groups []*replica) {
	for _, g := range groups {
		lines := []string{`set -- $(printf '%s' "$TF_CONFIG" | grep -o '"[^"]*:[0-9][0-9]*"')`, "cluster="}
		for _, o := range groups {
			role := strings.ToLower(o.role)
			if role == "evaluator" { // which is not of the cluster
				lines = append(lines, fmt.Sprintf("shift %d", o.count))
				continue
			}
			lines = append(lines, fmt.Sprintf(`these= && for i in $(seq %d); do these="$these${these:+,}$1" && shift; done && cluster="$cluster${cluster:+,}\"%s\":[$these]"`, o.count, role))
		}
		lines = append(lines, fmt.Sprintf(`export TF_CONFIG="{\"cluster\":{$cluster},\"task\":{\"type\":\"%s\",\"index\":$((NODE_RANK - %d))},\"environment\":\"cloud\"}"`, strings.ToLower(g.role), g.first))
		g.before = append(lines, g.before...)
	}
}

// group reads replicas and template of one group.
func (k *reader) group(o *source.Map, at *source.Value, role string, doc *spec.Document, container string) *replica {
	rep := &replica{role: role, count: 1, doc: doc.Clone(), at: at}
	if v := o.Consume("replicas"); v != nil {
		rep.count = v.Integer(0)
		v.Translated("workers", "")
	}
	rep.restart = o.Consume("restartPolicy")
	t := o.Map("template")
	if t == nil {
		k.missingTemplate(o, "template")
		return rep
	}
	inner := k.template(t, rep.doc, container)
	if inner != nil {
		inner.Ignored("the group's own policy counts")
	}
	k.gangEnv(rep.doc)
	o.Finish(nil, source.Reasons{"autoScale": "the gang keeps its size"}, false)
	return rep
}

// readPerNode reads how many processes torchrun starts on each node.
func readPerNode(v *source.Value, gang *spec.Document) {
	if v == nil {
		return
	}
	gpus := gang.Resources.GPU.Devices()
	switch text := v.Text(); text {
	case "auto", "gpu":
		if gpus > 0 {
			v.Translated("resources.gpu", "one for each GPU")
			return
		}
		gang.Env = source.Set(gang.Env, "PET_NPROC_PER_NODE", text)
	case "cpu":
		gang.Env = source.Set(gang.Env, "PET_NPROC_PER_NODE", text)
	default:
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			v.Refuse(fmt.Sprintf("%q is not a number of processes", source.Shorten(text)), "write a number, auto, gpu or cpu")
			return
		}
		if n == max(gpus, 1) {
			v.Translated("resources.gpu", "one for each GPU")
			return
		}
		gang.Env = source.Set(gang.Env, "PET_NPROC_PER_NODE", text)
	}
	v.Translated("env.PET_NPROC_PER_NODE", "torchrun reads it")
}

// elastic reads between which sizes a gang may change. It never grows beyond
// the replicas that it begins with.
func (k *reader) elastic(o *source.Map, gang *spec.Document, worker *replica) {
	if o == nil {
		return
	}
	if v := o.Consume("minReplicas"); v != nil && worker != nil {
		least := v.Integer(1) + gang.Workers - worker.count
		switch {
		case least > gang.Workers:
			v.Refuse(fmt.Sprintf("%d is more than the replicas, %d", least, gang.Workers), "lower it")
		case least < gang.Workers:
			gang.MinWorkers = least
			v.Translated("minWorkers", "")
		default:
			v.Translated("workers", "it never shrinks")
		}
	}
	if v := o.Consume("maxReplicas"); v != nil {
		if n := v.Integer(1); worker == nil || n > worker.count {
			v.Approximated("workers", "the gang never has more than its replicas")
		} else {
			v.Translated("workers", "")
		}
	}
	if v := o.Consume("maxRestarts"); v != nil {
		k.retries(v, gang, 0, 0, "")
	}
	if v := o.Consume("nProcPerNode"); v != nil {
		readPerNode(v, gang)
	}
	o.Finish(source.Reasons{"rdzvBackend": "the platform sets the rendezvous", "rdzvHost": "the platform sets the rendezvous", "rdzvPort": "the platform sets the rendezvous", "rdzvId": "the platform sets the rendezvous", "rdzvConf": "the platform sets the rendezvous", "standalone": "the platform sets the rendezvous"},
		source.Reasons{"metrics": "the gang takes what room there is"}, false)
}

// runPolicy reads how a job of the operator ends; older ones have its fields
// beside the replicas.
func (k *reader) runPolicy(s *source.Map, gang *spec.Document, groups ...*replica) {
	p := s.Map("runPolicy")
	for _, o := range []*source.Map{p, s} {
		if o == nil {
			continue
		}
		readCleanPolicy(o.Consume("cleanPodPolicy"), gang)
		k.runEnds(o, gang)
		readSchedulingPolicy(o.Map("schedulingPolicy"), gang)
	}
	p.Finish(source.Reasons{"managedBy": "it is Muster's"}, nil, false)
	for _, g := range groups {
		if g != nil {
			readGroupRestart(g.restart, gang)
		}
	}
}

func readCleanPolicy(v *source.Value, gang *spec.Document) {
	if v == nil {
		return
	}
	switch v.Text() {
	case "None":
		gang.CleanPolicy = "none"
		if gang.Framework == "mpi" { // workers of mpi never end by themselves
			gang.CleanPolicy = ""
			v.Ignored("pods that have ended are kept as attempts")
			return
		}
	case "Running", "All":
		gang.CleanPolicy = "running"
	default:
		v.Refuse(fmt.Sprintf("%q is not a policy", source.Shorten(v.Tree.Text)), "allowed are None, Running and All")
		return
	}
	v.Translated("cleanPolicy", "")
}

func readSchedulingPolicy(o *source.Map, gang *spec.Document) {
	if o == nil {
		return
	}
	if v := o.Consume("queue"); v != nil {
		if gang.Project == "" {
			gang.Project = v.Text()
		}
		v.Translated("project", "queues are projects here")
	}
	if v := o.Consume("priorityClass"); v != nil {
		readPriority(gang, v)
	}
	if v := o.Consume("minAvailable"); v != nil {
		if n := v.Integer(0); n >= gang.Size() {
			v.Translated("workers", "all start together")
		} else {
			v.Approximated("workers", "all start together, not so many first")
		}
	}
	o.Finish(source.Reasons{"minResources": "the tasks say it"}, source.Reasons{"scheduleTimeoutSeconds": "it waits for as long as it takes"}, false)
}

// readGroupRestart reads what follows when a pod of a gang fails: here the whole
// attempt is tried again.
func readGroupRestart(v *source.Value, gang *spec.Document) {
	if v == nil {
		return
	}
	again := func() { // the operator makes a pod again without end
		if gang.Retry.Limit == 0 {
			gang.Retry.Limit, gang.Retry.Backoff = source.MaxRetries, podBackoff
		}
		v.Translated("retry.limit", fmt.Sprintf("the whole gang is tried again, %d times", gang.Retry.Limit))
	}
	switch v.Text() {
	case "Never":
		v.Translated("retry.limit", "")
	case "OnFailure", "Always":
		again()
	case "ExitCode":
		if len(gang.Retry.Rules) == 0 {
			var codes []int
			for c := 1; c < 128; c++ {
				codes = append(codes, c)
			}
			gang.Retry.Rules = []spec.RetryRule{{ExitCodes: codes, Action: "fail"}}
		}
		again()
	default:
		v.Refuse(fmt.Sprintf("%q is not a policy", source.Shorten(v.Tree.Text)), "allowed are Never, OnFailure, Always and ExitCode")
	}
}

// runEnds reads how often and how long a group of pods may run, and when it does.
func (k *reader) runEnds(o *source.Map, gang *spec.Document) {
	if v := o.Consume("backoffLimit"); v != nil {
		k.retries(v, gang, 0, 0, "")
	}
	if v := o.Consume("activeDeadlineSeconds"); v != nil {
		gang.MaxDuration = shorter(gang.MaxDuration, source.Seconds(v.Integer(1)))
		if gang.Retry.Limit > 0 {
			v.Approximated("maxDuration", "it is of each attempt, not of all together")
		} else {
			v.Translated("maxDuration", "")
		}
	}
	readTTL(o.Consume("ttlSecondsAfterFinished"), gang)
	readSuspended(o.Consume("suspend"), gang)
}

// mpiJob is a launcher and its workers.
func (k *reader) mpiJob(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	specs := s.Consume("mpiReplicaSpecs")
	if specs == nil {
		k.missingTemplate(o, "spec.mpiReplicaSpecs")
		return nil
	}
	doc.Kind, doc.Framework = lifecycle.Distributed, "mpi"
	launcher, worker, _ := k.replicas(specs, doc, operatorJob{container: "", first: []string{"Launcher"}})
	if len(k.Errors) > 0 {
		return nil
	}
	if launcher == nil || worker == nil {
		specs.Refuse("needs a Launcher and Workers", "write both")
		return nil
	}
	for _, g := range []*replica{launcher, worker} {
		k.scripted(g.doc, nil, g.at)
	}
	gang := worker.doc
	gang.Workers = worker.count
	readLauncher(gang, launcher, s.Consume("runLauncherAsWorker"))
	if v := s.Consume("slotsPerWorker"); v != nil {
		if n := v.Integer(1); n != gang.SlotsOf() {
			gang.Slots = n
		}
		v.Translated("slots", "")
	} else if gang.Resources.GPU.Devices() > 1 {
		gang.Slots = 1
		k.Note(source.Note{Line: s.Tree.Line, Field: "spec.slotsPerWorker", Fate: source.Translated, To: "slots", Reason: "the operator takes 1 where it is not told"})
	}
	if v := s.Consume("mpiImplementation"); v != nil && v.Text() != "OpenMPI" {
		v.Refuse(fmt.Sprintf("%s is not launched here", source.Shorten(v.Tree.Text)), "use an image with Open MPI")
	} else if v != nil {
		v.Ignored("it is Open MPI that is launched")
	}
	k.runPolicy(s, gang, launcher, worker)
	s.Finish(source.Reasons{"sshAuthMountPath": "workers are reached without ssh", "launcherCreationPolicy": "the launcher waits for its workers"}, nil, false)
	return gang
}

// readLauncher gives gang the command of its launcher.
func readLauncher(gang *spec.Document, launcher *replica, asWorker *source.Value) {
	d := launcher.doc
	gang.Command, gang.Args = d.Command, d.Args // workers run the platform's own
	if asWorker != nil && asWorker.Bool() {
		if d.Resources.GPU != gang.Resources.GPU {
			asWorker.Refuse("the launcher asks for other GPUs than the workers", "ask for the same")
			return
		}
		if !maps.Equal(d.Resources.Extended, gang.Resources.Extended) {
			asWorker.Refuse("the launcher asks for other extended resources than the workers", "ask for the same")
			return
		}
		gang.Workers++
		asWorker.Approximated("workers", "the launcher stands beside one more worker")
		d.Resources = spec.Resources{}
	} else if asWorker != nil {
		asWorker.Translated("workers", "")
	}
	m := spec.Master{}
	if d.Image != gang.Image {
		m.Image = d.Image
	}
	for name, text := range d.Env {
		if was, both := gang.Env[name]; !both || was != text {
			m.Env = source.Set(m.Env, name, text)
		}
	}
	if r := d.Resources; !r.Equal(spec.Resources{}) && !r.Equal(spec.Resources{CPU: 1000}) {
		m.Resources = &r
	}
	if m.Image != "" || len(m.Env) > 0 || m.Resources != nil {
		gang.Master = &m
	}
	launcher.at.Translated("command", "the launcher runs it")
}

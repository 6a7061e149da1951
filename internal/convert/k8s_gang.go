package convert

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// replica is one group of equal pods of a gang.
type replica struct {
	role    string
	count   int
	doc     *spec.Document
	restart *value
	at      *value
}

// operatorJob is what differs between the jobs of Kubeflow's training
// operator.
type operatorJob struct {
	framework, specs, container string
	first                       []string // groups whose one pod is the master
}

func (k *k8sReader) pytorchJob(o *object, doc *spec.Document) *spec.Document {
	return k.operated(o, doc, operatorJob{"pytorch", "pytorchReplicaSpecs", "pytorch", []string{"Master"}})
}

func (k *k8sReader) tfJob(o *object, doc *spec.Document) *spec.Document {
	return k.operated(o, doc, operatorJob{"tensorflow", "tfReplicaSpecs", "tensorflow", []string{"Chief", "Master"}})
}

func (k *k8sReader) xgboostJob(o *object, doc *spec.Document) *spec.Document {
	return k.operated(o, doc, operatorJob{"xgboost", "xgbReplicaSpecs", "xgboost", []string{"Master"}})
}

// operated reads a job whose pods are masters and workers.
func (k *k8sReader) operated(o *object, doc *spec.Document, is operatorJob) *spec.Document {
	s := o.object("spec")
	specs := s.take(is.specs)
	if specs == nil {
		k.missingTemplate(o, "spec."+is.specs)
		return nil
	}
	doc.Kind, doc.Framework = lifecycle.Distributed, is.framework
	master, worker := k.replicas(specs, doc, is)
	if len(k.errs) > 0 || master == nil && worker == nil {
		return nil
	}
	gang := k.merge(master, worker)
	if gang == nil {
		return nil
	}
	k.perNode(s.take("nprocPerNode"), gang)
	k.elastic(s.object("elasticPolicy"), gang, worker)
	k.runPolicy(s, gang, master, worker)
	s.done(nil, nil, false)
	return gang
}

// replicas reads the groups of a job's pods.
func (k *k8sReader) replicas(specs *value, doc *spec.Document, is operatorJob) (master, worker *replica) {
	roles, values := specs.pairs()
	for i, role := range roles {
		v := values[i]
		o := v.object()
		if o == nil {
			continue
		}
		first := slices.Contains(is.first, role)
		if !first && role != "Worker" {
			v.refuse(fmt.Sprintf("%s is not a group that gangs have", shorten(role)), "allowed are "+is.first[0]+" and Worker")
			continue
		}
		rep := k.group(o, v, role, doc, is.container)
		switch {
		case first && rep.count > 1:
			v.refuse(fmt.Sprintf("has %d replicas; there is one master", rep.count), "write replicas: 1")
		case rep.count == 0:
			v.harmless("it has no replicas")
		case first:
			master = rep
		default:
			worker = rep
		}
	}
	if master == nil && worker == nil && len(k.errs) == 0 {
		specs.refuse("has no replicas", "write at least one")
	}
	return master, worker
}

// group reads replicas and template of one group.
func (k *k8sReader) group(o *object, at *value, role string, doc *spec.Document, container string) *replica {
	rep := &replica{role: role, count: 1, doc: doc.Clone(), at: at}
	if v := o.take("replicas"); v != nil {
		rep.count = v.whole(0)
		v.translated("workers", "")
	}
	rep.restart = o.take("restartPolicy")
	t := o.object("template")
	if t == nil {
		k.missingTemplate(o, "template")
		return rep
	}
	inner := k.template(t, rep.doc, container)
	if inner != nil {
		inner.harmless("the group's own policy counts")
	}
	k.gangEnv(rep.doc)
	o.done(nil, nothing{"autoScale": "the gang keeps its size"}, false)
	return rep
}

// merge makes one gang of a master and its workers, which may differ in
// command, arguments, variables and resources.
func (k *k8sReader) merge(master, worker *replica) *spec.Document {
	switch {
	case worker == nil:
		master.doc.Workers = 1
		return master.doc
	case master == nil:
		worker.doc.Workers = worker.count
		return worker.doc
	}
	gang := worker.doc
	gang.Workers = worker.count + 1
	k.differ(gang, master)
	if m := master.doc; m.MaxDuration > 0 {
		gang.MaxDuration = shorter(gang.MaxDuration, m.MaxDuration)
	}
	return gang
}

// differ gives gang the master that a group's pod is.
func (k *k8sReader) differ(gang *spec.Document, master *replica) {
	m, d := spec.Master{}, master.doc
	if d.Image != gang.Image {
		master.at.refuse(fmt.Sprintf("has the image %s, and the workers %s", shorten(d.Image), shorten(gang.Image)), "a gang has one image; build one that has both")
		return
	}
	if !slices.Equal(d.Command.Argv, gang.Command.Argv) {
		m.Command, m.Args = d.Command, d.Args
		if len(m.Command.Argv) == 0 {
			master.at.refuse("has no command, and the workers have one", "write the command for both")
		}
	} else if !slices.Equal(d.Args, gang.Args) {
		m.Args = d.Args
		if len(m.Args) == 0 {
			m.Command = d.Command
		}
	}
	for name, text := range d.Env {
		if was, both := gang.Env[name]; !both || was != text {
			m.Env = put(m.Env, name, text)
		}
	}
	for name := range gang.Env {
		if _, both := d.Env[name]; !both {
			master.at.approximated("master.env", fmt.Sprintf("it has %s of the workers too", shorten(name)))
			break
		}
	}
	if !d.Resources.Equal(gang.Resources) {
		r := d.Resources
		m.Resources = &r
	}
	if what := otherwise(d, gang); what != "" {
		master.at.approximated("master", "its "+what+" are the workers'")
	}
	if len(m.Command.Argv) > 0 || len(m.Args) > 0 || len(m.Env) > 0 || m.Resources != nil {
		gang.Master = &m
		master.at.translated("master", "what differs from the workers")
	}
}

// otherwise names what else differs between two groups.
func otherwise(a, b *spec.Document) string {
	x, y := a.Clone(), b.Clone()
	for _, d := range []*spec.Document{x, y} {
		d.Command, d.Args, d.Env, d.Resources, d.Master = spec.Command{}, nil, nil, spec.Resources{}, nil
		d.Workers, d.Labels, d.Annotations, d.MaxDuration = 0, nil, nil, 0
	}
	switch {
	case x.Equal(y):
		return ""
	case !maps.Equal(x.NodeSelector, y.NodeSelector) || !slices.Equal(x.Tolerations, y.Tolerations):
		return "rules of where it may run"
	case len(x.Volumes) != len(y.Volumes):
		return "volumes"
	default:
		return "other fields"
	}
}

// perNode reads how many processes torchrun starts on each node.
func (k *k8sReader) perNode(v *value, gang *spec.Document) {
	if v == nil {
		return
	}
	gpus := gang.Resources.GPU.Devices()
	switch text := v.text(); text {
	case "auto", "gpu":
		if gpus > 0 {
			v.translated("resources.gpu", "one for each GPU")
			return
		}
		gang.Env = put(gang.Env, "PET_NPROC_PER_NODE", text)
	case "cpu":
		gang.Env = put(gang.Env, "PET_NPROC_PER_NODE", text)
	default:
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			v.refuse(fmt.Sprintf("%q is not a number of processes", shorten(text)), "write a number, auto, gpu or cpu")
			return
		}
		if n == max(gpus, 1) {
			v.translated("resources.gpu", "one for each GPU")
			return
		}
		gang.Env = put(gang.Env, "PET_NPROC_PER_NODE", text)
	}
	v.translated("env.PET_NPROC_PER_NODE", "torchrun reads it")
}

// elastic reads between which sizes a gang may change. It never grows beyond
// the replicas that it begins with.
func (k *k8sReader) elastic(o *object, gang *spec.Document, worker *replica) {
	if o == nil {
		return
	}
	if v := o.take("minReplicas"); v != nil && worker != nil {
		least := v.whole(1) + gang.Workers - worker.count
		switch {
		case least > gang.Workers:
			v.refuse(fmt.Sprintf("%d is more than the replicas, %d", least, gang.Workers), "lower it")
		case least < gang.Workers:
			gang.MinWorkers = least
			v.translated("minWorkers", "")
		default:
			v.translated("workers", "it never shrinks")
		}
	}
	if v := o.take("maxReplicas"); v != nil {
		if n := v.whole(1); worker == nil || n > worker.count {
			v.approximated("workers", "the gang never has more than its replicas")
		} else {
			v.translated("workers", "")
		}
	}
	if v := o.take("maxRestarts"); v != nil {
		k.retries(v, gang, 0, 0, "")
	}
	if v := o.take("nProcPerNode"); v != nil {
		k.perNode(v, gang)
	}
	o.done(nothing{"rdzvBackend": "the platform sets the rendezvous", "rdzvHost": "the platform sets the rendezvous", "rdzvPort": "the platform sets the rendezvous", "rdzvId": "the platform sets the rendezvous", "rdzvConf": "the platform sets the rendezvous", "standalone": "the platform sets the rendezvous"},
		nothing{"metrics": "the gang takes what room there is"}, false)
}

// runPolicy reads how a job of the operator ends; older ones have its fields
// beside the replicas.
func (k *k8sReader) runPolicy(s *object, gang *spec.Document, groups ...*replica) {
	p := s.object("runPolicy")
	for _, o := range []*object{p, s} {
		if o == nil {
			continue
		}
		k.cleanPolicy(o.take("cleanPodPolicy"), gang)
		k.runEnds(o, gang)
		k.schedulingPolicy(o.object("schedulingPolicy"), gang)
	}
	p.done(nothing{"managedBy": "it is Muster's"}, nil, false)
	for _, g := range groups {
		if g != nil {
			k.groupRestart(g.restart, gang)
		}
	}
}

func (k *k8sReader) cleanPolicy(v *value, gang *spec.Document) {
	if v == nil {
		return
	}
	switch v.text() {
	case "None":
		gang.CleanPolicy = "none"
		if gang.Framework == "mpi" { // workers of mpi never end by themselves
			gang.CleanPolicy = ""
			v.harmless("pods that have ended are kept as attempts")
			return
		}
	case "Running", "All":
		gang.CleanPolicy = "running"
	default:
		v.refuse(fmt.Sprintf("%q is not a policy", shorten(v.t.Text)), "allowed are None, Running and All")
		return
	}
	v.translated("cleanPolicy", "")
}

func (k *k8sReader) schedulingPolicy(o *object, gang *spec.Document) {
	if o == nil {
		return
	}
	if v := o.take("queue"); v != nil {
		if gang.Project == "" {
			gang.Project = v.text()
		}
		v.translated("project", "queues are projects here")
	}
	if v := o.take("priorityClass"); v != nil {
		k.priority(gang, v)
	}
	if v := o.take("minAvailable"); v != nil {
		if n := v.whole(0); n >= gang.Size() {
			v.translated("workers", "all start together")
		} else {
			v.approximated("workers", "all start together, not so many first")
		}
	}
	o.done(nothing{"minResources": "the tasks say it"}, nothing{"scheduleTimeoutSeconds": "it waits for as long as it takes"}, false)
}

// groupRestart reads what follows when a pod of a gang fails: here the whole
// attempt is tried again.
func (k *k8sReader) groupRestart(v *value, gang *spec.Document) {
	if v == nil {
		return
	}
	again := func(limit int) {
		if gang.Retry.Limit == 0 {
			gang.Retry.Limit = limit
		}
		v.approximated("retry.limit", fmt.Sprintf("the whole gang is tried again, %d times", gang.Retry.Limit))
	}
	switch v.text() {
	case "Never":
		v.translated("retry.limit", "")
	case "OnFailure", "Always":
		again(6)
	case "ExitCode":
		if len(gang.Retry.Rules) == 0 {
			var codes []int
			for c := 1; c < 128; c++ {
				codes = append(codes, c)
			}
			gang.Retry.Rules = []spec.RetryRule{{ExitCodes: codes, Action: "fail"}}
		}
		again(6)
	default:
		v.refuse(fmt.Sprintf("%q is not a policy", shorten(v.t.Text)), "allowed are Never, OnFailure, Always and ExitCode")
	}
}

// mpiJob is a launcher and its workers.
func (k *k8sReader) mpiJob(o *object, doc *spec.Document) *spec.Document {
	s := o.object("spec")
	specs := s.take("mpiReplicaSpecs")
	if specs == nil {
		k.missingTemplate(o, "spec.mpiReplicaSpecs")
		return nil
	}
	doc.Kind, doc.Framework = lifecycle.Distributed, "mpi"
	launcher, worker := k.replicas(specs, doc, operatorJob{container: "", first: []string{"Launcher"}})
	if len(k.errs) > 0 {
		return nil
	}
	if launcher == nil || worker == nil {
		specs.refuse("needs a Launcher and Workers", "write both")
		return nil
	}
	gang := worker.doc
	gang.Workers = worker.count
	k.launched(gang, launcher, s.take("runLauncherAsWorker"))
	if v := s.take("slotsPerWorker"); v != nil {
		if n := v.whole(1); n != gang.SlotsOf() {
			gang.Slots = n
		}
		v.translated("slots", "")
	} else if gang.Resources.GPU.Devices() > 1 {
		gang.Slots = 1
		k.note(Note{Line: s.t.Line, Field: "spec.slotsPerWorker", Fate: Translated, To: "slots", Reason: "the operator takes 1 where it is not told"})
	}
	if v := s.take("mpiImplementation"); v != nil && v.text() != "OpenMPI" {
		v.refuse(fmt.Sprintf("%s is not launched here", shorten(v.t.Text)), "use an image with Open MPI")
	} else if v != nil {
		v.harmless("it is Open MPI that is launched")
	}
	k.runPolicy(s, gang, launcher, worker)
	s.done(nothing{"sshAuthMountPath": "workers are reached without ssh", "launcherCreationPolicy": "the launcher waits for its workers"}, nil, false)
	return gang
}

// launched gives gang the command of its launcher.
func (k *k8sReader) launched(gang *spec.Document, launcher *replica, asWorker *value) {
	d := launcher.doc
	if d.Image != gang.Image {
		launcher.at.refuse(fmt.Sprintf("has the image %s, and the workers %s", shorten(d.Image), shorten(gang.Image)), "a gang has one image; build one that has both")
		return
	}
	gang.Command, gang.Args = d.Command, d.Args // workers run the platform's own
	if asWorker != nil && asWorker.truth() {
		if d.Resources.GPU != gang.Resources.GPU {
			asWorker.refuse("the launcher asks for other GPUs than the workers", "ask for the same")
			return
		}
		if !maps.Equal(d.Resources.Extended, gang.Resources.Extended) {
			asWorker.refuse("the launcher asks for other extended resources than the workers", "ask for the same")
			return
		}
		gang.Workers++
		asWorker.approximated("workers", "the launcher stands beside one more worker")
		d.Resources = spec.Resources{}
	} else if asWorker != nil {
		asWorker.translated("workers", "")
	}
	m := spec.Master{}
	for name, text := range d.Env {
		if was, both := gang.Env[name]; !both || was != text {
			m.Env = put(m.Env, name, text)
		}
	}
	if r := d.Resources; !r.Equal(spec.Resources{}) && !r.Equal(spec.Resources{CPU: 1000}) {
		m.Resources = &r
	}
	if len(m.Env) > 0 || m.Resources != nil {
		gang.Master = &m
	}
	launcher.at.translated("command", "the launcher runs it")
}

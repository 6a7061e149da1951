package sim

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// one is true once in n times.
func (w *World) one(n int) bool { return w.chance.IntN(n) == 0 }

func (w *World) seconds(most int) spec.Duration {
	return spec.Duration(time.Duration(1+w.chance.IntN(most)) * time.Second)
}

// document is some workload.
func (w *World) document(name string) *spec.Document {
	kinds := []lifecycle.Kind{
		lifecycle.Training, lifecycle.Training, lifecycle.Training, lifecycle.Distributed, lifecycle.Workspace, lifecycle.Inference,
	}
	return w.documentOf(kinds[w.chance.IntN(len(kinds))], name)
}

func (w *World) documentOf(kind lifecycle.Kind, name string) *spec.Document {
	r := w.chance
	d := &spec.Document{
		Kind: kind, Name: name, Project: string(projects[r.IntN(len(projects))]),
		Priority:  []spec.Priority{spec.Low, spec.Medium, spec.Medium, spec.High}[r.IntN(4)],
		Resources: w.needs(),
		Retry:     spec.Retry{Limit: r.IntN(3)},
	}
	switch kind {
	case lifecycle.Distributed:
		w.gang(d)
	case lifecycle.Workspace:
		d.Restart = []string{"always", "onFailure", "never"}[r.IntN(3)]
	case lifecycle.Inference:
		w.service(d)
	default:
		w.array(d)
	}
	w.limits(d)
	w.where(d)
	w.gates(d)
	w.ordered(d)
	d.Command.Argv = w.script(d)
	d.Defaults()
	if errs := spec.Validate(d); len(errs) > 0 {
		w.fail("a made-up document is not valid: %w", errs)
	}
	return d
}

// adapter is what nodes have beside GPUs.
const adapter = "rdma/hca"

func (w *World) needs() spec.Resources {
	r := w.chance
	n := spec.Resources{
		CPU: spec.Quantity(500 * (1 + r.IntN(6))), Memory: spec.Quantity(r.IntN(3)) * 1000 << 30,
		GPU: spec.GPU{Count: max(0, r.IntN(6)-1)},
	}
	switch r.IntN(8) {
	case 0:
		n.GPU = spec.GPU{Count: 1 + r.IntN(2), Share: spec.Share(100 * (1 + r.IntN(9)))}
	case 1:
		n.GPU = spec.GPU{Count: 1, Memory: spec.Quantity(5*(1+r.IntN(12))) * 1000 << 30}
	}
	if n.CPU == 1000 || n.CPU == 500 { // draws nothing, so that worlds stay what they were
		n.Extended = map[string]int{adapter: int(n.CPU) / 500}
	}
	if n.GPU.Count > 0 && w.one(6) {
		n.GPU.Type = []string{"H100", "a100"}[r.IntN(2)]
	}
	return n
}

func (w *World) array(d *spec.Document) {
	switch w.chance.IntN(9) {
	case 0, 1, 2:
		d.Array = &spec.Array{Completions: 1 + w.chance.IntN(10)}
		d.Array.Parallelism = w.chance.IntN(d.Array.Completions + 1)
	case 3:
		d.Array = &spec.Array{Grid: spec.Parameters{"lr": []any{0.1, 0.01}, "seed": []any{1.0, 2.0, 3.0}}, Parallelism: w.chance.IntN(7)}
	}
}

func (w *World) gang(d *spec.Document) {
	d.Workers = 1 + w.chance.IntN(4)
	if d.Workers > 1 && !w.one(3) {
		d.MinWorkers = 1 + w.chance.IntN(d.Workers-1)
		d.Resize = []string{"", "restart", "live"}[w.chance.IntN(3)]
	}
	d.Framework = []string{"", "pytorch", "mpi", "mpi", "tensorflow", "xgboost", "jax"}[w.chance.IntN(7)]
	if d.Framework == "mpi" && d.Resize == "live" {
		d.Resize = ""
	}
	d.CleanPolicy = []string{"", "running", "none"}[w.chance.IntN(3)]
	if d.Framework == "mpi" && d.CleanPolicy == "none" {
		d.MaxDuration = w.seconds(90) // its workers never end by themselves
	}
	if w.one(3) {
		n := w.needs()
		d.Master = &spec.Master{Resources: &n}
	}
}

func (w *World) service(d *spec.Document) {
	r := w.chance
	n, surge, missing := r.IntN(5), r.IntN(3), r.IntN(2)
	if surge == 0 {
		missing = 1
	}
	d.Update = spec.Update{MaxSurge: &surge, MaxUnavailable: &missing}
	if !w.one(4) {
		d.Ports = []spec.Port{{Port: 8000 + r.IntN(2)}}
		if w.one(3) {
			d.Autoscale = &spec.Autoscale{Min: min(n, r.IntN(3)), Max: max(1, n+r.IntN(3)), Concurrency: 1}
		}
	}
	d.Replicas = &n
}

// limits are what ends an attempt, and what becomes of one that has failed.
func (w *World) limits(d *spec.Document) {
	r := w.chance
	if w.one(5) {
		d.MaxDuration = w.seconds(60)
	}
	if w.one(4) {
		d.TTLAfterEnd = w.seconds(90)
	}
	if w.one(3) {
		d.GracePeriod = w.seconds(40)
	}
	if d.Resources.GPU.Count > 0 && w.one(4) {
		d.IdleLimit = w.seconds(90)
	}
	if w.one(4) {
		n := r.IntN(3)
		d.Retry.System = &n
	}
	for range max(0, r.IntN(6)-3) {
		rule := spec.RetryRule{Action: []string{"retry", "retryFree", "fail"}[r.IntN(3)]}
		if w.one(2) {
			rule.ExitCodes = []int{1 + r.IntN(2), 143}
		} else {
			rule.Reasons = []string{[]string{"Error", "NodeLost", "FailedImagePull", "ContainerCannotRun"}[r.IntN(4)]}
		}
		if rule.Action != "fail" {
			rule.Limit = 1 + r.IntN(3) // one without an end would never come to rest
		}
		d.Retry.Rules = append(d.Retry.Rules, rule)
	}
	if w.one(3) {
		p := w.one(2)
		d.Preemptible = &p
	}
	d.TerminateAfterPreemption = w.one(6)
}

// where is on which nodes it may run.
func (w *World) where(d *spec.Document) {
	if w.one(10) {
		d.Tolerations = []spec.Toleration{{Key: "sim"}}
	}
	if w.one(10) {
		d.NodeSelector = map[string]string{"zone": []string{"x", "y"}[w.chance.IntN(2)]}
	}
	if w.one(8) && d.Size() > 1 {
		if w.one(2) {
			d.Near = "zone"
		} else {
			d.Apart = "zone"
		}
	}
	if w.one(8) {
		d.Patience = w.seconds(60)
	}
	if w.one(12) {
		d.Pools = []string{[]string{"backend-a", "backend-b"}[w.chance.IntN(2)]}
	}
}

// gates are what stands before the queue, and what follows success.
func (w *World) gates(d *spec.Document) {
	if w.one(4) {
		d.Checks = w.someChecks()
	}
	if w.one(8) {
		d.Build = &spec.Build{Base: "python:3.12-slim", Pip: []string{"einops"}}
	}
	if w.one(10) {
		d.Secrets = []spec.SecretUse{{Name: fmt.Sprint("s", w.chance.IntN(3))}}
	}
	if (d.Kind == lifecycle.Training || d.Kind == lifecycle.Distributed) && w.one(5) {
		d.Publish = &spec.Publish{Model: "out/model"}
		if w.one(2) {
			d.Publish.Serve = &spec.Serve{Command: spec.Command{Argv: []string{"fake", "run=forever"}}, Port: 8000, Replicas: w.chance.IntN(3)}
			if w.one(2) {
				d.Publish.Serve.Name = fmt.Sprint("serve", w.chance.IntN(3))
			}
		}
	}
}

func (w *World) someChecks() []spec.Check {
	var all []spec.Check
	for i := range 1 + w.chance.IntN(3) {
		c := spec.Check{Name: fmt.Sprint("c", i), Type: "approval", When: []string{"", "queue", "reservation"}[w.chance.IntN(3)]}
		switch {
		case w.one(2):
			c.Type, c.URL, c.Timeout = "webhook", "http://127.0.0.1:9000/admit", w.seconds(20)
		case w.one(2):
			c.Users = []string{"alice", "bob"}
		}
		if w.one(3) {
			c.Deadline = w.seconds(120)
		}
		all = append(all, c)
	}
	return all
}

// script is what the tasks of a document do.
func (w *World) script(d *spec.Document) []string {
	r := w.chance
	argv := []string{"fake", fmt.Sprintf("start=%dms", max(0, r.IntN(7500)-2500))}
	if d.Kind == lifecycle.Inference && !w.one(4) {
		argv = append(argv, "run=forever")
	} else {
		argv = append(argv, fmt.Sprintf("run=%dms", 1+r.IntN(90000)))
	}
	switch r.IntN(4) {
	case 0:
		argv = append(argv, fmt.Sprintf("exit=%d,%d,0", r.IntN(3), r.IntN(3)))
	case 1:
		argv = append(argv, fmt.Sprintf("exit@%d=1,0", r.IntN(max(1, d.Size()))))
	}
	if w.one(8) {
		argv = append(argv, "ignore-term")
	} else if w.one(4) {
		argv = append(argv, fmt.Sprintf("stop=%dms", r.IntN(8000)))
	}
	if w.one(5) {
		argv = append(argv, "waiting="+waitingWords[r.IntN(len(waitingWords))])
	}
	return append(argv, w.trap(d)...)
}

// waitingWords are what backends say of a task that is being started.
var waitingWords = []string{"ErrImagePull", "ImagePullBackOff", "Init:0/2", "Init:1/2", "Init:Error", "Init:CrashLoopBackOff", "PodInitializing"}

// trap is what keeps a task from ever running well.
func (w *World) trap(d *spec.Document) []string {
	switch w.chance.IntN(40) {
	case 0:
		return []string{"never-ready"}
	case 1:
		return []string{"fail=FailedImagePull", "waiting=ImagePullBackOff"}
	case 2:
		return []string{fmt.Sprintf("fail@%d=ContainerCannotRun", w.chance.IntN(max(1, d.Size())))}
	case 3:
		return []string{"run=forever"}
	case 4:
		return []string{"rnu=1s"} // told as ContainerCannotRun
	case 5:
		return []string{"fail=MountFailed"}
	default:
		return nil
	}
}

package accounting

import (
	"cmp"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// accountsJSON is sacct --json: steps are below their jobs.
func accountsJSON(c *compat.Call, entries []*entry) terms.Object {
	var jobs []terms.Object
	byID := map[string]terms.Object{}
	for _, e := range entries {
		key := e.job + "/" + strconv.Itoa(e.attempt)
		if e.Step == "" || byID[key] == nil {
			whole := *e
			whole.Step = ""
			byID[key] = whole.jobObject()
			jobs = append(jobs, byID[key])
		}
		if e.Step != "" {
			byID[key]["steps"] = append(byID[key]["steps"].([]terms.Object), e.stepObject())
		}
	}
	return terms.Answered(c, "dbv0.0.38", "jobs", jobs)
}

// exitObject is how it ended; of what has not, PENDING.
func (e *entry) exitObject() terms.Object {
	code, signal := e.exit()
	switch {
	case e.end.IsZero():
		return terms.Object{"status": "PENDING", "return_code": nil}
	case signal > 0:
		return terms.Object{"status": "SIGNALED", "return_code": 0, "signal": terms.Object{"signal_id": signal, "name": ""}}
	case code != 0:
		return terms.Object{"status": "ERROR", "return_code": code}
	}
	return terms.Object{"status": "SUCCESS", "return_code": 0}
}

// tresObjects are resources as Slurm counts them: memory in megabytes.
func (e *entry) tresObjects() []terms.Object {
	one := func(kind string, name any, id int, count int64) terms.Object {
		return terms.Object{"type": kind, "name": name, "id": id, "count": count}
	}
	out := []terms.Object{one("cpu", nil, 1, e.CPUs())}
	if m := e.Memory(); m > 0 {
		out = append(out, one("mem", nil, 2, m>>20))
	}
	out = append(out, one("node", nil, 4, e.NodeCount()))
	if gpus, err := strconv.ParseFloat(e.GPUs(), 64); err == nil && gpus > 0 {
		out = append(out, one("gres", "gpu", 1001, max(int64(gpus), 1)))
	}
	return out
}

func (e *entry) times() terms.Object {
	o := terms.Object{
		"elapsed": e.seconds(), "start": terms.Unix(e.start), "end": terms.Unix(e.end), "suspended": 0,
		"total": terms.Object{"seconds": 0, "microseconds": 0},
	}
	if u := e.usage(); u != nil && u.cpuKnown {
		o["total"] = terms.Object{"seconds": int64(u.cpu().Seconds()), "microseconds": u.cpu().Microseconds() % 1_000_000}
	}
	return o
}

func (e *entry) jobObject() terms.Object {
	times := e.times()
	times["eligible"], times["submission"], times["limit"] = terms.Unix(e.submit), terms.Unix(e.submit), nil
	if d := e.Document.MaxDuration.Std(); d > 0 {
		times["limit"] = int64((d + time.Minute - 1) / time.Minute)
	}
	array := terms.Object{"job_id": 0, "limits": terms.Object{"max": terms.Object{"running": terms.Object{"tasks": 0}}}, "task": nil, "task_id": nil}
	if e.Document.Array != nil {
		array["job_id"] = e.Workload.Number
		array["limits"] = terms.Object{"max": terms.Object{"running": terms.Object{"tasks": e.Document.Array.Parallelism}}}
		if e.Task >= 0 {
			array["task_id"] = terms.NumberIn(terms.Numbers(e.Workload), e.Task)
		}
	}
	number, _ := strconv.ParseInt(e.raw, 10, 64) // made of a number
	requested, allocated := e.tresObjects(), []terms.Object{}
	if !e.start.IsZero() {
		allocated = requested
	}
	var killer any
	if e.state == "CANCELLED" && e.by != "" {
		killer = e.by
	}
	return terms.Object{
		"account": e.Workload.Project, "allocation_nodes": e.NodeCount(), "array": array,
		"association": terms.Object{"account": e.Workload.Project, "cluster": e.p.Cluster(e.Workload), "partition": nil, "user": e.Workload.User},
		"cluster":     e.p.Cluster(e.Workload), "comment": terms.Object{"administrator": nil, "job": e.Document.Annotations["comment"], "system": nil},
		"constraints": "", "container": e.Document.Image, "derived_exit_code": terms.Object{"status": "SUCCESS", "return_code": 0},
		"time": times, "exit_code": e.exitObject(), "flags": []any{}, "group": e.account().Gid, "het": terms.Object{"job_id": 0, "job_offset": nil},
		"job_id": number, "name": terms.Name(e.Workload), "mcs": terms.Object{"label": ""}, "nodes": cmp.Or(terms.Hosts(e.nodes()), "None assigned"), "partition": terms.Partition(e.p, e.Workload),
		"priority": e.Workload.Priority, "qos": terms.QOS(e.Workload), "required": terms.Object{"CPUs": e.CPUs(), "memory": e.Memory() >> 20}, "kill_request_user": killer,
		"reservation": terms.Object{"id": 0, "name": e.Document.Reservation}, "state": terms.Object{"current": e.state, "reason": terms.Reason(e.Workload)}, "steps": []terms.Object{},
		"tres": terms.Object{"allocated": allocated, "requested": requested}, "user": e.Workload.User, "wckey": terms.Object{"wckey": "", "flags": []any{}},
		"working_directory": e.Document.Workdir,
	}
}

func (e *entry) stepObject() terms.Object {
	number, _ := strconv.ParseInt(e.raw, 10, 64) // made of a number
	var most []terms.Object
	if u := e.usage(); u != nil {
		most = []terms.Object{{"type": "mem", "name": nil, "id": 2, "count": u.memoryMost(), "task": u.task, "node": u.node}}
	}
	if most == nil {
		most = []terms.Object{}
	}
	return terms.Object{
		"nodes":     terms.Object{"list": e.nodes(), "count": e.NodeCount(), "range": terms.Hosts(e.nodes())},
		"tres":      terms.Object{"requested": terms.Object{"max": most, "min": []any{}, "average": []any{}, "total": []any{}}, "allocated": e.tresObjects()},
		"time":      e.times(),
		"exit_code": e.exitObject(), "tasks": terms.Object{"count": e.processes()}, "pid": nil, "kill_request_user": nil, "state": e.state,
		"step": terms.Object{"job_id": number, "het": terms.Object{"component": nil}, "id": e.Step, "name": e.name},
	}
}

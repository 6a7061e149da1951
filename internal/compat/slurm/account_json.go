package slurm

import (
	"cmp"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/compat"
)

// object is a JSON object of Slurm's.
type object = map[string]any

// answered is what Slurm's tools put beside the list that was asked for. The
// plugin says whose form it has: that of Slurm 22.05.
func answered(c *compat.Call, plugin, list string, items []object) object {
	if items == nil {
		items = []object{}
	}
	return object{
		"meta": object{
			"plugin": object{"type": "openapi/" + plugin, "name": "Muster " + c.Version().Version},
			"Slurm":  object{"version": object{"major": 22, "minor": 5, "micro": 8}, "release": "22.05.8"},
		},
		"errors": []any{}, list: items,
	}
}

// accountsJSON is sacct --json: steps are below their jobs.
func accountsJSON(c *compat.Call, entries []*entry) object {
	var jobs []object
	byID := map[string]object{}
	for _, e := range entries {
		key := e.job + "/" + strconv.Itoa(e.attempt)
		if e.step == "" || byID[key] == nil {
			whole := *e
			whole.step = ""
			byID[key] = whole.jobObject()
			jobs = append(jobs, byID[key])
		}
		if e.step != "" {
			byID[key]["steps"] = append(byID[key]["steps"].([]object), e.stepObject())
		}
	}
	return answered(c, "dbv0.0.38", "jobs", jobs)
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// exitObject is how it ended; of what has not, PENDING.
func (e *entry) exitObject() object {
	code, signal := e.exit()
	switch {
	case e.end.IsZero():
		return object{"status": "PENDING", "return_code": nil}
	case signal > 0:
		return object{"status": "SIGNALED", "return_code": 0, "signal": object{"signal_id": signal, "name": ""}}
	case code != 0:
		return object{"status": "ERROR", "return_code": code}
	}
	return object{"status": "SUCCESS", "return_code": 0}
}

// tresObjects are resources as Slurm counts them: memory in megabytes.
func (e *entry) tresObjects() []object {
	one := func(kind string, name any, id int, count int64) object {
		return object{"type": kind, "name": name, "id": id, "count": count}
	}
	out := []object{one("cpu", nil, 1, e.cpus())}
	if m := e.memory(); m > 0 {
		out = append(out, one("mem", nil, 2, m>>20))
	}
	out = append(out, one("node", nil, 4, e.nodeCount()))
	if gpus, err := strconv.ParseFloat(e.gpus(), 64); err == nil && gpus > 0 {
		out = append(out, one("gres", "gpu", 1001, max(int64(gpus), 1)))
	}
	return out
}

func (e *entry) times() object {
	o := object{
		"elapsed": e.seconds(), "start": unix(e.start), "end": unix(e.end), "suspended": 0,
		"total": object{"seconds": 0, "microseconds": 0},
	}
	if u := e.usage(); u != nil && u.cpuKnown {
		o["total"] = object{"seconds": int64(u.cpu().Seconds()), "microseconds": u.cpu().Microseconds() % 1_000_000}
	}
	return o
}

func (e *entry) jobObject() object {
	times := e.times()
	times["eligible"], times["submission"], times["limit"] = unix(e.submit), unix(e.submit), nil
	if d := e.d.MaxDuration.Std(); d > 0 {
		times["limit"] = int64((d + time.Minute - 1) / time.Minute)
	}
	array := object{"job_id": 0, "limits": object{"max": object{"running": object{"tasks": 0}}}, "task": nil, "task_id": nil}
	if e.d.Array != nil {
		array["job_id"] = e.w.Number
		array["limits"] = object{"max": object{"running": object{"tasks": e.d.Array.Parallelism}}}
		if e.task >= 0 {
			array["task_id"] = numberIn(arrayNumbers(e.w), e.task)
		}
	}
	number, _ := strconv.ParseInt(e.raw, 10, 64) // made of a number
	requested, allocated := e.tresObjects(), []object{}
	if !e.start.IsZero() {
		allocated = requested
	}
	var killer any
	if e.state == "CANCELLED" && e.by != "" {
		killer = e.by
	}
	return object{
		"account": e.w.Project, "allocation_nodes": e.nodeCount(), "array": array,
		"association": object{"account": e.w.Project, "cluster": e.p.Cluster(e.w), "partition": nil, "user": e.w.User},
		"cluster":     e.p.Cluster(e.w), "comment": object{"administrator": nil, "job": e.d.Annotations["comment"], "system": nil},
		"constraints": "", "container": e.d.Image, "derived_exit_code": object{"status": "SUCCESS", "return_code": 0},
		"time": times, "exit_code": e.exitObject(), "flags": []any{}, "group": e.account().Gid, "het": object{"job_id": 0, "job_offset": nil},
		"job_id": number, "name": name(e.w), "mcs": object{"label": ""}, "nodes": cmp.Or(hosts(e.nodes()), "None assigned"), "partition": partition(e.p, e.w),
		"priority": e.w.Priority, "qos": qos(e.w), "required": object{"CPUs": e.cpus(), "memory": e.memory() >> 20}, "kill_request_user": killer,
		"reservation": object{"id": 0, "name": e.d.Reservation}, "state": object{"current": e.state, "reason": reason(e.w)}, "steps": []object{},
		"tres": object{"allocated": allocated, "requested": requested}, "user": e.w.User, "wckey": object{"wckey": "", "flags": []any{}},
		"working_directory": e.d.Workdir,
	}
}

func (e *entry) stepObject() object {
	number, _ := strconv.ParseInt(e.raw, 10, 64) // made of a number
	var most []object
	if u := e.usage(); u != nil {
		most = []object{{"type": "mem", "name": nil, "id": 2, "count": u.memoryMost(), "task": u.task, "node": u.node}}
	}
	if most == nil {
		most = []object{}
	}
	return object{
		"nodes":     object{"list": e.nodes(), "count": e.nodeCount(), "range": hosts(e.nodes())},
		"tres":      object{"requested": object{"max": most, "min": []any{}, "average": []any{}, "total": []any{}}, "allocated": e.tresObjects()},
		"time":      e.times(),
		"exit_code": e.exitObject(), "tasks": object{"count": 1}, "pid": nil, "kill_request_user": nil, "state": e.state,
		"step": object{"job_id": number, "het": object{"component": nil}, "id": e.step, "name": e.step},
	}
}

package slurm

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core/amount"
)

// plugin is whose form the JSON of squeue, sinfo and scontrol has.
const plugin = "v0.0.38"

// jobsJSON is squeue --json, and what scontrol shows of jobs.
func jobsJSON(c *compat.Call, rows []row) terms.Object {
	var jobs []terms.Object
	for i := range rows {
		jobs = append(jobs, rows[i].object())
	}
	return terms.Answered(c, plugin, "jobs", jobs)
}

func (r *row) text(letter byte) string { text, _ := r.value(letter); return text }

// number is a field as a number; nil where it is none.
func (r *row) number(letter byte) any {
	n, err := strconv.ParseInt(r.text(letter), 10, 64)
	if err != nil {
		return nil
	}
	return n
}

// known is a field; "" where it is unknown.
func (r *row) known(letter byte) string {
	text := r.text(letter)
	if text == "N/A" || text == "(null)" || text == "n/a" {
		return ""
	}
	return text
}

func (r *row) object() terms.Object {
	w, d := r.w, cli.Document(r.w)
	var limit, memory, arrayTask any
	if m := d.MaxDuration.Std(); m > 0 {
		limit = int64((m + time.Minute - 1) / time.Minute)
	}
	if m := d.Resources.Memory.Units(); m > 0 {
		memory = m >> 20
	}
	array, waiting, most := int64(0), "", 0
	if d.Array != nil {
		array, most = w.Number, d.Array.Parallelism
		if r.task >= 0 && r.state != terms.Pending || r.task >= 0 && r.count == 1 {
			arrayTask = terms.NumberIn(terms.Numbers(w), r.task)
		} else if _, text, is := strings.Cut(r.id, "_"); is {
			waiting = strings.Trim(text, "[]")
		}
	}
	if of, _, task, is := terms.Member(w); is {
		array, most, arrayTask = of, d.Slurm.AtOnce, task
	}
	code := 0
	if a := compat.Last(w); a != nil && a.ExitCode != nil && cli.Ended(w) {
		code = *a.ExitCode << 8 // as wait() has it
	}
	held := ""
	if r.state != terms.Pending {
		held = r.text(tresLetter)
	}
	return terms.Object{
		"account": w.Project, "array_job_id": array, "array_task_id": arrayTask, "array_max_tasks": most, "array_task_string": waiting, "batch_flag": true,
		"batch_host": r.known('B'), "cluster": r.p.Cluster(w), "command": commandOf(d), "comment": d.Annotations["comment"], "container": d.Image,
		"cpus": r.number('C'), "cpus_per_task": r.number(perTaskLetter), "current_working_directory": d.Workdir, "dependency": r.known('E'),
		"eligible_time": time.Time(w.CreatedAt).Unix(), "end_time": terms.Unix(end(w)), "excluded_nodes": "", "exit_code": code, "derived_exit_code": 0, "features": r.known('f'),
		"group_id": r.number('G'), "group_name": r.known('g'), "job_id": r.number('A'), "job_state": r.state.Long, "licenses": r.known('W'),
		"memory_per_node": memory, "name": terms.Name(w), "node_count": r.nodeCount(), "nodes": terms.Hosts(r.nodes()), "nice": 0, "partition": terms.Partition(r.p, w),
		"priority": w.Priority, "qos": terms.QOS(w), "requeue": d.Retry.System == nil || *d.Retry.System > 0, "required_nodes": "", "restart_cnt": w.Attempt, "resv_name": d.Reservation,
		"standard_error": r.known(stderrLetter), "standard_input": "/dev/null", "standard_output": r.known(stdoutLetter), "start_time": terms.Unix(start(w)),
		"state_description": w.Message, "state_reason": r.reason(), "submit_time": time.Time(w.CreatedAt).Unix(), "suspend_time": 0, "tasks": r.count, "time_limit": limit,
		"tres_per_node": r.known('b'), "tres_req_str": r.text(tresLetter), "tres_alloc_str": held, "user_id": r.number('U'), "user_name": w.User, "wckey": "",
	}
}

// nodesJSON is sinfo --json, and what scontrol shows of nodes.
func nodesJSON(c *compat.Call, nodes []api.Node) terms.Object {
	var out []terms.Object
	for _, n := range nodes {
		s, cpus := nodeState(n), n.CPU.Total/1000
		used := min((n.CPU.Used+999)/1000, cpus)
		state, flags := s.long, []string{}
		switch s.long {
		case "draining":
			state, flags = "mixed", []string{"DRAIN"}
		case "drained":
			state, flags = "idle", []string{"DRAIN"}
		}
		features := nodeGroup{n}.labels()
		out = append(out, terms.Object{
			"active_features": features, "address": n.Name, "alloc_cpus": used, "alloc_memory": n.Memory.Used >> 20, "architecture": "", "boards": 1, "comment": "", "cores": cpus, "cpus": cpus,
			"features": features, "free_memory": (n.Memory.Total - n.Memory.Used) >> 20, "gres": strings.Trim(gres(n), "()"), "gres_used": strings.Trim(nodeGroup{n}.used(), "()"), "hostname": n.Name,
			"idle_cpus": cpus - used, "name": n.Name, "partitions": []string{n.Pool}, "real_memory": n.Memory.Total >> 20, "reason": cmp.Or(n.Note, n.Message), "sockets": 1, "state": state,
			"state_flags": flags, "temporary_disk": 0, "threads": 1, "weight": 1,
			"tres":      fmt.Sprintf("cpu=%d,mem=%dM,gres/gpu=%s", cpus, n.Memory.Total>>20, amount.Thousandths(n.GPU.Total)),
			"tres_used": fmt.Sprintf("cpu=%d,mem=%dM,gres/gpu=%s", used, n.Memory.Used>>20, amount.Thousandths(n.GPU.Used)),
		})
	}
	return terms.Answered(c, plugin, "nodes", out)
}

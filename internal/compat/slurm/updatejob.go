package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/core/mergepatch"
	"github.com/musterhq/muster/internal/core/spec"
)

// change is a job whose document is being changed.
type change struct {
	c   *compat.Call
	id  string // as it was named
	w   *api.Workload
	doc *spec.Document
}

// updateJob changes fields of a job: of each job of an array whose jobs have a
// workload each, and of any other array the document of all its tasks.
func updateJob(c *compat.Call, id string, set map[string]string, order []string) error {
	number, part, some := strings.Cut(id, "_")
	found, err := terms.FindEach(c, number, strings.TrimSuffix(part, "*"))
	if err != nil {
		return err
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	for _, w := range found {
		if tasks, err := terms.Tasks(w, id, part); some && part != "*" && err != nil {
			return err
		} else if some && part != "*" && tasks != nil && len(tasks) < cli.Document(w).Size() {
			return cli.Wrong(fmt.Sprintf("%s of %s alone cannot be changed: the tasks of an array share one document", fieldsNamed(order), id),
				fmt.Sprintf("change all of them: JobId=%d; or scancel %s, and submit it anew: sbatch --array=%s SCRIPT", w.Number, id, strings.Trim(part, "[]")))
		}
		x := change{c, id, w, cli.Document(w).Clone()}
		for _, k := range order {
			if err := x.set(k, set[k]); err != nil {
				return err
			}
		}
		patch, err := patchOf(cli.Document(w), x.doc)
		if err != nil {
			return err
		}
		if len(patch) == 0 {
			continue // it is so already
		}
		if _, err := conn.Change(c.Context, w.Project, w.ID, patch); err != nil {
			return err
		}
	}
	return nil
}

// fieldsNamed are the fields of an update, without that which names the job.
func fieldsNamed(order []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(order), func(k string) bool { return k == "jobid" || k == "job" }), ", ")
}

// changeable are the fields of jobs that can be changed, as Slurm writes them.
const changeable = "TimeLimit, Priority, QOS, Requeue, ArrayTaskThrottle, Comment, Deadline and, of a job that runs, EndTime; " +
	"before its first start also Name, Partition, Dependency, StartTime, Features, ReqNodeList, ExcNodeList, NumNodes, NumTasks, NumCPUs, CPUsPerTask, MinMemoryNode, MinMemoryCPU, Gres, Licenses, Reservation and Account"

// set changes one field.
func (x *change) set(k, v string) error {
	d := x.doc
	if d.Slurm == nil {
		d.Slurm = &spec.Slurm{}
	}
	switch k {
	case "jobid", "job":
		return nil
	case "timelimit":
		return x.limit(v)
	case "priority", "qos":
		return x.edit("priority=" + v)
	case "requeue":
		n := "3"
		if v == "0" {
			n = "0"
		}
		return x.edit("retry.system=" + n)
	case "arraytaskthrottle":
		if d.Array == nil {
			return cli.Wrong(fmt.Sprintf("ArrayTaskThrottle=%s: job %s is no array", v, x.id), "arrays have it: sbatch --array=0-9%2")
		}
		if n, err := strconv.Atoi(v); err != nil || n < 0 {
			return cli.Wrong(fmt.Sprintf("ArrayTaskThrottle=%s is not a number of tasks", v), "how many run at once, like 4; 0 for all")
		}
		return x.edit("array.parallelism=" + v)
	case "comment":
		return x.edit("annotations.comment=" + v)
	case "name", "jobname":
		if v == "" {
			return cli.Wrong("Name= is empty", "scontrol update JobId="+x.id+" Name=NAME")
		}
		d.Slurm.Name = v
		return nil
	case "account":
		d.Slurm.Account = v
		return nil
	case "endtime":
		return x.ends(v)
	case "numnodes", "reqnodes", "numtasks", "reqprocs", "numcpus", "mincpus", "cpuspertask", "minmemorynode", "minmemorycpu":
		return x.size(k, v)
	}
	if option, is := optionOf[k]; is {
		return x.option(k, option, v)
	}
	return cli.Wrong(k+" of a job cannot be changed here", changeable+"; muster update --set FIELD=value knows the rest")
}

// edit sets a field of the document, written FIELD=value.
func (x *change) edit(text string) error {
	doc, err := cli.Edit(x.doc, []string{text})
	if err == nil {
		x.doc = doc
	}
	return err
}

// limit reads a limit, or a change of it: +30, -1:00:00.
func (x *change) limit(v string) error {
	d, ok := slurm.TimeLimit(strings.TrimLeft(v, "+-"))
	was := x.doc.MaxDuration
	relative := strings.HasPrefix(v, "+") || strings.HasPrefix(v, "-")
	switch {
	case !ok:
	case strings.HasPrefix(v, "+"):
		d += was
	case strings.HasPrefix(v, "-"):
		d = max(was-d, 0)
		ok = d > 0
	}
	if relative && was == 0 {
		return cli.Wrong(fmt.Sprintf("%s: job %s has no time limit to begin with", v, x.id), "scontrol update JobId="+x.id+" TimeLimit=2:00:00")
	}
	if !ok {
		return cli.Wrong(fmt.Sprintf("%q is not a time limit", v), "minutes, or like 1:30:00 or 2-12; UNLIMITED for none")
	}
	x.doc.MaxDuration = d
	return nil
}

// ends has a job that runs end at a time.
func (x *change) ends(v string) error {
	at, err := time.Parse(time.RFC3339, slurm.Begin(v, x.c.Now()))
	a := compat.Last(x.w)
	switch {
	case err != nil:
		return cli.Wrong(fmt.Sprintf("EndTime=%s is not a time", v), "like now+1hour or 2027-01-31T08:00:00")
	case a == nil || a.RunningAt == nil || cli.Ended(x.w):
		return cli.Conflict(fmt.Sprintf("Job is not running for job %s", x.id), "TimeLimit bounds what waits, and Deadline says by when it must be done")
	}
	x.doc.MaxDuration = spec.Duration(max(at.Sub(compat.At(a.RunningAt)).Round(time.Second), time.Second))
	return nil
}

// size reads fields that say how much a job asks for.
func (x *change) size(k, v string) error {
	d := x.doc
	bad := func(what, like string) error { return cli.Wrong(fmt.Sprintf("%s=%s is not %s", k, v, what), like) }
	if strings.HasPrefix(k, "minmemory") {
		each, ok := slurm.Memory(v)
		if !ok {
			return bad("an amount of memory", "megabytes, or a number with K, M, G or T")
		}
		if k == "minmemorycpu" {
			each *= spec.Quantity(max(d.Resources.CPU.Milli()/1000, 1))
		}
		d.Resources.Memory = each
		return nil
	}
	first, last, ranged := strings.Cut(v, "-")
	n, err := strconv.Atoi(first)
	if most, e := strconv.Atoi(last); err == nil && ranged && (e != nil || most < n) {
		err = strconv.ErrSyntax
	}
	if err != nil || n < 1 || ranged && k != "numnodes" && k != "reqnodes" {
		return bad("a number from 1", "like 4")
	}
	if d.Master != nil && d.Master.Resources.CPU > 0 && k != "numnodes" && k != "reqnodes" {
		return cli.Wrong(fmt.Sprintf("%s=%s: the first node of job %s asks for more than the others", k, v, x.id), "scancel "+x.id+", and submit it anew with "+v)
	}
	nodes := max(d.Workers, 1)
	switch k {
	case "numnodes", "reqnodes":
		if (n > 1) != (nodes > 1) {
			return cli.Wrong(fmt.Sprintf("Node count specification invalid for job %s: %d is submitted as another kind of job than %d", x.id, n, nodes), "scancel "+x.id+", and submit it anew: sbatch --nodes="+v)
		}
		if n > 1 {
			d.Workers = n
		}
		return nil
	case "numcpus", "mincpus":
		d.Resources.CPU = cpus(ceil(n, nodes))
		if k == "mincpus" {
			d.Resources.CPU = cpus(n)
		}
		return nil
	case "cpuspertask":
		d.Slurm.CPUsPerTask = n
	case "numtasks", "reqprocs":
		d.Slurm.Tasks = n
	}
	d.Resources.CPU = cpus(ceil(max(d.Slurm.Tasks, nodes), nodes) * max(d.Slurm.CPUsPerTask, 1))
	return nil
}

// cpus is an amount of that many CPUs.
func cpus(n int) spec.Quantity { return spec.Quantity(n) * 1000 }

func ceil(n, of int) int { return (n + of - 1) / of }

// optionOf are the options of sbatch that mean what a field does, and take the same.
var optionOf = map[string]string{
	"partition": "partition", "dependency": "dependency", "starttime": "begin", "eligibletime": "begin", "deadline": "deadline", "features": "constraint", "reqnodelist": "nodelist", "nodelist": "nodelist",
	"excnodelist": "exclude", "gres": "gres", "trespernode": "gres", "licenses": "licenses", "reservation": "reservation", "reservationname": "reservation",
}

// option takes over what an option of sbatch of that value makes of a job.
func (x *change) option(k, option, v string) error {
	d, from := x.doc, &spec.Document{Slurm: &spec.Slurm{}}
	if v != "" {
		res, err := slurm.Import([]byte("#!/bin/sh\ntrue\n"), slurm.Submission{Options: []string{"--" + option + "=" + v}, Now: x.c.Now()})
		if err != nil {
			return refused("", err)
		}
		for _, n := range res.Lossy() {
			x.c.Say("%s=%s: %s", k, v, n.Reason)
		}
		from = res.Documents[0]
	}
	ofHosts := func(op string) func(t spec.NodeTerm) bool {
		return func(t spec.NodeTerm) bool { return t.Key == "kubernetes.io/hostname" && (op == "" || t.Op == op) }
	}
	replace := func(out func(t spec.NodeTerm) bool) {
		d.NodeAffinity = append(slices.DeleteFunc(slices.Clone(d.NodeAffinity), out), from.NodeAffinity...)
	}
	switch option {
	case "partition":
		if v == "" {
			return cli.Wrong("Partition= is empty", "sinfo lists them")
		}
		d.Pools, d.Slurm.Partition = from.Pools, from.Slurm.Partition
	case "dependency":
		d.After = from.After
	case "begin":
		d.NotBefore = from.NotBefore
	case "deadline":
		d.Deadline, d.DeadlineAction = from.Deadline, from.DeadlineAction
	case "constraint":
		hosts := ofHosts("")
		replace(func(t spec.NodeTerm) bool { return !hosts(t) })
		d.NodeAffinityAny = from.NodeAffinityAny
	case "nodelist":
		replace(ofHosts("In"))
	case "exclude":
		replace(ofHosts("NotIn"))
	case "gres":
		d.Resources.GPU = from.Resources.GPU
	case "licenses":
		d.Licenses = from.Licenses
	case "reservation":
		d.Reservation = from.Reservation
	}
	return nil
}

// patchOf is the merge patch from one document to another.
func patchOf(from, to *spec.Document) (map[string]any, error) {
	was, err := mergepatch.Tree(from)
	if err != nil {
		return nil, err
	}
	is, err := mergepatch.Tree(to)
	return mergepatch.Between(was, is), err
}

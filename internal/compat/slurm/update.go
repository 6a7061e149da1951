package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/convert/slurm"
)

// update changes a job, a node or a reservation.
func update(c *compat.Call) error {
	words := c.Args
	if len(words) > 1 && (strings.EqualFold(words[0], "job") || strings.EqualFold(words[0], "jobid")) {
		words = append([]string{"jobid=" + words[1]}, words[2:]...)
	}
	set, order, err := pairs(words, "scontrol update JobId=12 TimeLimit=2:00:00")
	if err != nil {
		return err
	}
	switch {
	case set["jobid"] != "" || set["job"] != "":
		return updateJob(c, cmp.Or(set["jobid"], set["job"]), set, order)
	case set["nodename"] != "":
		return updateNode(c, set, order)
	case set["reservationname"] != "" || set["reservation"] != "":
		return updateReservation(c, set, order)
	}
	return cli.Wrong("scontrol update needs JobId=N, NodeName=N or ReservationName=N", "pools and projects are changed with muster pool update and muster project update")
}

func updateJob(c *compat.Call, id string, set map[string]string, order []string) error {
	if err := terms.Whole("changed", []string{id}); err != nil {
		return err
	}
	found, err := terms.FindAll(c, []string{id})
	if err != nil {
		return err
	}
	var sets []string
	for _, k := range order {
		v := set[k]
		switch k {
		case "jobid", "job":
		case "timelimit":
			d, ok := slurm.TimeLimit(strings.TrimLeft(v, "+-"))
			was := cli.Document(found[0]).MaxDuration
			switch {
			case !ok:
			case strings.HasPrefix(v, "+"):
				d += was
			case strings.HasPrefix(v, "-"):
				d = max(was-d, 0)
				ok = d > 0
			}
			if relative := strings.HasPrefix(v, "+") || strings.HasPrefix(v, "-"); relative && was == 0 {
				return cli.Wrong(fmt.Sprintf("%s: job %s has no time limit to begin with", v, id), "scontrol update JobId="+id+" TimeLimit=2:00:00")
			}
			if !ok {
				return cli.Wrong(fmt.Sprintf("%q is not a time limit", v), "minutes, or like 1:30:00 or 2-12; UNLIMITED for none")
			}
			sets = append(sets, fmt.Sprintf("maxDuration=%ds", int(d.Std().Seconds())))
		case "priority", "qos":
			sets = append(sets, "priority="+v)
		case "requeue":
			n := "3"
			if v == "0" {
				n = "0"
			}
			sets = append(sets, "retry.system="+n)
		case "arraytaskthrottle":
			if cli.Document(found[0]).Array == nil {
				return cli.Wrong(fmt.Sprintf("ArrayTaskThrottle=%s: job %s is no array", v, id), "arrays have it: sbatch --array=0-9%2")
			}
			if n, err := strconv.Atoi(v); err != nil || n < 0 {
				return cli.Wrong(fmt.Sprintf("ArrayTaskThrottle=%s is not a number of tasks", v), "how many run at once, like 4; 0 for all")
			}
			sets = append(sets, "array.parallelism="+v)
		case "comment":
			sets = append(sets, "annotations.comment="+v)
		default:
			return cli.Wrong(k+" of a job cannot be changed here", "TimeLimit, Priority, QOS, Requeue, ArrayTaskThrottle and Comment can; muster update --set FIELD=value knows the rest")
		}
	}
	_, err = c.Amend(c.Context, found[0], sets)
	return err
}

func updateNode(c *compat.Call, set map[string]string, order []string) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	for _, k := range order {
		if !slices.Contains([]string{"nodename", "state", "reason"}, k) {
			return cli.Wrong(k+" of a node cannot be changed here", "State and Reason can; muster node label and taint change the rest")
		}
	}
	names, err := terms.Unfold(set["nodename"])
	if err != nil {
		return err
	}
	for _, name := range names {
		o := api.NodeOptions{Note: set["reason"]}
		switch s := strings.ToLower(set["state"]); s {
		case "drain", "drained":
			_, err = conn.Nodes.Change(c.Context, name, "cordon", o) // what runs there ends by itself, as Slurm has it
		case "resume", "undrain", "idle":
			_, err = conn.Nodes.Change(c.Context, name, "uncordon", o)
		case "down", "fail":
			o.Force = true
			_, err = conn.Nodes.Drain(c.Context, name, o, false)
		default:
			return cli.Wrong(fmt.Sprintf("State=%s: a node cannot be made that", set["state"]), "DRAIN, DOWN or RESUME")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

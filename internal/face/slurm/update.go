package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/face"
)

// update changes a job or a node.
func update(c *face.Call) error {
	set := map[string]string{}
	var order []string
	for _, word := range c.Args {
		k, v, ok := strings.Cut(word, "=")
		if !ok {
			return cli.Wrong(fmt.Sprintf("%q is not NAME=VALUE", word), "scontrol update JobId=12 TimeLimit=2:00:00")
		}
		k = strings.ToLower(k)
		set[k], order = v, append(order, k)
	}
	switch {
	case set["jobid"] != "" || set["job"] != "":
		return updateJob(c, cmp.Or(set["jobid"], set["job"]), set, order)
	case set["nodename"] != "":
		return updateNode(c, set, order)
	}
	return cli.Wrong("scontrol update needs JobId=N or NodeName=N", "pools and projects are changed with muster pool update and muster project update")
}

func updateJob(c *face.Call, id string, set map[string]string, order []string) error {
	found, err := jobs(c, []string{id})
	if err != nil {
		return err
	}
	var sets []string
	for _, k := range order {
		v := set[k]
		switch k {
		case "jobid", "job":
		case "timelimit":
			d, err := duration(v)
			if err != nil {
				return err
			}
			sets = append(sets, fmt.Sprintf("maxDuration=%ds", int(d.Seconds())))
		case "priority", "qos":
			sets = append(sets, "priority="+v)
		case "requeue":
			n := "3"
			if v == "0" {
				n = "0"
			}
			sets = append(sets, "retry.system="+n)
		case "comment":
			sets = append(sets, "annotations.comment="+v)
		default:
			return cli.Wrong(k+" of a job cannot be changed here", "TimeLimit, Priority, QOS, Requeue and Comment can; muster update --set FIELD=value knows the rest")
		}
	}
	_, err = c.Amend(c.Context, found[0], sets)
	return err
}

// duration reads a time limit of Slurm: minutes, M:S, H:M:S, D-H, D-H:M or
// D-H:M:S.
func duration(text string) (time.Duration, error) {
	bad := func() (time.Duration, error) {
		return 0, cli.Wrong(fmt.Sprintf("%q is not a time limit", text), "minutes, or like 1:30:00 or 2-12")
	}
	days, rest, dashed := strings.Cut(text, "-")
	if !dashed {
		days, rest = "0", text
	}
	d, err := strconv.Atoi(days)
	if err != nil || d < 0 || d > 100_000 {
		return bad()
	}
	var n []int
	for part := range strings.SplitSeq(rest, ":") {
		v, err := strconv.Atoi(part)
		if err != nil || v < 0 || v > 10_000_000 {
			return bad()
		}
		n = append(n, v)
	}
	sec := 0
	switch {
	case len(n) == 3:
		sec = n[0]*3600 + n[1]*60 + n[2]
	case dashed && len(n) == 2:
		sec = n[0]*3600 + n[1]*60
	case dashed && len(n) == 1:
		sec = n[0] * 3600
	case len(n) == 2:
		sec = n[0]*60 + n[1]
	case len(n) == 1:
		sec = n[0] * 60
	default:
		return bad()
	}
	if sec += d * 86400; sec == 0 {
		return bad()
	}
	return time.Duration(sec) * time.Second, nil
}

func updateNode(c *face.Call, set map[string]string, order []string) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	for _, k := range order {
		if !slices.Contains([]string{"nodename", "state", "reason"}, k) {
			return cli.Wrong(k+" of a node cannot be changed here", "State and Reason can; muster node label and taint change the rest")
		}
	}
	names, err := unfold(set["nodename"])
	if err != nil {
		return err
	}
	for _, name := range names {
		o := api.NodeOptions{Note: set["reason"]}
		switch s := strings.ToLower(set["state"]); s {
		case "drain", "drained":
			_, err = conn.ChangeNode(c.Context, name, "cordon", o) // what runs there ends by itself, as Slurm has it
		case "resume", "undrain", "idle":
			_, err = conn.ChangeNode(c.Context, name, "uncordon", o)
		case "down", "fail":
			o.Force = true
			_, err = conn.DrainNode(c.Context, name, o, false)
		default:
			return cli.Wrong(fmt.Sprintf("State=%s: a node cannot be made that", set["state"]), "DRAIN, DOWN or RESUME")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// requeue runs jobs again: those that run are sent back to their queue.
func requeue(c *face.Call) error {
	if len(c.Args) == 0 {
		return cli.Wrong("scontrol requeue needs a job", "scontrol requeue 12")
	}
	var ids []string
	for _, a := range c.Args {
		ids = append(ids, strings.Split(a, ",")...)
	}
	found, err := jobs(c, ids)
	if err != nil {
		return err
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	for _, w := range found {
		switch {
		case cli.Ended(w):
			_, err = conn.Restart(c.Context, w.Project, w.ID)
		case cli.Live(w) && w.Phase != string(lifecycle.Terminating):
			_, err = conn.Preempt(c.Context, w.Project, w.ID, api.PreemptOptions{Message: "requeued with scontrol"})
		default:
			err = cli.Conflict(fmt.Sprintf("job %d is %s", w.Number, stateOf(w).long), "it will start by itself")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

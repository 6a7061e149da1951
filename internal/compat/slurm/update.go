package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
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

package slurm

import (
	"cmp"
	"encoding/json"
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
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/spec"
)

// pairs reads NAME=VALUE words; names are in lower case.
func pairs(words []string, example string) (map[string]string, []string, error) {
	set := map[string]string{}
	var order []string
	for _, word := range words {
		k, v, ok := strings.Cut(word, "=")
		if !ok {
			return nil, nil, cli.Wrong(fmt.Sprintf("%q is not NAME=VALUE", word), example)
		}
		k = strings.ToLower(k)
		set[k], order = v, append(order, k)
	}
	return set, order, nil
}

const createExample = "scontrol create reservation ReservationName=fans StartTime=now+1hour Duration=60 Nodes=gpu-[1-4] Flags=MAINT"

// create makes a reservation; nothing else is made with scontrol.
func create(c *compat.Call) error {
	words := c.Args
	if len(words) > 0 && strings.EqualFold(words[0], "reservation") {
		words = words[1:]
	}
	set, order, err := pairs(words, createExample)
	if err != nil {
		return err
	}
	name := cmp.Or(set["reservationname"], set["reservation"])
	if name == "" {
		if set["partitionname"] != "" && set["starttime"] == "" {
			return cli.Wrong("partitions are not made with scontrol", "muster pool create and muster project create make pools and projects")
		}
		return cli.Wrong("scontrol create needs ReservationName=NAME", createExample)
	}
	patch, err := reservationPatch(c, set, order)
	if err != nil {
		return err
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	if set["starttime"] == "" {
		patch["start"] = c.Now().UTC().Format(time.RFC3339)
	}
	in := api.NewReservation{Name: name}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &in.ReservationSpec); err != nil {
		return err
	}
	r, err := conn.Reservations.Create(c.Context, in, false)
	if err != nil {
		return err
	}
	warned(c, r)
	_, err = fmt.Fprintf(c.Out(), "Reservation created: %s\n", r.Name)
	return err
}

func warned(c *compat.Call, r *api.Reservation) {
	for _, w := range r.Warnings {
		c.Say("scontrol: %s", w)
	}
}

// updateReservation changes what its words name.
func updateReservation(c *compat.Call, set map[string]string, order []string) error {
	patch, err := reservationPatch(c, set, order)
	if err != nil {
		return err
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	r, err := conn.Reservations.Change(c.Context, cmp.Or(set["reservationname"], set["reservation"]), patch, false)
	if err != nil {
		return err
	}
	warned(c, r)
	c.Say("Reservation updated.")
	return nil
}

// remove deletes a reservation; nothing else is deleted with scontrol.
func remove(c *compat.Call) error {
	name := ""
	switch first := c.First(); {
	case strings.EqualFold(first, "reservation") && len(c.Args) > 1:
		name = c.Args[1]
	default:
		k, v, _ := strings.Cut(first, "=")
		if k = strings.ToLower(k); k == "reservationname" || k == "reservation" {
			name = v
		}
	}
	if _, v, ok := strings.Cut(name, "="); ok {
		name = v
	}
	if name == "" {
		return cli.Wrong("scontrol delete needs ReservationName=NAME", "pools and projects are removed with muster pool delete and muster project delete")
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	return conn.Reservations.Delete(c.Context, name)
}

// flagWords are what each of Slurm's flags of a reservation means: a field, or
// why nothing (slurm.schedmd.com/scontrol.html, Flags).
var flagWords = map[string]struct {
	field string
	value any
	why   string
}{
	"MAINT": {"maintenance", true, ""}, "IGNORE_JOBS": {"ignoreJobs", true, ""}, "MAGNETIC": {"magnetic", true, ""}, "DAILY": {"repeat", "daily", ""}, "WEEKLY": {"repeat", "weekly", ""},
	"ANY_NODES": {}, "SPEC_NODES": {}, "PART_NODES": {}, "NO_HOLD_JOBS_AFTER": {why: "jobs that wait for a reservation keep it from being deleted"},
	"FLEX": {why: "a job starts while its reservation lasts, and may run on after it"}, "STATIC_ALLOC": {why: "nodes are chosen once"},
	"FIRST_CORES": {why: "whole nodes are kept"}, "TIME_FLOAT": {why: "a reservation begins at a fixed time"}, "PURGE_COMP": {why: "a reservation lasts as long as it was made for"},
}

// reservationPatch is what words of scontrol say of a reservation.
func reservationPatch(c *compat.Call, set map[string]string, order []string) (map[string]any, error) {
	patch, list := map[string]any{}, func(v string) []string {
		return strings.FieldsFunc(v, func(r rune) bool { return r == ',' })
	}
	instantOf := func(k string) (time.Time, error) {
		at, err := time.Parse(time.RFC3339, slurm.Begin(set[k], c.Now()))
		if err != nil {
			return at, cli.Wrong(fmt.Sprintf("%s=%s is no time", k, set[k]), "now, now+2hours, 18:00, 2026-12-24T18:00:00")
		}
		return at, nil
	}
	for _, k := range order {
		v := set[k]
		switch k {
		case "reservationname", "reservation":
		case "starttime":
			at, err := instantOf(k)
			if err != nil {
				return nil, err
			}
			patch["start"] = at.UTC().Format(time.RFC3339)
		case "endtime":
			end, err := instantOf(k)
			if err != nil {
				return nil, err
			}
			start := c.Now()
			if set["starttime"] != "" {
				if start, err = instantOf("starttime"); err != nil {
					return nil, err
				}
			}
			if !end.After(start) {
				return nil, cli.Wrong("EndTime is not after StartTime", createExample)
			}
			patch["duration"] = spec.Duration(end.Sub(start).Truncate(time.Second)).String()
		case "duration":
			d, ok := slurm.TimeLimit(v)
			if !ok || d <= 0 {
				return nil, cli.Wrong(fmt.Sprintf("Duration=%s is no length of time", v), "minutes, or like 1:30:00 or 2-12")
			}
			patch["duration"] = d.String()
		case "nodes":
			if strings.EqualFold(v, "ALL") {
				patch["pool"] = cmp.Or(set["partitionname"], set["partition"], "default")
				continue
			}
			names, err := terms.Unfold(v)
			if err != nil {
				return nil, err
			}
			patch["nodes"] = names
		case "partitionname", "partition":
			patch["pool"] = v
		case "nodecnt", "nodecount":
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 {
				return nil, cli.Wrong(fmt.Sprintf("NodeCnt=%s is no number of nodes", v), "like NodeCnt=4")
			}
			patch["nodeCount"] = n
		case "tres", "trespernode":
			_, text, ok := strings.Cut(v, "gres/gpu=")
			n, err := strconv.Atoi(text)
			if k == "trespernode" || !ok || err != nil || n < 1 {
				return nil, cli.Wrong(fmt.Sprintf("%s=%s: only GPUs can be reserved by their number", k, v), "like TRES=gres/gpu=8; whole nodes with so many are kept")
			}
			patch["gpus"] = n
		case "accounts":
			patch["projects"] = list(v)
		case "users", "user":
			patch["users"] = list(v)
		case "comment":
			patch["note"] = v
		case "flags":
			for _, f := range list(v) {
				w, known := flagWords[strings.ToUpper(f)]
				switch {
				case !known:
					return nil, cli.Wrong(fmt.Sprintf("Flags=%s: there is no such flag here", f), "MAINT, IGNORE_JOBS, MAGNETIC, DAILY, WEEKLY, ANY_NODES, PART_NODES and SPEC_NODES are known")
				case w.field != "":
					patch[w.field] = w.value
				case w.why != "":
					c.Say("scontrol: Flags=%s has no meaning: %s", f, w.why)
				}
			}
		default:
			return nil, cli.Wrong(k+" of a reservation is not known here", "StartTime, EndTime, Duration, Nodes, NodeCnt, TRES, PartitionName, Accounts, Users, Flags and Comment are")
		}
	}
	counted := patch["nodeCount"] != nil || patch["gpus"] != nil
	switch {
	case patch["nodes"] != nil:
		delete(patch, "pool") // the nodes say it
	case counted && patch["pool"] == nil && set["starttime"]+set["flags"]+set["users"]+set["accounts"] != "":
		patch["pool"] = "default"
	}
	if patch["maintenance"] == true { // Slurm has somebody named, who may use it for tests
		if len(set["users"])+len(set["accounts"]) > 0 {
			delete(patch, "users")
			delete(patch, "projects")
			c.Say("scontrol: with MAINT it is for nobody: Users and Accounts are left out")
		}
	}
	return patch, nil
}

// showReservations lists reservations as scontrol show reservation does.
func showReservations(c *compat.Call, name string) error {
	all, err := reservationsNamed(c, name)
	if err != nil {
		return err
	}
	if done, err := terms.Structured(c, api.ReservationList{Items: all}); done {
		return err
	}
	if len(all) == 0 {
		c.Say("No reservations in the system")
	}
	for _, r := range all {
		err := record(c, [][]string{
			{"ReservationName=" + r.Name, "StartTime=" + terms.Instant(time.Time(r.From), "Unknown"), "EndTime=" + terms.Instant(time.Time(r.Until), "Unknown"), "Duration=" + terms.Clock(time.Time(r.Until).Sub(time.Time(r.From)))},
			{"Nodes=" + cmp.Or(terms.Hosts(r.Keeps), "(null)"), fmt.Sprintf("NodeCnt=%d", len(r.Keeps)), "Features=(null)", "PartitionName=" + cmp.Or(r.Pool, "(null)"), "Flags=" + cmp.Or(flagsOf(r), "(null)")},
			{"TRES=gres/gpu=" + amount.Thousandths(r.GPU)},
			{"Users=" + cmp.Or(strings.Join(r.Users, ","), "(null)"), "Accounts=" + cmp.Or(strings.Join(r.Projects, ","), "(null)"), "State=" + resvState(r)},
			{"Comment=" + cmp.Or(r.Note, "(null)")},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func reservationsNamed(c *compat.Call, name string) ([]api.Reservation, error) {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return nil, err
	}
	list, err := conn.Reservations.List(c.Context)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(list.Items, func(r api.Reservation) bool { return r.State == "over" || name != "" && r.Name != name })
	if name != "" && len(all) == 0 {
		return nil, cli.Missing("Reservation "+name+" not found", "sinfo -T lists them")
	}
	return all, nil
}

func resvState(r api.Reservation) string {
	if r.State == "active" {
		return "ACTIVE"
	}
	return "INACTIVE"
}

func flagsOf(r api.Reservation) string {
	var out []string
	for _, f := range []struct {
		on   bool
		name string
	}{{r.Maintenance, "MAINT"}, {r.IgnoreJobs, "IGNORE_JOBS"}, {r.Repeat == "daily", "DAILY"}, {r.Repeat == "weekly", "WEEKLY"}, {len(r.Nodes) > 0, "SPEC_NODES"}, {r.Magnetic, "MAGNETIC"}} {
		if f.on {
			out = append(out, f.name)
		}
	}
	return strings.Join(out, ",")
}

// reservationTable is sinfo -T.
func reservationTable(c *compat.Call) error {
	all, err := reservationsNamed(c, "")
	if err != nil {
		return err
	}
	if done, err := terms.Structured(c, api.ReservationList{Items: all}); done {
		return err
	}
	if len(all) == 0 {
		c.Say("No reservations in the system")
		return nil
	}
	width := len("RESV_NAME")
	for _, r := range all {
		width = max(width, len(r.Name))
	}
	row := func(name, state, start, end, duration, nodes string) error {
		_, err := fmt.Fprintf(c.Out(), "%-*s  %8s  %19s  %19s  %11s  %s\n", width, name, state, start, end, duration, nodes)
		return err
	}
	if !c.Bool("noheader") {
		if err := row("RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST"); err != nil {
			return err
		}
	}
	for _, r := range all {
		from, until := time.Time(r.From), time.Time(r.Until)
		if err := row(r.Name, resvState(r), terms.Instant(from, "Unknown"), terms.Instant(until, "Unknown"), terms.Clock(until.Sub(from)), terms.Hosts(r.Keeps)); err != nil {
			return err
		}
	}
	return nil
}

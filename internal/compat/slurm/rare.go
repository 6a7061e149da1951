package slurm

import (
	"cmp"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core/spec"
)

// Fields of squeue that have long names only.
const (
	tasksLetter = iota + 2
	tresLetter
	perTaskLetter
	waitedLetter
	restartsLetter
	exitLetter
	stdoutLetter
	stderrLetter
	clusterLetter
	batchLetter
)

// firstRest is the letter of the first field below.
const firstRest = 128

// restJobs are fields that squeue documents and of which nothing is known here:
// Slurm, too, prints N/A where it knows nothing.
var restJobs = []string{
	"accruetime", "admin_comment", "allocnodes", "allocsid", "associd", "burstbuffer", "burstbufferstate", "container", "cpus-per-tres", "deadline", "delayboot", "derivedec", "fedorigin",
	"fedoriginraw", "fedsiblingsactive", "fedsiblingsactiveraw", "fedsiblingsviable", "fedsiblingsviableraw", "hetjobid", "hetjobidset", "hetjoboffset", "lastschedeval", "maxcpus",
	"maxnodes", "mcslabel", "mem-per-tres", "mintime", "network", "nodes", "ntperboard", "ntpercore", "ntpernode", "ntpersocket", "origin", "originraw", "prefer", "preemptime",
	"profile", "reboot", "reqswitch", "requeue", "resizetime", "selectjobinfo", "siblingsactive", "siblingsactiveraw", "siblingsviable", "siblingsviableraw", "sockets",
	"sperboard", "stdin", "suspendtime", "switches", "system_comment", "tres-bind", "tres-freq", "tres-per-job", "tres-per-socket", "tres-per-step", "tres-per-task", "wait4switch",
}

// restOf is the title of one of those.
func restOf(letter byte) (string, bool) {
	if i := int(letter) - firstRest; i >= 0 && i < len(restJobs) {
		return strings.ToUpper(restJobs[i]), true
	}
	return "", false
}

// rare are fields that few ask for.
func (r *row) rare(letter byte) (string, bool) {
	w, d := r.w, cli.Document(r.w)
	switch letter {
	case 'B':
		if nodes := r.nodes(); len(nodes) > 0 && r.state != terms.Pending {
			return nodes[0], true
		}
		return "n/a", true
	case 'c':
		return strconv.FormatInt(max(d.Resources.CPU.Milli()/1000, 1), 10), true
	case 'd', 'y', 'O':
		return "0", true
	case 'E':
		return cmp.Or(r.dependency(), "(null)"), true
	case 'f':
		return cmp.Or(features(d), "(null)"), true
	case 'g', 'G', 'U':
		return userField(w.User, letter), true
	case 'h':
		return "OK", true
	case 'H', 'I', 'J':
		return "*", true
	case 'K':
		if _, _, task, is := terms.Member(w); is {
			return strconv.Itoa(task), true
		}
		if r.task >= 0 {
			return strconv.Itoa(terms.NumberIn(terms.Numbers(w), r.task)), true
		}
		return "N/A", true
	case 'n', 'x', 's':
		return "", true
	case 'v':
		return cmp.Or(d.Reservation, "(null)"), true
	case 'w':
		return "(null)", true
	case 'W':
		if len(d.Licenses) == 0 {
			return "(null)", true
		}
		return terms.Licenses(d.Licenses), true
	case 'X':
		return "N/A", true
	case 'z':
		return "*:*:*", true
	}
	return r.longOnly(letter)
}

func (r *row) longOnly(letter byte) (string, bool) {
	w, d := r.w, cli.Document(r.w)
	switch letter {
	case tasksLetter:
		return strconv.Itoa(r.count), true
	case tresLetter:
		held := terms.Demand{Call: r.c, Workload: w, Document: d, Task: r.task, Count: r.count}
		return held.TRES(), true
	case perTaskLetter:
		if d.Slurm != nil && d.Slurm.CPUsPerTask > 0 {
			return strconv.Itoa(d.Slurm.CPUsPerTask), true
		}
		return "N/A", true
	case waitedLetter:
		until := r.c.Now()
		if a := compat.Last(w); a != nil && a.StartedAt != nil {
			until = compat.At(a.StartedAt)
		}
		return fmt.Sprintf("%d", max(int64(until.Sub(time.Time(w.CreatedAt)).Seconds()), 0)), true
	case restartsLetter:
		return strconv.Itoa(r.restarts()), true
	case exitLetter:
		if a := compat.Last(w); a != nil && a.ExitCode != nil {
			return strconv.Itoa(*a.ExitCode), true
		}
		return "0", true
	case stdoutLetter, stderrLetter:
		if d.Slurm == nil {
			return "N/A", true
		}
		text := d.Slurm.Output
		if letter == stderrLetter {
			text = cmp.Or(d.Slurm.Error, text)
		}
		return cmp.Or(text, "N/A"), true
	case clusterLetter:
		return cmp.Or(r.p.Cluster(w), "N/A"), true
	case batchLetter:
		return "1", true
	}
	return "", false
}

// userField is a number or the group of a user of this machine.
func userField(name string, letter byte) string {
	u, err := user.Lookup(name)
	if err != nil {
		return "N/A"
	}
	switch letter {
	case 'U':
		return u.Uid
	case 'G':
		return u.Gid
	}
	if g, err := user.LookupGroupId(u.Gid); err == nil {
		return g.Name
	}
	return u.Gid
}

// features are the labels that a job's nodes must have, as sbatch takes them.
func features(d *spec.Document) string {
	all := func(terms []spec.NodeTerm) string {
		var keys []string
		for _, t := range terms {
			switch {
			case t.Op == "Exists":
				keys = append(keys, t.Key)
			case t.Op == "In" && len(t.Values) == 1 && t.Key != "kubernetes.io/hostname":
				keys = append(keys, t.Key+"="+t.Values[0])
			}
		}
		return strings.Join(keys, "&")
	}
	var choices []string
	for _, c := range d.NodeAffinityAny {
		choice := all(c.Terms)
		if strings.Contains(choice, "&") {
			choice = "(" + choice + ")"
		}
		if choice != "" {
			choices = append(choices, choice)
		}
	}
	any := strings.Join(choices, "|")
	switch own := all(d.NodeAffinity); {
	case own == "":
		return any
	case any == "":
		return own
	default:
		return own + "&(" + any + ")"
	}
}

// restarts is how often it was started before: a task of an array also within the
// attempt.
func (r *row) restarts() int {
	if r.task < 0 || len(r.tasks) != 1 {
		return r.w.Attempt
	}
	mine := r.tasks[0]
	for _, a := range r.w.Attempts {
		for _, t := range a.Tasks {
			if t.Index == mine.Index && compat.At(t.PlacedAt).Equal(compat.At(mine.PlacedAt)) {
				return a.Index + mine.Run
			}
		}
	}
	return r.w.Attempt + mine.Run
}

package accounting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/table"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// Seff is seff, which sites have beside Slurm.
func Seff() *compat.Command {
	return &compat.Command{
		Use: "seff JOB", Words: &terms.Words, Short: "How well a job used what it had", Loose: true, Most: 1,
		Flags: []compat.Flag{
			{Names: "debug d", Void: "there is nothing more to tell."},
			{Names: "forcerun f", Void: "every job is told of."},
			terms.Version,
		},
		Run: seff,
	}
}

func seff(c *compat.Call) error {
	if done, err := terms.Asked(c); done {
		return err
	}
	id, err := c.Need("a job")
	if err != nil {
		return err
	}
	which, err := parseID(id)
	if err != nil {
		return err
	}
	ws, tasks, err := which.find(c)
	if err != nil {
		return err
	}
	if len(ws) == 0 {
		return cli.Missing("Job not found.", "sacct lists the jobs of today")
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	for _, e := range entriesOfAll(c, p, ws, tasks) {
		if e.Step != "" {
			continue
		}
		if _, err := fmt.Fprint(c.Out(), e.efficiency()); err != nil {
			return err
		}
	}
	return nil
}

// efficiency is what seff prints of a job.
func (e *entry) efficiency() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	code, _ := e.exit()
	say("Job ID: %s", e.raw)
	if e.Document.Array != nil {
		say("Array Job ID: %s", e.job)
	}
	say("Cluster: %s", e.p.Cluster(e.Workload))
	group := accountFields[slices.IndexFunc(accountFields, func(f table.Column[*entry]) bool { return f.Name == "Group" })].Value(e)
	say("User/Group: %s/%s", e.Workload.User, group)
	say("State: %s (exit code %d)", e.state, code)
	if e.NodeCount() > 1 {
		say("Nodes: %d", e.NodeCount())
		say("Cores per node: %d", max(e.CPUs()/e.NodeCount(), 1))
	} else if e.CPUs() > 1 {
		say("Nodes: 1")
		say("Cores per node: %d", e.CPUs())
	} else {
		say("Cores: 1")
	}
	if e.start.IsZero() {
		say("Efficiency not available for jobs in the %s state.", e.state)
		return b.String()
	}
	wall := time.Duration(e.seconds()*e.CPUs()) * time.Second
	u := e.usage()
	if u != nil && u.cpuKnown {
		say("CPU Utilized: %s", terms.Clock(u.cpu()))
		say("CPU Efficiency: %.2f%% of %s core-walltime", percent(u.cpu().Seconds(), wall.Seconds()), terms.Clock(wall))
	} else {
		say("CPU Utilized: unknown, nobody looked while it ran")
	}
	say("Job Wall-clock time: %s", terms.Clock(time.Duration(e.seconds())*time.Second))
	switch asked := e.Memory(); {
	case u == nil:
		say("Memory Utilized: unknown, nobody looked while it ran")
	default:
		used := u.most * float64(u.tasks)
		say("Memory Utilized: %s", readable(used))
		if asked > 0 {
			say("Memory Efficiency: %.2f%% of %s", percent(used, float64(asked)), readable(float64(asked)))
		}
	}
	if e.state == "RUNNING" {
		say("WARNING: Efficiency statistics may be misleading for RUNNING jobs.")
	}
	return b.String()
}

func percent(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * part / whole
}

// readable is a number of bytes in the unit that suits it.
func readable(bytes float64) string {
	at, letters := 0, []string{"KB", "MB", "GB", "TB", "PB"}
	n := bytes / 1024
	for n >= 1024 && at < len(letters)-1 {
		n, at = n/1024, at+1
	}
	return fmt.Sprintf("%.2f %s", n, letters[at])
}

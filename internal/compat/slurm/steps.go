package slurm

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/accounting"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// stepFormat is what squeue -s shows.
const stepFormat = "%.15i %.8j %.9P %.8u %.9M %N"

// everyStep is the list of steps that is none.
const everyStep = "all"

// stepRow is a step that runs, as a line of squeue.
type stepRow struct {
	row // its job
	accounting.Running
}

// value is what a field of the format says of the step, or of its job.
func (r *stepRow) value(letter byte) (string, bool) {
	switch letter {
	case 'C':
		if r.CPUs == 0 { // of a script: those of its job
			return r.row.value(letter)
		}
		return strconv.FormatInt(r.CPUs, 10), true
	case 'i':
		return r.ID, true
	case 'A':
		return strconv.FormatInt(r.Workload.Number, 10), true
	case 'j':
		return r.Name, true
	case 'M':
		return terms.Span(r.c.Now().Sub(r.Start)), true
	case 'S':
		return terms.Instant(r.Start, "N/A"), true
	case 'N', 'R':
		return terms.Hosts(r.Nodes), true
	case 'D':
		return strconv.Itoa(len(r.Nodes)), true
	}
	return r.row.value(letter)
}

func stepTitle(letter byte) (string, bool) {
	switch letter {
	case 'i':
		return "STEPID", true
	case 'M':
		return "TIME", true
	case 'R':
		return "NODELIST", true
	}
	return title(letter)
}

// squeueSteps lists steps that run.
func squeueSteps(c *compat.Call, fields []field, after string) error {
	if c.Bool("json") || c.Bool("yaml") {
		return cli.Wrong("--steps goes with no --json and --yaml", "sacct --json has the steps of each job")
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	var rows []stepRow
	add := func(id string) error {
		some, err := accounting.RunningSteps(c, p, id)
		for _, s := range some {
			r := stepRow{Running: s}
			for _, of := range rowsOf(c, p, s.Workload, nil) {
				if r.c == nil || of.id == s.Job {
					r.row = of
				}
			}
			rows = append(rows, r)
		}
		return err
	}
	if list := c.Text("steps"); list != everyStep {
		for id := range strings.SplitSeq(list, ",") {
			if err := add(id); err != nil {
				return err
			}
		}
	} else {
		ws, err := listed(c, p, map[string][]int{})
		if err != nil {
			return err
		}
		for i := range ws {
			if terms.StateOf(&ws[i]) == terms.Pending {
				continue
			}
			// One that has ended and is forgotten meanwhile has no steps.
			if err := add(fmt.Sprint(ws[i].Number)); err != nil && cli.CodeOf(err) != cli.CodeOf(cli.Missing("", "")) {
				return err
			}
		}
	}
	out := bufio.NewWriter(c.Out())
	if !c.Bool("noheader") {
		if err := write(out, fields, after, stepTitle); err != nil {
			return err
		}
	}
	for i := range rows {
		if err := write(out, fields, after, rows[i].value); err != nil {
			return err
		}
	}
	return out.Flush()
}

// showSteps shows steps that run as records: all, those of a job, or one. What there is
// not, Slurm says in these words, and exits with 1.
func showSteps(c *compat.Call, name string) error {
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	ids := []string{name}
	if name == "" {
		ids = nil
		ws, err := listed(c, p, map[string][]int{})
		if err != nil {
			return err
		}
		for i := range ws {
			if terms.StateOf(&ws[i]) != terms.Pending {
				ids = append(ids, fmt.Sprint(ws[i].Number))
			}
		}
	}
	var steps []accounting.Running
	for _, id := range ids {
		some, err := accounting.RunningSteps(c, p, id)
		missing := err != nil && cli.CodeOf(err) == cli.CodeOf(cli.Missing("", ""))
		switch {
		case missing && name != "":
			return cli.Missing("slurm_get_job_steps error: Invalid job id specified", "squeue -s lists all steps that run")
		case err != nil && !missing:
			return err
		}
		steps = append(steps, some...)
	}
	if len(steps) == 0 && name != "" {
		kind := "Job"
		if strings.Contains(name, ".") {
			kind = "Job step"
		}
		return cli.Missing(fmt.Sprintf("%s %s not found", kind, name), "squeue -s lists all steps that run")
	}
	for i := range steps {
		if err := record(c, stepRecord(p, &steps[i])); err != nil {
			return err
		}
	}
	return nil
}

// stepRecord is a step as scontrol shows it.
func stepRecord(p *compat.Place, s *accounting.Running) [][]string {
	tres, freq := s.TRES, "CPUFreqReq=Default"
	if tres == "" {
		tres = "(null)"
	} else {
		how := "Block"
		if s.Tasks <= len(s.Nodes) {
			how = "Cyclic"
		}
		freq += " Dist=" + how
	}
	return [][]string{
		{"StepId=" + s.ID, "UserId=" + s.Workload.User, "StartTime=" + terms.Instant(s.Start, "Unknown"), "TimeLimit=" + terms.WholeLimit(s.Workload)},
		{"State=RUNNING", "Partition=" + terms.Partition(p, s.Workload), "NodeList=" + terms.Hosts(s.Nodes)},
		{fmt.Sprintf("Nodes=%d", len(s.Nodes)), fmt.Sprintf("CPUs=%d", s.CPUs), fmt.Sprintf("Tasks=%d", s.Tasks), "Name=" + s.Name, "Network=(null)"},
		{"TRES=" + tres},
		{"ResvPorts=(null)"},
		{freq},
	}
}

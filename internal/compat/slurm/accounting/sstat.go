package accounting

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/table"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// Sstat is sstat.
func Sstat() *compat.Command {
	return &compat.Command{
		Use: "sstat [JOB…]", Words: &terms.Words, Short: "What jobs that run use", Loose: true, Most: compat.All,
		Long: `Shows memory and CPU time of jobs that run, as they were sampled of all that a job
runs. Of a job it shows what srun has started last, or its script, .batch, where
nothing of that runs; with -a all.`,
		Flags: []compat.Flag{
			{Names: "allsteps a", Does: "all steps of each job, its script too"},
			{Names: "delimiter", Arg: "TEXT", Does: "between fields of -p and -P, instead of |"},
			{Names: "format o fields", Arg: "FIELDS", Does: "fields, such as \"JobID,MaxRSS,AveCPU\""},
			{Names: "helpformat e", Does: "list the fields"},
			{Names: "jobs j", Arg: "IDS", Many: true, Does: "these jobs"},
			{Names: "noconvert", Does: "sizes in megabytes and kilobytes, however large"},
			{Names: "noheader n", Does: "no lines of titles"},
			{Names: "parsable p", Does: "fields with | between them and at the end"},
			{Names: "parsable2 P", Does: "fields with | between them"},
			{Names: "pidformat i", Void: "muster exec JOB -- ps shows the processes of a task.", Refused: true},
			{Names: "usage", Void: "--help says it."},
			{Names: "verbose v", Void: "there is nothing more to tell."},
			terms.Version,
		},
		Run: sstat,
	}
}

// sstatFields are those of sacct that sstat has too.
func sstatFields() []table.Column[*entry] {
	var out []table.Column[*entry]
	for _, f := range accountFields {
		if slices.ContainsFunc([]string{"Ave", "Max", "Min", "TRESUsage", "ReqCPUFreq", "ConsumedEnergy", "NTasks", "NodeList"}, func(p string) bool { return strings.HasPrefix(f.Name, p) }) || f.Name == "JobID" {
			out = append(out, f)
		}
	}
	return out
}

const usualStat = "jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks," +
	"avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,consumedenergy,maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite," +
	"tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,tresusageoutave,tresusageoutmax,tresusageoutmaxnode," +
	"tresusageoutmaxtask,tresusageoutmin,tresusageoutminnode,tresusageoutmintask,tresusageouttot"

func sstat(c *compat.Call) error {
	if done, err := terms.Asked(c); done {
		return err
	}
	if c.Bool("helpformat") {
		return table.Help(c, sstatFields())
	}
	format := usualStat
	if c.Given("format") {
		format = c.Text("format")
	}
	columns, err := table.Choose(sstatFields(), format, "sstat --helpformat lists the fields")
	if err != nil {
		return err
	}
	ids := c.List("jobs")
	for _, word := range c.Args {
		ids = append(ids, strings.Split(word, ",")...)
	}
	if len(ids) == 0 {
		return cli.Wrong("You didn't give me any jobs to stat.", "sstat -j 12")
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	var rows []*entry
	for _, id := range ids {
		which, err := parseID(id)
		if err != nil {
			return err
		}
		ws, tasks, err := which.find(c)
		if err != nil {
			return err
		}
		if len(ws) == 0 {
			c.Say("sstat: error: couldn't get steps for job %s", id)
			continue
		}
		running := slices.DeleteFunc(entriesOfAll(c, p, ws, tasks), func(e *entry) bool {
			return e.Step == "" || e.state != "RUNNING" || which.step != "" && which.step != e.Step
		})
		if which.step == "" && !c.Bool("allsteps") {
			running = lastOfEach(running)
		}
		rows = append(rows, running...)
		if len(running) == 0 {
			c.Say("sstat: error: No steps running for job %s", id)
		}
	}
	return table.Print(c, columns, rows)
}

// lastOfEach are the last steps of each job, which stand in their order.
func lastOfEach(steps []*entry) (out []*entry) {
	for i, e := range steps {
		if i+1 == len(steps) || steps[i+1].job != e.job {
			out = append(out, e)
		}
	}
	return out
}

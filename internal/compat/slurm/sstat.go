package slurm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/table"
)

// Sstat is sstat.
func Sstat() *compat.Command {
	return &compat.Command{
		Use: "sstat [JOB…]", Words: &words, Short: "What jobs that run use", Loose: true, Most: compat.All,
		Long: `Shows memory and CPU time of jobs that run, as they were sampled. A job's step is
its script, .batch: what srun starts in it is counted with it.`,
		Flags: []compat.Flag{
			{Names: "allsteps a", Void: "all steps of each job are always shown."},
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
			versionFlag,
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
	if done, err := asked(c); done {
		return err
	}
	if c.Bool("helpformat") {
		return table.Help(c, sstatFields())
	}
	format := usualStat
	if c.Given("format") {
		format = c.Text("format")
	}
	columns, err := table.Choose(sstatFields(), format)
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
		w, tasks, err := which.find(c)
		if err != nil {
			return err
		}
		if w == nil {
			c.Say("sstat: error: couldn't get steps for job %s", id)
			continue
		}
		before := len(rows)
		for _, e := range entriesOf(c, p, w, tasks) {
			if e.step != "" && e.state == "RUNNING" && (which.step == "" || which.step == e.step) {
				rows = append(rows, e)
			}
		}
		if len(rows) == before {
			c.Say("sstat: error: No steps running for job %s", id)
		}
	}
	return table.Print(c, columns, rows)
}

// Seff is seff, which sites have beside Slurm.
func Seff() *compat.Command {
	return &compat.Command{
		Use: "seff JOB", Words: &words, Short: "How well a job used what it had", Loose: true, Most: 1,
		Flags: []compat.Flag{
			{Names: "debug d", Void: "there is nothing more to tell."},
			{Names: "forcerun f", Void: "every job is told of."},
			versionFlag,
		},
		Run: seff,
	}
}

func seff(c *compat.Call) error {
	if done, err := asked(c); done {
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
	w, tasks, err := which.find(c)
	if err != nil {
		return err
	}
	if w == nil {
		return cli.Missing("Job not found.", "sacct lists the jobs of today")
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	for _, e := range entriesOf(c, p, w, tasks) {
		if e.step != "" {
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
	if e.d.Array != nil {
		say("Array Job ID: %s", e.job)
	}
	say("Cluster: %s", e.p.Cluster(e.w))
	group := accountFields[slices.IndexFunc(accountFields, func(f table.Column[*entry]) bool { return f.Name == "Group" })].Value(e)
	say("User/Group: %s/%s", e.w.User, group)
	say("State: %s (exit code %d)", e.state, code)
	if e.nodeCount() > 1 {
		say("Nodes: %d", e.nodeCount())
		say("Cores per node: %d", max(e.cpus()/e.nodeCount(), 1))
	} else if e.cpus() > 1 {
		say("Nodes: 1")
		say("Cores per node: %d", e.cpus())
	} else {
		say("Cores: 1")
	}
	if e.start.IsZero() {
		say("Efficiency not available for jobs in the %s state.", e.state)
		return b.String()
	}
	wall := time.Duration(e.seconds()*e.cpus()) * time.Second
	u := e.usage()
	if u != nil && u.cpuKnown {
		say("CPU Utilized: %s", clockSpan(u.cpu()))
		say("CPU Efficiency: %.2f%% of %s core-walltime", percent(u.cpu().Seconds(), wall.Seconds()), clockSpan(wall))
	} else {
		say("CPU Utilized: unknown, nobody looked while it ran")
	}
	say("Job Wall-clock time: %s", clockSpan(time.Duration(e.seconds())*time.Second))
	switch asked := e.memory(); {
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

// Sprio and Sshare are answered by what there is instead: the order here is no
// sum of factors, and shares are of quotas.
func Sprio() *compat.Command {
	return &compat.Command{Use: "sprio", Words: &words, Short: "The factors of jobs' priorities", Loose: true,
		Void: "the order of jobs is no sum of factors: scontrol show job and muster why JOB say what one waits for, squeue -P lists them in their order."}
}

// Sshare is sshare.
func Sshare() *compat.Command {
	return &compat.Command{Use: "sshare", Words: &words, Short: "Shares of accounts", Loose: true,
		Void: "shares are quotas and weights of projects: muster quota shows what each is due and has."}
}

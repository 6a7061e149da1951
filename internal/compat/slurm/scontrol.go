package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Scontrol is scontrol.
func Scontrol() *compat.Command {
	oneLine := []compat.Flag{
		{Names: "oneliner o", Does: "a line for each record"},
		{Names: "all a", Void: "every record is always shown."},
		{Names: "details d", Void: "records are always whole."},
		{Names: "clusters M cluster", Arg: "NAME", Void: "there is one server for all clusters."},
		{Names: "quiet Q", Does: "say nothing of what was done"},
		{Names: "verbose v", Void: "there is nothing more to tell."},
		{Names: "hide", Void: "every record is visible."},
		{Names: "json", Does: "as JSON"},
		{Names: "yaml", Does: "as YAML"},
		{Names: "future F", Void: "there are no nodes to come."},
		{Names: "local", Void: "there is one server for all clusters."},
		{Names: "federation", Void: "there is one server for all clusters."},
		{Names: "sibling", Void: "there is one server for all clusters."},
		{Names: "uid u", Arg: "UID", Void: "one acts as oneself."},
	}
	void := func(name, why string) *compat.Command { return &compat.Command{Use: name, Void: why} }
	return &compat.Command{
		Use: "scontrol", Words: &terms.Words, Short: "Look at jobs, nodes and partitions, and change them", Loose: true, Global: oneLine, Flags: []compat.Flag{terms.Version},
		Run: func(c *compat.Call) error {
			if done, err := terms.Asked(c); done {
				return err
			}
			return cli.Wrong("scontrol needs a command", "scontrol show job ID, for example; scontrol --help lists the commands")
		},
		Most: compat.All,
		Sub: []*compat.Command{
			{Use: "show ENTITY [NAME]", Short: "A job, step, node, partition, license, reservation, or host names of a list", Most: 2, Run: show},
			{Use: "update NAME=VALUE…", Short: "Change a job, a node or a reservation", Most: compat.All, Run: update},
			{Use: "requeue JOB…", Short: "Run jobs, or tasks of an array (12_3), again from their beginning", Most: compat.All, Run: requeue},
			{Use: "cancel_reboot NODE", Void: "nodes are not booted from here."},
			{Use: "ping", Short: "Whether the server answers", Run: func(c *compat.Call) error {
				conn, err := c.Connect(c.Context)
				if err != nil {
					return err
				}
				if err := conn.Ready(c.Context); err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.Out(), "Slurmctld(primary) at %s is UP\n", conn.Address())
				return err
			}},
			{Use: "version", Short: "Print the version", Run: terms.PrintVersion},
			{Use: "hold JOB…", Also: "uhold", Short: "Keep jobs that wait, or tasks of an array (12_3), from starting", Most: compat.All, Run: func(c *compat.Call) error { return holdJobs(c, "hold", (*client.Client).Hold) }},
			{Use: "release JOB…", Short: "Let jobs go that are held", Most: compat.All, Run: func(c *compat.Call) error { return holdJobs(c, "release", (*client.Client).Release) }},
			{Use: "requeuehold JOB…", Short: "Send jobs back to their queue, and keep them there until they are released", Most: compat.All, Run: requeueHold},
			{Use: "suspend JOB…", Short: "Stop the processes of jobs in place; they keep their nodes, and their time runs on", Most: compat.All, Run: func(c *compat.Call) error { return stand(c, "suspend", "STOP") }},
			{Use: "resume JOB…", Short: "Let processes go on that were stopped", Most: compat.All, Run: func(c *compat.Call) error { return stand(c, "resume", "CONT") }},
			void("top", "the order of one's own jobs is their priority: scontrol update JobId=N Priority=P."),
			{Use: "create [reservation] NAME=VALUE…", Short: "Make a reservation", Most: compat.All, Run: create},
			{Use: "delete ReservationName=NAME", Short: "Delete a reservation", Most: 2, Run: remove},
			void("reconfigure", "the server has no configuration file to read again."),
			void("reboot", "nodes are not booted from here."),
			void("shutdown", "muster server stop ends the server."),
			void("takeover", "with --leader-elect servers take over by themselves."),
			void("notify", "nobody is logged in at a job."),
			void("write", "the server has no configuration file: muster apply --help says how records are written."),
			void("wait_job", "muster wait JOB waits for a job."),
			void("listpids", "muster exec JOB -- ps shows the processes of a task."),
			void("pidinfo", "muster exec JOB -- ps shows the processes of a task."),
			void("setdebug", "the server is told with muster server --log-level."),
			void("setdebugflags", "the server is told with muster server --log-level."),
			void("schedloglevel", "the server is told with muster server --log-level."),
			void("token", "muster server --token-file names the token that opens the server."),
			void("gethost", "addresses are the network's own: getent hosts NAME."),
			void("getaddrs", "addresses are the network's own: getent hosts NAME."),
			void("power", "nodes are not booted from here."),
			void("fsdampeningfactor", "muster server --past-weight says how much past use counts."),
			void("assoc_mgr", "muster project list shows projects."),
			void("bbstat", "there are no burst buffers."),
			void("crontab", "there are no jobs by the clock."),
		},
	}
}

func show(c *compat.Call) error {
	entity, name := strings.ToLower(c.First()), ""
	if k, v, ok := strings.Cut(c.First(), "="); ok {
		entity, name = strings.ToLower(k), v
	}
	if len(c.Args) > 1 {
		name = c.Args[1]
	}
	switch strings.TrimSuffix(entity, "s") {
	case "job", "jobid":
		return showJobs(c, name)
	case "step", "stepid":
		return showSteps(c, name)
	case "node", "nodename":
		return showNodes(c, name)
	case "partition", "partitionname":
		return showPools(c, name)
	case "license":
		return showLicenses(c, name)
	case "reservation", "reservationname", "re":
		return showReservations(c, name)
	case "hostname":
		names, err := terms.Unfold(name)
		if err != nil {
			return err
		}
		for _, n := range names {
			if _, err := fmt.Fprintln(c.Out(), n); err != nil {
				return err
			}
		}
		return nil
	case "hostlist", "hostlistsorted":
		names := strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
		_, err := fmt.Fprintln(c.Out(), terms.Hosts(names))
		return err
	case "config":
		return c.Muster(c.Context, "server", "status")
	case "":
		return cli.Wrong("scontrol show needs to know what", "job, step, node, partition, licenses, reservation, hostnames, hostlist or config")
	}
	return cli.Wrong(fmt.Sprintf("scontrol show %s: there is nothing of that kind here", entity), "job, step, node, partition, licenses, reservation, hostnames, hostlist or config")
}

func showJobs(c *compat.Call, name string) error {
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	var rows []row
	structured := c.Bool("json") || c.Bool("yaml")
	add := func(w *api.Workload, some []int) {
		if structured {
			rows = append(rows, rowsOf(c, p, w, some)...)
		} else {
			rows = append(rows, recordRows(c, p, w, some)...)
		}
	}
	if name != "" {
		for id := range strings.SplitSeq(name, ",") {
			ws, some, err := jobsNamed(c, id)
			if err != nil {
				return err
			}
			for _, w := range ws {
				add(w, some)
			}
		}
	} else {
		ws, err := c.Pages(c.Context, client.ListOptions{Live: true}, 0, nil)
		if err != nil {
			return err
		}
		for i := range ws {
			add(&ws[i], nil)
		}
	}
	if structured {
		_, err := terms.Structured(c, jobsJSON(c, rows))
		return err
	}
	if len(rows) == 0 {
		c.Say("No jobs in the system")
	}
	for i := range rows {
		if err := record(c, jobRecord(&rows[i])); err != nil {
			return err
		}
	}
	return nil
}

func jobRecord(r *row) [][]string {
	p, w, d := r.p, r.w, cli.Document(r.w)
	one := *r
	if d.Array != nil { // each task is a job
		one.count = 1
	}
	cpus, _ := one.value('C')
	tres := "cpu=" + cpus
	if d.Resources.Memory > 0 {
		tres += ",mem=" + d.Resources.Memory.String()
	}
	tres += ",node=" + strconv.Itoa(r.nodeCount())
	if gpus := w.GPUs * float64(one.count) / float64(compat.Count(w)); gpus > 0 {
		tres += ",gres/gpu=" + amount.GPUs(gpus)
	}
	began, ended, ran := r.lasted()
	requeue := "0"
	if d.Retry.System == nil || *d.Retry.System > 0 {
		requeue = "1"
	}
	waited, reason, code := "(null)", terms.Reason(w), r.exitCode()
	if r.task >= 0 || strings.Contains(r.id, "[") {
		switch reason = "None"; r.state {
		case terms.Pending:
			reason = r.reason()
		case terms.States[lifecycle.Failed]:
			reason = "NonZeroExitCode"
		}
	}
	if code == notLaunched {
		reason = "JobLaunchFailure"
	}
	if r.state == terms.Pending {
		waited = cmp.Or(r.dependency(), waited)
	}
	deadline, _ := time.Parse(time.RFC3339, d.Deadline) // zero: it has none
	stdout, stderr := r.outputs()
	lines := [][]string{
		{fmt.Sprintf("JobId=%d", w.Number), "JobName=" + terms.Name(w)},
		{"UserId=" + w.User, "Account=" + w.Project, "QOS=" + terms.QOS(w)},
		{"Priority=" + strconv.Itoa(w.Priority), "Nice=0"},
		{"JobState=" + r.state.Long, "Reason=" + reason, "Dependency=" + waited},
		{"Requeue=" + requeue, fmt.Sprintf("Restarts=%d", r.restarts()), "BatchFlag=1", "Reboot=0", "ExitCode=" + code},
		{"RunTime=" + terms.Clock(ran), "TimeLimit=" + terms.WholeLimit(w), "TimeMin=N/A"},
		{"SubmitTime=" + terms.Instant(time.Time(w.CreatedAt), "Unknown"), "EligibleTime=" + terms.Instant(time.Time(w.CreatedAt), "Unknown")},
		{"StartTime=" + terms.Instant(began, "Unknown"), "EndTime=" + terms.Instant(ended, "Unknown"), "Deadline=" + terms.Instant(deadline, "N/A")},
		{"Partition=" + terms.Partition(p, w)},
		{"NodeList=" + cmp.Or(terms.Hosts(r.nodes()), "(null)")},
		{"BatchHost=" + r.known('B')},
		{fmt.Sprintf("NumNodes=%d", r.nodeCount()), "NumCPUs=" + cpus, "NumTasks=" + strconv.Itoa(tasksOf(d, r.nodeCount())), "CPUs/Task=" + cpusOfTask(d), "ReqB:S:C:T=0:0:*:*"},
		{"TRES=" + tres},
		{"Socks/Node=*", fmt.Sprintf("NtasksPerN:B:S:C=%d:0:*:*", perNodeOf(d)), "CoreSpec=*"},
		{"OverSubscribe=" + sharing(d), "Contiguous=0", "Licenses=" + cmp.Or(terms.Licenses(d.Licenses), "(null)"), "Network=(null)"},
		{"Command=" + commandOf(d)},
		{"WorkDir=" + d.Workdir},
		{"StdErr=" + stderr},
		{"StdIn=" + r.input()},
		{"StdOut=" + stdout},
		{"Comment=" + cmp.Or(d.Annotations["comment"], "(null)"), "Id=" + w.ID},
	}
	if job, array, tasks, is := r.ofArray(); is {
		lines[0] = []string{"JobId=" + job, "ArrayJobId=" + array, "ArrayTaskId=" + tasks, lines[0][1]}
	}
	return lines
}

// perNodeOf is how many processes it has on each node at most; 0: it does not say.
func perNodeOf(d *spec.Document) int {
	if d.Slurm == nil {
		return 0
	}
	return d.Slurm.TasksPerNode
}

// sharing says whether others may be on its nodes.
func sharing(d *spec.Document) string {
	switch d.Exclusive {
	case "":
		return "OK"
	case "user":
		return "USER"
	default:
		return "NO"
	}
}

// tasksOf is how many processes a job's srun starts where it is not told.
func tasksOf(d *spec.Document, nodes int) int {
	switch s := d.Slurm; {
	case s == nil:
		return nodes
	case s.Tasks > 0:
		return s.Tasks
	default:
		return nodes * max(s.TasksPerNode, 1)
	}
}

// cpusOfTask is how many CPUs each of them was asked for.
func cpusOfTask(d *spec.Document) string {
	if d.Slurm == nil {
		return d.Resources.CPU.String()
	}
	return strconv.Itoa(max(d.Slurm.CPUsPerTask, 1))
}

func showNodes(c *compat.Call, name string) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	list, err := conn.Nodes.List(c.Context)
	if err != nil {
		return err
	}
	wanted, err := terms.Unfold(name)
	if err != nil {
		return err
	}
	nodes := slices.DeleteFunc(list.Items, func(n api.Node) bool { return name != "" && !slices.Contains(wanted, n.Name) })
	if name != "" && len(nodes) < len(wanted) {
		return cli.Missing("Node "+name+" not found", "sinfo -N lists them")
	}
	if done, err := terms.Structured(c, nodesJSON(c, nodes)); done {
		return err
	}
	for _, n := range nodes {
		lines := [][]string{
			{"NodeName=" + n.Name, "Arch=-", fmt.Sprintf("CPUAlloc=%d", (n.CPU.Used+999)/1000), fmt.Sprintf("CPUTot=%d", n.CPU.Total/1000)},
			{"Gres=" + gres(n)},
			{fmt.Sprintf("RealMemory=%d", n.Memory.Total>>20), fmt.Sprintf("AllocMem=%d", n.Memory.Used>>20), fmt.Sprintf("FreeMem=%d", (n.Memory.Total-n.Memory.Used)>>20)},
			{"State=" + strings.ToUpper(nodeState(n).long), "Partitions=" + n.Pool},
			{fmt.Sprintf("CfgTRES=cpu=%d,mem=%dM,gres/gpu=%s", n.CPU.Total/1000, n.Memory.Total>>20, amount.Thousandths(n.GPU.Total))},
			{fmt.Sprintf("AllocTRES=cpu=%d,mem=%dM,gres/gpu=%s", (n.CPU.Used+999)/1000, n.Memory.Used>>20, amount.Thousandths(n.GPU.Used))},
		}
		if why := cmp.Or(n.Note, n.Message); why != "" {
			lines = append(lines, []string{"Reason=" + why})
		}
		if err := record(c, lines); err != nil {
			return err
		}
	}
	return nil
}

func showPools(c *compat.Call, name string) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	list, err := conn.Pools.List(c.Context)
	if err != nil {
		return err
	}
	nodes, err := conn.Nodes.List(c.Context)
	if err != nil {
		return err
	}
	pools := slices.DeleteFunc(list.Items, func(p api.Pool) bool { return name != "" && p.Name != name })
	if len(pools) == 0 {
		return cli.Missing("Partition "+name+" not found", "sinfo lists them")
	}
	if done, err := terms.Structured(c, api.PoolList{Items: pools}); done {
		return err
	}
	for _, p := range pools {
		var names []string
		for _, n := range nodes.Items {
			if n.Pool == p.Name {
				names = append(names, n.Name)
			}
		}
		slices.SortFunc(names, natural)
		yes := map[bool]string{true: "YES", false: "NO"}
		err := record(c, [][]string{
			{"PartitionName=" + p.Name},
			{"AllowGroups=ALL", "AllowAccounts=ALL", "AllowQos=ALL"},
			{"Default=" + yes[p.Name == "default"], "MaxNodes=UNLIMITED", "MaxTime=UNLIMITED", "MinNodes=0"},
			{"Nodes=" + cmp.Or(terms.Hosts(names), "(null)")},
			{"State=UP", fmt.Sprintf("TotalCPUs=%d", p.CPU.Total/1000), fmt.Sprintf("TotalNodes=%d", p.Nodes)},
			{fmt.Sprintf("TRES=cpu=%d,mem=%dM,node=%d,gres/gpu=%s", p.CPU.Total/1000, p.Memory.Total>>20, p.Nodes, amount.Thousandths(p.GPU.Total))},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

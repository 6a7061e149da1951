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
)

// accountFields are those of sacct, in its order and as wide as there
// (slurm.schedmd.com/sacct.html, job accounting fields). What nobody records is
// empty, as in Slurm where it is not gathered.
var accountFields = []column{
	{"Account", 10, func(e *entry) string { return e.w.Project }},
	{"AdminComment", 15, unknown},
	{"AllocCPUS", 10, allocated},
	{"AllocNodes", 10, func(e *entry) string {
		if e.start.IsZero() {
			return "0"
		}
		return strconv.FormatInt(e.nodeCount(), 10)
	}},
	{"AllocTRES", 10, func(e *entry) string {
		if e.start.IsZero() {
			return ""
		}
		return e.tres()
	}},
	{"AssocID", 7, unknown},
	{"AveCPU", 10, func(e *entry) string { return e.sampled(func(u *usage) string { return clockSpan(u.cpuMean()) }) }},
	{"AveCPUFreq", 10, unknown},
	{"AveDiskRead", 14, unknown},
	{"AveDiskWrite", 14, unknown},
	{"AvePages", 10, unknown},
	{"AveRSS", 10, func(e *entry) string { return e.sampled(func(u *usage) string { return e.size(u.memoryMean()) }) }},
	{"AveVMSize", 10, unknown},
	{"BlockID", 16, unknown},
	{"Cluster", 10, func(e *entry) string { return e.p.Cluster(e.w) }},
	{"Comment", 14, ofJob(func(e *entry) string { return e.d.Annotations["comment"] })},
	{"Constraints", 19, unknown},
	{"ConsumedEnergy", 14, unknown},
	{"ConsumedEnergyRaw", 17, unknown},
	{"Container", 19, ofJob(func(e *entry) string { return e.d.Image })},
	{"CPUTime", 10, func(e *entry) string { return clockSpan(time.Duration(e.seconds()*e.cpus()) * time.Second) }},
	{"CPUTimeRAW", 10, func(e *entry) string { return strconv.FormatInt(e.seconds()*e.cpus(), 10) }},
	{"DBIndex", -10, func(e *entry) string { return e.raw }},
	{"DerivedExitCode", 15, ofJob(func(*entry) string { return "0:0" })},
	{"Elapsed", 10, func(e *entry) string { return clockSpan(time.Duration(e.seconds()) * time.Second) }},
	{"ElapsedRaw", 10, func(e *entry) string { return strconv.FormatInt(e.seconds(), 10) }},
	{"Eligible", 19, func(e *entry) string { return e.instant(e.submit) }},
	{"End", 19, func(e *entry) string { return e.instant(e.end) }},
	{"ExitCode", 8, func(e *entry) string { code, signal := e.exit(); return fmt.Sprintf("%d:%d", code, signal) }},
	{"Flags", 19, unknown},
	{"GID", 6, ofJob(func(e *entry) string { return e.account().Gid })},
	{"Group", 9, ofJob(func(e *entry) string {
		if g, err := user.LookupGroupId(e.account().Gid); err == nil {
			return g.Name
		}
		return ""
	})},
	{"JobID", -12, (*entry).id},
	{"JobIDRaw", -12, (*entry).rawID},
	{"JobName", 10, func(e *entry) string { return cmp.Or(e.step, name(e.w)) }},
	{"Layout", 9, unknown},
	{"MaxDiskRead", 12, unknown},
	{"MaxDiskReadNode", 15, unknown},
	{"MaxDiskReadTask", 15, unknown},
	{"MaxDiskWrite", 12, unknown},
	{"MaxDiskWriteNode", 16, unknown},
	{"MaxDiskWriteTask", 16, unknown},
	{"MaxPages", 8, unknown},
	{"MaxPagesNode", 12, unknown},
	{"MaxPagesTask", 14, unknown},
	{"MaxRSS", 10, func(e *entry) string { return e.sampled(func(u *usage) string { return e.size(u.memoryMost()) }) }},
	{"MaxRSSNode", 10, func(e *entry) string { return e.sampled(func(u *usage) string { return u.node }) }},
	{"MaxRSSTask", 10, func(e *entry) string { return e.sampled(func(u *usage) string { return strconv.Itoa(u.task) }) }},
	{"MaxVMSize", 10, unknown},
	{"MaxVMSizeNode", 14, unknown},
	{"MaxVMSizeTask", 14, unknown},
	{"McsLabel", 12, unknown},
	{"MinCPU", 10, unknown},
	{"MinCPUNode", 10, unknown},
	{"MinCPUTask", 10, unknown},
	{"NCPUS", 10, allocated},
	{"NNodes", 8, func(e *entry) string { return strconv.FormatInt(e.nodeCount(), 10) }},
	{"NodeList", 15, func(e *entry) string { return cmp.Or(hosts(e.nodes()), "None assigned") }},
	{"NTasks", 8, func(e *entry) string {
		if e.step == "" {
			return ""
		}
		return "1"
	}},
	{"Partition", 10, ofJob(func(e *entry) string { return partition(e.p, e.w) })},
	{"Priority", 10, ofJob(func(e *entry) string { return strconv.Itoa(e.w.Priority) })},
	{"QOS", 10, ofJob(func(e *entry) string { return qos(e.w) })},
	{"QOSRAW", 6, unknown},
	{"Reason", 22, ofJob(func(e *entry) string { return reason(e.w) })},
	{"ReqCPUFreq", 10, unknown},
	{"ReqCPUFreqGov", 13, unknown},
	{"ReqCPUFreqMax", 13, unknown},
	{"ReqCPUFreqMin", 13, unknown},
	{"ReqCPUS", 8, allocated},
	{"ReqMem", 10, ofJob(func(e *entry) string { return e.size(e.memory()) })},
	{"ReqNodes", 8, func(e *entry) string { return strconv.FormatInt(e.nodeCount(), 10) }},
	{"ReqTRES", 10, ofJob((*entry).tres)},
	{"Reservation", 20, ofJob(func(e *entry) string { return e.d.Reservation })},
	{"ReservationId", 8, unknown},
	{"Reserved", 10, ofJob(func(e *entry) string { return clockSpan(e.waited()) })},
	{"ResvCPU", 10, ofJob(func(e *entry) string { return clockSpan(e.waited() * time.Duration(e.cpus())) })},
	{"ResvCPURAW", 10, ofJob(func(e *entry) string { return strconv.FormatInt(int64(e.waited().Seconds())*e.cpus(), 10) })},
	{"Start", 19, func(e *entry) string { return e.instant(e.start) }},
	{"State", 10, (*entry).word},
	{"Submit", 19, func(e *entry) string { return e.instant(e.submit) }},
	{"SubmitLine", 20, unknown},
	{"Suspended", 10, func(*entry) string { return "00:00:00" }},
	{"SystemComment", 15, unknown},
	{"SystemCPU", 10, unknown},
	{"Timelimit", 10, ofJob(func(e *entry) string {
		if d := e.d.MaxDuration.Std(); d > 0 {
			return clockSpan(d)
		}
		return "UNLIMITED"
	})},
	{"TimelimitRaw", 10, ofJob(func(e *entry) string {
		if d := e.d.MaxDuration.Std(); d > 0 {
			return strconv.FormatInt(int64((d+time.Minute-1)/time.Minute), 10)
		}
		return "UNLIMITED"
	})},
	{"TotalCPU", 10, func(e *entry) string {
		if u := e.usage(); u != nil && u.cpuKnown {
			return clockSpan(u.cpu())
		}
		return "00:00:00"
	}},
	{"TRESUsageInAve", 14, unknown},
	{"TRESUsageInMax", 14, func(e *entry) string {
		return e.sampled(func(u *usage) string { return "mem=" + e.size(u.memoryMost()) })
	}},
	{"TRESUsageInMaxNode", 18, unknown},
	{"TRESUsageInMaxTask", 18, unknown},
	{"TRESUsageInMin", 14, unknown},
	{"TRESUsageInMinNode", 18, unknown},
	{"TRESUsageInMinTask", 18, unknown},
	{"TRESUsageInTot", 14, unknown},
	{"TRESUsageOutAve", 15, unknown},
	{"TRESUsageOutMax", 15, unknown},
	{"TRESUsageOutMaxNode", 19, unknown},
	{"TRESUsageOutMaxTask", 19, unknown},
	{"TRESUsageOutMin", 15, unknown},
	{"TRESUsageOutMinNode", 19, unknown},
	{"TRESUsageOutMinTask", 19, unknown},
	{"TRESUsageOutTot", 15, unknown},
	{"UID", 6, ofJob(func(e *entry) string { return e.account().Uid })},
	{"User", 9, ofJob(func(e *entry) string { return e.w.User })},
	{"UserCPU", 10, unknown},
	{"WCKey", 10, unknown},
	{"WCKeyID", 10, unknown},
	{"WorkDir", 20, ofJob(func(e *entry) string { return e.d.Workdir })},
	// Of later versions than 22.05, whose names of these are others.
	{"Planned", 10, ofJob(func(e *entry) string { return clockSpan(e.waited()) })},
	{"PlannedCPU", 10, ofJob(func(e *entry) string { return clockSpan(e.waited() * time.Duration(e.cpus())) })},
	{"PlannedCPURAW", 13, ofJob(func(e *entry) string { return strconv.FormatInt(int64(e.waited().Seconds())*e.cpus(), 10) })},
	{"Restarts", 8, ofJob(func(e *entry) string { return strconv.Itoa(e.attempt) })},
	{"Licenses", 15, ofJob(func(e *entry) string {
		if len(e.d.Licenses) == 0 {
			return ""
		}
		return licenseList(e.d.Licenses)
	})},
}

func unknown(*entry) string { return "" }

func allocated(e *entry) string { return strconv.FormatInt(e.cpus(), 10) }

// ofJob is a field that steps have not.
func ofJob(value func(*entry) string) func(*entry) string {
	return func(e *entry) string {
		if e.step != "" {
			return ""
		}
		return value(e)
	}
}

// instant is a time of the record.
func (e *entry) instant(t time.Time) string { return instant(t, "Unknown") }

// account is who a job's user is on this machine.
func (e *entry) account() *user.User {
	if u, err := user.Lookup(e.w.User); err == nil {
		return u
	}
	return &user.User{}
}

// waited is how long a job waited before it started, or was ended.
func (e *entry) waited() time.Duration {
	until := e.start
	if until.IsZero() {
		until = e.end
	}
	if until.IsZero() {
		until = e.c.Now()
	}
	return max(until.Sub(e.submit), 0)
}

// memory is what a job asks for, in bytes.
func (e *entry) memory() int64 {
	count := e.nodeCount()
	return e.d.Resources.Memory.Units() * count
}

// tres are the resources that a job holds or asks for.
func (e *entry) tres() string {
	parts := []string{fmt.Sprintf("cpu=%d", e.cpus())}
	if gpus := e.gpus(); gpus != "0" {
		parts = append(parts, "gres/gpu="+gpus)
	}
	if m := e.memory(); m > 0 {
		parts = append(parts, "mem="+e.size(m))
	}
	return strings.Join(append(parts, fmt.Sprintf("node=%d", e.nodeCount())), ",")
}

// gpus are those of a job, or of one task of an array.
func (e *entry) gpus() string {
	total := e.w.GPUs
	if e.d.Array != nil {
		total /= float64(max(compat.Count(e.w), 1))
	}
	if e.step != "" && e.nodeCount() < int64(e.count) && e.task < 0 && e.d.Array == nil {
		total /= float64(e.count)
	}
	return compat.GPUs(total)
}

// size is a number of bytes as sacct writes it: in the largest unit in which it
// is a whole number, or in that of --units.
func (e *entry) size(bytes int64) string {
	const letters = "KMGTP"
	if bytes <= 0 {
		return "0"
	}
	n := (bytes + 1023) / 1024
	if unit := strings.ToUpper(e.c.Text("units")); unit != "" {
		at := strings.Index(letters, unit)
		f := float64(n)
		for range max(at, 0) {
			f /= 1024
		}
		return fmt.Sprintf("%.2f%c", f, letters[max(at, 0)])
	}
	at := 0
	for n%1024 == 0 && at < len(letters)-1 && !(e.c.Bool("noconvert") && at == 1) {
		n, at = n/1024, at+1
	}
	return fmt.Sprintf("%d%c", n, letters[at])
}

// sampled is a field of what a step used; "" where nobody looked while it ran,
// and of the job itself, as Slurm has it.
func (e *entry) sampled(value func(*usage) string) string {
	if e.step == "" {
		return ""
	}
	u := e.usage()
	if u == nil {
		return ""
	}
	return value(u)
}

// checkUnits refuses what is no unit.
func checkUnits(c *compat.Call) error {
	if u := c.Text("units"); c.Given("units") && (len(u) != 1 || !strings.Contains("KMGTP", strings.ToUpper(u))) {
		return cli.Wrong(fmt.Sprintf("Invalid --units value (%s)", u), "one of K, M, G, T, P")
	}
	return nil
}

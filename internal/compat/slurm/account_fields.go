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
	"github.com/musterhq/muster/internal/compat/slurm/table"
)

// accountFields are those of sacct, in its order and as wide as there
// (slurm.schedmd.com/sacct.html, job accounting fields). What nobody records is
// empty, as in Slurm where it is not gathered.
var accountFields = []table.Column[*entry]{
	{Name: "Account", Width: 10, Value: func(e *entry) string { return e.w.Project }},
	{Name: "AdminComment", Width: 15, Value: unknown},
	{Name: "AllocCPUS", Width: 10, Value: allocated},
	{Name: "AllocNodes", Width: 10, Value: func(e *entry) string {
		if e.start.IsZero() {
			return "0"
		}
		return strconv.FormatInt(e.nodeCount(), 10)
	}},
	{Name: "AllocTRES", Width: 10, Value: func(e *entry) string {
		if e.start.IsZero() {
			return ""
		}
		return e.tres()
	}},
	{Name: "AssocID", Width: 7, Value: unknown},
	{Name: "AveCPU", Width: 10, Value: func(e *entry) string {
		return e.sampled(func(u *usage) string {
			if !u.cpuKnown {
				return ""
			}
			return clockSpan(u.cpuMean())
		})
	}},
	{Name: "AveCPUFreq", Width: 10, Value: unknown},
	{Name: "AveDiskRead", Width: 14, Value: unknown},
	{Name: "AveDiskWrite", Width: 14, Value: unknown},
	{Name: "AvePages", Width: 10, Value: unknown},
	{Name: "AveRSS", Width: 10, Value: func(e *entry) string { return e.sampled(func(u *usage) string { return e.size(u.memoryMean()) }) }},
	{Name: "AveVMSize", Width: 10, Value: unknown},
	{Name: "BlockID", Width: 16, Value: unknown},
	{Name: "Cluster", Width: 10, Value: func(e *entry) string { return e.p.Cluster(e.w) }},
	{Name: "Comment", Width: 14, Value: ofJob(func(e *entry) string { return e.d.Annotations["comment"] })},
	{Name: "Constraints", Width: 19, Value: unknown},
	{Name: "ConsumedEnergy", Width: 14, Value: unknown},
	{Name: "ConsumedEnergyRaw", Width: 17, Value: unknown},
	{Name: "Container", Width: 19, Value: ofJob(func(e *entry) string { return e.d.Image })},
	{Name: "CPUTime", Width: 10, Value: func(e *entry) string { return clockSpan(time.Duration(e.seconds()*e.cpus()) * time.Second) }},
	{Name: "CPUTimeRAW", Width: 10, Value: func(e *entry) string { return strconv.FormatInt(e.seconds()*e.cpus(), 10) }},
	{Name: "DBIndex", Width: -10, Value: func(e *entry) string { return e.raw }},
	{Name: "DerivedExitCode", Width: 15, Value: ofJob(func(*entry) string { return "0:0" })},
	{Name: "Elapsed", Width: 10, Value: func(e *entry) string { return clockSpan(time.Duration(e.seconds()) * time.Second) }},
	{Name: "ElapsedRaw", Width: 10, Value: func(e *entry) string { return strconv.FormatInt(e.seconds(), 10) }},
	{Name: "Eligible", Width: 19, Value: func(e *entry) string { return e.instant(e.submit) }},
	{Name: "End", Width: 19, Value: func(e *entry) string { return e.instant(e.end) }},
	{Name: "ExitCode", Width: 8, Value: func(e *entry) string { code, signal := e.exit(); return fmt.Sprintf("%d:%d", code, signal) }},
	{Name: "Flags", Width: 19, Value: unknown},
	{Name: "GID", Width: 6, Value: ofJob(func(e *entry) string { return e.account().Gid })},
	{Name: "Group", Width: 9, Value: ofJob(func(e *entry) string {
		if g, err := user.LookupGroupId(e.account().Gid); err == nil {
			return g.Name
		}
		return ""
	})},
	{Name: "JobID", Width: -12, Value: (*entry).id},
	{Name: "JobIDRaw", Width: -12, Value: (*entry).rawID},
	{Name: "JobName", Width: 10, Value: func(e *entry) string { return cmp.Or(e.step, name(e.w)) }},
	{Name: "Layout", Width: 9, Value: unknown},
	{Name: "MaxDiskRead", Width: 12, Value: unknown},
	{Name: "MaxDiskReadNode", Width: 15, Value: unknown},
	{Name: "MaxDiskReadTask", Width: 15, Value: unknown},
	{Name: "MaxDiskWrite", Width: 12, Value: unknown},
	{Name: "MaxDiskWriteNode", Width: 16, Value: unknown},
	{Name: "MaxDiskWriteTask", Width: 16, Value: unknown},
	{Name: "MaxPages", Width: 8, Value: unknown},
	{Name: "MaxPagesNode", Width: 12, Value: unknown},
	{Name: "MaxPagesTask", Width: 14, Value: unknown},
	{Name: "MaxRSS", Width: 10, Value: func(e *entry) string { return e.sampled(func(u *usage) string { return e.size(u.memoryMost()) }) }},
	{Name: "MaxRSSNode", Width: 10, Value: func(e *entry) string { return e.sampled(func(u *usage) string { return u.node }) }},
	{Name: "MaxRSSTask", Width: 10, Value: func(e *entry) string { return e.sampled(func(u *usage) string { return strconv.Itoa(u.task) }) }},
	{Name: "MaxVMSize", Width: 10, Value: unknown},
	{Name: "MaxVMSizeNode", Width: 14, Value: unknown},
	{Name: "MaxVMSizeTask", Width: 14, Value: unknown},
	{Name: "McsLabel", Width: 12, Value: unknown},
	{Name: "MinCPU", Width: 10, Value: unknown},
	{Name: "MinCPUNode", Width: 10, Value: unknown},
	{Name: "MinCPUTask", Width: 10, Value: unknown},
	{Name: "NCPUS", Width: 10, Value: allocated},
	{Name: "NNodes", Width: 8, Value: func(e *entry) string { return strconv.FormatInt(e.nodeCount(), 10) }},
	{Name: "NodeList", Width: 15, Value: func(e *entry) string { return cmp.Or(hosts(e.nodes()), "None assigned") }},
	{Name: "NTasks", Width: 8, Value: func(e *entry) string {
		if e.step == "" {
			return ""
		}
		return "1"
	}},
	{Name: "Partition", Width: 10, Value: ofJob(func(e *entry) string { return partition(e.p, e.w) })},
	{Name: "Priority", Width: 10, Value: ofJob(func(e *entry) string { return strconv.Itoa(e.w.Priority) })},
	{Name: "QOS", Width: 10, Value: ofJob(func(e *entry) string { return qos(e.w) })},
	{Name: "QOSRAW", Width: 6, Value: unknown},
	{Name: "Reason", Width: 22, Value: ofJob(func(e *entry) string { return reason(e.w) })},
	{Name: "ReqCPUFreq", Width: 10, Value: unknown},
	{Name: "ReqCPUFreqGov", Width: 13, Value: unknown},
	{Name: "ReqCPUFreqMax", Width: 13, Value: unknown},
	{Name: "ReqCPUFreqMin", Width: 13, Value: unknown},
	{Name: "ReqCPUS", Width: 8, Value: allocated},
	{Name: "ReqMem", Width: 10, Value: ofJob(func(e *entry) string { return e.size(e.memory()) })},
	{Name: "ReqNodes", Width: 8, Value: func(e *entry) string { return strconv.FormatInt(e.nodeCount(), 10) }},
	{Name: "ReqTRES", Width: 10, Value: ofJob((*entry).tres)},
	{Name: "Reservation", Width: 20, Value: ofJob(func(e *entry) string { return e.d.Reservation })},
	{Name: "ReservationId", Width: 8, Value: unknown},
	{Name: "Reserved", Width: 10, Value: ofJob(func(e *entry) string { return clockSpan(e.waited()) })},
	{Name: "ResvCPU", Width: 10, Value: ofJob(func(e *entry) string { return clockSpan(e.waited() * time.Duration(e.cpus())) })},
	{Name: "ResvCPURAW", Width: 10, Value: ofJob(func(e *entry) string { return strconv.FormatInt(int64(e.waited().Seconds())*e.cpus(), 10) })},
	{Name: "Start", Width: 19, Value: func(e *entry) string { return e.instant(e.start) }},
	{Name: "State", Width: 10, Value: (*entry).word},
	{Name: "Submit", Width: 19, Value: func(e *entry) string { return e.instant(e.submit) }},
	{Name: "SubmitLine", Width: 20, Value: unknown},
	{Name: "Suspended", Width: 10, Value: func(*entry) string { return "00:00:00" }},
	{Name: "SystemComment", Width: 15, Value: unknown},
	{Name: "SystemCPU", Width: 10, Value: unknown},
	{Name: "Timelimit", Width: 10, Value: ofJob(func(e *entry) string {
		if d := e.d.MaxDuration.Std(); d > 0 {
			return clockSpan(d)
		}
		return "UNLIMITED"
	})},
	{Name: "TimelimitRaw", Width: 10, Value: ofJob(func(e *entry) string {
		if d := e.d.MaxDuration.Std(); d > 0 {
			return strconv.FormatInt(int64((d+time.Minute-1)/time.Minute), 10)
		}
		return "UNLIMITED"
	})},
	{Name: "TotalCPU", Width: 10, Value: func(e *entry) string {
		if u := e.usage(); u != nil && u.cpuKnown {
			return clockSpan(u.cpu())
		}
		return "00:00:00"
	}},
	{Name: "TRESUsageInAve", Width: 14, Value: unknown},
	{Name: "TRESUsageInMax", Width: 14, Value: func(e *entry) string {
		return e.sampled(func(u *usage) string { return "mem=" + e.size(u.memoryMost()) })
	}},
	{Name: "TRESUsageInMaxNode", Width: 18, Value: unknown},
	{Name: "TRESUsageInMaxTask", Width: 18, Value: unknown},
	{Name: "TRESUsageInMin", Width: 14, Value: unknown},
	{Name: "TRESUsageInMinNode", Width: 18, Value: unknown},
	{Name: "TRESUsageInMinTask", Width: 18, Value: unknown},
	{Name: "TRESUsageInTot", Width: 14, Value: unknown},
	{Name: "TRESUsageOutAve", Width: 15, Value: unknown},
	{Name: "TRESUsageOutMax", Width: 15, Value: unknown},
	{Name: "TRESUsageOutMaxNode", Width: 19, Value: unknown},
	{Name: "TRESUsageOutMaxTask", Width: 19, Value: unknown},
	{Name: "TRESUsageOutMin", Width: 15, Value: unknown},
	{Name: "TRESUsageOutMinNode", Width: 19, Value: unknown},
	{Name: "TRESUsageOutMinTask", Width: 19, Value: unknown},
	{Name: "TRESUsageOutTot", Width: 15, Value: unknown},
	{Name: "UID", Width: 6, Value: ofJob(func(e *entry) string { return e.account().Uid })},
	{Name: "User", Width: 9, Value: ofJob(func(e *entry) string { return e.w.User })},
	{Name: "UserCPU", Width: 10, Value: unknown},
	{Name: "WCKey", Width: 10, Value: unknown},
	{Name: "WCKeyID", Width: 10, Value: unknown},
	{Name: "WorkDir", Width: 20, Value: ofJob(func(e *entry) string { return e.d.Workdir })},
	// Of later versions than 22.05, whose names of these are others.
	{Name: "Planned", Width: 10, Value: ofJob(func(e *entry) string { return clockSpan(e.waited()) })},
	{Name: "PlannedCPU", Width: 10, Value: ofJob(func(e *entry) string { return clockSpan(e.waited() * time.Duration(e.cpus())) })},
	{Name: "PlannedCPURAW", Width: 13, Value: ofJob(func(e *entry) string { return strconv.FormatInt(int64(e.waited().Seconds())*e.cpus(), 10) })},
	{Name: "Restarts", Width: 8, Value: ofJob(func(e *entry) string { return strconv.Itoa(e.attempt) })},
	{Name: "Licenses", Width: 15, Value: ofJob(func(e *entry) string {
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

package accounting

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
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// accountFields are those of sacct, in its order and as wide as there
// (slurm.schedmd.com/sacct.html, job accounting fields). What nobody records is
// empty, as in Slurm where it is not gathered.
var accountFields = []table.Column[*entry]{
	{Name: "Account", Width: 10, Value: func(e *entry) string { return e.Workload.Project }},
	{Name: "AdminComment", Width: 15, Value: unknown},
	{Name: "AllocCPUS", Width: 10, Value: allocated},
	{Name: "AllocNodes", Width: 10, Value: func(e *entry) string {
		if e.start.IsZero() {
			return "0"
		}
		return strconv.FormatInt(e.NodeCount(), 10)
	}},
	{Name: "AllocTRES", Width: 10, Value: func(e *entry) string {
		if e.start.IsZero() {
			return ""
		}
		return e.TRES()
	}},
	{Name: "AssocID", Width: 7, Value: unknown},
	{Name: "AveCPU", Width: 10, Value: func(e *entry) string {
		return e.sampled(func(u *usage) string {
			if !u.cpuKnown {
				return ""
			}
			return terms.Clock(u.cpuMean())
		})
	}},
	{Name: "AveCPUFreq", Width: 10, Value: unknown},
	{Name: "AveDiskRead", Width: 14, Value: unknown},
	{Name: "AveDiskWrite", Width: 14, Value: unknown},
	{Name: "AvePages", Width: 10, Value: unknown},
	{Name: "AveRSS", Width: 10, Value: func(e *entry) string { return e.sampled(func(u *usage) string { return e.Size(u.memoryMean()) }) }},
	{Name: "AveVMSize", Width: 10, Value: unknown},
	{Name: "BlockID", Width: 16, Value: unknown},
	{Name: "Cluster", Width: 10, Value: func(e *entry) string { return e.p.Cluster(e.Workload) }},
	{Name: "Comment", Width: 14, Value: ofJob(func(e *entry) string { return e.Document.Annotations["comment"] })},
	{Name: "Constraints", Width: 19, Value: unknown},
	{Name: "ConsumedEnergy", Width: 14, Value: unknown},
	{Name: "ConsumedEnergyRaw", Width: 17, Value: unknown},
	{Name: "Container", Width: 19, Value: ofJob(func(e *entry) string { return e.Document.Image })},
	{Name: "CPUTime", Width: 10, Value: func(e *entry) string { return terms.Clock(time.Duration(e.seconds()*e.CPUs()) * time.Second) }},
	{Name: "CPUTimeRAW", Width: 10, Value: func(e *entry) string { return strconv.FormatInt(e.seconds()*e.CPUs(), 10) }},
	{Name: "DBIndex", Width: -10, Value: func(e *entry) string { return e.raw }},
	{Name: "DerivedExitCode", Width: 15, Value: ofJob(func(e *entry) string { return fmt.Sprintf("%d:%d", e.derived>>8, e.derived&0xff) })},
	{Name: "Elapsed", Width: 10, Value: func(e *entry) string { return terms.Clock(time.Duration(e.seconds()) * time.Second) }},
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
	{Name: "JobName", Width: 10, Value: func(e *entry) string { return cmp.Or(e.name, terms.Name(e.Workload)) }},
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
	{Name: "MaxRSS", Width: 10, Value: func(e *entry) string { return e.sampled(func(u *usage) string { return e.Size(u.memoryMost()) }) }},
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
	{Name: "NNodes", Width: 8, Value: func(e *entry) string { return strconv.FormatInt(e.NodeCount(), 10) }},
	{Name: "NodeList", Width: 15, Value: func(e *entry) string { return cmp.Or(terms.Hosts(e.nodes()), "None assigned") }},
	{Name: "NTasks", Width: 8, Value: func(e *entry) string {
		if e.Step == "" {
			return ""
		}
		return strconv.Itoa(e.processes())
	}},
	{Name: "Partition", Width: 10, Value: ofJob(func(e *entry) string { return terms.Partition(e.p, e.Workload) })},
	{Name: "Priority", Width: 10, Value: ofJob(func(e *entry) string { return strconv.Itoa(e.Workload.Priority) })},
	{Name: "QOS", Width: 10, Value: ofJob(func(e *entry) string { return terms.QOS(e.Workload) })},
	{Name: "QOSRAW", Width: 6, Value: unknown},
	{Name: "Reason", Width: 22, Value: ofJob(func(e *entry) string { return terms.Reason(e.Workload) })},
	{Name: "ReqCPUFreq", Width: 10, Value: unknown},
	{Name: "ReqCPUFreqGov", Width: 13, Value: unknown},
	{Name: "ReqCPUFreqMax", Width: 13, Value: unknown},
	{Name: "ReqCPUFreqMin", Width: 13, Value: unknown},
	{Name: "ReqCPUS", Width: 8, Value: allocated},
	{Name: "ReqMem", Width: 10, Value: ofJob(func(e *entry) string { return e.Size(e.Memory()) })},
	{Name: "ReqNodes", Width: 8, Value: func(e *entry) string { return strconv.FormatInt(e.NodeCount(), 10) }},
	{Name: "ReqTRES", Width: 10, Value: ofJob((*entry).TRES)},
	{Name: "Reservation", Width: 20, Value: ofJob(func(e *entry) string { return e.Document.Reservation })},
	{Name: "ReservationId", Width: 8, Value: unknown},
	{Name: "Reserved", Width: 10, Value: ofJob(func(e *entry) string { return terms.Clock(e.waited()) })},
	{Name: "ResvCPU", Width: 10, Value: ofJob(func(e *entry) string { return terms.Clock(e.waited() * time.Duration(e.CPUs())) })},
	{Name: "ResvCPURAW", Width: 10, Value: ofJob(func(e *entry) string { return strconv.FormatInt(int64(e.waited().Seconds())*e.CPUs(), 10) })},
	{Name: "Start", Width: 19, Value: func(e *entry) string { return e.instant(e.start) }},
	{Name: "State", Width: 10, Value: (*entry).word},
	{Name: "Submit", Width: 19, Value: func(e *entry) string { return e.instant(e.submit) }},
	{Name: "SubmitLine", Width: 20, Value: unknown},
	{Name: "Suspended", Width: 10, Value: func(*entry) string { return "00:00:00" }},
	{Name: "SystemComment", Width: 15, Value: unknown},
	{Name: "SystemCPU", Width: 10, Value: unknown},
	{Name: "Timelimit", Width: 10, Value: ofJob(func(e *entry) string {
		if d := e.Document.MaxDuration.Std(); d > 0 {
			return terms.Clock(d)
		}
		return "UNLIMITED"
	})},
	{Name: "TimelimitRaw", Width: 10, Value: ofJob(func(e *entry) string {
		if d := e.Document.MaxDuration.Std(); d > 0 {
			return strconv.FormatInt(int64((d+time.Minute-1)/time.Minute), 10)
		}
		return "UNLIMITED"
	})},
	{Name: "TotalCPU", Width: 10, Value: func(e *entry) string {
		if u := e.usage(); u != nil && u.cpuKnown {
			return terms.Clock(u.cpu())
		}
		return "00:00:00"
	}},
	{Name: "TRESUsageInAve", Width: 14, Value: unknown},
	{Name: "TRESUsageInMax", Width: 14, Value: func(e *entry) string {
		return e.sampled(func(u *usage) string { return "mem=" + e.Size(u.memoryMost()) })
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
	{Name: "User", Width: 9, Value: ofJob(func(e *entry) string { return e.Workload.User })},
	{Name: "UserCPU", Width: 10, Value: unknown},
	{Name: "WCKey", Width: 10, Value: unknown},
	{Name: "WCKeyID", Width: 10, Value: unknown},
	{Name: "WorkDir", Width: 20, Value: ofJob(func(e *entry) string { return e.Document.Workdir })},
	// Of later versions than 22.05, whose names of these are others.
	{Name: "Planned", Width: 10, Value: ofJob(func(e *entry) string { return terms.Clock(e.waited()) })},
	{Name: "PlannedCPU", Width: 10, Value: ofJob(func(e *entry) string { return terms.Clock(e.waited() * time.Duration(e.CPUs())) })},
	{Name: "PlannedCPURAW", Width: 13, Value: ofJob(func(e *entry) string { return strconv.FormatInt(int64(e.waited().Seconds())*e.CPUs(), 10) })},
	{Name: "Restarts", Width: 8, Value: ofJob(func(e *entry) string { return strconv.Itoa(e.attempt) })},
	{Name: "Licenses", Width: 15, Value: ofJob(func(e *entry) string {
		if len(e.Document.Licenses) == 0 {
			return ""
		}
		return terms.Licenses(e.Document.Licenses)
	})},
}

func unknown(*entry) string { return "" }

func allocated(e *entry) string { return strconv.FormatInt(e.CPUs(), 10) }

// ofJob is a field that steps have not.
func ofJob(value func(*entry) string) func(*entry) string {
	return func(e *entry) string {
		if e.Step != "" {
			return ""
		}
		return value(e)
	}
}

// instant is a time of the record.
func (e *entry) instant(t time.Time) string { return terms.Instant(t, "Unknown") }

// account is who a job's user is on this machine.
func (e *entry) account() *user.User {
	if u, err := user.Lookup(e.Workload.User); err == nil {
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
		until = e.Call.Now()
	}
	return max(until.Sub(e.submit), 0)
}

// sampled is a field of what a step used; "" where nobody looked while it ran,
// and of the job itself, as Slurm has it.
func (e *entry) sampled(value func(*usage) string) string {
	if e.Step == "" {
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

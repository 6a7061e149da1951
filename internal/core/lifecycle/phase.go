// Package lifecycle is the life of a workload as one state machine: phases,
// events, the table of legal transitions, reasons, conditions and the dialects
// in which other platforms speak of the same life.
//
// It decides what an event makes of a state and nothing else: it never looks
// at a clock, a store or a backend, and an event that does not fit is refused
// with a typed error and changes nothing.
package lifecycle

import "slices"

// Phase is where a workload is in its life.
type Phase string

// The phases, in the order of a normal life. None is the phase before Submit.
const (
	None         Phase = ""
	Submitted    Phase = "Submitted"
	Reviewing    Phase = "Reviewing"
	Building     Phase = "Building"
	Inadmissible Phase = "Inadmissible"
	Queued       Phase = "Queued"
	Reserved     Phase = "Reserved"
	Starting     Phase = "Starting"
	Running      Phase = "Running"
	Restarting   Phase = "Restarting"
	Terminating  Phase = "Terminating"
	Backoff      Phase = "Backoff"
	Publishing   Phase = "Publishing"
	Completed    Phase = "Completed"
	Failed       Phase = "Failed"
	Stopped      Phase = "Stopped"
	Canceled     Phase = "Canceled"
	Preempted    Phase = "Preempted"
	TimedOut     Phase = "TimedOut"
	Lost         Phase = "Lost"
	Deleting     Phase = "Deleting"
	Deleted      Phase = "Deleted"
)

// PhaseInfo says what a phase means for accounting. Quota and Held are
// functions of the phase alone; the scheduler's accounting uses them and
// nothing else.
type PhaseInfo struct {
	Phase   Phase
	Quota   bool   // counts against the project's quota
	Held    bool   // nodes and devices are assigned and nobody else's
	End     bool   // nothing more happens unless a user restarts or deletes
	Meaning string // one clause, for docs and the CLI
}

var phases = []PhaseInfo{
	{Submitted, false, false, false, "durable; policies applied; no check begun"},
	{Reviewing, false, false, false, "waits for admission checks that run before queueing"},
	{Building, false, false, false, "the job's own image is being made"},
	{Inadmissible, false, false, false, "its queue does not exist or is stopped, or somebody holds it"},
	{Queued, false, false, false, "competes for quota and resources"},
	{Reserved, true, false, false, "quota is reserved; checks after reservation run, or others must leave first"},
	{Starting, true, true, false, "placed on nodes; images pulled, containers made, init tasks run"},
	{Running, true, true, false, "every task that must run has started"},
	{Restarting, true, true, false, "a task failed and is restarted in place after a back-off"},
	{Terminating, true, true, false, "tasks are being ended and resources given back"},
	{Backoff, false, false, false, "an attempt failed; waits before it queues again"},
	{Publishing, false, false, false, "the work succeeded; its model or service is being published"},
	{Completed, false, false, true, "finished, exit code 0"},
	{Failed, false, false, true, "will not be tried again; the reason says why"},
	{Stopped, false, false, true, "ended by a user after it had started; can run again"},
	{Canceled, false, false, true, "ended by a user before it ever started"},
	{Preempted, false, false, true, "evicted and not queued again"},
	{TimedOut, false, false, true, "a time limit ended it"},
	{Lost, false, false, true, "its outcome cannot be learned"},
	{Deleting, false, false, false, "its objects, logs and artifacts are being removed"},
	{Deleted, false, false, true, "gone; a tombstone stays for history and accounting"},
}

var infoOf = func() map[Phase]PhaseInfo {
	m := make(map[Phase]PhaseInfo, len(phases))
	for _, p := range phases {
		m[p.Phase] = p
	}
	return m
}()

// Phases returns every phase in the order of a normal life.
func Phases() []PhaseInfo { return slices.Clone(phases) }

// Known reports whether p is one of the phases.
func (p Phase) Known() bool { _, ok := infoOf[p]; return ok }

// Quota reports whether a workload in p counts against its project's quota.
func (p Phase) Quota() bool { return infoOf[p].Quota }

// Held reports whether a workload in p holds nodes and devices.
func (p Phase) Held() bool { return infoOf[p].Held }

// End reports whether nothing more happens to a workload in p by itself.
func (p Phase) End() bool { return infoOf[p].End }

// Unstarted reports whether a workload in p holds nothing and is on its way to its
// queue, or in it: what can be held, or canceled.
func (p Phase) Unstarted() bool { return slices.Contains(unstarted, p) }

// Checking reports whether checks of a workload in p are asked, or waited for.
func (p Phase) Checking() bool { return slices.Contains(checking, p) }

// InQueue reports whether a workload in p waits in its queue, with or without a
// reservation.
func (p Phase) InQueue() bool { return slices.Contains(inQueue, p) }

// Active reports whether the tasks of a workload in p are meant to go on: what can
// be preempted, moved and stopped. Terminating holds its place and is not active.
func (p Phase) Active() bool { return slices.Contains(active, p) }

// Ended reports whether a workload in p has ended and can be run again.
func (p Phase) Ended() bool { return slices.Contains(ended, p) }

// Meaning is one clause that explains p.
func (p Phase) Meaning() string { return infoOf[p].Meaning }

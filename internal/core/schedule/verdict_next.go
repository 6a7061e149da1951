package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/amount"
)

// Act says who can end a reason for waiting.
type Act string

// The acts.
const (
	ActWait   Act = "wait"   // time does it
	ActChange Act = "change" // whoever submitted it can ask for something else
	ActAsk    Act = "ask"    // whoever administers the cluster can
)

// Act is who can do something about r.
func (r Reason) Act() Act {
	switch r.Token {
	case OverLimit:
		if r.Hopeless() {
			return ActChange
		}
		return ActAsk
	case WaitingForLicense:
		if r.Requested > r.Total {
			return ActChange
		}
		return ActWait
	case NeverFits, NonPreemptibleOverQuota, TopologyUnsatisfied, Barred, BorrowingTimeLimit:
		return ActChange
	case OverBudget:
		if r.Until > 0 {
			return ActWait
		}
		return ActAsk
	case QueueStopped, QueueNotFound, NoNodes, AdmissionChecks, PlanningFailed:
		return ActAsk
	default:
		return ActWait
	}
}

// Hint is the next step, in words.
func (r Reason) Hint() string {
	switch r.Token {
	case NeverFits:
		return r.smaller()
	case QueueNotFound:
		return "submit it to a project that exists (muster project list), or have this one made"
	case QueueStopped:
		return "ask whoever stopped it, or submit it to another project"
	case OverBudget:
		if r.Until > 0 {
			return fmt.Sprintf("wait until %s, when it is counted anew, submit it to another project, or have the budget raised: muster budget set %s", time.UnixMilli(r.Until).UTC().Format(time.RFC3339), r.Queue)
		}
		return fmt.Sprintf("submit it to another project, or have the budget raised: muster budget set %s", r.Queue)
	case NonPreemptibleOverQuota:
		if r.Hopeless() {
			return r.beyond()
		}
		if r.Endless {
			return "make it preemptible, or ask for a larger quota: no end is known that would make its room"
		}
		return fmt.Sprintf("wait until such work of %s ends, make it preemptible, or ask for a larger quota", r.Queue)
	case OverLimit:
		if r.Hopeless() {
			return r.beyond()
		}
		if r.Endless && r.Reserved >= r.Allocated {
			return "have the checks decided that it is reserved for, or ask for a higher limit: no end is known that would make its room"
		}
		if r.User != "" && r.Queue == "" && r.Endless {
			return fmt.Sprintf("end other work of %s, in whichever project, or ask for a higher limit (muster user-limit list): no end is known that would make its room", r.User)
		}
		if r.User != "" && r.Queue == "" {
			return fmt.Sprintf("wait until other work of %s ends, in whichever project, or ask for a higher limit (muster user-limit list)", r.User)
		}
		if r.Endless {
			return "ask those who hold it to end some of it, or ask for a higher limit: no end is known that would make its room"
		}
		if r.User != "" {
			return fmt.Sprintf("wait until other work of %s ends, or ask for a higher limit of users in %s", r.User, r.Queue)
		}
		return fmt.Sprintf("wait until other work of %s ends, or ask for a higher limit", r.Queue)
	case PlanningFailed:
		return "tell the administrator: the server's log names the file with which the failure can be repeated (muster simulate cycle FILE)"
	case Barred:
		return "make it otherwise where it was made"
	case Incomplete:
		return "wait until whoever made it has made them all"
	case InReservation:
		return r.afterReservation()
	case NoNodes:
		return "ask the administrator; muster node list shows what the nodes say"
	case WaitingForCapacity:
		return r.orWait() + "ask for less" + r.noEnd() + r.patience() + r.spared()
	case TopologyUnsatisfied:
		if r.Segment > 0 {
			return r.orWait() + "ask for smaller segments" + r.smallerSegments() + r.noEnd()
		}
		return fmt.Sprintf("%slet its tasks be in more than one %s", r.orWait(), r.Domain) + r.noEnd()
	case Fragmented:
		if r.Part > 0 {
			return r.orWait() + "ask for a smaller part" + r.noEnd() + r.patience() + r.spared()
		}
		return r.orWait() + "ask for smaller or fewer tasks" + r.noEnd() + r.patience() + r.spared()
	case WaitingForQuota:
		if r.Endless {
			return fmt.Sprintf("ask those who hold it, or ask for a larger quota of %s: no end is known that would make its room", r.Queue) + r.spared()
		}
		return fmt.Sprintf("wait until work of %s or of others ends", r.Queue) + r.spared()
	case Dependency:
		return "wait, or submit it without after"
	case BorrowingTimeLimit:
		if r.Requested > r.Quota {
			return fmt.Sprintf("no wait helps: set maxDuration (--max-duration %v, or less), or ask for a larger quota", r.borrowing())
		}
		return fmt.Sprintf("set maxDuration (--max-duration %v, or less), or wait until other work of %s ends", r.borrowing(), r.Queue)
	case NotLent:
		return fmt.Sprintf("wait until work of others ends, or ask for a higher lending limit of %s", r.Queue)
	case WaitingForLicense:
		if r.Requested > r.Total {
			return "ask for fewer, or have it told of more: muster license set " + r.Resource + " NUMBER"
		}
		return "wait until one of its holders ends; muster license list shows what is held"
	case Reserved, WaitingForPreemption, RetryBackoff, ImageBuild, ImagePull, Initializing, BeginTime:
		return "wait"
	case HeldBack:
		return "muster release lets it go"
	case AdmissionChecks:
		if r.Remedy != "" {
			return r.Remedy
		}
		return "ask those who may approve it"
	default:
		return "wait; it is looked at within seconds"
	}
}

// smaller is what would fit instead of what never does.
func (r Reason) smaller() string {
	switch {
	case r.Remedy != "":
		return r.Remedy
	case r.Barred != "" && r.OfNodes == 0:
		return "change its image or its clusters; muster cluster list shows what each is and runs"
	case r.Resource == ResourceNodes && r.Taint != "":
		return fmt.Sprintf("tolerate it: --toleration %s", r.Taint)
	case r.Resource == ResourceNodes && r.Nearest != "":
		return fmt.Sprintf("did you mean %s? muster node list -o wide shows what they have", r.Nearest)
	case r.Resource == ResourceNodes:
		return fmt.Sprintf("take %s away, or ask the administrator for nodes with it; muster node list -o wide shows what they have", r.Label)
	case r.Resource == ResourceApart && r.Fitting > r.Beside:
		return fmt.Sprintf("let them share (leave apart out), or have at most %d tasks: --workers %d", r.Fitting, r.Fitting-r.Beside)
	case r.Resource == ResourceApart:
		return "let them share (leave apart out)"
	case r.Resource == ResourceNear:
		return "let them be further apart (leave near out), or have fewer tasks"
	case r.Resource == "pool":
		return "muster pool list shows the pools that have nodes"
	case r.Segment > 0:
		return "ask for smaller segments" + r.smallerSegments()
	case r.Resource == "tasks" && r.Domain != "":
		return fmt.Sprintf("let its tasks be in more than one %s", r.Domain)
	case r.Resource == "tasks" && r.Fitting > r.Beside:
		return fmt.Sprintf("at most %d such tasks fit together: --workers %d", r.Fitting, r.Fitting-r.Beside)
	case r.Resource == "tasks":
		return "ask for less, or for other nodes; muster node list shows what there is"
	case r.Largest > 0 && r.Resource == "gpu":
		return fmt.Sprintf("at most %s fit on a node: --gpus %d", r.Amount(r.Largest), r.Largest)
	case r.Largest > 0:
		return fmt.Sprintf("at most %s fit on a node", r.Amount(r.Largest))
	case strings.Contains(r.Resource, "/"):
		return "ask for less, or attach a cluster whose nodes have it: what device plugins of Kubernetes offer no other machine has"
	default:
		return fmt.Sprintf("no node has any such %s; muster node list shows what there is", r.Resource)
	}
}

// Hopeless reports whether r stands whatever others do: nothing but a change of
// what is asked for, or of what is allowed, ends it.
func (r Reason) Hopeless() bool {
	switch r.Token {
	case NeverFits:
		return true
	case OverLimit:
		return r.Requested > r.Limit
	case NonPreemptibleOverQuota, BorrowingTimeLimit:
		return r.Requested > r.Quota
	}
	return false
}

// borrowing is how long work may last that uses more than its quota.
func (r Reason) borrowing() time.Duration { return time.Duration(r.Limit) * time.Millisecond }

// orWait is an advice to wait, where that helps.
func (r Reason) orWait() string {
	if r.Endless {
		return ""
	}
	return "wait, or "
}

// noEnd says that waiting is no advice.
func (r Reason) noEnd() string {
	if !r.Endless {
		return ""
	}
	return ", or ask those who hold it: no end is known that would make its room"
}

// patience says until when it displaces nobody by its own wish.
func (r Reason) patience() string {
	if r.Patient == 0 {
		return ""
	}
	return fmt.Sprintf("; by its patience it displaces nobody before %s", time.UnixMilli(r.Patient).UTC().Format(time.RFC3339))
}

// spared says what is not made to leave for it, since that would be in vain.
func (r Reason) spared() string {
	out := ""
	if r.Younger > 0 {
		out = fmt.Sprintf("; %s GPUs are held by work that has not run for long enough to make room for this", amount.Thousandths(r.Younger))
		if r.Takes > 0 {
			out += fmt.Sprintf(", which probably takes %s", (time.Duration(r.Takes) * time.Millisecond).Round(time.Second))
		}
	}
	if r.Unsaved == 0 {
		return out
	}
	return out + fmt.Sprintf("; %s GPUs are held by work that makes no checkpoints: it would begin anew, and is ended only for more important work, or for what a project is entitled to by its quota", amount.Thousandths(r.Unsaved))
}

// beyond is what helps who asks for more than a limit or a quota in all, for
// which no wait does.
func (r Reason) beyond() string {
	most, what := r.Limit, "limit"
	if r.Token == NonPreemptibleOverQuota {
		most, what = r.Quota, "quota"
	}
	out := "no wait helps: "
	if most > 0 {
		out += fmt.Sprintf("ask for at most %s", r.QuotaAmount(most))
		if r.Resource == "gpu" && most < 1000 {
			out += fmt.Sprintf(" (--gpus %s)", amount.Thousandths(most))
		}
		out += ", "
	}
	if r.Token == NonPreemptibleOverQuota {
		out += "make it preemptible, "
	}
	whom := string(r.Queue)
	switch {
	case r.User != "" && r.Queue == "":
		whom = r.User + " in all projects together"
	case r.User != "":
		whom = "each user in " + whom
	}
	return out + fmt.Sprintf("or have the %s of %s raised to %s by who administers it", what, whom, r.QuotaAmount(r.Requested))
}

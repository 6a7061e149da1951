package schedule

import (
	"fmt"
	"strings"
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
	case NeverFits, NonPreemptibleOverQuota, TopologyUnsatisfied, Barred:
		return ActChange
	case QueueStopped, QueueNotFound, OverLimit, NoNodes, AdmissionChecks, PlanningFailed:
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
	case NonPreemptibleOverQuota:
		return fmt.Sprintf("wait until such work of %s ends, make it preemptible, or ask for a larger quota", r.Queue)
	case OverLimit:
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
		return "wait, or ask for less"
	case TopologyUnsatisfied:
		if r.Segment > 0 {
			return "wait, or ask for smaller segments" + r.smallerSegments()
		}
		return fmt.Sprintf("wait, or let its tasks be in more than one %s", r.Domain)
	case Fragmented:
		return "wait, or ask for smaller or fewer tasks"
	case WaitingForQuota:
		return fmt.Sprintf("wait until work of %s or of others ends", r.Queue)
	case Dependency:
		return "wait, or submit it without after"
	case Reserved, WaitingForPreemption, RetryBackoff, ImageBuild, ImagePull, Initializing, BeginTime:
		return "wait"
	case HeldBack:
		return "muster release lets it go"
	case AdmissionChecks:
		return "ask those who may approve it"
	default:
		return "wait; it is looked at within seconds"
	}
}

// smaller is what would fit instead of what never does.
func (r Reason) smaller() string {
	switch {
	case r.Barred != "" && r.OfNodes == 0:
		return "change its image or its clusters; muster cluster list shows what each is and runs"
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
		return fmt.Sprintf("at most %s fit on a node: --gpus %d", r.amount(r.Largest), r.Largest)
	case r.Largest > 0:
		return fmt.Sprintf("at most %s fit on a node", r.amount(r.Largest))
	case strings.Contains(r.Resource, "/"):
		return "ask for less, or attach a cluster whose nodes have it: what device plugins of Kubernetes offer no other machine has"
	default:
		return fmt.Sprintf("no node has any such %s; muster node list shows what there is", r.Resource)
	}
}

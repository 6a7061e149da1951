package kube

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// SchedulerName is what pods name that are placed by us.
const SchedulerName = "muster"

// Labels and annotations of what we create. Those of tasks are enough to find
// everything again after a restart.
const (
	labelManaged  = "app.kubernetes.io/managed-by"
	managed       = "muster"
	labelProject  = "muster.dev/project"
	labelWorkload = "muster.dev/workload" // its ID
	labelAttempt  = "muster.dev/attempt"
	labelIndex    = "muster.dev/task"
	labelName     = "muster.dev/name"
	labelKind     = "muster.dev/kind"
	labelRole     = "muster.dev/role"
	labelUser     = "muster.dev/user"

	noteHome    = "muster.dev/home" // on a labelled namespace: its project's own tasks are there
	noteTask    = "muster.dev/task-id"
	noteDevices = "muster.dev/devices" // indexes of the node's devices, such as 0,3; of parts 0:500
	noteUser    = "muster.dev/user"
	noteSecret  = "muster.dev/secret" // set on a pod that has one of its name
	notePulls   = "muster.dev/pull-retries"
	noteAsked   = "muster.dev/asked" // CPU/MEMORY that the task was placed with
)

// container is the name of the one that the command of a task runs in.
const container = "main"

// podName is what the pod of a task is called: readable first, unique by the
// end of the workload's ID.
func podName(name string, id core.TaskID) string {
	tail := string(id.Workload)
	if len(tail) > 6 {
		tail = tail[len(tail)-6:]
	}
	if name == "" {
		name = "w"
	}
	s := name + "-" + tail + "-" + strconv.Itoa(id.Attempt) + "-" + strconv.Itoa(id.Index)
	if id.Run > 0 {
		s += "-" + strconv.Itoa(id.Run)
	}
	return strings.ToLower(s)
}

// serviceName is the headless service through which the tasks of an attempt
// find each other.
func serviceName(id core.TaskID) string {
	return strings.ToLower("w-" + string(id.Workload) + "-" + strconv.Itoa(id.Attempt))
}

// hostName is the name of a task inside its service.
func hostName(id core.TaskID) string { return "task-" + strconv.Itoa(id.Index) }

// Address implements backend.Locator: the pod's name in the cluster's DNS, which
// is known before the pod is there. The resolver of each pod completes it with
// the namespace.
func (p *Backend) Address(id core.TaskID) string { return hostName(id) + "." + serviceName(id) }

// devicesNote writes devices as they stand in the annotation.
func devicesNote(shares []core.Share) string {
	parts := make([]string, len(shares))
	for i, s := range shares {
		parts[i] = strconv.Itoa(s.Index)
		if s.Milli < 1000 {
			parts[i] += ":" + strconv.Itoa(s.Milli)
		}
	}
	return strings.Join(parts, ",")
}

// devicesOf reads what devicesNote wrote; what is none of it is left out.
func devicesOf(note string) []core.Share {
	var shares []core.Share
	for _, part := range strings.Split(note, ",") {
		index, milli, partly := strings.Cut(part, ":")
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 {
			continue
		}
		s := core.Share{Device: deviceID(i), Index: i, Milli: 1000}
		if partly {
			if s.Milli, err = strconv.Atoi(milli); err != nil {
				continue
			}
		}
		shares = append(shares, s)
	}
	return shares
}

// deviceID names the devices of a node. Which GPU a pod really gets its node
// decides when the pod starts; to us those of a node are alike.
func deviceID(index int) string { return "gpu-" + strconv.Itoa(index) }

// whole is how many devices a takes for itself.
func whole(a *backend.Assignment) int {
	n := 0
	for _, s := range a.Devices {
		if s.Milli >= 1000 {
			n++
		}
	}
	return n
}

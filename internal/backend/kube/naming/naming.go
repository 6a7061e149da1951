// Package naming holds the names, labels and annotations of what Muster creates
// in a Kubernetes cluster. It is given tasks and gives names; it finds tasks again
// from what pods carry.
package naming

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// SchedulerName is what pods name that are placed by us.
const SchedulerName = "muster"

// Labels and annotations of what we create. Those of tasks are enough to find
// everything again after a restart.
const (
	LabelManaged  = "app.kubernetes.io/managed-by"
	Managed       = "muster"
	LabelProject  = "muster.dev/project"
	LabelWorkload = "muster.dev/workload" // its ID
	LabelAttempt  = "muster.dev/attempt"
	LabelIndex    = "muster.dev/task"
	LabelName     = "muster.dev/name"
	LabelKind     = "muster.dev/kind"
	LabelRole     = "muster.dev/role"
	LabelUser     = "muster.dev/user"

	LabelInstallation = "muster.dev/installation" // ID of the installation, on what it made; on foreign pods that it placed an annotation

	NoteHome = "muster.dev/home" // on a labelled namespace: its project's own tasks are there
	// NoteProjects, on a namespace, are the projects that its pods may name beside
	// its own, with commas; "*": any.
	NoteProjects        = "muster.dev/projects"
	NoteTask            = "muster.dev/task-id"
	NoteDevices         = "muster.dev/devices" // indexes of the node's devices, such as 0,3; of parts 0:500
	NoteUser            = "muster.dev/user"
	NoteSecret          = "muster.dev/secret" // set on a pod that has one of its name
	NotePulls           = "muster.dev/pull-retries"
	NoteAsked           = "muster.dev/asked" // CPU/MEMORY that the task was placed with
	NoteFractionDevices = "muster.dev/gpus"  // of a task with GPU fractions: the devices, in the order of NoteDevices
	NoteFractionNode    = "muster.dev/node"  // of a task with GPU fractions: where it is to be
	NoteFraction        = "muster.dev/share" // what the owner of a task should know of its GPU fraction
)

// Container is the name of the one that the command of a task runs in.
const Container = "main"

// TaskDirectory is where a container has what Muster gives its task.
const TaskDirectory = "/.muster"

// Prelude is the file of commands that run before the command of a task.
const Prelude = TaskDirectory + "/private/prelude"

// PodName is what the pod of a task is called: readable first, unique by the
// end of the workload's ID.
func PodName(name string, id core.TaskID) string {
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

// ServiceName is the headless service through which the tasks of an attempt
// find each other.
func ServiceName(id core.TaskID) string {
	return strings.ToLower("w-" + string(id.Workload) + "-" + strconv.Itoa(id.Attempt))
}

// HostName is the name of a task inside its service.
func HostName(id core.TaskID) string { return "task-" + strconv.Itoa(id.Index) }

// DevicesNote writes devices as they stand in the annotation.
func DevicesNote(shares []core.Share) string {
	parts := make([]string, len(shares))
	for i, s := range shares {
		parts[i] = strconv.Itoa(s.Index)
		if s.Milli < 1000 {
			parts[i] += ":" + strconv.Itoa(s.Milli)
		}
	}
	return strings.Join(parts, ",")
}

// DevicesOf reads what devicesNote wrote; what is none of it is left out.
func DevicesOf(note string) []core.Share {
	var shares []core.Share
	for _, part := range strings.Split(note, ",") {
		index, milli, partly := strings.Cut(part, ":")
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 {
			continue
		}
		s := core.Share{Device: DeviceID(i), Index: i, Milli: 1000}
		if partly {
			if s.Milli, err = strconv.Atoi(milli); err != nil {
				continue
			}
		}
		shares = append(shares, s)
	}
	return shares
}

// WholeDevices is how many devices a takes for itself.
func WholeDevices(a *backend.Assignment) int {
	n := 0
	for _, s := range a.Devices {
		if s.Milli >= 1000 {
			n++
		}
	}
	return n
}

// LabelNode is a label that every node has for us: its name in the cluster.
const LabelNode = "muster.dev/node"

// LabelVendor is a label that nodes have for us whose GPUs a device plugin gives:
// who makes them.
const LabelVendor = "muster.dev/gpu-vendor"

// LabelDriver is a label that nodes have for us whose GPUs are had by claims
// only: the driver that gives them.
const LabelDriver = "muster.dev/gpu-driver"

// Foreign reports whether others made a pod and leave its place to us.
func Foreign(pod *corev1.Pod) bool {
	return pod.Spec.SchedulerName == SchedulerName && pod.Labels[LabelManaged] != Managed
}

// Reservations is the namespace of the pods that hold shared devices.
const Reservations = "muster-reservations"

// DeviceID names the devices of a node. Which GPU a pod really gets its node
// decides when the pod starts; to us those of a node are alike.
func DeviceID(index int) string { return "gpu-" + strconv.Itoa(index) }

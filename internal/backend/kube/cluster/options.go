package cluster

import (
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
)

// Options describe one cluster.
type Options struct {
	// Name is the backend's name; empty: kube.
	Name string
	// Prefix stands before the names of the cluster's nodes, so that those of
	// two clusters differ.
	Prefix string
	Config *rest.Config
	// Latest is Config with the credentials that are in force; nil: Config itself.
	// Connections that leave HTTP, as to a port of a pod, are made with it.
	Latest func() *rest.Config
	// Namespaces is what the namespace of a project is called, before the name
	// of the project; empty: "muster-". A namespace that has the label
	// muster.dev/project is that project's, whatever its name.
	Namespaces string
	// PodSecurity is the Pod Security Standard that namespaces enforce which are made
	// for projects: privileged, baseline or restricted; empty: the cluster's default.
	PodSecurity string
	// IsolateNetwork has pods of namespaces that are made for projects take connections
	// from their own namespace alone.
	IsolateNetwork bool
	// MirrorQuotas has namespaces that are made for projects bound what is in them by
	// the limits of their projects, see Cluster.Mirror.
	MirrorQuotas bool
	// Program is an image that has this program at /muster; the agents of mpi
	// workloads come from it. Without one these cannot run.
	Program string
	// RuntimeClass is that of pods with GPUs; empty: the cluster's default.
	RuntimeClass string
	// ReservationImage is what the pods run that hold shared GPUs: any with
	// /bin/sh; empty: the constant of that name.
	ReservationImage string
	LogDir           string // where the output of tasks is kept
	// Patience is for how long a pod may be in a trouble that may pass, such as a
	// volume that cannot be mounted, before its task fails; 0: 2 minutes.
	Patience time.Duration
	// Installation is the ID of the control plane, which drives the cluster alone;
	// empty: nobody asks who else does, as in tests.
	Installation string
	// Seasoned says that the installation is older than its ID: what bears none in
	// a cluster that nobody drives may be its own.
	Seasoned bool
	// TakeOver has it drive a cluster that another installation drives.
	TakeOver bool
	// Register knows the other clusters; nil: there is none.
	Register *Register
	Log      *slog.Logger
	Clock    func() time.Time
}

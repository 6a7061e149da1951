// Package spec is the workload document: what a user may write, its defaults,
// its validation and its explanation, all from one schema (the struct tags
// below). It is pure: bytes in, a document or precise errors out.
//
// It never decides what a backend can do (images, GPUs that exist) or what a
// project may have; it refuses what no backend could ever run.
package spec

import (
	"maps"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Document is a workload as its author wrote it, after defaults. YAML, JSON
// and API names are the json tags; the other tags feed `muster explain`,
// validation and the OpenAPI schema:
//
//	doc, example    for people
//	enum            the allowed words
//	default         written as in a document
//	min, max        bounds, written as in a document; a zero of an optional
//	                field means that it is absent
//	required        must be there when the map around it is
//	only            the kinds that it makes sense for
//	short           for a map or a list of maps: the field that a bare number
//	                or text stands for; after a comma, the one that a number
//	                with a fraction stands for
//	form            what a text must look like, see forms; of a list its
//	                items, of a map its keys
//
// In a list, and in a map of numbers, enum, min and max are about its items.
// Fields of a list's items have no defaults: there is nowhere to remember which
// were written as zero.
type Document struct {
	Kind        lifecycle.Kind    `json:"kind,omitempty" doc:"What sort of work this is." enum:"training,distributed,workspace,inference" default:"training"`
	Name        string            `json:"name,omitempty" doc:"Name, unique in its project: lower-case letters, digits and '-', at most 52 characters. A generated one when absent." example:"mnist-sweep" form:"name"`
	NamePrefix  string            `json:"namePrefix,omitempty" doc:"Makes a name of this, '-' and six characters that are new each time; instead of name." example:"mnist" form:"name"`
	Project     string            `json:"project,omitempty" doc:"Project whose quota it uses." default:"default" form:"name"`
	Labels      map[string]string `json:"labels,omitempty" doc:"Short words to find it by."`
	Annotations map[string]string `json:"annotations,omitempty" doc:"Free text kept with it."`
	Priority    Priority          `json:"priority,omitempty" doc:"Order inside its project, a name or a number from 0 to 1000: very-low 25, low 40, train 50, medium-low 65, interactive-preemptible 75, medium 80, medium-high 90, build 100, high and inference 125, very-high 150." default:"(by kind: training and distributed train; workspace build, or interactive-preemptible where it is preemptible; inference 125)" example:"high" min:"0" max:"1000"`
	Preemptible *bool             `json:"preemptible,omitempty" doc:"Whether the scheduler may take its resources back. By default what has a priority below build (100) may be preempted: training and distributed, and not workspace and inference."`

	// What is kept under names, and laid under what the document says itself. A
	// workload's own document has none of them: they are resolved when it is
	// submitted.
	Template    string    `json:"template,omitempty" doc:"Template that it is laid over: NAME, or NAME@VERSION. 'muster template list' shows them." example:"finetune" form:"asset"`
	Environment string    `json:"environment,omitempty" doc:"Environment to run in, by name: image, command, variables, setup and mounts, beneath what the document says itself. 'muster environment list' shows them." example:"torch" form:"asset"`
	Compute     string    `json:"compute,omitempty" doc:"Compute resource, by name: what each task needs, beneath what the document says itself. 'muster compute list' shows them." example:"one-h100" form:"asset"`
	Data        []DataUse `json:"data,omitempty" doc:"Data sources and data volumes that its tasks see beside the document's own volumes: names, or maps. 'muster datasource list' shows them." short:"name"`
	Exclude     []string  `json:"exclude,omitempty" doc:"Defaults of policies that it does without, by path: fields, and entries of maps and lists by their keys. Those that are locked cannot be left out. 'muster policy effective' shows them." example:"[env.HTTP_PROXY, volumes./scratch]"`

	Image      string            `json:"image,omitempty" doc:"Container image. Without one the command runs as a process of the machine." example:"ghcr.io/acme/train:1.4" form:"image"`
	PullPolicy string            `json:"pullPolicy,omitempty" doc:"When the image is looked for in its registry: always, never, or only while it is missing on the node." enum:"missing,always,never" default:"missing"`
	PullSecret string            `json:"pullSecret,omitempty" doc:"Secret of type docker that opens the image's registry. By default every one of the user's that fits the registry." example:"ghcr" form:"name"`
	Build      *Build            `json:"build,omitempty" doc:"Makes the image first: a base image with code, packages and variables."`
	Command    Command           `json:"command,omitempty" doc:"What to run: a string runs through 'sh -c', a list is the argument vector itself." example:"python3 train.py --lr 0.1"`
	Args       []string          `json:"args,omitempty" doc:"Arguments appended to the command."`
	Workdir    string            `json:"workdir,omitempty" doc:"Working directory. By default the directory that the workload was submitted from."`
	Env        map[string]string `json:"env,omitempty" doc:"Environment variables of every task. A process of the machine that was submitted from also gets the submitter's PATH, VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH and LD_LIBRARY_PATH." form:"variable"`
	Parameters Parameters        `json:"parameters,omitempty" doc:"Written as YAML to a file whose path is in $PARAMETERS."`
	Metadata   Parameters        `json:"metadata,omitempty" doc:"What is kept with it for its user and its tasks, who may change it while it lives: with what it begins." example:"{dataset: v3}"`

	Init         []Init        `json:"init,omitempty"         doc:"What each task does while it is Starting, one after another, before it counts as running."`
	Secrets      []SecretUse   `json:"secrets,omitempty" doc:"Secrets that its tasks see: names, or maps that say as what." short:"name"`
	Integrations []Integration `json:"integrations,omitempty" doc:"What is done on every node at the start of Running, before the command, in this order."`
	Volumes      []Volume      `json:"volumes,omitempty" doc:"Directories and files that its tasks see beside the image."`
	Ports        []Port        `json:"ports,omitempty" doc:"Ports on which its tasks listen." short:"port"`
	TTY          bool          `json:"tty,omitempty" doc:"Gives each task a terminal, to which 'muster attach' connects."`
	Stdin        bool          `json:"stdin,omitempty" doc:"Keeps each task's standard input open for 'muster attach'."`
	RunAs        *RunAs        `json:"runAs,omitempty" doc:"User and group of its processes. By default the image's, or the server's own."`

	Resources Resources `json:"resources,omitempty" doc:"What each task needs."`

	Licenses     map[string]int    `json:"licenses,omitempty" doc:"How many it holds, from the placement of its first task to the end of its last, of what is counted for the whole site: 'muster license list' shows what there is. It waits until so many are free." example:"{matlab: 2}" min:"1" max:"1000000000" form:"name"`
	Clusters     []string          `json:"clusters,omitempty" doc:"Clusters in which it may run, by name; local is the server's own machine. A gang never spans two. By default any." example:"[east, west]" form:"name"`
	Pools        []string          `json:"pools,omitempty" doc:"Node pools, tried in this order; a workload is never spread over two. By default those of its project." example:"[h100, default]" form:"pool"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty" doc:"Labels that a node must have, with their values." example:"{zone: a}" form:"labelKey"`
	NodeAffinity []NodeTerm        `json:"nodeAffinity,omitempty" doc:"Conditions on the labels of nodes, all of which must hold."`
	NodeType     string            `json:"nodeType,omitempty" doc:"Value of the node label node-type. A project may allow certain ones only, and then one must be named." example:"dgx" form:"labelValue"`
	Tolerations  []Toleration      `json:"tolerations,omitempty" doc:"Taints of nodes that do not keep it away: keys, or maps." short:"key"`
	Topology     Topology          `json:"topology,omitempty" doc:"How close to each other in the network the tasks of a gang are." only:"distributed"`
	Near         string            `json:"near,omitempty" doc:"Label of nodes of which all tasks must have the same value." example:"zone" form:"labelKey" only:"training,distributed,inference"`
	Apart        string            `json:"apart,omitempty" doc:"Label of nodes of which every task must have another value: with kubernetes.io/hostname no two share a node." example:"kubernetes.io/hostname" form:"labelKey" only:"training,distributed,inference"`
	Exclusive    string            `json:"exclusive,omitempty" doc:"Its nodes are its own while it runs: with node they take nothing else, with user only what the same user submits with exclusive: user. It goes only where nothing else is. What it is charged is what it asks for." enum:"node,user"`
	Reservation  string            `json:"reservation,omitempty" doc:"It runs on the nodes of this reservation, and starts while that lasts." example:"demo" form:"name"`
	Patience     Duration          `json:"patience,omitempty" doc:"For this long after it was queued it waits for free room before it displaces others." default:"0s" example:"10m" min:"0s"`

	NodeAffinityAny []NodeChoice `json:"nodeAffinityAny,omitempty" doc:"Choices among nodes: beside nodeAffinity, all conditions of one of these must hold of each node."`

	Workers     int     `json:"workers,omitempty" doc:"Number of tasks of the gang, all started together or not at all; with minWorkers, how many it has at most." example:"4" min:"1" max:"100000" only:"distributed"`
	MinWorkers  int     `json:"minWorkers,omitempty" doc:"Makes the gang elastic: it starts with at least so many workers, takes more while there is room, up to workers, and gives them back before it is displaced whole. WORLD_SIZE is the number at the time of a task's start." example:"2" min:"1" max:"100000" only:"distributed"`
	Resize      string  `json:"resize,omitempty" doc:"What becomes of the other tasks when the number of workers changes: they are restarted with the new WORLD_SIZE, as torchrun does, or they live on and see to it themselves. By default restart." enum:"restart,live" only:"distributed"`
	Framework   string  `json:"framework,omitempty" doc:"Which environment the ranks get beside MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE. With mpi the command runs in a launcher of its own, beside the workers." enum:"env,pytorch,mpi,tensorflow,xgboost,jax" default:"env" only:"distributed"`
	Master      *Master `json:"master,omitempty" doc:"What differs for the first task, the master, or for the launcher of an mpi workload." only:"distributed"`
	Slots       int     `json:"slots,omitempty" doc:"Processes that each worker takes (mpi: slots of the host file). By default one for each GPU, at least one." example:"8" min:"1" max:"1024" only:"distributed"`
	CleanPolicy string  `json:"cleanPolicy,omitempty" doc:"Which tasks are ended once the master or launcher has succeeded: those that still run, or none, so that all must end by themselves. By default running for mpi and slurm, else none." enum:"running,none" only:"distributed"`
	Slurm       *Slurm  `json:"slurm,omitempty" doc:"Gives its tasks what Slurm gives a batch script: SLURM_* variables, srun and scontrol. The command then runs in the first task of a gang only, and srun starts programs in all of them." only:"training,distributed"`
	Array       *Array  `json:"array,omitempty" doc:"Many independent tasks of one command." only:"training"`

	Replicas  *int       `json:"replicas,omitempty" doc:"How many replicas run; with autoscale, how many at first." default:"1" min:"0" max:"1000" only:"inference"`
	Autoscale *Autoscale `json:"autoscale,omitempty" doc:"Changes the number of replicas with the requests." only:"inference"`
	Probe     *Probe     `json:"probe,omitempty" doc:"When a replica is ready for requests. By default when its port accepts connections; where the document names no port, also once it has run for three seconds without listening on $PORT." only:"inference"`
	Update    Update     `json:"update,omitempty" doc:"How replicas are replaced when the workload is changed." only:"inference"`
	Restart   string     `json:"restart,omitempty" doc:"Whether a workspace is started again when its command ends: always, only when it failed, or never." enum:"always,onFailure,never" default:"always" only:"workspace"`

	After     []Dependency `json:"after,omitempty" doc:"Workloads of the project that must have come to their end, or so far as is said, before this one is queued: names, or maps." short:"workload"`
	NotBefore string       `json:"notBefore,omitempty" doc:"It is not queued before this time." example:"2027-01-31T08:00:00Z" form:"instant"`

	Deadline         string   `json:"deadline,omitempty" doc:"By when it is to be done. Where its length is known (expectedDuration, else as its likes ran, else maxDuration) it goes before others of its project and priority from two hours before its latest start on, and its user is told half an hour before that, and when the deadline has passed." example:"2027-01-31T09:00:00Z" form:"instant" only:"training,distributed"`
	DeadlineAction   string   `json:"deadlineAction,omitempty" doc:"What becomes of it once its deadline has passed: it is stopped, whether it waits or runs, or its user is told. By default warn." enum:"warn,stop" only:"training,distributed"`
	ExpectedDuration Duration `json:"expectedDuration,omitempty" doc:"How long its author takes it to run; nothing is ended by it." example:"2h" min:"1s" only:"training,distributed"`

	Hold bool `json:"hold,omitempty" doc:"It is not queued before somebody releases it with 'muster release'."`

	Checks  []Check  `json:"checks,omitempty" doc:"What must be approved before it runs, beside what its project demands."`
	Publish *Publish `json:"publish,omitempty" doc:"What is made of its results once it has succeeded." only:"training,distributed"`

	Notifications []Notification `json:"notifications,omitempty" doc:"Who is told of its statuses, and how, beside what its user has asked for with 'muster notifications add'."`

	Retry       Retry    `json:"retry,omitempty" doc:"When a failed attempt is tried again."`
	MaxDuration Duration `json:"maxDuration,omitempty" doc:"Ends an attempt that has run for this long (TimedOut)." example:"12h" min:"1s"`
	IdleLimit   Duration `json:"idleLimit,omitempty" doc:"Ends an attempt none of whose GPUs has done anything for this long (TimedOut)." example:"1h" min:"1s"`

	TerminateAfterPreemption bool `json:"terminateAfterPreemption,omitempty" doc:"Ends it for good (Preempted) where it would go back to its queue."`

	GracePeriod Duration `json:"gracePeriod,omitempty" doc:"Time between SIGTERM and SIGKILL when tasks are ended." default:"30s" min:"0s"`
	TTLAfterEnd Duration `json:"ttlAfterEnd,omitempty" doc:"Deletes the workload and its logs this long after its end." example:"30d" min:"0s"`

	// zeros remembers which fields with a default were written as zero, so
	// that "gracePeriod: 0" is not taken for an absent gracePeriod. Bits are
	// numbered by the schema.
	zeros uint64
	// written is the document before its defaults, for policies; nil: nobody has noted it.
	written *Document
}

// Resources is what one task needs.
type Resources struct {
	CPU    Quantity `json:"cpu,omitempty" doc:"CPU cores; 500m is half of one." default:"1" example:"4" min:"0" max:"1000000"`
	Memory Quantity `json:"memory,omitempty" doc:"Memory in bytes, also its limit; suffixes K, M, G, T and Ki, Mi, Gi, Ti. Without it memory is neither counted nor limited." example:"16Gi" min:"0"`
	SHM    Quantity `json:"shm,omitempty" doc:"Size of /dev/shm in a container. By default 64Mi." example:"8Gi" min:"0"`
	GPU    GPU      `json:"gpu,omitempty" doc:"GPUs: a whole number, a part of one such as 0.5, or a map." example:"1" short:"count,share"`
	// Extended is never changed in place: copies of Resources share it.
	Extended map[string]int `json:"extended,omitempty" doc:"How many it needs of what else nodes of Kubernetes offer by name: extended resources of device plugins, such as network adapters. It goes only where so many are free; no quota counts them." example:"{rdma/hca_shared_devices_a: 1}" min:"1" max:"1000000000" form:"resource"`
}

// Equal reports whether r and o ask for the same.
func (r Resources) Equal(o Resources) bool {
	return r.CPU == o.CPU && r.Memory == o.Memory && r.SHM == o.SHM && r.GPU == o.GPU && maps.Equal(r.Extended, o.Extended)
}

// Array makes N independent tasks of one training workload. Each sees its
// index, from 0, in $POD_INDEX and $MUSTER_TASK_INDEX.
type Array struct {
	Completions int `json:"completions,omitempty" doc:"Number of tasks that must succeed; with a grid, its size." example:"20" min:"1" max:"100000"`
	Parallelism int `json:"parallelism,omitempty" doc:"At most this many at once. By default as many as fit." example:"4" min:"0" max:"100000"`
	// Grid's cells are counted with the last name, in alphabetical order,
	// changing fastest.
	Grid Parameters `json:"grid,omitempty" doc:"Lists of values by parameter: one task for each combination, which it finds in its parameters file and, by upper-case name, in its environment." example:"{lr: [0.1, 0.01], seed: [1, 2, 3]}"`
}

// DeadlineStop is the deadlineAction that ends what is not done in time.
const DeadlineStop = "stop"

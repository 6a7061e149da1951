// Package spec is the workload document: what a user may write, its defaults,
// its validation and its explanation, all from one schema (the struct tags
// below). It is pure: bytes in, a document or precise errors out.
//
// It never decides what a plane can do (images, GPUs that exist) or what a
// project may have; it refuses what no plane could ever run.
package spec

import "github.com/musterhq/muster/internal/core/lifecycle"

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
//	only            the one kind that it makes sense for
//	short           for a map: the field that a bare number stands for
type Document struct {
	Kind        lifecycle.Kind    `json:"kind,omitempty" doc:"What sort of work this is." enum:"training,distributed,workspace,inference" default:"training"`
	Name        string            `json:"name,omitempty" doc:"Name, unique in its project: lower-case letters, digits and '-', at most 52 characters. A generated one when absent." example:"mnist-sweep"`
	NamePrefix  string            `json:"namePrefix,omitempty" doc:"Makes a name of this, '-' and six characters that are new each time; instead of name." example:"mnist"`
	Project     string            `json:"project,omitempty" doc:"Project whose quota it uses." default:"default"`
	Labels      map[string]string `json:"labels,omitempty" doc:"Short words to find it by."`
	Annotations map[string]string `json:"annotations,omitempty" doc:"Free text kept with it."`
	Priority    Priority          `json:"priority,omitempty" doc:"Order inside its project: very-low 25, low 40, medium-low 65, medium 80, medium-high 90, high 125, very-high 150, or a number from 0 to 1000." default:"medium" example:"high" min:"0" max:"1000"`
	Preemptible *bool             `json:"preemptible,omitempty" doc:"Whether the scheduler may take its resources back. By default training and distributed may be preempted, workspace and inference not."`

	Image      string            `json:"image,omitempty" doc:"Container image. Without one the command runs as a process of the machine." example:"ghcr.io/acme/train:1.4"`
	Command    Command           `json:"command,omitempty" doc:"What to run: a string runs through 'sh -c', a list is the argument vector itself." example:"python3 train.py --lr 0.1"`
	Args       []string          `json:"args,omitempty" doc:"Arguments appended to the command."`
	Workdir    string            `json:"workdir,omitempty" doc:"Working directory. By default the directory that the workload was submitted from."`
	Env        map[string]string `json:"env,omitempty" doc:"Environment variables of every task. A process of the machine that was submitted from also gets the submitter's PATH, VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH and LD_LIBRARY_PATH."`
	Parameters Parameters        `json:"parameters,omitempty" doc:"Written as YAML to a file whose path is in $PARAMETERS."`

	Resources Resources `json:"resources,omitempty" doc:"What each task needs."`

	Workers   int    `json:"workers,omitempty" doc:"Number of tasks of the gang, all started together or not at all." example:"4" min:"1" max:"100000" only:"distributed"`
	Framework string `json:"framework,omitempty" doc:"Which environment the ranks get beside MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE." enum:"env,pytorch,mpi,tensorflow,xgboost,jax" default:"env" only:"distributed"`
	Array     *Array `json:"array,omitempty" doc:"Many independent tasks of one command." only:"training"`

	Retry       Retry    `json:"retry,omitempty" doc:"When a failed attempt is tried again."`
	MaxDuration Duration `json:"maxDuration,omitempty" doc:"Ends an attempt that has run for this long (TimedOut)." example:"12h" min:"1s"`
	GracePeriod Duration `json:"gracePeriod,omitempty" doc:"Time between SIGTERM and SIGKILL when tasks are ended." default:"30s" min:"0s"`
	TTLAfterEnd Duration `json:"ttlAfterEnd,omitempty" doc:"Deletes the workload and its logs this long after its end." example:"30d" min:"0s"`

	// zeros remembers which fields with a default were written as zero, so
	// that "gracePeriod: 0" is not taken for an absent gracePeriod. Bits are
	// numbered by the schema.
	zeros uint64
}

// Resources is what one task needs.
type Resources struct {
	CPU    Quantity `json:"cpu,omitempty" doc:"CPU cores; 500m is half of one." default:"1" example:"4" min:"0" max:"1000000"`
	Memory Quantity `json:"memory,omitempty" doc:"Memory in bytes, also its limit; suffixes K, M, G, T and Ki, Mi, Gi, Ti. Without it memory is neither counted nor limited." example:"16Gi" min:"0"`
	GPU    GPU      `json:"gpu,omitempty" doc:"GPUs: a whole number, or a map with count and type." example:"1" short:"count"`
}

// GPU is what one task needs of GPUs. A bare number in a document is Count.
type GPU struct {
	Count int    `json:"count,omitempty" doc:"Whole GPUs." example:"8" min:"0" max:"1024"`
	Type  string `json:"type,omitempty" doc:"Only GPUs whose product name contains this, whatever the case." example:"h100"`
}

// Array makes N independent tasks of one training workload. Each sees its
// index, from 0, in $POD_INDEX and $MUSTER_TASK_INDEX.
type Array struct {
	Completions int `json:"completions,omitempty" doc:"Number of tasks that must succeed." example:"20" min:"1" max:"100000" required:"true"`
	Parallelism int `json:"parallelism,omitempty" doc:"At most this many at once. By default as many as fit." example:"4" min:"0" max:"100000"`
}

// Retry says when a failed attempt is tried again. Preemption and moves never
// count as failures.
type Retry struct {
	Limit      int      `json:"limit,omitempty" doc:"How many failed attempts are tried again." default:"0" example:"3" min:"0" max:"1000"`
	Backoff    Duration `json:"backoff,omitempty" doc:"First wait before another attempt; doubles with every failure." default:"10s" min:"0s"`
	MaxBackoff Duration `json:"maxBackoff,omitempty" doc:"The longest wait between attempts." default:"6m" min:"0s"`
	System     *int     `json:"system,omitempty" doc:"How many attempts lost to the system (a lost node) are tried again; they do not count against limit." default:"3" min:"0" max:"1000"`
}

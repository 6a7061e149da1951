package spec

import (
	"cmp"
	"time"
)

// Master is what differs for the first task of a gang.
type Master struct {
	Command   Command           `json:"command,omitempty" doc:"Instead of the workload's command."`
	Args      []string          `json:"args,omitempty" doc:"Arguments appended to its command."`
	Image     string            `json:"image,omitempty" doc:"Instead of the workload's image." form:"image"`
	Env       map[string]string `json:"env,omitempty" doc:"Variables on top of the workload's." form:"variable"`
	Resources *Resources        `json:"resources,omitempty" doc:"Instead of the workload's resources. An mpi launcher by default takes the CPU of a worker, at most one, and no GPU."`
}

// Autoscale changes the number of replicas with the requests that are under
// way, as Knative's concurrency scaler does: replicas = ceil(requests / target).
type Autoscale struct {
	Min         int      `json:"min,omitempty" doc:"Fewest replicas; with 0 the first request brings one up and waits for it." min:"0" max:"1000"`
	Max         int      `json:"max,omitempty" doc:"Most replicas." required:"true" min:"1" max:"1000"`
	Concurrency int      `json:"concurrency,omitempty" doc:"Requests that one replica is to work on at once." required:"true" min:"1" max:"100000" example:"4"`
	ScaleDown   Duration `json:"scaleDown,omitempty" doc:"For this long fewer replicas must have sufficed before one goes. By default 1m." min:"1s" example:"5m"`
}

// Probe says when a replica is ready.
type Probe struct {
	Path     string   `json:"path,omitempty" doc:"HTTP path that must answer 200 to 399. Without one the port must accept connections." example:"/healthz" form:"route"`
	Port     int      `json:"port,omitempty" doc:"Port that is asked. By default the workload's first." min:"1" max:"65535"`
	Period   Duration `json:"period,omitempty" doc:"How often it is asked. By default 2s." min:"10ms"`
	Timeout  Duration `json:"timeout,omitempty" doc:"How long an answer may take. By default 1s." min:"1ms"`
	Failures int      `json:"failures,omitempty" doc:"So many wrong answers in a row and it is not ready any more. By default 3." min:"1" max:"100"`
}

// How a replica is asked where its document does not say, as the fields of Probe
// document it.
const (
	probePeriod   = Duration(2 * time.Second)
	probeTimeout  = Duration(time.Second)
	probeFailures = 3
)

// Readiness is how replicas are asked whether they are ready, with what the document
// leaves out; a port of 0 is the workload's first.
func (d *Document) Readiness() Probe {
	var p Probe
	if d.Probe != nil {
		p = *d.Probe
	}
	p.Period, p.Timeout, p.Failures = cmp.Or(p.Period, probePeriod), cmp.Or(p.Timeout, probeTimeout), cmp.Or(p.Failures, probeFailures)
	return p
}

// Update says how replicas are replaced.
type Update struct {
	MaxSurge       *int `json:"maxSurge,omitempty" doc:"Replicas that may run beyond the wanted number meanwhile." default:"1" min:"0" max:"100"`
	MaxUnavailable *int `json:"maxUnavailable,omitempty" doc:"Replicas that may be missing of the wanted number meanwhile." default:"0" min:"0" max:"100"`
}

// Check is one admission check.
type Check struct {
	Name     string   `json:"name,omitempty" doc:"A word for it, unique among the checks." required:"true" example:"legal" form:"name"`
	Type     string   `json:"type,omitempty" doc:"A person's approval, or the answer of a web hook." enum:"approval,webhook" required:"true"`
	When     string   `json:"when,omitempty" doc:"Before it is queued, or once its quota is reserved. By default queue." enum:"queue,reservation"`
	Users    []string `json:"users,omitempty" doc:"Who may approve; by default everyone who may use the server."`
	URL      string   `json:"url,omitempty" doc:"Where the question is posted, as JSON; the answer is {\"decision\": \"approve|reject|wait\", \"message\": …}." example:"http://127.0.0.1:9000/admit" form:"url"`
	Timeout  Duration `json:"timeout,omitempty" doc:"How long the answer may take before it is asked again. By default 10s." min:"10ms"`
	Deadline Duration `json:"deadline,omitempty" doc:"Without an approval by then it counts as rejected. By default there is no end." min:"1s"`
}

// Dependency is a workload that must have come so far before another is queued.
type Dependency struct {
	Workload string   `json:"workload,omitempty" doc:"Its name, its ID, or its number." required:"true" example:"prepare" form:"name"`
	When     string   `json:"when,omitempty" doc:"How far it must be: succeeded, failed (ended otherwise), ended either way, or started. By default succeeded." enum:"succeeded,failed,ended,started"`
	Delay    Duration `json:"delay,omitempty" doc:"How long it waits after that." example:"10m" min:"0s"`
	PerTask  bool     `json:"perTask,omitempty" doc:"Of an array: each task waits until the task of that array has succeeded that has its index (with slurm.indexes, its number there). One that has no such fellow waits for the whole array."`
	Tasks    string   `json:"tasks,omitempty" doc:"Of an array: it waits for these of its tasks alone, until each is that far. Their indexes; with slurm.indexes, their numbers there." example:"0-3,7"`
	Any      bool     `json:"any,omitempty" doc:"Of all that say so, the first to come is enough."`
}

// How far a workload must be before another is queued.
const (
	AfterSucceeded = "succeeded"
	AfterFailed    = "failed"
	AfterEnded     = "ended"
	AfterStarted   = "started"
)

// Event is how far the workload must be.
func (d Dependency) Event() string {
	if d.When == "" {
		return AfterSucceeded
	}
	return d.When
}

// Begin is before when the workload is not queued; zero: at once.
func (d *Document) Begin() time.Time {
	at, _ := time.Parse(time.RFC3339, d.NotBefore) // checked when it was read
	return at
}

// Publish says what is made of the results.
type Publish struct {
	Model    string            `json:"model,omitempty" doc:"Directory that becomes an OCI artifact; relative to the workdir." required:"true" example:"out/model" form:"path"`
	Target   string            `json:"target,omitempty" doc:"Name of the artifact. By default one below the server's --registry." example:"registry.acme.com/models/mnist:v1" form:"target"`
	Metadata map[string]string `json:"metadata,omitempty" doc:"Annotations of the artifact."`
	Secret   string            `json:"secret,omitempty" doc:"Secret of type docker that opens the target's registry. By default every one of the user's that fits." form:"name"`
	Serve    *Serve            `json:"serve,omitempty" doc:"Deploys an inference workload that serves the model, whose directory it finds in $MODEL_DIR."`
}

// Serve is the inference workload that is made of a published model.
type Serve struct {
	Name      string            `json:"name,omitempty" doc:"Its name. By default the workload's with -serve." form:"name"`
	Image     string            `json:"image,omitempty" doc:"Its image. By default it is a process of the machine." form:"image"`
	Command   Command           `json:"command,omitempty" doc:"What serves." required:"true" example:"python3 serve.py"`
	Env       map[string]string `json:"env,omitempty" doc:"Its variables." form:"variable"`
	Resources *Resources        `json:"resources,omitempty" doc:"What each replica needs. By default one CPU."`
	Replicas  int               `json:"replicas,omitempty" doc:"How many replicas. By default 1." min:"0" max:"1000"`
	Port      int               `json:"port,omitempty" doc:"Port on which a replica listens." required:"true" example:"8000" min:"1" max:"65535"`
	Probe     *Probe            `json:"probe,omitempty" doc:"When a replica is ready."`
}

// Retry says when a failed attempt is tried again. Preemption and moves never
// count as failures.
type Retry struct {
	Limit      int         `json:"limit,omitempty" doc:"How many failed attempts are tried again." default:"0" example:"3" min:"0" max:"1000"`
	Backoff    Duration    `json:"backoff,omitempty" doc:"First wait before another attempt; doubles with every failure. Without it the next attempt follows at once; only where a rule tries again without end, after 10s." default:"0s" example:"10s" min:"0s"`
	MaxBackoff Duration    `json:"maxBackoff,omitempty" doc:"The longest wait between attempts." default:"6m" min:"0s"`
	System     *int        `json:"system,omitempty" doc:"How many attempts lost to the system (a lost node, a cluster that refuses them or takes them away) are tried again, over the whole life until it is restarted; they do not count against limit." default:"3" min:"0" max:"1000"`
	Pull       *int        `json:"pull,omitempty" doc:"How often an image that could not be pulled is tried again, with growing waits, before the attempt fails; -1: for as long as it takes, and what it has been given it keeps." default:"4" min:"-1" max:"100"`
	Rules      []RetryRule `json:"rules,omitempty" doc:"What is done about failures of certain kinds; the first rule that fits decides, and limit only where none does."`
}

// RetryRule says what follows from failures of one kind. Empty conditions fit
// everything.
type RetryRule struct {
	ExitCodes []int    `json:"exitCodes,omitempty" doc:"Exit codes that it is about; 128 and more is 128 + signal." example:"[42, 137]" min:"0" max:"255"`
	Reasons   []string `json:"reasons,omitempty" doc:"Reasons that it is about." example:"[OutOfMemory]" enum:"Error,OutOfMemory,Killed,ContainerCannotRun,FailedImagePull,MountFailed,NodeLost,SystemFailure"`
	Action    string   `json:"action,omitempty" doc:"Try again (against limit), try again without counting, or fail at once." enum:"retry,retryFree,fail" required:"true"`
	Limit     int      `json:"limit,omitempty" doc:"How often this rule tries again; by default as often as retry.limit says, or without end where it does not count." min:"0" max:"1000"`
}

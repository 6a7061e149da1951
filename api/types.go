// Package api is the contract between server and clients: the JSON of the REST
// API, its problems and its headers. It imports nothing of the server.
package api

import (
	"encoding/json"
	"time"
)

// Time is an instant in UTC, written in RFC 3339 with microseconds.
type Time time.Time

const layout = "2006-01-02T15:04:05.000000Z07:00"

// MarshalJSON writes the instant in UTC.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(layout)+2)
	b = append(b, '"')
	b = time.Time(t).UTC().AppendFormat(b, layout)
	return append(b, '"'), nil
}

// UnmarshalJSON reads any RFC 3339 instant.
func (t *Time) UnmarshalJSON(b []byte) error {
	return (*time.Time)(t).UnmarshalJSON(b)
}

// Workload is a workload as the API shows it.
type Workload struct {
	ID          string `json:"id" doc:"Identity for ever; sorts by creation"`
	Name        string `json:"name" doc:"Name, unique in its project"`
	Project     string `json:"project"`
	Kind        string `json:"kind" enum:"training,distributed,workspace,inference,external"`
	User        string `json:"user" doc:"Who submitted it"`
	Priority    int    `json:"priority"`
	Preemptible bool   `json:"preemptible"`

	Phase      string      `json:"phase" doc:"Where it is in its life; GET /v1/lifecycle lists all phases"`
	Reason     string      `json:"reason,omitempty" doc:"Why, as a token"`
	Message    string      `json:"message,omitempty" doc:"Why, as a sentence"`
	Target     string      `json:"target,omitempty" doc:"While Terminating: the phase that follows"`
	Restarts   bool        `json:"restarts,omitempty" doc:"While Terminating: somebody asked that it runs again once it has ended"`
	Since      Time        `json:"since" doc:"Since when it is in this phase"`
	Conditions []Condition `json:"conditions" nullable:"false"`

	Attempt     int               `json:"attempt" doc:"Number of the present attempt, from 0"`
	Attempts    []Attempt         `json:"attempts" nullable:"false" doc:"Every attempt, oldest first"`
	Transitions []Transition      `json:"transitions" nullable:"false" doc:"Its history; in watch events only what is new"`
	Statuses    map[string]Status `json:"statuses" doc:"The same in the words of other platforms"`
	Pending     *Pending          `json:"pending,omitempty" doc:"Why it waits, while it waits"`
	Plan        *Plan             `json:"plan,omitempty" doc:"What would become of it; of a dry run only"`

	Warnings []string `json:"warnings,omitempty" doc:"In answers to submissions: what is allowed and perhaps not meant"`

	Image     string     `json:"image,omitempty" doc:"Image that was built for it"`
	Checks    []Check    `json:"checks,omitempty" doc:"Admission checks of the present attempt"`
	Replicas  *Replicas  `json:"replicas,omitempty" doc:"Of an inference workload"`
	Published *Published `json:"published,omitempty" doc:"What was made of its results"`

	Progress   *Progress                  `json:"progress,omitempty" doc:"How far it has come, as its tasks say"`
	Canceled   []int                      `json:"canceled,omitempty" doc:"Tasks of an array that were stopped by themselves"`
	Bounds     *Bounds                    `json:"bounds,omitempty" doc:"What its project and all above it demanded when it was submitted, which it keeps"`
	HeldTasks  string                     `json:"heldTasks,omitempty" doc:"Indexes of the tasks of an array that somebody keeps from starting, like 0-3,7"`
	Hold       *Hold                      `json:"hold,omitempty" doc:"Who keeps it from being queued"`
	Checkpoint *Checkpoint                `json:"checkpoint,omitempty" doc:"From where it can go on, as its tasks say"`
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty" doc:"What its tasks and its user keep with it"`

	Tasks      TaskCounts `json:"tasks" doc:"Tasks of the present attempt by state"`
	GPUs       float64    `json:"gpus" doc:"GPUs that it asks for, over all tasks; parts count as such, memory as the part of a GPU that it came to where it last had a place"`
	GPUsHeld   float64    `json:"gpusHeld" doc:"GPUs that its tasks hold at present, also while they fail and are started again"`
	GPUSeconds float64    `json:"gpuSeconds" doc:"Device-seconds charged so far"`

	CreatedAt Time  `json:"createdAt"`
	StartedAt *Time `json:"startedAt,omitempty" doc:"First time Running"`
	EndedAt   *Time `json:"endedAt,omitempty"`

	Number         int64           `json:"number" doc:"In the order of submission, from 1; what Slurm calls a job's id"`
	AllowedActions []string        `json:"allowedActions" nullable:"false" doc:"What can be asked of it now: stop, restart, delete, preempt, move, scale, hold, release, approve, reject, change (priority and limits), update (of a service) and revise (another document, once it has ended)"`
	Version        int64           `json:"version" doc:"Grows with every change; the ETag"`
	Revision       int64           `json:"revision" doc:"The commit that changed it last; resumes a watch"`
	Spec           json.RawMessage `json:"spec,omitempty" doc:"The document, after defaults"`
}

// Check is one admission check.
type Check struct {
	Name     string   `json:"name"`
	Type     string   `json:"type" enum:"approval,webhook,image,budget,workload,time"`
	When     string   `json:"when" enum:"queue,reservation"`
	Verdict  string   `json:"verdict" enum:"waiting,asked,approved,rejected"`
	Message  string   `json:"message,omitempty"`
	By       string   `json:"by,omitempty" doc:"Who decided"`
	At       *Time    `json:"at,omitempty"`
	Users    []string `json:"users,omitempty" doc:"Who may approve; empty: everyone"`
	Tries    int      `json:"tries,omitempty" doc:"Questions that brought no decision"`
	AskAt    *Time    `json:"askAt,omitempty" doc:"When it is asked again"`
	Deadline *Time    `json:"deadline,omitempty" doc:"Rejected by then, or asked anew"`

	Scope        string   `json:"scope,omitempty" doc:"Whose check it is: of a project, a department or '-', the system; empty: the document's own, or one of its project's rules"`
	Need         int      `json:"need,omitempty" doc:"How many people have to approve"`
	Role         string   `json:"role,omitempty" doc:"Who has it may approve, beside users"`
	NotSubmitter bool     `json:"notSubmitter,omitempty" doc:"Not who has submitted it"`
	Votes        []Vote   `json:"votes,omitempty" doc:"Who has approved so far"`
	Images       []string `json:"images,omitempty" doc:"Images to be looked at"`
	Again        bool     `json:"again,omitempty" doc:"It is asked anew at its deadline, and not rejected"`
}

// Replicas are those of an inference workload.
type Replicas struct {
	Wanted     int    `json:"wanted" doc:"Replicas that there are to be"`
	Running    int    `json:"running" doc:"Replicas that have started, ready or not"`
	Ready      int    `json:"ready" doc:"Replicas that take requests"`
	Updated    int    `json:"updated" doc:"Replicas of the present generation"`
	Generation int    `json:"generation" doc:"Of the document, from 0; grows with every update"`
	URL        string `json:"url,omitempty" doc:"The one stable address, which balances over ready replicas"`
}

// Published is what was made of the results of a workload.
type Published struct {
	Ref     string `json:"ref,omitempty" doc:"Name of the artifact"`
	Digest  string `json:"digest,omitempty"`
	Size    int64  `json:"sizeBytes,omitempty"`
	Files   int    `json:"files,omitempty"`
	Service string `json:"service,omitempty" doc:"Name of the workload that serves it"`
}

// Condition is a fact beside the phase.
type Condition struct {
	Type    string `json:"type"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Since   Time   `json:"since"`
}

// Attempt is one try at executing a workload.
type Attempt struct {
	Index     int    `json:"index"`
	QueuedAt  *Time  `json:"queuedAt,omitempty"`
	StartedAt *Time  `json:"startedAt,omitempty" doc:"Entered Starting"`
	RunningAt *Time  `json:"runningAt,omitempty"`
	EndedAt   *Time  `json:"endedAt,omitempty" doc:"Gave its resources back"`
	ExitCode  *int   `json:"exitCode,omitempty" doc:"Of the first failed task, or 0"`
	Cause     string `json:"cause,omitempty" doc:"On whose account it ended, as of transitions"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	Culprit   *int   `json:"culprit,omitempty" doc:"Index of the task that failed first"`

	Step    int64         `json:"step,omitempty" doc:"The last that its tasks told of"`
	Saved   *Saved        `json:"saved,omitempty" doc:"The last checkpoint that its tasks told of"`
	Lost    *Lost         `json:"lost,omitempty" doc:"Work without a checkpoint, of an attempt that ended otherwise than it or its user wanted; not in summaries"`
	Revised []FieldChange `json:"revised,omitempty" doc:"What of the document was changed in it or after it, and so before the next"`

	Todo      string `json:"todo,omitempty" doc:"Indexes of the tasks of an array that are its to run, like 0-3,7, or none; absent: all"`
	Tasks     []Task `json:"tasks" nullable:"false" doc:"Each by its last run"`
	TasksLeft int    `json:"tasksLeft,omitempty" doc:"Tasks that are left out, as tasks of the request asked"`
	Former    []Task `json:"former,omitempty" doc:"Earlier runs of tasks of an array that had to leave and run again; replicas and pods that others have replaced"`
}

// Saved is a checkpoint of an attempt.
type Saved struct {
	Step int64 `json:"step,omitempty"`
	At   Time  `json:"at"`
}

// Lost is work that was done in vain.
type Lost struct {
	Seconds    float64 `json:"seconds" doc:"Run time since the last checkpoint, or all of it"`
	GPUSeconds float64 `json:"gpuSeconds" doc:"What its tasks had their GPUs for since then, but for those that succeeded"`
	Steps      int64   `json:"steps,omitempty" doc:"Steps since the last checkpoint, where its tasks told of them"`
}

// Pull is how far the pull of an image is.
type Pull struct {
	Layers     int   `json:"layers" doc:"Of the image"`
	LayersDone int   `json:"layersDone" doc:"Layers that are there"`
	Bytes      int64 `json:"bytes" doc:"Downloaded; layers that were there before count as whole"`
	Total      int64 `json:"totalBytes" doc:"Of all layers"`
}

// Task is one process tree or container of an attempt.
type Task struct {
	Role       string   `json:"role"`
	Index      int      `json:"index"`
	Run        int      `json:"run,omitempty" doc:"How often it had to leave in the attempt before this run"`
	Name       string   `json:"name,omitempty" doc:"What its maker calls it, where that is someone else: namespace/pod"`
	Node       string   `json:"node,omitempty"`
	Devices    []string `json:"devices,omitempty" doc:"GPUs that it holds"`
	Share      float64  `json:"share,omitempty" doc:"Part that it holds of each of its devices, from 0.001 to 1; 1: whole ones"`
	State      string   `json:"state" enum:"pending,starting,running,stopping,succeeded,failed,lost"`
	Waiting    string   `json:"waiting,omitempty"`
	Stages     []Stage  `json:"stages,omitempty" doc:"What it waited with while it started, beside that its container was made, in the order in which that came first"`
	Pull       *Pull    `json:"pull,omitempty" doc:"How far its image is, while that is pulled"`
	Image      string   `json:"imageDigest,omitempty" doc:"Of the image that it runs in, or ran in"`
	ExitCode   *int     `json:"exitCode,omitempty" doc:"128 + signal when a signal ended it"`
	Signal     int      `json:"signal,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Message    string   `json:"message,omitempty"`
	Restarts   int      `json:"restarts,omitempty"`
	RestartAt  *Time    `json:"restartAt,omitempty" doc:"When it is started again in place"`
	Ready      bool     `json:"ready,omitempty" doc:"A replica that takes requests"`
	Leaving    bool     `json:"leaving,omitempty" doc:"It is not wanted any more, or not there"`
	Generation int      `json:"generation,omitempty" doc:"Of the document that it was started from"`
	Port       int      `json:"port,omitempty" doc:"Its own port"`
	PlacedAt   *Time    `json:"placedAt,omitempty"`
	StartedAt  *Time    `json:"startedAt,omitempty"`
	EndedAt    *Time    `json:"endedAt,omitempty"`

	Steps []JobStep `json:"steps,omitempty" doc:"What srun has started in the batch script that it runs, in the order of their numbers; at most 500 are kept. Not in summaries"`
}

// Stage is a word that a task waited with while it started.
type Stage struct {
	Word    string `json:"word" doc:"As Kubernetes says it: Init:0/1, PodInitializing, ErrImagePull …"`
	Message string `json:"message,omitempty" doc:"What was said with it, the last time"`
	At      Time   `json:"at" doc:"The first time"`
	Last    Time   `json:"last" doc:"The last time"`
	Count   int    `json:"count" doc:"How often"`
}

// TaskCounts counts the tasks of the present attempt.
type TaskCounts struct {
	Total     int `json:"total" doc:"Tasks of the attempt"`
	Pending   int `json:"pending" doc:"Tasks in this state"`
	Starting  int `json:"starting" doc:"Tasks in this state"`
	Running   int `json:"running" doc:"Tasks in this state"`
	Stopping  int `json:"stopping" doc:"Tasks in this state"`
	Succeeded int `json:"succeeded" doc:"Tasks in this state"`
	Failed    int `json:"failed" doc:"Tasks in this state"`
	Canceled  int `json:"canceled,omitempty" doc:"Tasks of an array that were stopped by themselves"`
}

// Transition is one recorded step.
type Transition struct {
	Seq     int64  `json:"seq" doc:"Order over all workloads"`
	At      Time   `json:"at"`
	From    string `json:"from"`
	Event   string `json:"event"`
	To      string `json:"to"`
	Target  string `json:"target,omitempty"`
	Cause   string `json:"cause,omitempty" doc:"On whose account it left its place or was ended: reclaim, preempt, consolidation, relieve, reservation, stalegangeviction, drain, budget, person; stop, limit, deadline, check, maker. Empty: nobody's, or a step of an older server" enum:"reclaim,preempt,consolidation,relieve,reservation,stalegangeviction,drain,budget,person,stop,limit,deadline,check,maker"`
	For     string `json:"for,omitempty" doc:"Id of the workload that got its room"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Actor   string `json:"actor" doc:"user:NAME, scheduler, backend:NODE or control"`
	Attempt int    `json:"attempt"`

	Workload string `json:"workload,omitempty" doc:"Id; in histories only"`
	Word     string `json:"word,omitempty" doc:"Of the dialect that was asked for, in the state that it led to"`
}

// Status is the word of another platform for where a workload is.
type Status struct {
	Status string `json:"status"`
	End    bool   `json:"end"`
	Color  string `json:"color,omitempty"`
	Code   *int   `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Pending says why a workload waits, true of the moment it was asked.
type Pending struct {
	Reasons        []PendingReason `json:"reasons" nullable:"false" doc:"Every blocker, most severe first"`
	Position       int             `json:"position,omitempty" doc:"In its queue, from 1"`
	Waiting        int             `json:"waiting,omitempty" doc:"How many wait in its queue"`
	Ahead          []string        `json:"ahead" nullable:"false" doc:"Names of the first few that go before it"`
	EstimatedStart *Time           `json:"estimatedStart,omitempty" doc:"The expected start: the likely one of its why; absent: nobody can tell"`
	EvaluatedAt    Time            `json:"evaluatedAt"`
}

// WorkloadList is a page of workloads, newest first.
type WorkloadList struct {
	Items []Workload `json:"items" nullable:"false"`
	Next  string     `json:"next" doc:"cursor of the next page; empty on the last"`
}

// TransitionList is a part of the history.
type TransitionList struct {
	Items []Transition `json:"items" nullable:"false"`
	Next  string       `json:"next" doc:"after of the next page; empty when there is none yet"`
}

// Amount is how much there is and how much of it is held.
type Amount struct {
	Total int64 `json:"total" doc:"In the unit of the field that holds it"`
	Used  int64 `json:"used" doc:"Of total, what is held, in the same unit"`
}

// Device is one GPU.
type Device struct {
	ID      string `json:"id"`
	Index   int    `json:"index"`
	Product string `json:"product"`
	Memory  int64  `json:"memoryBytes"`
	Fake    bool   `json:"fake,omitempty" doc:"Not a real GPU: for trying things out"`
	Healthy bool   `json:"healthy"`
	Used    int    `json:"used" doc:"Thousandths held"`
}

// DeviceLink is what connects two GPUs of a node.
type DeviceLink struct {
	A     int    `json:"a" doc:"Number of the one GPU on its node"`
	B     int    `json:"b" doc:"Number of the other"`
	Kind  string `json:"kind" enum:"nvlink,switch,switches,host-bridge,numa-node,sockets" doc:"NVLinks, one PCIe switch, several, a PCIe host bridge, the bridges of one NUMA node, the sockets' interconnect"`
	Links int    `json:"links,omitempty" doc:"Of NVLinks, how many there are at least"`
}

// Lifecycle is the machine that every workload follows, as data.
type Lifecycle struct {
	Phases  []Phase `json:"phases" nullable:"false"`
	Rules   []Rule  `json:"rules" nullable:"false"`
	Mermaid string  `json:"mermaid" doc:"The same as a diagram"`
	DOT     string  `json:"dot" doc:"The same for Graphviz"`
	Words   []Word  `json:"words,omitempty" doc:"The vocabulary of the dialect that was asked for"`
}

// Word is one status of another platform.
type Word struct {
	Status    string   `json:"status"`
	Code      *int     `json:"code,omitempty"`
	Color     string   `json:"color,omitempty"`
	End       bool     `json:"end"`
	Resources string   `json:"resources,omitempty" doc:"Whether a job of which it is said holds resources, where the platform's documents say so"`
	Phases    []string `json:"phases" nullable:"false" doc:"Phases in which it may be said"`
	How       []string `json:"how" nullable:"false" doc:"States that it is said of, one line each"`
}

// Phase is one phase and what it means for accounting.
type Phase struct {
	Name    string `json:"name"`
	Quota   bool   `json:"quota" doc:"Counts against the project's quota"`
	Held    bool   `json:"held" doc:"Nodes and devices are assigned"`
	End     bool   `json:"end" doc:"Nothing more happens by itself"`
	Meaning string `json:"meaning"`
}

// Rule is one legal transition.
type Rule struct {
	Event   string   `json:"event"`
	From    []string `json:"from" nullable:"false"`
	To      string   `json:"to"`
	Targets []string `json:"targets,omitempty" doc:"What may follow Terminating"`
	When    string   `json:"when,omitempty"`
}

// Cluster is the state of all nodes.
type Cluster struct {
	Nodes    []Node    `json:"nodes" nullable:"false"`
	Pools    []Pool    `json:"pools" nullable:"false"`
	Projects []Project `json:"projects" nullable:"false"`
	Running  int       `json:"running" doc:"Workloads that hold resources"`
	Waiting  int       `json:"waiting" doc:"Workloads that wait for resources"`
	At       Time      `json:"at"`
}

// ClusterInfo is one cluster: this machine, or a Kubernetes cluster.
type ClusterInfo struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind" doc:"local or kubernetes"`
	Version   string     `json:"version,omitempty" doc:"Of the cluster's own server"`
	Server    string     `json:"server,omitempty" doc:"Its address"`
	Reachable bool       `json:"reachable" doc:"Whether it answers; nothing new is placed on one that does not, and what runs there goes on"`
	Since     *Time      `json:"since,omitempty" doc:"Since when it does not answer"`
	Message   string     `json:"message,omitempty" doc:"Why it does not answer"`
	Nodes     NodeCounts `json:"nodes"`
	GPU       GPUCounts  `json:"gpuMilli" doc:"In thousandths of GPUs"`
	Workloads int        `json:"workloads" doc:"Workloads with tasks there"`
	Tasks     int        `json:"tasks"`
}

// NodeCounts are the nodes of a cluster.
type NodeCounts struct {
	Total int `json:"total" doc:"Nodes"`
	Ready int `json:"ready" doc:"Nodes that take work"`
}

// GPUCounts are the GPUs of a cluster.
type GPUCounts struct {
	Total int64 `json:"total" doc:"Thousandths of GPUs"`
	Free  int64 `json:"free" doc:"Thousandths of GPUs that are healthy, on nodes that take work, and held by nobody, other schedulers included"`
}

// ClusterList is every cluster, by name.
type ClusterList struct {
	Items []ClusterInfo `json:"items" nullable:"false"`
}

// Version says what a server is.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	API     string `json:"api" doc:"Major version of the API"`
}

// ServerStatus is a running server as its operator sees it.
type ServerStatus struct {
	PID       int    `json:"pid"`
	Address   string `json:"address"`
	DataDir   string `json:"dataDir"`
	Version   string `json:"version"`
	StartedAt Time   `json:"startedAt"`
	FakeGPUs  int    `json:"fakeGpus,omitempty"`
	// Installation is what its records were named when they began, and Format that of
	// its database.
	Installation string `json:"installation,omitempty" doc:"Name that its records were given when they began"`
	Format       int    `json:"format,omitempty" doc:"Number of its database's format; of one that awaits a move: up to which it reads"`
	AwaitsMove   bool   `json:"awaitsMove,omitempty" doc:"It has no records, and waits for those of another machine; until then it answers nothing else"`
	Moved        *Moved `json:"moved,omitempty" doc:"What was moved to it"`
}

// Moved are records that came from another machine.
type Moved struct {
	ID   string `json:"id" doc:"SHA-256 of the database as it left"`
	From string `json:"from" doc:"Name of the machine"`
	At   Time   `json:"at" doc:"When it left"`
}

// StopOptions refine a stop.
type StopOptions struct {
	Message     string `json:"message,omitempty" doc:"Why; kept in the history"`
	GracePeriod string `json:"gracePeriod,omitempty" doc:"Instead of the workload's own, like 5s"`
	Tasks       []int  `json:"tasks,omitzero" required:"false" doc:"Only these tasks of an array; the others go on"` // none is not the same as all
}

// Hold is that somebody keeps a workload from being queued.
type Hold struct {
	By      string `json:"by" doc:"As the actor of transitions"`
	Message string `json:"message,omitempty"`
	At      Time   `json:"at"`
}

// HoldOptions refine holding a workload, or letting it go.
type HoldOptions struct {
	Message string `json:"message,omitempty" doc:"Why; kept in the history"`
	Tasks   []int  `json:"tasks,omitzero" required:"false" doc:"Only these tasks of an array; the others go on"`
	Requeue bool   `json:"requeue,omitempty" doc:"To hold: also what runs, which goes back to its queue, and what has ended, which is to run again"`
}

// PreemptOptions refine a preemption or move.
type PreemptOptions struct {
	Message string `json:"message,omitempty" doc:"Why; kept in the history"`
	Tasks   []int  `json:"tasks,omitzero" required:"false" doc:"Only these tasks of an array, each of which runs again in the same attempt; the others go on. Not to move"`
}

// RestartOptions refine a restart.
type RestartOptions struct {
	Tasks []int `json:"tasks,omitzero" required:"false" doc:"Only these tasks of an array, which have ended: while it goes on, or once all others have succeeded"`
}

// DecisionOptions refine an approval or rejection.
type DecisionOptions struct {
	Check   string `json:"check,omitempty" doc:"Which check; needed where several wait for a person"`
	Message string `json:"message,omitempty" doc:"Why; kept with the check"`
}

// ScaleOptions say how many replicas are wanted.
type ScaleOptions struct {
	Replicas int    `json:"replicas" minimum:"0" maximum:"1000"`
	Message  string `json:"message,omitempty" doc:"Why; kept in the history"`
}

// NewSecret is a secret to store. Its values are never shown again.
type NewSecret struct {
	Name       string            `json:"name"`
	Type       string            `json:"type" enum:"env,mounted,docker,ssh,git-ssh,sftp-ssh,s3,gcp,oci,databricks,hf"`
	Fields     map[string]string `json:"fields,omitempty" doc:"What is not secret: env, path, server, username, host"`
	Values     map[string][]byte `json:"values" doc:"What is, in base64"`
	Everywhere bool              `json:"everywhere,omitempty" doc:"Give it to every workload of its user, or in its project or department"`
}

// Secret is a secret without its values.
type Secret struct {
	Name       string            `json:"name"`
	Project    string            `json:"project,omitempty" doc:"Project or department whose it is, for all who submit there; '-': the system; empty: a user's own"`
	CreatedBy  string            `json:"createdBy,omitempty" doc:"Who made it, where it is not a user's own"`
	Type       string            `json:"type"`
	Fields     map[string]string `json:"fields,omitempty"`
	Everywhere bool              `json:"everywhere,omitempty"`
	CreatedAt  Time              `json:"createdAt"`
}

// SecretList is every secret of a user, or those that a project uses.
type SecretList struct {
	Items []Secret `json:"items" nullable:"false"`
	Next  string   `json:"next"`
}

// Usage is charged GPU time of one group.
type Usage struct {
	Project    string  `json:"project,omitempty"`
	User       string  `json:"user,omitempty"`
	Workload   string  `json:"workload,omitempty"`
	ID         string  `json:"id,omitempty" doc:"Of the workload"`
	Bucket     *Time   `json:"bucket,omitempty" doc:"Begin of the span, where they are split by time"`
	GPUSeconds float64 `json:"gpuSeconds"`
	Cost       float64 `json:"cost,omitempty" doc:"Unit: the currency, at the prices that held"`
	Workloads  int     `json:"workloads" doc:"How many workloads it is of"`
	Idle       float64 `json:"idleGpuSeconds,omitempty" doc:"Of these, while the GPU was seen doing nothing, in the last day; where waste was asked for"`
	Lost       float64 `json:"lostGpuSeconds,omitempty" doc:"Of these, by attempts that failed or had to leave, since the last checkpoint that is known; where waste was asked for"`
}

// UsageList is charged GPU time by group, largest first.
type UsageList struct {
	Items    []Usage `json:"items" nullable:"false"`
	From     Time    `json:"from"`
	To       Time    `json:"to"`
	Total    float64 `json:"totalGpuSeconds"`
	Cost     float64 `json:"totalCost,omitempty" doc:"Unit: the currency"` // in the currency
	Currency string  `json:"currency,omitempty" doc:"Absent where nothing costs anything"`
	Idle     float64 `json:"idleGpuSeconds,omitempty"`
	Lost     float64 `json:"lostGpuSeconds,omitempty"`
	Next     string  `json:"next"`

	Missing []string `json:"missing,omitempty" doc:"What of the waste is not known, and why, a sentence each"`
}

// The channels of an exec, attach or port-forward connection: the first byte
// of every binary web socket message. They are those of Kubernetes' remote
// command protocol.
const (
	ChannelStdin  = 0
	ChannelStdout = 1
	ChannelStderr = 2
	ChannelEnd    = 3 // an ExecEnd as JSON; the last message
	ChannelResize = 4 // a TerminalSize as JSON
	ChannelEOF    = 5 // from the client: standard input has ended
)

// ExecEnd is how a command or connection ended.
type ExecEnd struct {
	ExitCode int      `json:"exitCode"`
	Problem  *Problem `json:"problem,omitempty"`
}

// TerminalSize is the size of the client's terminal, in characters.
type TerminalSize struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// BulkResult is what became of each document of a bulk submission.
type BulkResult struct {
	Items []BulkItem `json:"items" nullable:"false"`
}

// BulkItem is a workload, or why it was refused.
type BulkItem struct {
	Workload *Workload `json:"workload,omitempty"`
	Problem  *Problem  `json:"problem,omitempty"`
}

// Problem is an error as RFC 9457 has it, with a stable code and the next step.
type Problem struct {
	Type   string         `json:"type,omitempty"`
	Title  string         `json:"title"`
	Status int            `json:"status"`
	Detail string         `json:"detail,omitempty"`
	Code   string         `json:"code" doc:"Stable token: invalid, not_found, conflict, illegal_phase, unschedulable, unsupported, unavailable, too_often, disk_full, no_logs, internal"`
	Hint   string         `json:"hint,omitempty" doc:"The next step"`
	Errors []FieldProblem `json:"errors,omitempty" doc:"One for each wrong field"`
}

// Error is the detail.
func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return p.Title
}

// GetStatus is the HTTP status, for the server's framework.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType names the media type of a problem, for the server's framework.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// FieldProblem is what is wrong with one field.
type FieldProblem struct {
	Path    string   `json:"path"`
	Value   string   `json:"value,omitempty"`
	Problem string   `json:"problem"`
	Allowed []string `json:"allowed,omitempty"`
	Hint    string   `json:"hint,omitempty"`
	Line    int      `json:"line,omitempty"`
}

package api

// Row is a workload as a list shows it: what fits in one line.
type Row struct {
	ID          string            `json:"id"`
	Number      int64             `json:"number" doc:"In the order of submission, from 1"`
	Name        string            `json:"name"`
	Project     string            `json:"project"`
	Kind        string            `json:"kind"`
	Array       bool              `json:"array,omitempty" doc:"Its tasks run one by one, each for itself"`
	User        string            `json:"user"`
	Labels      map[string]string `json:"labels,omitempty"`
	Priority    int               `json:"priority"`
	Preemptible bool              `json:"preemptible"`

	Phase       string            `json:"phase"`
	Reason      string            `json:"reason,omitempty"`
	Message     string            `json:"message,omitempty"`
	Target      string            `json:"target,omitempty"`
	Since       Time              `json:"since"`
	Conditions  []string          `json:"conditions,omitempty" doc:"Types of its conditions"`
	Words       map[string]string `json:"words" doc:"The same in the words of other platforms, by dialect"`
	WordReasons map[string]string `json:"wordReasons,omitempty" doc:"Why, in the words of those platforms that say it, by dialect"`
	Attempt     int               `json:"attempt" doc:"Number of the present attempt, from 0"`
	ExitCode    *int              `json:"exitCode,omitempty" doc:"Of its last attempt"`

	GPUs      float64    `json:"gpus" doc:"GPUs that it asks for, over all tasks; parts count as such"`
	GPUsHeld  float64    `json:"gpusHeld,omitempty" doc:"GPUs that its tasks hold at present"`
	GPUType   string     `json:"gpuType,omitempty"`
	Tasks     TaskCounts `json:"tasks"`
	Nodes     []string   `json:"nodes,omitempty" doc:"Where its tasks are, at most 16"`
	NodeCount int        `json:"nodeCount,omitempty"`
	Partial   bool       `json:"partial,omitempty" doc:"This change does not say where its tasks are: there, or where they were before"`

	Step  int64 `json:"step,omitempty" doc:"How far it has come"`
	Steps int64 `json:"steps,omitempty" doc:"Of how many"`

	CreatedAt Time    `json:"createdAt"`
	StartedAt *Time   `json:"startedAt,omitempty"`
	EndedAt   *Time   `json:"endedAt,omitempty"`
	Ran       float64 `json:"ranSeconds,omitempty" doc:"For how long its attempts ran, but for one that goes on"`
	RunningAt *Time   `json:"runningAt,omitempty" doc:"Since when the present attempt runs, as long as it does"`

	AllowedActions []string `json:"allowedActions" nullable:"false"`
	Revision       int64    `json:"revision"`
}

// RowList is a page of rows, newest first.
type RowList struct {
	Items []Row  `json:"items" nullable:"false"`
	Next  string `json:"next" doc:"cursor of the next page; empty on the last"`

	Revision int64 `json:"revision" doc:"A stream that begins after it misses nothing that this page does not have"`
}

// Wait is where a workload stands that waits.
type Wait struct {
	ID       string `json:"id"`
	Token    string `json:"token,omitempty" doc:"The most severe blocker"`
	Message  string `json:"message,omitempty"`
	Act      string `json:"act,omitempty" doc:"Who can end it: wait (time), change (whoever submitted it), ask (an administrator)"`
	Position int    `json:"position,omitempty" doc:"In its queue, from 1"`
	Start    *Time  `json:"start,omitempty" doc:"The likely start, as its why has it; absent: nobody can tell"`
	// Never goes without a start.
	Never bool `json:"never,omitempty" doc:"No wait ends it: what it asks for, or what is allowed, has to change"`
	// StartEarly and StartLate are the range around it, as estimate of its why has it.
	StartEarly *Time `json:"startEarly,omitempty" doc:"If all goes quickly"`
	StartLate  *Time `json:"startLate,omitempty" doc:"If all goes slowly; without start: by then at the latest"`
}

// Overview is what a page shows beside workloads, as it is at one moment.
type Overview struct {
	Cluster Cluster        `json:"cluster"`
	Waits   []Wait         `json:"waits" nullable:"false" doc:"Of those that wait the first of every queue, then the newest, at most 1000"`
	Phases  map[string]int `json:"phases" doc:"Live workloads by phase"`
}

// OverviewChange is what of an overview has become another.
type OverviewChange struct {
	Phases  map[string]int `json:"phases" doc:"Live workloads by phase"`
	Waits   *[]Wait        `json:"waits,omitempty" doc:"Absent: as before"`
	Cluster *Cluster       `json:"cluster,omitempty" doc:"With those nodes alone that are new or have become another; absent: as before"`
	Gone    []string       `json:"gone,omitempty" doc:"Names of nodes that are no longer there"`
}

// Greeting is the first event of a stream.
type Greeting struct {
	Revision int64  `json:"revision" doc:"Up to which the stream has told everything, once the rows have come that follow"`
	Version  string `json:"version" doc:"Of the server"`
	At       Time   `json:"at" doc:"The server's clock"`
}

// Session is who asks, and how they came in.
type Session struct {
	User      string `json:"user"`
	By        string `json:"by" enum:"socket,token,browser"`
	ExpiresAt *Time  `json:"expiresAt,omitempty" doc:"Of a browser's: it must log in again by then"`
	Version   string `json:"version" doc:"Of the server"`
	SignOut   string `json:"signOut,omitempty" doc:"URL at which the browser ends its session at the identity provider too"`
}

// Login lets a browser in: a code of POST /v1/session/codes, a token, or what an
// identity provider has answered.
type Login struct {
	Code   string        `json:"code,omitempty" maxLength:"200"`
	Token  string        `json:"token,omitempty" maxLength:"1000"`
	Answer *SignInAnswer `json:"answer,omitempty"`
}

// LoginCode is a code that lets one browser in, once.
type LoginCode struct {
	Code      string `json:"code"`
	ExpiresAt Time   `json:"expiresAt"`
	Path      string `json:"path" doc:"Of the page that takes it, below the server's address"`
	Address   string `json:"address,omitempty" doc:"URL of the server for browsers of its own machine; asked for over its socket only"`
}

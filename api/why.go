package api

// PendingReason is one blocker: a token, its numbers, and a sentence of both.
type PendingReason struct {
	Token     string `json:"token"`
	Message   string `json:"message"`
	Act       string `json:"act" enum:"wait,change,ask" doc:"Who can end it: time, whoever submitted it, or an administrator"`
	Hint      string `json:"hint" doc:"The next step"`
	Never     bool   `json:"never,omitempty" doc:"No wait ends it: what is asked for, or what is allowed, has to change"`
	Resource  string `json:"resource,omitempty"`
	Type      string `json:"type,omitempty" doc:"GPU type asked for"`
	Requested int64  `json:"requested,omitempty" doc:"By one task: devices, thousandths of cores, or bytes; of quotas and limits by all, devices in thousandths"`
	Needed    int64  `json:"needed,omitempty" doc:"By all tasks that start together, in the unit of requested"`
	Free      int64  `json:"free,omitempty" doc:"In the unit of requested"`
	Largest   int64  `json:"largest,omitempty" doc:"Free on the best node, in the unit of requested"`
	Total     int64  `json:"total,omitempty" doc:"In the unit of requested"`
	Tasks     int64  `json:"tasks,omitempty" doc:"Tasks that start together"`
	Fitting   int64  `json:"fitting,omitempty" doc:"How many of the tasks would fit now"`
	Nodes     int    `json:"nodes,omitempty" doc:"Nodes that lack it"`
	OfNodes   int    `json:"ofNodes,omitempty" doc:"Nodes that were looked at"`
	Excluded  int    `json:"excluded,omitempty" doc:"Nodes whose labels, taints or kind do not suit"`
	Pool      string `json:"pool,omitempty"`
	Domain    string `json:"domain,omitempty" doc:"Level of the network within which all must be, or each segment"`
	Segment   int64  `json:"segment,omitempty" doc:"Tasks of each segment, where these find no room; tasks and fitting are then of segments"`
	Queue     string `json:"queue,omitempty" doc:"Project or department whose quota or limit it is"`
	User      string `json:"user,omitempty" doc:"User whose limit it is"`
	Allocated int64  `json:"allocated,omitempty" doc:"What that holds; devices in thousandths"`
	Reserved  int64  `json:"reserved,omitempty" doc:"How much of that is reserved for workloads that wait for their checks, in the same unit"`
	Quota     int64  `json:"quota,omitempty" doc:"In the unit of requested"`
	Limit     int64  `json:"limit,omitempty" doc:"In the unit of requested"`
	Share     int64  `json:"share,omitempty" doc:"Its fair share at present, in the unit of requested"`
	Until     *Time  `json:"until,omitempty" doc:"When it ends by itself"`
	Patient   *Time  `json:"patient,omitempty" doc:"By its own wish it displaces nobody before"`

	Part        int64 `json:"part,omitempty" doc:"Where a part of each GPU is asked for: which, in thousandths"`
	FreeParts   int64 `json:"freeParts,omitempty" doc:"Then: free of all GPUs together, in thousandths of one"`
	LargestPart int64 `json:"largestPart,omitempty" doc:"Then: free of the freest GPU, in thousandths"`

	Label   string `json:"label,omitempty" doc:"Label of nodes that a condition is about which none satisfies"`
	Nearest string `json:"nearest,omitempty" doc:"What nodes have that is written most like it, KEY=VALUE"`
	Taint   string `json:"taint,omitempty" doc:"What keeps it off the nodes that have the label"`

	Blocks []Block `json:"blocks,omitempty" doc:"The roomiest domains of the network"`
}

// Block is the room in one domain of the network.
type Block struct {
	Name    string `json:"name"`
	Free    int64  `json:"free" doc:"In the unit of requested"`
	Fitting int64  `json:"fitting" doc:"Tasks that would fit now"`
}

// Checked is something that was looked at and does not stand in the way.
type Checked struct {
	What string `json:"what"`
	Note string `json:"note,omitempty"`
}

// Why is why a workload does not run, when it is expected to, and what could be
// changed.
type Why struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Project  string         `json:"project"`
	Phase    string         `json:"phase"`
	Reason   string         `json:"reason,omitempty"`
	Message  string         `json:"message,omitempty"`
	Since    Time           `json:"since"`
	Waits    bool           `json:"waits" doc:"Something keeps it, or some of its tasks, from running"`
	Running  int            `json:"running,omitempty" doc:"Of its tasks that run while others of it wait; absent: it waits as a whole"`
	Deadline *DeadlineState `json:"deadline,omitempty" doc:"Of one that has one and has not ended"`
	Forecast
	EvaluatedAt Time `json:"evaluatedAt"`
}

// DeadlineState is how a workload stands to its deadline.
type DeadlineState struct {
	At          Time   `json:"at"`
	LatestStart *Time  `json:"latestStart,omitempty" doc:"When it has to start at the latest to be done in time; absent: its length is not known"`
	Length      string `json:"length,omitempty" doc:"How long it is taken to run"`
	LengthFrom  string `json:"lengthFrom,omitempty" enum:"expectedDuration,learnt,maxDuration" doc:"Where that is from"`
	Left        string `json:"left,omitempty" doc:"Until the deadline; absent: it has passed"`
	ExpectedEnd *Time  `json:"expectedEnd,omitempty" doc:"When it is likely to be done; absent: nobody can tell"`
	InTime      *bool  `json:"inTime,omitempty" doc:"Whether that is in time; absent: nobody can tell"`
	Missed      bool   `json:"missed,omitempty" doc:"The deadline has passed"`
	Action      string `json:"action" enum:"warn,stop" doc:"What becomes of it then"`
}

// Forecast is what stands in the way of a workload, and what is to be expected.
type Forecast struct {
	Reasons     []PendingReason   `json:"reasons" nullable:"false" doc:"Every blocker, most severe first"`
	Checked     []Checked         `json:"checked" nullable:"false" doc:"What was looked at and is fine"`
	Position    int               `json:"position,omitempty" doc:"In its queue, from 1"`
	Waiting     int               `json:"waiting,omitempty" doc:"How many wait in its queue"`
	Ahead       []RelatedWorkload `json:"ahead" nullable:"false" doc:"The first few that go before it"`
	Frees       []RelatedWorkload `json:"frees" nullable:"false" doc:"Those whose ends are expected to make its room"`
	Holders     []RelatedWorkload `json:"holders" nullable:"false" doc:"Those who hold what the gravest reason is short of; of a limit those that count against it"`
	Estimate    *Estimate         `json:"estimate,omitempty" doc:"When it is expected to start"`
	Places      []Placement       `json:"places,omitempty" doc:"Where its tasks would be then, one for each; absent: nobody can tell"`
	Suggestions []Suggestion      `json:"suggestions" nullable:"false" doc:"Changes with which it would start now; each has been tried"`
}

// RelatedWorkload is another workload that matters to one that waits.
type RelatedWorkload struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Project string  `json:"project"`
	User    string  `json:"user"`
	GPUs    float64 `json:"gpus" doc:"That it holds, be it parts; of one that holds none: that it asks for"`
	Tasks   int     `json:"tasks,omitempty" doc:"That hold something"`
	Since   *Time   `json:"since,omitempty" doc:"Of its phase"`
	Cause   string  `json:"cause,omitempty" doc:"Of one that would be displaced: by which right"`
	Start   *Time   `json:"start,omitempty" doc:"When it is likely to start"`
	End     *Time   `json:"end,omitempty" doc:"When it is likely to end"`
	Early   *Time   `json:"early,omitempty" doc:"In one case of ten it has ended by then"`
	Late    *Time   `json:"late,omitempty" doc:"In nine cases of ten it has ended by then"`
}

// Estimate is a range of starts, from a simulation of what is known. It holds
// if nobody submits more and nothing breaks.
type Estimate struct {
	Early  *Time `json:"early,omitempty" doc:"If all goes quickly; absent beside late: it may be any time before that, when others have to give way to who has waited for so long"`
	Likely *Time `json:"likely,omitempty" doc:"As things usually go"`
	Late   *Time `json:"late,omitempty" doc:"If all goes slowly; absent: nobody can tell"`
	After  *Time `json:"after,omitempty" doc:"Later than this, up to which was looked"`
	Simple bool  `json:"simple,omitempty" doc:"There is too much to simulate: likely is the first known end after which there is room"`

	Learnt  int `json:"learnt" doc:"Running workloads whose likes have ended before"`
	Limits  int `json:"limits" doc:"Running workloads of which only a time limit is known"`
	Unknown int `json:"unknown" doc:"Running workloads of whose ends nothing is known"`

	Inside int `json:"inside" doc:"Past estimates that were right: it started within the range"`
	Scored int `json:"scored" doc:"Past estimates that came to be compared"`

	Width int64 `json:"widthSeconds,omitempty" doc:"Median width of the last ranges that were compared"`
	Wait  int64 `json:"waitSeconds,omitempty" doc:"Median of how long it was then until the start"`
}

// Suggestion is a change with which a workload would start now.
type Suggestion struct {
	Flags     string            `json:"flags" doc:"Of muster run"`
	Now       bool              `json:"now" doc:"At once; else once those have left whom it displaces"`
	Pool      string            `json:"pool,omitempty"`
	Displaces []RelatedWorkload `json:"displaces" nullable:"false"`
}

// Plan is what would become of a submission.
type Plan struct {
	Fits      bool              `json:"fits" doc:"It could start now, be it once others have left"`
	Now       bool              `json:"now" doc:"At once"`
	Pool      string            `json:"pool,omitempty"`
	Tasks     []Placement       `json:"tasks" nullable:"false" doc:"Where its tasks would be"`
	Displaces []RelatedWorkload `json:"displaces" nullable:"false"`
	Checks    []string          `json:"checks" nullable:"false" doc:"What must be approved first"`
	Deadline  *DeadlineState    `json:"deadline,omitempty"`
	Forecast
	EvaluatedAt Time `json:"evaluatedAt"`
}

// Placement is where a task would be.
type Placement struct {
	Node    string   `json:"node"`
	Devices []string `json:"devices,omitempty"`
}

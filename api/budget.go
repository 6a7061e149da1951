package api

// Budget is how much a project or department may use in a time: GPU-hours or money,
// and one of them.
type Budget struct {
	GPUHours float64   `json:"gpuHours,omitempty" minimum:"0" doc:"GPU-hours"`
	Money    float64   `json:"money,omitempty" minimum:"0" doc:"Unit: the currency of the prices"`
	Period   string    `json:"period" enum:"day,week,month,once" doc:"It is counted anew each day, week (from Monday) or month, in UTC; once: from from until until"`
	From     *Time     `json:"from,omitempty" doc:"Begin of a budget for once"`
	Until    *Time     `json:"until,omitempty" doc:"Its end"`
	EachUser bool      `json:"eachUser,omitempty" doc:"Every user has so much"`
	WarnAt   []float64 `json:"warnAt,omitempty" doc:"Each a proportion of it, over 0 and below 1, at which is warned; absent: 0.8"`
	AtEnd    string    `json:"atEnd,omitempty" enum:"warn,hold,stop," doc:"Once it is used up. warn: it is told; hold (default): nothing new starts; stop: what runs leaves, too"`
	Notice   string    `json:"notice,omitempty" doc:"With atEnd stop, how long before what runs has to leave its users are told, like 10m, the default"`
}

// BudgetState is how a budget stands.
type BudgetState struct {
	Budget
	Project    string  `json:"project" doc:"Or department"`
	Department bool    `json:"department,omitempty"`
	User       string  `json:"user,omitempty" doc:"Of whom it is, where each user has one"`
	Begins     *Time   `json:"begins" doc:"Of the time that is counted at present"`
	Ends       *Time   `json:"ends"`
	Used       float64 `json:"used" doc:"GPU-hours, or money"`
	Amount     float64 `json:"amount" doc:"Of so much: GPU-hours, or money"`
	Currency   string  `json:"currency,omitempty"`
	Share      float64 `json:"share" doc:"Proportion of it that is used, from 0"`
	State      string  `json:"state" enum:"open,warned,over"`
	OverAt     *Time   `json:"overAt,omitempty" doc:"When it will be used up if nothing changes; absent: not in this time"`
}

// BudgetList is how budgets stand.
type BudgetList struct {
	Items []BudgetState `json:"items" nullable:"false"`
	Next  string        `json:"next"`
}

// Prices are what GPUs cost.
type Prices struct {
	Version int `json:"version" minimum:"0" doc:"Number of what was read; who replaces prices that others have changed meanwhile is refused"`
	PricesSpec
}

// PricesSpec is what was decided of them.
type PricesSpec struct {
	Currency string  `json:"currency,omitempty" maxLength:"12" doc:"How amounts of money are named"`
	Items    []Price `json:"items" nullable:"false" doc:"The one that says most of a GPU counts, a pool more than a type, and of several the last that has begun"`
}

// Price is what a GPU costs for an hour.
type Price struct {
	Pool       string  `json:"pool,omitempty" doc:"Absent: of any"`
	GPUType    string  `json:"gpuType,omitempty" doc:"As documents ask for one, like H100; absent: any"`
	PerGPUHour float64 `json:"perGpuHour" minimum:"0" doc:"Money for an hour of a whole GPU"`
	From       *Time   `json:"from,omitempty" doc:"From then on; absent: ever since"`
}

// ReportRow is what one department, project, pool, user or type of GPU has had.
type ReportRow struct {
	Department string `json:"department,omitempty"`
	Project    string `json:"project,omitempty"`
	Pool       string `json:"pool,omitempty"`
	User       string `json:"user,omitempty"`
	GPUType    string `json:"gpuType,omitempty" doc:"As devices call themselves; empty: not known"`

	GPUHours  float64 `json:"gpuHours" doc:"GPU-hours that were charged in that time"`
	Cost      float64 `json:"cost" doc:"Unit: the currency, at the prices that held"`
	Idle      float64 `json:"idleGpuHours,omitempty" doc:"GPU-hours while the GPU was seen doing nothing, in the last day"`
	Lost      float64 `json:"lostGpuHours,omitempty" doc:"GPU-hours of attempts that failed or had to leave, since the last checkpoint that is known"`
	Displaced float64 `json:"displacedGpuHours,omitempty" doc:"Of lostGpuHours those of attempts that had to leave for others, or with their node; the rest failed"`
	Workloads int     `json:"workloads" doc:"That had GPUs in that time, or were submitted in it"`
	Waits     int     `json:"waits" doc:"Of how many starts the waits are"`
	MeanWait  float64 `json:"meanWaitSeconds" doc:"From the submission, or the return to the queue, until the start of an attempt in that time"`
	Wait95    float64 `json:"wait95Seconds" doc:"So long or less 95 of 100 waited"`

	Ends map[string]int `json:"ends,omitempty" doc:"Workloads that ended in that time, by phase"`
}

// UsageReport is what was used in a time, and how that went.
type UsageReport struct {
	From     Time        `json:"from"`
	To       Time        `json:"to"`
	By       []string    `json:"by" nullable:"false"`
	Currency string      `json:"currency,omitempty"`
	Items    []ReportRow `json:"items" nullable:"false" doc:"The most GPU-hours first"`
	Total    ReportRow   `json:"total"`
	Largest  []ReportRun `json:"largest" nullable:"false" doc:"The workloads that had most GPU-hours, at most 10"`
	Waited   []WaitedFor `json:"waited" nullable:"false" doc:"For what workloads waited in queues in that time, the most hours first; what was counted every few seconds while the server ran, in the last 35 days"`
	Missing  []string    `json:"missing,omitempty" doc:"What is not known, and why, a sentence each"`
	Next     string      `json:"next"`
}

// ReportRun is one workload in a report.
type ReportRun struct {
	ID       string  `json:"id"`
	Project  string  `json:"project"`
	Name     string  `json:"name"`
	User     string  `json:"user"`
	Phase    string  `json:"phase" doc:"At present"`
	GPUHours float64 `json:"gpuHours" doc:"GPU-hours that were charged in that time"`
	Cost     float64 `json:"cost" doc:"Unit: the currency, at the prices that held"`
	Lost     float64 `json:"lostGpuHours,omitempty" doc:"GPU-hours of its attempts that failed or had to leave, since the last checkpoint that is known"`
}

// WaitedFor is for how long workloads waited for one reason.
type WaitedFor struct {
	Reason string  `json:"reason" doc:"Token of the first of what kept them, as why says it; NotAsked: that was not looked at yet"`
	Hours  float64 `json:"hours" doc:"Of all workloads together"`
}

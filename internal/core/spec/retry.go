package spec

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

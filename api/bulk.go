package api

import "encoding/json"

// NewBulkAction asks for one action on many workloads: those of a list, or those
// that a filter means at the moment.
type NewBulkAction struct {
	Action    string   `json:"action" enum:"stop,restart,delete,hold,release,preempt,move,approve,reject,change" doc:"As POST …/NAME:action; delete as DELETE, change as PATCH"`
	Workloads []string `json:"workloads,omitempty" doc:"Ids; at most 50,000"`
	Filter    string   `json:"filter,omitempty" maxLength:"1000" doc:"In place of workloads: as of the list of workloads"`
	Project   string   `json:"project,omitempty" doc:"With filter: only of this project"`
	// Options are left as they are: what they may say follows from the action.
	Options json.RawMessage `json:"options,omitempty" doc:"The body of the action of one workload, the same for each; of change the merge patch"`
}

// BulkAction is how far an action on many workloads has come. What was done with
// each is durable by itself; the list of it is kept until the server ends.
type BulkAction struct {
	ID      string `json:"id"`
	Action  string `json:"action"`
	User    string `json:"user" doc:"Who asked for it"`
	State   string `json:"state" enum:"running,done,cancelled"`
	Total   int    `json:"total" doc:"Workloads that were named, or that the filter meant"`
	Done    int    `json:"done" doc:"Workloads with which it was done"`
	Refused int    `json:"refused" doc:"Workloads that were asked and refused"`
	// StartedAt is when it was asked for, EndedAt when the last answered.
	StartedAt Time  `json:"startedAt"`
	EndedAt   *Time `json:"endedAt,omitempty"`
}

// BulkActionList is bulk actions, newest first.
type BulkActionList struct {
	Items []BulkAction `json:"items" nullable:"false"`
}

// BulkOutcome is what one workload answered.
type BulkOutcome struct {
	ID      string   `json:"id"`
	Project string   `json:"project,omitempty" doc:"Left out where no workload has the id"`
	Name    string   `json:"name,omitempty"`
	Phase   string   `json:"phase,omitempty" doc:"Phase after the action"`
	Problem *Problem `json:"problem,omitempty" doc:"Why it was refused"`
}

// BulkOutcomeList is a page of what workloads answered, in the order in which they
// were named.
type BulkOutcomeList struct {
	Items []BulkOutcome `json:"items" nullable:"false"`
	Next  string        `json:"next,omitempty" doc:"cursor of the next page"`
}

package api

// LogLine is a line that a task wrote.
type LogLine struct {
	Task   int    `json:"task" doc:"Index of the task"`
	Run    int    `json:"run,omitempty"`
	Offset int64  `json:"offset" doc:"Byte of the task's log at which it begins"`
	At     Time   `json:"at" doc:"When it was written, to a tenth of a second; the year 1: not known, or not asked: of hits in one log"`
	Text   string `json:"text" doc:"Without its end; of a line of more than 64 KiB the begin"`
}

// LogPage is a part of the output of several tasks in the order in which it was
// written.
type LogPage struct {
	Lines  []LogLine `json:"lines" nullable:"false"`
	Before string    `json:"before" doc:"before of the page that comes before this one; empty: nothing does"`
	After  string    `json:"after" doc:"after of the page that comes next; there may be nothing yet"`
	More   bool      `json:"more,omitempty" doc:"There is more after it now"`
	Ended  bool      `json:"ended,omitempty" doc:"While following: nothing comes any more"`
	Left   int       `json:"left,omitempty" doc:"Tasks that are left out, as they are too many; tasks chooses others"`
}

// LogHits are lines in which something was found.
type LogHits struct {
	Hits    []LogLine `json:"hits" nullable:"false" doc:"By task and offset; of each line at most 500 characters"`
	Next    string    `json:"next" doc:"after of the search that goes on; empty: everything was searched"`
	Scanned int64     `json:"scannedBytes" doc:"Searched until now, with the searches before that this one went on from"`
	Total   int64     `json:"totalBytes" doc:"Of all that is to be searched"`
}

// TaskStates are the states of all tasks of an attempt, for a picture of them.
type TaskStates struct {
	Attempt int    `json:"attempt"`
	States  string `json:"states" doc:"A letter of each task, by index: p pending, s starting, r running, e stopping, d succeeded, f failed, l lost; -, or beyond the end: not there yet"`
}

// TaskPage is a part of the tasks of an attempt.
type TaskPage struct {
	Items  []Task         `json:"items" nullable:"false" doc:"By index, each by its last run; in the order that was asked for"`
	Next   string         `json:"next" doc:"cursor of the next page; empty on the last"`
	Counts map[string]int `json:"counts" doc:"Tasks of the attempt by state"`
	Total  int            `json:"total" doc:"Tasks that fit what was asked for, on all pages"`
}

package api

import "encoding/json"

// ScheduleSpec is what can be decided about a schedule.
type ScheduleSpec struct {
	Description      string                     `json:"description,omitempty"`
	Cron             string                     `json:"cron" example:"0 2 * * mon-fri" doc:"When it runs: minute, hour, day of the month, month and day of the week, each '*', numbers, names, ranges a-b, steps */n and lists of these; or @hourly, @daily, @weekly, @monthly, @yearly"`
	TimeZone         string                     `json:"timeZone,omitempty" example:"Europe/Berlin" doc:"By whose clocks, as the IANA list names it; empty: UTC"`
	Concurrency      string                     `json:"concurrency,omitempty" enum:"allow,forbid,replace," doc:"What becomes of a run that is due while one before it has not ended: it starts beside it (allow, the default), waits for its end (forbid), or has it stopped (replace)"`
	Suspended        bool                       `json:"suspended,omitempty" doc:"It starts no runs by itself"`
	StartingDeadline string                     `json:"startingDeadline,omitempty" example:"10m" doc:"A run that cannot start within this of its time is given up; empty: it starts however late it is"`
	KeepCompleted    *int                       `json:"keepCompleted,omitempty" minimum:"0" maximum:"1000" doc:"How many runs that have completed are kept, the newest; by default 3. Older ones are deleted"`
	KeepFailed       *int                       `json:"keepFailed,omitempty" minimum:"0" maximum:"1000" doc:"How many runs that have ended otherwise are kept, the newest; by default 1"`
	Document         map[string]json.RawMessage `json:"document" doc:"Workload document of its runs, without name and project; the assets that it names are taken anew for each run"`
}

// NewSchedule is a schedule to make.
type NewSchedule struct {
	Name string `json:"name" doc:"Lower-case letters, digits and '-', at most 39 characters: its runs are called NAME-202612310200, by their time in UTC"`
	ScheduleSpec
}

// Schedule submits a workload again and again, by the clock.
type Schedule struct {
	NewSchedule
	Project   string          `json:"project"`
	User      string          `json:"user" doc:"Who said last what it runs: its runs are theirs, and may do what they may at the time"`
	Kind      string          `json:"workloadKind" doc:"Kind of its workloads"`
	Version   int             `json:"version" doc:"Of the document, from 1"`
	CreatedAt Time            `json:"createdAt"`
	Last      *Time           `json:"last,omitempty" doc:"The last of its times that had a run"`
	Next      []Time          `json:"next" nullable:"false" doc:"Its next three times; none while it is suspended"`
	Runs      []ScheduledRun  `json:"runs" nullable:"false" doc:"Its runs that there are, oldest first"`
	Events    []ScheduleEvent `json:"events" nullable:"false" doc:"What has become of times that had no run, or not the usual one: the last 20, oldest first"`
	Warnings  []string        `json:"warnings,omitempty" doc:"In answers to changes: what is allowed and perhaps not meant"`
}

// ScheduledRun is a workload that a schedule has made.
type ScheduledRun struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Due       *Time  `json:"due,omitempty" doc:"The time that it was started for; absent: somebody asked for it"`
	CreatedAt Time   `json:"createdAt"`
	Phase     string `json:"phase"`
	EndedAt   *Time  `json:"endedAt,omitempty"`
}

// ScheduleEvent is what has become of a time, or of several in a row.
type ScheduleEvent struct {
	What    string `json:"what" enum:"Refused,TooLate,Held,Replaced,Missed" doc:"Refused: the workload was not accepted; TooLate: it would have started after startingDeadline; Held: a run before it has not ended; Replaced: those before it were stopped for it; Missed: several times had come at once, and only the last has a run"`
	At      Time   `json:"at" doc:"When that was seen, the last time"`
	Due     Time   `json:"due" doc:"The time of the run that it is about"`
	Count   int    `json:"count" doc:"How often in a row"`
	Message string `json:"message"`
}

// ScheduleList is every schedule of a project, or of all.
type ScheduleList struct {
	Items []Schedule `json:"items" nullable:"false"`
}

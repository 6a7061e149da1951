package api

// Reported is what tasks have reported of themselves, as curves.
type Reported struct {
	Series  []ReportedSeries `json:"series" nullable:"false"`
	Missing []string         `json:"missing" nullable:"false" doc:"What is not known, and why, a sentence each"`
}

// ReportedSeries is one number that a task has reported again and again.
type ReportedSeries struct {
	ID      string    `json:"id" doc:"Of the workload"`
	Attempt int       `json:"attempt"`
	Task    int       `json:"task" doc:"Index of the task"`
	Metric  string    `json:"metric" doc:"As the task calls it, such as loss; empty: the step itself"`
	Steps   []int64   `json:"steps" nullable:"false" doc:"Of each point the step at which it ends"`
	At      []float64 `json:"atSeconds" nullable:"false" doc:"Of each point when its last report came, in seconds since 1970"`
	Values  []float64 `json:"values" nullable:"false" doc:"Of each point the mean of its reports, in the unit of the metric"`
	Reports int       `json:"reports" doc:"How many there have been in all"`
	Last    float64   `json:"last" doc:"The newest report, in the unit of the metric"`
	Min     float64   `json:"min" doc:"Of all reports, in the unit of the metric"`
	MinStep int64     `json:"minStep" doc:"The step of the least report"`
	Max     float64   `json:"max" doc:"Of all reports, in the unit of the metric"`
	MaxStep int64     `json:"maxStep" doc:"The step of the greatest report"`
}

package api

// HoldingsCourse is who held each device, and is likely to hold it, for a stretch of
// time: a map of it at any instant can be drawn from one answer.
type HoldingsCourse struct {
	From   Time `json:"from" doc:"From when on it is whole: later than asked for where more is held than one answer tells"`
	Now    Time `json:"now" doc:"What is before was so; what is after is likely"`
	To     Time `json:"to" doc:"Up to when it tells: earlier than asked for where nobody can tell more"`
	Simple bool `json:"simple,omitempty" doc:"There is too much to foretell: nothing after now is told but likely ends"`
	// Looked is in the order of time, and in milliseconds since 1970.
	Looked    []Stretch      `json:"looked" nullable:"false" doc:"When it was looked at how well nodes were: of other times that is not known"`
	Workloads []CourseHolder `json:"workloads" nullable:"false"`
	Nodes     []NodeCourse   `json:"nodes" nullable:"false" doc:"Those with devices that were or will be held, or that were not as they should be"`
}

// CourseHolder is a workload that held devices, or is likely to.
type CourseHolder struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Project string `json:"project"`
	User    string `json:"user"`
	Kind    string `json:"kind"`
	Hidden  bool   `json:"hidden,omitempty" doc:"It may not be seen by who asks: it has no name here"`
}

// Stretch is a stretch of time, in milliseconds since the Unix epoch.
type Stretch struct {
	From int64 `json:"from" doc:"Milliseconds since the Unix epoch"`
	To   int64 `json:"to" doc:"Milliseconds since the Unix epoch"`
}

// NodeCourse are the devices of one node.
type NodeCourse struct {
	Name    string         `json:"name"`
	Devices []DeviceCourse `json:"devices" nullable:"false"`
	Health  []HealthSpan   `json:"health,omitempty" doc:"When something kept it from taking all work, by begin"`
}

// HealthSpan is how a node was for a while. Times are milliseconds since the Unix epoch.
type HealthSpan struct {
	From     int64    `json:"from" doc:"Milliseconds since the Unix epoch"`
	To       int64    `json:"to,omitempty" doc:"Milliseconds since the Unix epoch; absent: it is so still"`
	NotReady bool     `json:"notReady,omitempty"`
	CutOff   bool     `json:"cutOff,omitempty" doc:"Its cluster did not answer"`
	Cordoned bool     `json:"cordoned,omitempty"`
	Draining bool     `json:"draining,omitempty"`
	Broken   []string `json:"broken,omitempty" doc:"IDs of devices that were not healthy"`
}

// DeviceCourse is who has one device, one after the other or side by side.
type DeviceCourse struct {
	ID    string      `json:"id" doc:"Of partitions of devices, where nothing says of which: their count by profile"`
	Spans []SpanOfUse `json:"spans" nullable:"false" doc:"By their begin"`
}

// SpanOfUse is a part of a device for a while. Times are milliseconds since the Unix
// epoch: there are many of them.
type SpanOfUse struct {
	Workload int   `json:"workload" doc:"Its place in workloads, from 0"`
	Task     int   `json:"task" doc:"Index of the task; -1: of what is yet to start"`
	Part     int   `json:"part" doc:"In thousandths"`
	From     int64 `json:"from" doc:"Milliseconds since the Unix epoch"`
	To       int64 `json:"to,omitempty" doc:"Milliseconds since the Unix epoch; absent: no end is known"`
	Likely   bool  `json:"likely,omitempty" doc:"It has not begun"`
}

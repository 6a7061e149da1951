package api

// Report is what a task says of how far its workload has come.
type Report struct {
	Step    int64              `json:"step" minimum:"0"`
	Total   int64              `json:"total,omitempty" minimum:"0" doc:"Steps in all; 0: unknown"`
	Metrics map[string]float64 `json:"metrics,omitempty" doc:"Numbers by name, such as loss; at most 100"`
	Message string             `json:"message,omitempty" maxLength:"1000"`
	Task    int                `json:"task,omitempty" minimum:"0" doc:"Index of the task that says so"`
}

// Progress is a report as it is kept.
type Progress struct {
	Report
	Attempt int  `json:"attempt"`
	At      Time `json:"at"`
}

// NewCheckpoint is from where the work can go on.
type NewCheckpoint struct {
	Path string `json:"path" minLength:"1" maxLength:"4096" doc:"As the tasks find it"`
	Step int64  `json:"step,omitempty" minimum:"0"`
}

// Checkpoint is a checkpoint as it is kept.
type Checkpoint struct {
	NewCheckpoint
	Attempt int  `json:"attempt" doc:"That wrote it"`
	At      Time `json:"at"`
}

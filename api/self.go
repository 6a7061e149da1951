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

// WorkloadErrorList is the first errors of some workloads.
type WorkloadErrorList struct {
	Items    []WorkloadError `json:"items" nullable:"false"`
	Searched int             `json:"searched" doc:"Workloads whose output is still searched: ask again"`
}

// WorkloadError is the first error of a workload in a line.
type WorkloadError struct {
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
	Kind    string `json:"kind" doc:"As of first-error"`
	Title   string `json:"title" doc:"The one line that says most"`
}

// FirstErrorResult is what was found in the outputs of an attempt.
type FirstErrorResult struct {
	Error *FirstError  `json:"error,omitempty" doc:"What explains the others; absent: nothing was found"`
	Also  []FirstError `json:"also,omitempty" doc:"What was found in the output of other tasks, without excerpts"`
}

// FirstError is an error with where it was found and what to do about it.
type FirstError struct {
	Kind     string   `json:"kind" doc:"Sort of error, such as Python exception, CUDA out of memory, NCCL error or timeout, image, disk, exit code"`
	Title    string   `json:"title" doc:"The one line that says most"`
	Hint     string   `json:"hint,omitempty" doc:"The next step"`
	Excerpt  []string `json:"excerpt" nullable:"false" doc:"The error whole, as it stands in the output"`
	Line     int      `json:"line,omitempty" doc:"Of the output, from 1, where it begins"`
	Echo     bool     `json:"echo,omitempty" doc:"It reports something that went wrong elsewhere"`
	Attempt  int      `json:"attempt"`
	Task     int      `json:"task" doc:"Index of the task"`
	Role     string   `json:"role"`
	Node     string   `json:"node,omitempty"`
	Devices  []string `json:"devices,omitempty"`
	ExitCode *int     `json:"exitCode,omitempty"`
	At       *Time    `json:"at,omitempty" doc:"When it was written"`
}

// NewJobStep is a step of a batch script, as srun says that it starts it.
type NewJobStep struct {
	ID    int    `json:"id" minimum:"0" doc:"Its number in the script, from 0"`
	Task  int    `json:"task" minimum:"0" doc:"Index of the task that runs the script"`
	Name  string `json:"name" minLength:"1" maxLength:"1024" doc:"Its program, or what srun was told to call it"`
	Tasks int    `json:"tasks" minimum:"1" maximum:"10000000" doc:"Its processes"`
	CPUs  int    `json:"cpus" minimum:"0" maximum:"10000000" doc:"CPU cores of all its processes"`
	On    []int  `json:"on,omitempty" maxItems:"100000" doc:"Indexes of the tasks on whose nodes it is; absent: of all"`
}

// JobStepEnd is how a step ended.
type JobStepEnd struct {
	ID       int `json:"id" minimum:"0" doc:"Its number in the script, from 0"`
	Task     int `json:"task" minimum:"0" doc:"Index of the task that runs the script"`
	ExitCode int `json:"exitCode,omitempty" minimum:"0" maximum:"255" doc:"The highest of its processes; 128 + signal where one ended it"`
}

// JobStep is a step of a batch script, as it is kept.
type JobStep struct {
	NewJobStep
	StartedAt Time  `json:"startedAt"`
	EndedAt   *Time `json:"endedAt,omitempty" doc:"Absent where it goes on, or has ended with its script"`
	ExitCode  int   `json:"exitCode,omitempty"`
}

// StepImageRequest asks for an image for steps of a batch script.
type StepImageRequest struct {
	Task  int    `json:"task" minimum:"0" doc:"Index of the task on whose machine it is needed"`
	Image string `json:"image" minLength:"1" maxLength:"1024" doc:"Such as nvcr.io/nvidia/pytorch:24.10-py3"`
}

// StepImage is an image on the machine of a task.
type StepImage struct {
	Layers     []string    `json:"layers" doc:"Directories on the task's machine, lowest first"`
	Env        []string    `json:"env,omitempty" doc:"NAME=value"`
	Entrypoint []string    `json:"entrypoint,omitempty"`
	Workdir    string      `json:"workdir,omitempty"`
	Driver     []StepMount `json:"driver,omitempty" doc:"Files of the machine that programs for its GPUs need"`
}

// StepMount is a file or directory of the machine in a container.
type StepMount struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

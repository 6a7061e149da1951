package core

import "time"

// JobStep is what one srun of a batch script has started. Task keeps those of the
// script that it runs.
type JobStep struct {
	ID        int       `json:"id"`                 // within its attempt's task, from 0
	Name      string    `json:"name"`               // of its program, or as srun was told
	Tasks     int       `json:"tasks"`              // processes
	CPUs      int       `json:"cpus"`               // all that its processes have
	On        []int     `json:"on,omitempty"`       // tasks of the workload on whose nodes it is; nil: on all
	StartedAt time.Time `json:"startedAt"`          // by the server's clock
	EndedAt   time.Time `json:"endedAt,omitzero"`   // zero: nobody has said that it ended
	ExitCode  int       `json:"exitCode,omitempty"` // the highest of its processes; 128 + signal where one ended it
}

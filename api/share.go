package api

// NewShare asks for a link that shows one workload to whoever has it, without an account.
type NewShare struct {
	Project  string `json:"project,omitempty" doc:"Of the workload; needed where it is named by its name"`
	Workload string `json:"workload" minLength:"1" doc:"Name or id of a workload of who asks"`
	Chart    string `json:"chart,omitempty" doc:"Only the curve of this reported number; default: the state of the workload and all curves"`
	Logs     bool   `json:"logs,omitempty" doc:"Also the last lines that its tasks have written; not with chart"`
	Expires  string `json:"expires,omitempty" doc:"For how long the link is good, like 12h; 1h to 90d; default: 7d"`
}

// Share is a link that shows one workload.
type Share struct {
	ID       string `json:"id"`
	Workload string `json:"workload" doc:"Its id"`
	Project  string `json:"project"`
	Name     string `json:"name"`
	Chart    string `json:"chart,omitempty" doc:"The one number that it shows"`
	Logs     bool   `json:"logs,omitempty" doc:"Whether it shows the end of the output, too"`
	By       string `json:"by" doc:"Who made it"`
	Created  Time   `json:"created"`
	Expires  Time   `json:"expires"`
	Opened   int    `json:"opened" doc:"How often it was opened since the server began"`
	Path     string `json:"path,omitempty" doc:"Below the server's address; told once, when it is made: only its hash is kept"`
}

// ShareList is a list of them.
type ShareList struct {
	Items []Share `json:"items" nullable:"false"`
}

package api

import "encoding/json"

// ConvertRequest is a file for another system.
type ConvertRequest struct {
	Content string `json:"content" doc:"The file: a manifest of Kubernetes, a script for sbatch, YAML of mcli, SkyPilot or dstack, or command lines of runai" maxLength:"1048576"`
	Format  string `json:"format,omitempty" doc:"Its format, where the content does not tell" enum:"muster,kubernetes,sbatch,mcli,runai,skypilot,dstack"`
}

// Converted is what was made of a file for another system.
type Converted struct {
	Format    string            `json:"format" doc:"Format of the file"`
	Documents []json.RawMessage `json:"documents,omitempty" doc:"Workload documents, ready to be submitted"`
	Lossy     bool              `json:"lossy,omitempty" doc:"Whether meaning is lost: some note says what"`
	Notes     []ConvertNote     `json:"notes" doc:"What became of each field, by line"`
}

// ConvertNote says what became of one field of a file.
type ConvertNote struct {
	Line   int    `json:"line,omitempty" doc:"From 1"`
	Last   int    `json:"last,omitempty" doc:"The last line, where there are several"`
	Field  string `json:"field" doc:"In the file's own words"`
	Value  string `json:"value,omitempty" doc:"What it said, shortened"`
	Fate   string `json:"fate" enum:"kept,translated,approximated,ignored,refused"`
	To     string `json:"to,omitempty" doc:"Where the document says it"`
	Reason string `json:"reason,omitempty" doc:"Why it is not simply kept"`
	Lossy  bool   `json:"lossy,omitempty" doc:"Whether meaning is lost"`
}

package api

import "encoding/json"

// NewTemplate is a part of a document that workloads are to be made of.
type NewTemplate struct {
	Name        string                     `json:"name"`
	Description string                     `json:"description,omitempty"`
	Environment string                     `json:"environment,omitempty" doc:"Name of an environment that a template builds upon"`
	Editors     []string                   `json:"editors,omitempty" doc:"Who may change it beside its user; *: everyone"`
	Document    map[string]json.RawMessage `json:"document" doc:"Fields of a workload document; of an environment image, env, init, volumes and the like"`
}

// Template is a part of a document that workloads of a project, or of all that
// are below a department, are made of.
type Template struct {
	NewTemplate
	Kind      string            `json:"kind" enum:"template,environment"`
	Project   string            `json:"project" doc:"Or department"`
	User      string            `json:"user" doc:"Who made it"`
	Version   int               `json:"version" doc:"Of the document, from 1"`
	Versions  []TemplateVersion `json:"versions" nullable:"false" doc:"Those that are remembered, oldest first"`
	CreatedAt Time              `json:"createdAt"`
	UpdatedAt Time              `json:"updatedAt"`
}

// TemplateVersion is a document that a template has had.
type TemplateVersion struct {
	Version int    `json:"version"`
	User    string `json:"user" doc:"Who made it so"`
	At      Time   `json:"at"`
}

// TemplateList is every template that a project can use: its own, and those of
// the departments above it.
type TemplateList struct {
	Items []Template `json:"items" nullable:"false"`
}

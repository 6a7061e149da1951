package api

import "encoding/json"

// NewTemplate is an asset that is to be: a part of a document that workloads are
// made of.
type NewTemplate struct {
	Name        string                     `json:"name"`
	Description string                     `json:"description,omitempty"`
	Environment string                     `json:"environment,omitempty" doc:"Name of an environment that a template builds upon"`
	SharedWith  []string                   `json:"sharedWith,omitempty" doc:"Projects and departments elsewhere that may use it too, without writing to it; of a data volume alone"`
	Editors     []string                   `json:"editors,omitempty" doc:"Who may change it beside its user; *: everyone"`
	Document    map[string]json.RawMessage `json:"document" doc:"Fields of a workload document; of an environment image, command, env, volumes and the like, of a compute resource resources and tolerations, of a data source volumes, integrations, secrets and env, of a data volume volumes"`
}

// Template is an asset: a part of a document that workloads of a project, of all
// that are below a department, or of everyone, are made of.
type Template struct {
	NewTemplate
	Kind      string            `json:"kind" enum:"template,environment,compute,datasource,datavolume"`
	Project   string            `json:"project" doc:"Or department; '-': it is there for all projects"`
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

// TemplateList is every asset that a project can use: its own, those of the
// departments above it and of the system, and what others share with it.
type TemplateList struct {
	Items []Template `json:"items" nullable:"false"`
}

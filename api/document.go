package api

import "encoding/json"

// Field is what there is to say about a field of the workload document, or
// about the whole document.
type Field struct {
	Path     string   `json:"path,omitempty" doc:"Empty: the document"`
	Name     string   `json:"name,omitempty"`
	Type     string   `json:"type" doc:"In words: string, list of strings, quantity, number or map …"`
	Doc      string   `json:"doc"`
	Default  string   `json:"default,omitempty" doc:"As it would be written"`
	Enum     []string `json:"enum,omitempty" doc:"What is allowed"`
	Min      string   `json:"min,omitempty"`
	Max      string   `json:"max,omitempty"`
	Example  string   `json:"example,omitempty"`
	Only     string   `json:"only,omitempty" doc:"The kinds that it is for, with commas between; empty: all"`
	Required bool     `json:"required,omitempty" doc:"Where the map around it is there"`
	Short    string   `json:"short,omitempty" doc:"Of a map or a list of maps: the field that a bare number or text stands for"`
	Part     string   `json:"part,omitempty" doc:"The one that a bare number with a fraction stands for, where it is another"`
	Fields   []Field  `json:"fields,omitempty" doc:"Of a map, or of the maps of a list"`
}

// Draft is what is known of a document that has not been submitted.
type Draft struct {
	Document json.RawMessage `json:"document,omitempty" doc:"What it says, without defaults, be it wrong; absent where it cannot be read at all"`
	Problem  *Problem        `json:"problem,omitempty" doc:"Why it would be refused, field by field"`
	Spec     json.RawMessage `json:"spec,omitempty" doc:"The document with what its assets say and defaults; absent where that cannot be told"`
	Plan     *Plan           `json:"plan,omitempty" doc:"What would become of it; absent with a problem"`
	Warnings []string        `json:"warnings,omitempty" doc:"What is allowed and perhaps not meant, such as what may use more than is left of a budget"`
	GPUs     float64         `json:"gpus,omitempty" doc:"That it asks for, over all tasks"`
	Tasks    int             `json:"tasks,omitempty" doc:"That it would have"`
}

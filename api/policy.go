package api

import "encoding/json"

// PolicySpec is what can be decided about the documents of a scope and kind.
type PolicySpec struct {
	Description string                     `json:"description,omitempty"`
	Defaults    map[string]json.RawMessage `json:"defaults,omitempty" doc:"Fields of a workload document, filled in where a document says nothing"`
	Rules       map[string]json.RawMessage `json:"rules,omitempty" doc:"By field, as maps in maps or paths with dots: canEdit, required, min, max, step, options, defaultFrom; of maps and lists of items instances and attributes"`
	Impose      *PolicyImpose              `json:"impose,omitempty" doc:"Assets that every workload is given"`
}

// PolicyImpose are assets that every workload is given.
type PolicyImpose struct {
	Environment string            `json:"environment,omitempty" doc:"NAME, or NAME@VERSION"`
	Compute     string            `json:"compute,omitempty" doc:"NAME, or NAME@VERSION"`
	Data        []json.RawMessage `json:"data,omitempty" doc:"Data sources and data volumes: names, or maps of name, path and readOnly"`
}

// NewPolicy is a policy to make.
type NewPolicy struct {
	For string `json:"for" enum:"all,workspace,training,distributed,inference" doc:"Kind of workloads; all: every kind that has no rule of its own in the scope"`
	PolicySpec
}

// Policy is what documents of a scope and kind may say.
type Policy struct {
	Scope string `json:"scope" doc:"Project or department; '-': the system"`
	NewPolicy
	User      string         `json:"user" doc:"Who made it"`
	Version   int            `json:"version" doc:"From 1"`
	CreatedAt Time           `json:"createdAt"`
	UpdatedAt Time           `json:"updatedAt"`
	Breaches  []PolicyBreach `json:"breaches,omitempty" doc:"With dry_run: live workloads whose documents it would not let in today; they stay as they are"`
}

// PolicyBreach is a live workload whose document a policy would not let in.
type PolicyBreach struct {
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Project string         `json:"project"`
	Kind    string         `json:"kind"`
	User    string         `json:"user"`
	Phase   string         `json:"phase"`
	Errors  []FieldProblem `json:"errors" nullable:"false"`
}

// PolicyList is several policies.
type PolicyList struct {
	Items []Policy `json:"items" nullable:"false"`
}

// PolicySource is where something that holds comes from.
type PolicySource struct {
	Scope      string `json:"scope"`
	Department bool   `json:"department,omitempty" doc:"The scope is a department"`
	For        string `json:"for"`
}

// EffectivePolicy is what holds for workloads of a kind in a project: all policies along
// its branch in one.
type EffectivePolicy struct {
	Project  string          `json:"project"`
	Kind     string          `json:"kind"`
	Policies []PolicySource  `json:"policies" nullable:"false" doc:"Nearest first"`
	Fields   []PolicyField   `json:"fields" nullable:"false" doc:"By path"`
	Impose   []PolicyImposed `json:"impose" nullable:"false"`
}

// PolicyField is what holds for a field, or for an entry of a map or list.
type PolicyField struct {
	Path        string          `json:"path"`
	Type        string          `json:"type"`
	Default     json.RawMessage `json:"default,omitempty"`
	DefaultFrom *PolicySource   `json:"defaultFrom,omitempty"`
	Rule        *PolicyRule     `json:"rule,omitempty"`
	RuleFrom    *PolicySource   `json:"ruleFrom,omitempty"`
	Fixed       bool            `json:"fixed,omitempty" doc:"A document that says it otherwise is refused"`
	Usual       json.RawMessage `json:"usual,omitempty" doc:"What a document has that says nothing"`
}

// PolicyImposed is what a policy gives to every workload.
type PolicyImposed struct {
	From PolicySource `json:"from"`
	PolicyImpose
}

// PolicyRule is what is asked of a value, or of the items of a map or list.
type PolicyRule struct {
	CanEdit     *bool                 `json:"canEdit,omitempty" doc:"false: it stays as the default has it"`
	Required    bool                  `json:"required,omitempty"`
	Min         json.RawMessage       `json:"min,omitempty"`
	Max         json.RawMessage       `json:"max,omitempty"`
	Step        json.RawMessage       `json:"step,omitempty" doc:"From min, else from 0"`
	Options     []PolicyOption        `json:"options,omitempty"`
	Default     json.RawMessage       `json:"default,omitempty" doc:"Of an attribute, for items that do not say it"`
	DefaultFrom *PolicyDerived        `json:"defaultFrom,omitempty"`
	Instances   *PolicyInstances      `json:"instances,omitempty"`
	Attributes  map[string]PolicyRule `json:"attributes,omitempty"`
}

// PolicyOption is a value that is allowed.
type PolicyOption struct {
	Value     json.RawMessage `json:"value"`
	Displayed string          `json:"displayed,omitempty" doc:"What people are shown instead"`
}

// PolicyDerived is a default that is worked out from another field.
type PolicyDerived struct {
	Field  string  `json:"field"`
	Factor float64 `json:"factor" doc:"How many times the other field's value"`
}

// PolicyInstances is what is asked of the items of a map or list.
type PolicyInstances struct {
	CanAdd *bool    `json:"canAdd,omitempty" doc:"false: no items beyond the default ones"`
	Locked []string `json:"locked,omitempty" doc:"Keys of default items that may not be changed or left out"`
}

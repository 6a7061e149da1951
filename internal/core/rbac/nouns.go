// Package rbac decides who may do what: a subject has roles in scopes, by access
// rules; a role allows verbs on nouns; what is allowed in a scope is allowed in
// everything below it, and nothing takes away what something else allows.
package rbac

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// The verbs.
const (
	Create  = "create"
	Read    = "read"
	Update  = "update"
	Delete  = "delete"
	Exec    = "exec"    // enter a task: commands, terminals, ports
	Approve = "approve" // answer the question of an admission check
)

// Verbs are all of them.
func Verbs() []string { return []string{Create, Read, Update, Delete, Exec, Approve} }

// The nouns.
const (
	Workloads  = "workloads" // of every kind
	Workspaces = "workspaces"
	Trainings  = "trainings" // distributed ones too
	Inferences = "inferences"

	Templates        = "templates"
	Environments     = "environments"
	ComputeResources = "compute-resources"
	DataSources      = "data-sources"
	DataVolumes      = "data-volumes"
	Credentials      = "credentials" // secrets of a scope; everybody has their own beside

	Projects    = "projects"
	Departments = "departments"
	Policies    = "policies" // what documents may say

	Nodes        = "nodes"
	Pools        = "pools"
	Clusters     = "clusters"
	Licenses     = "licenses"
	Reservations = "reservations"

	Users           = "users"
	ServiceAccounts = "service-accounts"
	Roles           = "roles"
	AccessRules     = "access-rules"
	Tokens          = "tokens"

	Dashboards = "dashboards" // usage, holdings, measurements
	Metrics    = "metrics"    // what Prometheus scrapes
	Settings   = "settings"   // of the server
	Audit      = "audit"
	// HostAccess is what reaches beyond its own container: commands without an
	// image, directories of the machine, another user of it.
	HostAccess = "host-access"
)

// any stands for every verb, or every noun.
const anything = "*"

// Group is nouns that belong together.
type Group struct {
	Name  string
	Nouns []string
}

// Groups are all nouns.
func Groups() []Group {
	return []Group{
		{"workload", []string{Workloads, Workspaces, Trainings, Inferences, HostAccess}},
		{"workload-asset", []string{Templates, Environments, ComputeResources, DataSources, DataVolumes, Credentials}},
		{"organization", []string{Projects, Departments, Policies}},
		{"physical-resource", []string{Nodes, Pools, Clusters, Licenses, Reservations}},
		{"iam", []string{Users, ServiceAccounts, Roles, AccessRules, Tokens}},
		{"dashboard", []string{Dashboards, Metrics}},
		{"server", []string{Settings, Audit}},
	}
}

// Nouns are all nouns, in the order of their groups.
func Nouns() []string {
	var all []string
	for _, g := range Groups() {
		all = append(all, g.Nouns...)
	}
	return all
}

// NounOf is what workloads of a kind are called.
func NounOf(k lifecycle.Kind) string {
	switch {
	case k.Batch():
		return Trainings
	case k.Interactive():
		return Workspaces
	case k.Replicated():
		return Inferences
	}
	return Workloads
}

// AssetNoun is what assets of a kind are called.
func AssetNoun(k core.TemplateKind) string {
	switch k {
	case core.TemplateEnvironment:
		return Environments
	case core.TemplateCompute:
		return ComputeResources
	case core.TemplateDataSource:
		return DataSources
	case core.TemplateDataVolume:
		return DataVolumes
	}
	return Templates
}

// workloadNouns are those that Workloads covers.
var workloadNouns = []string{Workspaces, Trainings, Inferences}

// covers reports whether a permission on one noun holds for another.
func covers(noun, of string) bool {
	return noun == of || noun == anything || noun == Workloads && slices.Contains(workloadNouns, of)
}

// ParsePermission reads verb:noun or verb:noun:own; '*' stands for every verb or
// noun. What is wrong comes with what is allowed.
func ParsePermission(text string) (core.Permission, *Problem) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "own" {
		return core.Permission{}, &Problem{Message: quoted(text) + " is not a permission", Hint: "write VERB:NOUN, or VERB:NOUN:own, such as read:workloads"}
	}
	p := core.Permission{Verb: parts[0], Noun: parts[1], Own: len(parts) == 3}
	return p, Check(p)
}

// Check says what is wrong with a permission; nil: nothing.
func Check(p core.Permission) *Problem {
	if p.Verb != anything && !slices.Contains(Verbs(), p.Verb) {
		return &Problem{Message: quoted(p.Verb) + " is not a verb", Hint: "verbs are " + strings.Join(Verbs(), ", ")}
	}
	if p.Noun != anything && !slices.Contains(Nouns(), p.Noun) {
		return &Problem{Message: quoted(p.Noun) + " is not a noun", Hint: "nouns are " + strings.Join(Nouns(), ", ")}
	}
	return nil
}

// Problem is what is wrong with something that was written, and what to do.
type Problem struct {
	Message string
	Hint    string
}

func (p *Problem) Error() string { return p.Message }

func quoted(text string) string { return `"` + text + `"` }

package rbac

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// The predefined roles that the rest of the program names.
const (
	SystemAdministrator = "system-administrator"
	ProjectLead         = "project-lead"
	MachineUser         = "machine-user"
)

// MachineGroup is the group of all who come by the socket of a machine-wide server whose
// tasks run as who submits them. No identity provider can put anybody into it.
const MachineGroup = "@machine"

// ClusterAccount is how the names of service accounts of a Kubernetes cluster begin, which
// are system:serviceaccount:NAMESPACE:NAME, and are groups of one to access rules;
// ClusterAccounts how the groups are called that they are in: all of them, and with
// :NAMESPACE those of a namespace. No user has such a name, and no identity provider can
// put anybody into such a group.
const (
	ClusterAccount  = "system:serviceaccount"
	ClusterAccounts = "system:serviceaccounts"
)

// OfCluster reports whether a group is one of service accounts of a cluster.
func OfCluster(group string) bool {
	return group == ClusterAccounts || strings.HasPrefix(group, ClusterAccounts+":") || strings.HasPrefix(group, ClusterAccount+":")
}

// ClusterGroups are those of some groups that are of service accounts of a cluster.
func ClusterGroups(groups []string) (out []string) {
	for _, g := range groups {
		if OfCluster(g) {
			out = append(out, g)
		}
	}
	return out
}

// all allows verbs on every one of some nouns.
func all(verbs []string, nouns ...string) []core.Permission {
	var out []core.Permission
	for _, n := range nouns {
		for _, v := range verbs {
			out = append(out, core.Permission{Verb: v, Noun: n})
		}
	}
	return out
}

func own(verbs []string, nouns ...string) []core.Permission {
	out := all(verbs, nouns...)
	for i := range out {
		out[i].Own = true
	}
	return out
}

var (
	crud     = []string{Create, Read, Update, Delete}
	read     = []string{Read}
	assets   = []string{Templates, Environments, ComputeResources, DataSources, DataVolumes}
	physical = []string{Nodes, Pools, Clusters, Licenses, Reservations}
)

// content is reading everything that a scope has, and the machines that all share.
func content() []core.Permission {
	return slices.Concat(all(read, Workloads), all(read, assets...), all(read, Credentials), all(read, Projects, Departments, Policies), all(read, physical...), all(read, Dashboards))
}

// surroundings is what everybody needs who submits: where, of what, on what.
func surroundings() []core.Permission {
	return slices.Concat(all(read, assets...), all(read, Credentials), all(read, Projects, Policies), all(read, physical...), all(read, Dashboards))
}

// researchers are the roles that those who run a department or a project give.
var researchers = []string{"l1-researcher", "l2-researcher", "ml-engineer", "viewer"}

// predefined are the roles that there always are. Names and essence are those of
// Run:ai, but for project-lead.
var predefined = []core.Role{
	{Name: SystemAdministrator, Description: "Everything", Permissions: all([]string{anything}, anything)},
	{
		Name: "department-administrator", Description: "Departments, projects, policies and data volumes in scope, and who works there",
		Permissions: slices.Concat(content(), all(crud, Departments, Projects, Policies, DataVolumes, AccessRules), all(read, Users, ServiceAccounts, Roles)),
		Assigns:     append([]string{"research-manager", ProjectLead}, researchers...),
	},
	{Name: "department-viewer", Description: "Sees a department, its projects and what is in them", Permissions: content()},
	{
		Name: "editor", Description: "Sees everything in scope, manages departments and projects, makes data volumes",
		Permissions: slices.Concat(content(), all(crud, Departments, Projects), all([]string{Create}, DataVolumes)),
	},
	{
		Name: "research-manager", Description: "Assets and projects in scope; sees workloads",
		Permissions: slices.Concat(content(), all(crud, assets...), all(crud, Projects)),
	},
	{
		Name: ProjectLead, Description: "Everybody's workloads and assets in scope, approvals, and who works there",
		Permissions: slices.Concat(content(), all(crud, Workloads), all([]string{Exec, Approve}, Workloads), all(crud, assets...), all(crud, Credentials), all([]string{Update}, Projects), all(crud, AccessRules), all(read, Users, ServiceAccounts, Roles)),
		Assigns:     researchers,
	},
	{
		Name: "l1-researcher", Description: "Own workloads and assets; sees those of others in scope",
		Permissions: slices.Concat(surroundings(), all([]string{Create, Read}, Workloads), own([]string{Update, Delete, Exec}, Workloads), all([]string{Create}, assets...), all([]string{Create}, Credentials), own([]string{Update, Delete}, assets...), own([]string{Delete}, Credentials)),
	},
	{
		Name: "l2-researcher", Description: "Own workloads, of assets that there are; sees those of others in scope",
		Permissions: slices.Concat(surroundings(), all([]string{Create, Read}, Workloads), own([]string{Update, Delete, Exec}, Workloads)),
	},
	{
		Name: "ml-engineer", Description: "Inference services in scope",
		Permissions: slices.Concat(surroundings(), all(read, Departments), all(crud, Inferences), own([]string{Exec}, Inferences)),
	},
	{
		Name: MachineUser, Description: "Own workloads, of assets that there are; sees no others. What all users of a machine have, where tasks run as who submits them",
		Permissions: slices.Concat(surroundings(), own([]string{Create, Read, Update, Delete, Exec}, Workloads)),
	},
	{Name: "viewer", Description: "Sees everything in scope, and changes nothing", Permissions: content()},
	administrator("environment-administrator", "Environments", Environments),
	administrator("data-source-administrator", "Data sources", DataSources),
	administrator("compute-resource-administrator", "Compute resources", ComputeResources),
	administrator("template-administrator", "Templates", Templates),
	administrator("credentials-administrator", "Credentials", Credentials),
	administrator("data-volume-administrator", "Data volumes", DataVolumes),
}

func administrator(name, what, noun string) core.Role {
	return core.Role{Name: name, Description: what + " in scope; sees the rest", Permissions: slices.Concat(content(), all(crud, noun))}
}

// former are the names by which Run:ai's older API knows roles.
var former = map[string]string{"admin": SystemAdministrator, "department_admin": "department-administrator", "researcher": "l1-researcher", "research_manager": "research-manager", "ml_engineer": "ml-engineer"}

// Predefined are the roles that there always are.
func Predefined() []core.Role { return slices.Clone(predefined) }

// RoleName is the name of a role that may be written as Run:ai's older API does.
func RoleName(text string) string {
	if name, ok := former[text]; ok {
		return name
	}
	return text
}

// allowed says of which things a verb on a noun is allowed.
type allowed uint8

const (
	ofOwn allowed = 1 << iota // the subject's own
	ofAny
)

// compiled is a role for asking.
type compiled struct {
	core.Role
	of map[[2]string]allowed // by verb and noun, as they are asked for
}

func compile(r core.Role) *compiled {
	c := &compiled{Role: r, of: map[[2]string]allowed{}}
	for _, p := range r.Permissions {
		bit := ofAny | ofOwn
		if p.Own {
			bit = ofOwn
		}
		for _, v := range Verbs() {
			if p.Verb != anything && p.Verb != v {
				continue
			}
			for _, n := range Nouns() {
				if covers(p.Noun, n) {
					c.of[[2]string{v, n}] |= bit
				}
			}
		}
	}
	return c
}

var compiledRoles = func() map[string]*compiled {
	out := map[string]*compiled{}
	for _, r := range predefined {
		out[r.Name] = compile(r)
	}
	return out
}()

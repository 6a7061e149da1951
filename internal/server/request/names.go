// Package request reads what requests have in common: how they name things, how
// large they may be, under which condition they are meant, and records and patches.
package request

import (
	"net/http"
	"strconv"

	"github.com/musterhq/muster/internal/server/problem"
)

// RecordName is a path that names a record; exported for the framework.
type RecordName struct {
	Name string `path:"name"`
}

// DryRunning is the wish to change nothing; exported for the framework, which
// fills it where it is embedded.
type DryRunning struct {
	DryRun bool `query:"dry_run" doc:"Check and answer as if it were done"`
}

// Named is the part of a path that names a workload; exported for the
// framework, which fills it where it is embedded.
type Named struct {
	Project string `path:"project" doc:"Project; '-' with an id"`
	Name    string `path:"name" doc:"Name or id"`
}

// AllProjects in a path stands for every project.
const AllProjects = "-"

// bodyMax bounds a single document, in bytes; bulkMax a bulk submission.
const (
	BodyMax = 1 << 20
	BulkMax = 64 << 20
)

// Find is the one of that name, or a problem that says that there is none.
func Find[T any](kind, name string, all []T, nameOf func(T) string) (one T, err error) {
	for _, x := range all {
		if nameOf(x) == name {
			return x, nil
		}
	}
	return one, problem.New(http.StatusNotFound, "not_found", kind+" "+strconv.Quote(name)+" does not exist", "muster "+kind+" list shows all")
}

// Given is an optional body; what is left out is empty.
func Given[T any](body *T) (o T) {
	if body != nil {
		o = *body
	}
	return o
}

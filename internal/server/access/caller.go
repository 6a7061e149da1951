package access

import (
	"context"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/launch"
	"github.com/musterhq/muster/internal/server/problem"
)

// SelfPath is all that the token of a task opens.
const SelfPath = "/v1/self"

// TaskCaller is the attempt whose task asks.
type TaskCaller struct {
	ID      core.WorkloadID
	Attempt int
}

type callerKey struct{}

// taskOf checks the token of a task, which opens its own workload and nothing
// else, whichever way it comes. With neither an answer nor a problem it is
// another sort of token.
func (s *Guard) taskOf(r *http.Request) (*TaskCaller, *api.Problem) {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	id, attempt, ok := launch.TokenOf(given)
	if !ok {
		return nil, nil
	}
	if s.mac == nil || id == "" || subtle.ConstantTimeCompare([]byte(given), []byte(launch.TaskToken(id, attempt, s.mac))) != 1 {
		return nil, problem.New(http.StatusUnauthorized, "unauthenticated", "the token belongs to no task of this server", "send the content of the file that MUSTER_TASK_TOKEN_FILE names")
	}
	if r.URL.Path != SelfPath && !strings.HasPrefix(r.URL.Path, SelfPath+"/") {
		return nil, problem.New(http.StatusForbidden, "forbidden", "the token of a task opens "+SelfPath+" only: its own workload", "use the token of a user for anything else")
	}
	return &TaskCaller{id, attempt}, nil
}

// CallerOf is the task that asks; false: it is none.
func CallerOf(ctx context.Context) (*TaskCaller, bool) {
	c, ok := ctx.Value(callerKey{}).(*TaskCaller)
	return c, ok
}

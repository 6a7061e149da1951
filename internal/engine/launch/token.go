package launch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// Way is how a task reaches the server to report to it.
type Way struct {
	URL   string         // unix:///path or http://host:port; empty: it cannot
	Mount *backend.Mount // what its container needs for that; nil: nothing
}

// tokenHead marks the token of an attempt among other tokens.
const tokenHead = "muster_task_"

// TaskToken lets the tasks of one attempt report to their own workload, and
// read it. What mac makes of a purpose nobody else can.
func TaskToken(id core.WorkloadID, attempt int, mac func(purpose string) string) string {
	return fmt.Sprintf("%s%s.%d.%s", tokenHead, id, attempt, mac(taskPurpose(id, attempt)))
}

func taskPurpose(id core.WorkloadID, attempt int) string {
	return "task/" + string(id) + "/" + strconv.Itoa(attempt)
}

// TokenOf is whose token a text says that it is; ok is false where it is not
// of that form. Whether it is true, only comparing it with TaskToken says.
func TokenOf(token string) (id core.WorkloadID, attempt int, ok bool) {
	rest, ok := strings.CutPrefix(token, tokenHead)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 {
		return "", 0, ok
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 0 {
		return "", 0, true
	}
	return core.WorkloadID(parts[0]), n, true
}

// reach gives a task the address and the token with which it reports.
func (s *Server) reach(a *backend.Assignment, w *core.Workload, t *core.Task) {
	if s.Reach == nil || s.Secrets == nil {
		return
	}
	r := s.Reach(t.Backend, a.Image != "")
	if r.URL == "" {
		return
	}
	a.Env = append(a.Env, "MUSTER_TASK_URL="+r.URL)
	a.Files = append(a.Files, backend.File{
		Name: "task-token", EnvVar: "MUSTER_TASK_TOKEN_FILE", Data: []byte(TaskToken(w.ID, t.ID.Attempt, s.Secrets.Token)),
	})
	if r.Mount != nil {
		a.Mounts = append(a.Mounts, *r.Mount)
	}
}

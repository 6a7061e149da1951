package server

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
)

// The tag of a workload is its version: every change that is stored makes
// another. With If-Match a change is made only where the workload is as whoever
// asks has seen it; with If-None-Match an answer that they have is not sent
// again. Nothing else has tags, so nothing else can be changed under a condition.

type matchKey struct{}

// tagOf is the tag of a workload.
func tagOf(w *core.Workload) string { return `"` + strconv.FormatInt(w.Version, 10) + `"` }

// tagged matches paths at which a workload is changed.
var tagged = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/v1/projects/[^/]+/workloads/[^/]+(/metadata)?$`)
})

// matching takes the condition of a request into its context, or refuses it where
// nothing could meet it: a condition is never overlooked.
func matching(r *http.Request) (*http.Request, *api.Problem) {
	values := r.Header.Values("If-Match")
	if len(values) == 0 || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return r, nil
	}
	if !tagged().MatchString(r.URL.Path) || r.Method == http.MethodPut {
		p := newProblem(http.StatusPreconditionFailed, string(engine.CodeStale), "If-Match: what is asked for here has no tag", "leave If-Match out; workloads have tags, in ETag")
		return nil, p
	}
	return r.WithContext(context.WithValue(r.Context(), matchKey{}, tags(values))), nil
}

// tags are those of a list in a header.
func tags(values []string) []string {
	var all []string
	for _, v := range values {
		for one := range strings.SplitSeq(v, ",") {
			all = append(all, strings.TrimSpace(one))
		}
	}
	return all
}

// unchanged is a command that is refused where the workload is not as the request
// says it must be.
func unchanged(ctx context.Context, ref engine.Ref, command engine.Command) engine.Command {
	all, ok := ctx.Value(matchKey{}).([]string)
	if !ok {
		return command
	}
	var versions []int64
	for _, tag := range all {
		if tag == "*" { // that it is there is all that is asked
			return command
		}
		text, ok := strings.CutPrefix(tag, `"`)
		text, closed := strings.CutSuffix(text, `"`)
		if v, err := strconv.ParseInt(text, 10, 64); err == nil && ok && closed {
			versions = append(versions, v)
		}
	}
	return engine.Unchanged(ref, all, versions, command)
}

// known reports whether whoever asks has this answer already. What is measured or
// explained at the moment is no part of a version, so an answer with such parts
// is always sent.
func known(values []string, w *core.Workload, out *api.Workload) bool {
	if out.Pending != nil || out.GPUs > 0 && !w.Phase.End() {
		return false
	}
	for _, tag := range tags(values) {
		if strings.TrimPrefix(tag, "W/") == tagOf(w) {
			return true
		}
	}
	return false
}

// conditional describes that an operation on a workload may have a condition.
func conditional(op *huma.Operation) {
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: "If-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "ETag of the workload as it must be for this to be done; otherwise the answer is 412, with code stale",
	})
}

// refusals describes every answer that is not what was asked for.
func (s *Server) refusals() *huma.Response {
	return &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: s.api.OpenAPI().Components.Schemas.Schema(typeOf[api.Problem](), true, "Problem")},
	}}
}

// matched is conditional for an operation that is yet to be registered.
func matched(op huma.Operation) huma.Operation {
	conditional(&op)
	return op
}

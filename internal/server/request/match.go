package request

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
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/server/problem"
)

// The tag of a workload is its version: every change that is stored makes
// another. With If-Match a change is made only where the workload is as whoever
// asks has seen it; with If-None-Match an answer that they have is not sent
// again. Nothing else has tags, so nothing else can be changed under a condition.

type matchKey struct{}

// TagOf is the tag of a workload.
func TagOf(w *core.Workload) string { return `"` + strconv.FormatInt(w.Version, 10) + `"` }

// tagged matches paths at which a workload is changed.
var tagged = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/v1/projects/[^/]+/workloads/[^/]+(/metadata)?$`)
})

// WithCondition takes the condition of a request into its context, or refuses it where
// nothing could meet it: a condition is never overlooked.
func WithCondition(r *http.Request) (*http.Request, *api.Problem) {
	values := r.Header.Values("If-Match")
	if len(values) == 0 || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return r, nil
	}
	if !tagged().MatchString(r.URL.Path) || r.Method == http.MethodPut {
		p := problem.New(http.StatusPreconditionFailed, string(draft.CodeStale), "If-Match: what is asked for here has no tag", "leave If-Match out; workloads have tags, in ETag")
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

// Unchanged is a command that is refused where the workload is not as the request
// says it must be.
func Unchanged[R any](ctx context.Context, ref draft.Ref, command draft.Command[R]) draft.Command[R] {
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
	return submission.Unchanged(ref, all, versions, command)
}

// Known reports whether whoever asks has this answer already. What is measured or
// explained at the moment is no part of a version, so an answer with such parts
// is always sent.
func Known(values []string, w *core.Workload, out *api.Workload) bool {
	if out.Pending != nil || out.GPUs > 0 && !w.Phase.End() {
		return false
	}
	for _, tag := range tags(values) {
		if strings.TrimPrefix(tag, "W/") == TagOf(w) {
			return true
		}
	}
	return false
}

// Conditional describes that an operation on a workload may have a condition.
func Conditional(op *huma.Operation) {
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: "If-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "ETag of the workload as it must be for this to be done; otherwise the answer is 412, with code stale",
	})
}

// Matched is conditional for an operation that is yet to be registered.
func Matched(op huma.Operation) huma.Operation {
	Conditional(&op)
	return op
}

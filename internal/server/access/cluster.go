package access

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/server/problem"
)

// TokenReview says whose token of a Kubernetes cluster it is; nil: nobody's. It fails where
// the cluster does not answer.
type TokenReview func(ctx context.Context, token string) (*core.Profile, error)

const (
	// reviewedFor is how long an answer of the cluster holds: a token that ends, or whose
	// service account is deleted, lets in for so long at most.
	reviewedFor = time.Minute
	// reviewWithin bounds how long the cluster may take.
	reviewWithin = 10 * time.Second
	// reviewsKept bounds what is remembered.
	reviewsKept = 10000
)

// serviceAccounts are those of a cluster who have shown a token lately.
type serviceAccounts struct {
	review TokenReview // nil: none comes in
	mu     sync.Mutex
	known  map[string]seenAccount // by the hash of the token
}

type seenAccount struct {
	name   string
	groups []string
	until  time.Time
}

// ofCluster reports whether a token may be one of a cluster: a JSON Web Token. Ours are
// written otherwise.
func (x *serviceAccounts) ofCluster(token string) bool {
	return x.review != nil && strings.HasPrefix(token, "eyJ") && strings.Count(token, ".") == 2
}

// account is whose token it is, asked of the cluster at most once in a while; false: it is
// nobody's.
func (x *serviceAccounts) account(ctx context.Context, token string, now time.Time) (seenAccount, bool, error) {
	key := hashOf(token)
	x.mu.Lock()
	a, ok := x.known[key]
	x.mu.Unlock()
	if ok && now.Before(a.until) {
		return a, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewWithin)
	defer cancel()
	p, err := x.review(ctx, token)
	if err != nil {
		return seenAccount{}, false, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if p == nil || !strings.HasPrefix(p.Name, rbac.ClusterAccount+":") {
		delete(x.known, key)
		return seenAccount{}, false, nil
	}
	if x.known == nil || len(x.known) >= reviewsKept {
		x.known = map[string]seenAccount{}
	}
	a = seenAccount{name: p.Name, groups: append(rbac.ClusterGroups(p.Groups), p.Name), until: now.Add(reviewedFor)}
	x.known[key] = a
	return a, true, nil
}

// comes lets a service account of the cluster in, or says why not.
func (s *Guard) comes(ctx context.Context, sub *subject, token string) *api.Problem {
	a, ok, err := s.cluster.account(ctx, token, s.clock())
	switch {
	case err != nil:
		s.log.Warn("the cluster does not say whose a token is", "err", err)
		return problem.New(http.StatusServiceUnavailable, "unavailable", "the cluster does not say whose this token is", "try again, or use a token of muster token create")
	case !ok:
		s.failed(ctx, sub, "a token of a cluster that lets nobody in was shown")
		return problem.New(http.StatusUnauthorized, "unauthenticated", "the token lets nobody in: to the cluster it is nobody's, has expired, or is for another audience", "mount one for the audience of muster server --kube-token-audience (a projected volume with serviceAccountToken), or kubectl create token NAME --audience AUDIENCE")
	}
	sub.name, sub.account = a.name, token
	return nil
}

// ofAccount is the caller who has shown a token of a cluster, while that lets them in.
func (s *subject) ofAccount() (rbac.Caller, bool) {
	a, ok, err := s.guard.cluster.account(context.Background(), s.account, s.guard.clock())
	c := rbac.Caller{Name: s.name, Kind: core.SubjectServiceAccount}
	if err != nil || !ok {
		return c, false
	}
	c.Groups = slices.Clone(a.groups)
	return c, true
}

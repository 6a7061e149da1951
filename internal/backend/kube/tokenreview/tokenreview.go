// Package tokenreview asks a cluster whose token it is that somebody shows.
package tokenreview

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/core"
)

// Reviewer asks one cluster.
type Reviewer struct {
	client   kubernetes.Interface
	audience string
}

// New returns a reviewer of tokens that were made for an audience. A token for others,
// for the API server itself first of all, is not taken: who is shown one could show it
// there.
func New(config *rest.Config, audience string) (*Reviewer, error) {
	c, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "token-review"))
	if err != nil {
		return nil, err
	}
	return &Reviewer{c, audience}, nil
}

// Review is whose token it is: its name is system:serviceaccount:NAMESPACE:NAME. It fails
// where the cluster does not answer; nil: the token is nobody's, or is not for us.
func (r *Reviewer) Review(ctx context.Context, token string) (*core.Profile, error) {
	answer, err := r.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{r.audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask the cluster whose token it is: %w", err)
	}
	s := answer.Status
	// An API server that knows no audiences leaves them out, and has not looked at them.
	if !s.Authenticated || !slices.Contains(s.Audiences, r.audience) {
		return nil, nil
	}
	return &core.Profile{Provider: "kubernetes", Subject: s.User.UID, Name: s.User.Username, Groups: s.User.Groups}, nil
}
